// What a process asks its keeper. Internal to the room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "wharf/base/status.h"
#include "wharf/base/stored/directory.h"

namespace wharf {

enum class KeeperAction : uint32_t { kRead = 1, kWrite = 2, kRemove = 3, kTryLock = 4, kUnlock = 5 };

inline constexpr size_t kMaxStoredName = 240;

// Names end with a zero byte. A write is followed by its bytes; `bytes` of a lock is its number.
struct KeeperRequest {
  uint32_t action = 0;
  char directory[16] = {};
  char name[kMaxStoredName + 1] = {};
  uint64_t bytes = 0;
};

// An answer to a read is followed by the file's bytes.
struct KeeperReply {
  int32_t error = 0;  // an errno
  uint64_t bytes = 0;
};

// A new name for what is written before it gets its own.
std::string NameAside();

// The two halves of what a file is read and written by, in pieces: files may be larger than memory should be.
class FileBeingStored {
 public:
  FileBeingStored(const std::string& directory, const std::string& name);
  ~FileBeingStored();  // it was never there, unless it was finished
  FileBeingStored(const FileBeingStored&) = delete;
  FileBeingStored& operator=(const FileBeingStored&) = delete;
  void Append(std::span<const std::byte> piece);
  absl::Status Finish();

 private:
  const std::string path_, name_, aside_;
  const Descriptor directory_;
  Descriptor file_;
  int error_ = 0;  // the first errno
};
class FileBeingRead {
 public:
  // Makes it the file that was used last.
  FileBeingRead(const std::string& directory, const std::string& name);
  // False: there is none.
  explicit operator bool() const { return static_cast<bool>(file_); }
  uint64_t Size() const { return size_; }
  // Whether the file has all of it.
  bool Read(uint64_t at, std::span<char> into) const;

 private:
  Descriptor file_;
  uint64_t size_ = 0;
};

// The file, once the lock is held. Fails with an errno: EAGAIN if another holds it.
Descriptor TryLockFile(const std::string& directory, uint64_t number);

// Of a stream socket. False: the other end is gone.
bool ReadWhole(int socket, void* into, size_t size);
bool WriteWhole(int socket, const void* from, size_t size);

}  // namespace wharf
