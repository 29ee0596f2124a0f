// What a process asks its keeper. Internal to the room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <span>
#include <string>

#include "wharf/base/status.h"

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

// A new name in the directory for what is written before it gets its own.
std::string NameAside(const std::string& directory);

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
  const std::string path_, aside_;
  std::ofstream file_;
};
// Open for reading, or closed if there is none. Makes it the file that was used last.
std::ifstream OpenStored(const std::string& directory, const std::string& name);

// The file, to be closed, once the lock is held; -1 and an errno.
int TryLockFile(const std::string& directory, uint64_t number);

// Of a stream socket. False: the other end is gone.
bool ReadWhole(int socket, void* into, size_t size);
bool WriteWhole(int socket, const void* from, size_t size);

}  // namespace wharf
