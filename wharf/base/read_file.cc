#include "wharf/base/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <span>
#include <sstream>

namespace wharf {
namespace {

absl::StatusOr<std::string> ReadOwn(int file, const std::string& path, mode_t no_permissions) {
  struct stat found {};
  if (fstat(file, &found) != 0) return ErrnoStatus(errno, path);
  if (!S_ISREG(found.st_mode) || found.st_uid != geteuid() || (found.st_mode & no_permissions) != 0) {
    return FailedPrecondition("{} is no regular file of this user's alone: remove it, or its permissions", path);
  }
  std::string text(static_cast<size_t>(found.st_size), '\0');
  const ssize_t got = read(file, text.data(), text.size());
  if (got < 0) return ErrnoStatus(errno, path);
  text.resize(static_cast<size_t>(got));
  return text;
}

}  // namespace

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

absl::StatusOr<std::string> ReadOwnFile(const std::string& path, mode_t no_permissions) {
  const int file = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0 && (errno == ELOOP || errno == ENXIO)) {
    return FailedPrecondition("{} is a link or a socket: remove it", path);
  }
  if (file < 0) return ErrnoStatus(errno, fmt::format("opening {}", path));
  absl::StatusOr<std::string> text = ReadOwn(file, path, no_permissions);
  close(file);
  return text;
}

}  // namespace wharf
