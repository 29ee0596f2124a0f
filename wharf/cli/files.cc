#include "wharf/cli/files.h"

#include <cerrno>
#include <fstream>
#include <sstream>

namespace wharf::cli {

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return ErrnoStatus(errno, fmt::format("opening {}", path));
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

absl::Status WriteFile(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  if (!file.flush()) return PermissionDenied("{} cannot be written", path);
  return absl::OkStatus();
}

}  // namespace wharf::cli
