// Object code on disk, one file a kernel: NAME.o = magic, SHA-256 of the content, content. A file that is damaged, of
// another version or being written by someone else is as good as none.
#pragma once

#include <llvm/Support/MemoryBuffer.h>

#include <memory>
#include <string>
#include <string_view>

namespace wharf::device::soft {

// Thread-safe, also between processes: files appear whole (written aside, then renamed).
class ObjectStore {
 public:
  // "": stores nothing and finds nothing.
  explicit ObjectStore(std::string directory) : directory_(std::move(directory)) {}

  // Null if it is not there or not sound.
  std::unique_ptr<llvm::MemoryBuffer> Find(const std::string& name) const;
  // Failure to write is logged once and otherwise ignored: the cache only saves time.
  void Put(const std::string& name, const llvm::MemoryBuffer& object) const;

 private:
  std::string directory_;
};

// SHA-256: 64 hexadecimal digits. Who could make two texts of one hash could give a kernel the code of another.
std::string HashText(std::string_view text);

}  // namespace wharf::device::soft
