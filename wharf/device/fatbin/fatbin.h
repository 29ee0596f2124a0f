// Reads the vendor's fat binary container: a list of entries, each PTX text or an ELF image for one architecture, some
// compressed (LZ4 block or Zstandard). Format: docs/fatbin.md. Input is hostile: every length is checked before use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wharf/base/status.h"

namespace wharf::device::fatbin {

inline constexpr uint32_t kWrapperMagic = 0x466243B1;    // what __cudaRegisterFatBinary is given
inline constexpr uint32_t kContainerMagic = 0xBA55ED50;  // what the wrapper points to

enum class Kind : uint16_t { kPtx = 1, kElf = 2 };

struct Entry {
  Kind kind;
  uint32_t sm = 0;              // 75 for sm_75 / compute_75
  std::vector<std::byte> data;  // decompressed; PTX without trailing zero bytes
};

// No entry may grow beyond this when decompressed.
inline constexpr uint64_t kMaxEntryBytes = uint64_t{256} << 20;

// The container's size including its header, from its first 16 bytes; kInvalidArgument if it is not a container.
// Lets a caller that only has a pointer (from a registered wrapper) find how much to read.
absl::StatusOr<uint64_t> ContainerBytes(std::span<const std::byte> header);

// Every entry of one or more containers that follow one another. Entries of unknown kind are skipped.
// kInvalidArgument: not a fat binary or lengths that do not fit; kDataLoss: an entry that does not decompress;
// kResourceExhausted: an entry larger than kMaxEntryBytes.
absl::StatusOr<std::vector<Entry>> Read(std::span<const std::byte> bytes);

// The PTX with the highest architecture, from a fat binary or from plain PTX text (which it returns as it is).
// kUnimplemented if there is none: the message says how to rebuild the program so that there is.
absl::StatusOr<std::string> FindPtx(std::span<const std::byte> image);

// The PTX that a GPU of compute capability `sm` (75 for 7.5) runs the machine code of, or compiles itself, by the
// driver's choice: machine code for the same major version if there is any, the PTX of the highest architecture not
// above `sm` otherwise. Machine code is taken to be made of the PTX beside it that is for the same architecture, as
// nvcc does. kUnimplemented if there is no such PTX.
absl::StatusOr<std::string> FindPtxFor(std::span<const std::byte> image, uint32_t sm);

// The machine code of the lowest architecture, from a fat binary or a cubin (which it returns as it is). kNotFound if
// there is none.
absl::StatusOr<std::vector<std::byte>> FindMachineCode(std::span<const std::byte> image);

// Whether machine code is among them that a program could use: a function or a variable. The images of the device
// linker have neither if the program has no kernels. Errors as of Read.
absl::StatusOr<bool> HasMachineCode(std::span<const std::byte> bytes);

// Where programs keep fat binaries, and those that were to be linked (-rdc=true).
inline constexpr std::string_view kSection = ".nv_fatbin", kRelocatableSection = "__nv_relfatbin";
// A section's bytes of an ELF executable or shared object on disk. kNotFound if the file has none.
absl::StatusOr<std::vector<std::byte>> ReadSection(const std::string& path, std::string_view name = kSection);

}  // namespace wharf::device::fatbin
