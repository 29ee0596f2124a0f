#include "wharf/base/read_file.h"

#include <cerrno>
#include <fstream>
#include <sstream>

namespace wharf {

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return ErrnoStatus(errno, fmt::format("opening {}", path));
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

}  // namespace wharf
