// The layout of a pack's tables, as docs/packs.md describes it. Little-endian, as the machines are that have packs.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

namespace wharf::device::pack {

using Hash = std::array<uint8_t, 32>;  // SHA-256

inline constexpr std::array<char, 8> kMagic = {'W', 'H', 'F', 'P', 'A', 'C', 'K', '\n'};
inline constexpr uint32_t kVersion = 1;

struct Header {
  std::array<char, 8> magic;
  uint32_t version;
  uint32_t modules, entries;
  uint32_t reserved;    // 0
  uint64_t modules_at;  // where the ModuleRecords are; the EntryRecords follow them, and the notes these
  uint64_t notes_packed, notes_bytes;
  Hash tables;  // of the ModuleRecords and EntryRecords
  Hash notes;   // of their text
};
static_assert(sizeof(Header) == 112 && std::is_trivially_copyable_v<Header>);

struct ModuleRecord {
  uint64_t offset, packed_bytes, bytes;
  Hash text;
  uint64_t source_at;  // where its name is
  uint32_t source_bytes;
  uint32_t reserved;  // 0
};
static_assert(sizeof(ModuleRecord) == 72);

// In ascending order.
struct EntryRecord {
  std::array<uint8_t, 16> key;  // of the kernel's canonical name: the first bytes of its hash
  uint32_t module;
  uint32_t reserved;  // 0
};
static_assert(sizeof(EntryRecord) == 24);

}  // namespace wharf::device::pack
