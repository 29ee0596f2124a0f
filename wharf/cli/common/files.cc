#include "wharf/cli/common/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace wharf::cli {

absl::Status WriteFile(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  if (!file.flush()) return PermissionDenied("{} cannot be written", path);
  return absl::OkStatus();
}

absl::Status CheckWritable(const std::string& path) {
  const bool was_there = access(path.c_str(), F_OK) == 0;
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) return ErrnoStatus(errno, fmt::format("{} cannot be written", path));
  close(fd);
  if (was_there) return absl::OkStatus();
  // Of a link that led nowhere this is what it leads to now.
  std::error_code ignored;
  std::filesystem::remove(std::filesystem::canonical(path, ignored), ignored);
  return absl::OkStatus();
}

}  // namespace wharf::cli
