// Files of a cache: whole or not there, by names. A directory is a path of this machine's or, in a process that opens
// no files, one below KeeperRoot (keeper.h); "" keeps nothing. All of it is thread-safe, also between processes. Others
// may be able to write to the directory: only regular files are opened, and no link in its place or in it is followed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "wharf/base/status.h"

namespace wharf {

// Makes it the file that was used last.
std::optional<std::string> ReadStored(const std::string& directory, const std::string& name);
// Written aside, then renamed; makes the directory. ErrnoStatus on failure, after which what was there is still there.
absl::Status WriteStored(const std::string& directory, const std::string& name, std::span<const std::byte> bytes);
void RemoveStored(const std::string& directory, const std::string& name);

// What a file takes beside its bytes, in the file system's tables: limits count it, or empty files would cost nothing.
inline constexpr uint64_t kBytesOfAFile = 512;

// Removes files whose names begin with `beginning` and end with the extension of `keep`, those first that were not used
// for longest, until they take `most` bytes, kBytesOfAFile each included; never `keep`. A keeper does so by itself.
void LimitStored(const std::string& directory, uint64_t most, const std::string& keep,
                 const std::string& beginning = {});

// A lock among those who share the directory, by a number: whoever makes what a file is to hold. Given up at the end,
// also by a process that dies.
class StoredLock {
 public:
  StoredLock(std::string directory, uint64_t number) : directory_(std::move(directory)), number_(number) {}
  ~StoredLock();
  StoredLock(const StoredLock&) = delete;
  StoredLock& operator=(const StoredLock&) = delete;

  // Does not wait. True if it is ours, and where none can be had: a cache is worth no failure.
  bool TryTake();

 private:
  const std::string directory_;
  const uint64_t number_;
  int file_ = -1;
  bool at_keeper_ = false;
};

}  // namespace wharf
