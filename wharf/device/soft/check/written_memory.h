// Which bytes somebody has written: of a block's shared memory, and of device memory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "wharf/base/status.h"

namespace wharf::device::soft::check {

// Of a range from 0 on.
class WrittenBytes {
 public:
  // None is written.
  void Start(uint64_t bytes);
  // REQUIRES (both): they lie in the range.
  void Write(uint64_t at, uint64_t bytes);
  // The first that nobody has written.
  std::optional<uint64_t> FirstUnwritten(uint64_t at, uint64_t bytes) const;

 private:
  std::vector<uint64_t> bits_;
};

// Of a large range of addresses, of which parts come and go; a bit a byte, where they are. Threads may use it at once:
// of a byte that one writes and another reads either may come first.
class WrittenMemory {
 public:
  // kResourceExhausted: no address space for it.
  static absl::StatusOr<std::unique_ptr<WrittenMemory>> Create(uint64_t begin, uint64_t size);
  ~WrittenMemory();
  WrittenMemory(const WrittenMemory&) = delete;
  WrittenMemory& operator=(const WrittenMemory&) = delete;

  // From here on these are kept, and none of them is written. kResourceExhausted. REQUIRES: whole pages in the range.
  absl::Status Map(uint64_t address, uint64_t bytes);
  // What lies outside of the range is left out.
  void Write(uint64_t address, uint64_t bytes);
  // Both are as written as `from` was.
  void Copy(uint64_t to, uint64_t from, uint64_t bytes);
  // The first that nobody has written; what is outside of the range counts as written. REQUIRES: what is inside was
  // mapped.
  std::optional<uint64_t> FirstUnwritten(uint64_t address, uint64_t bytes) const;

 private:
  WrittenMemory(uint64_t begin, uint64_t size, uint64_t* bits) : begin_(begin), size_(size), bits_(bits) {}
  // Cut to the range: an offset in it.
  struct Span {
    uint64_t at = 0, bytes = 0;
  };
  Span Cut(uint64_t address, uint64_t bytes) const;
  void Set(uint64_t at, bool written);

  const uint64_t begin_, size_;
  uint64_t* const bits_;
};

}  // namespace wharf::device::soft::check
