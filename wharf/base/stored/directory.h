// Opening what is in a directory that others may be able to write to, too. A link, a pipe or anything else that they
// put in the place of a file, or of the directory, is not opened; what leads to the directory is the user's, and may be
// links. Internal to the room.
#pragma once

#include <dirent.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <utility>

namespace wharf {

// Owned. Being closed leaves errno as it is.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor() {
    const int error = errno;
    if (number_ >= 0) close(number_);
    errno = error;
  }
  Descriptor(Descriptor&& other) noexcept : number_(other.Release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  explicit operator bool() const { return number_ >= 0; }
  int Number() const { return number_; }
  int Release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

// Fail with an errno: of a link in its place that is ENOTDIR. MakeDirectory also makes it, and those that lead to it.
Descriptor OpenDirectory(const std::string& path);
Descriptor MakeDirectory(const std::string& path);

// A regular file, by the flags and mode of openat. Fails with an errno, that of a directory which could not be opened
// included; EBUSY if somebody would have to be waited for.
Descriptor OpenIn(const Descriptor& directory, const std::string& name, int flags, mode_t mode = 0);

// To read the entries; dirfd() is the directory. Nothing if it cannot be opened.
using Entries = std::unique_ptr<DIR, int (*)(DIR*)>;
Entries EntriesOf(const std::string& path);

}  // namespace wharf
