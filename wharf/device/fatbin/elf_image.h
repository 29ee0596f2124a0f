// An ELF image in memory, as strangers send it: every offset and count is checked before it is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "wharf/base/status.h"

namespace wharf::device::fatbin {

struct ElfSection {
  std::string_view name;
  uint32_t type = 0;
  uint64_t size = 0;
  bool holds_names = false;         // of sections or symbols
  std::span<const std::byte> data;  // none of SHT_NOBITS
};

struct ElfSymbol {
  std::string_view name;
  uint8_t kind = 0;   // STT_FUNC, STT_OBJECT, …
  uint8_t other = 0;  // st_other
  uint32_t section = 0;
  uint64_t size = 0;
};

// Views of the image, which must outlive it.
class ElfImage {
 public:
  // kInvalidArgument: not a 64-bit little-endian ELF image, or one whose headers or sections do not fit.
  static absl::StatusOr<ElfImage> Read(std::span<const std::byte> image);

  uint32_t flags() const { return flags_; }
  uint8_t abi_version() const { return abi_version_; }
  const std::vector<ElfSection>& sections() const { return sections_; }
  // Null if there is none.
  const ElfSection* Find(std::string_view name) const;
  // Of the first .symtab. Names that lie outside of their table are "".
  const std::vector<ElfSymbol>& symbols() const { return symbols_; }

 private:
  void ReadSymbols(size_t section, size_t names_in);

  uint32_t flags_ = 0;
  uint8_t abi_version_ = 0;
  std::vector<ElfSection> sections_;
  std::vector<ElfSymbol> symbols_;
};

// A number at a place that was checked.
template <typename T>
T LoadAt(std::span<const std::byte> bytes, size_t offset) {
  T value;
  __builtin_memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

}  // namespace wharf::device::fatbin
