#include "wharf/base/stored/directory.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

namespace wharf {

Descriptor OpenDirectory(const std::string& path) {
  return Descriptor(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

Descriptor MakeDirectory(const std::string& path) {
  std::error_code ignored;
  std::filesystem::create_directories(path, ignored);
  return OpenDirectory(path);
}

Descriptor OpenIn(const Descriptor& directory, const std::string& name, int flags, mode_t mode) {
  if (!directory) return Descriptor();
  // Without O_NONBLOCK this waits for the other end of a pipe, and for whoever has a lease on the file.
  Descriptor file(openat(directory.Number(), name.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, mode));
  if (!file && errno == EAGAIN) errno = EBUSY;
  struct stat found {};
  if (!file || fstat(file.Number(), &found) != 0) return Descriptor();
  if (S_ISREG(found.st_mode)) return file;
  errno = EINVAL;
  return Descriptor();
}

Entries EntriesOf(const std::string& path) {
  Descriptor directory = OpenDirectory(path);
  Entries entries(directory ? fdopendir(directory.Number()) : nullptr, closedir);
  if (entries != nullptr) directory.Release();
  return entries;
}

}  // namespace wharf
