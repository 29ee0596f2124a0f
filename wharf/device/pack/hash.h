// Hashes of packs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "wharf/device/pack/format.h"

struct evp_md_ctx_st;

namespace wharf::device::pack {

// SHA-256 of what is added, piece by piece.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;
  void Add(std::span<const std::byte> bytes);
  // Once.
  Hash Finish();

 private:
  evp_md_ctx_st* const context_;
};

Hash HashOf(std::string_view text);
// By which an EntryRecord is found.
std::array<uint8_t, 16> KeyOf(std::string_view canonical_name);

}  // namespace wharf::device::pack
