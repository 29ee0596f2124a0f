#include "wharf/base/read_file.h"

#include <cerrno>
#include <fstream>
#include <span>
#include <sstream>

namespace wharf {

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return ErrnoStatus(errno, fmt::format("opening {}", path));
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

absl::StatusOr<std::vector<std::byte>> ReadBytes(const std::string& path) {
  WHARF_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  const auto bytes = std::as_bytes(std::span(text));
  return std::vector<std::byte>(bytes.begin(), bytes.end());
}

}  // namespace wharf
