#include "wharf/device/fatbin/fatbin.h"

#include <lz4.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "absl/strings/cord.h"
#include "wharf/device/cuda_error.h"

namespace wharf::device::fatbin {
namespace {

constexpr uint16_t kContainerVersion = 1;
constexpr size_t kContainerHeader = 16;
constexpr size_t kEntryHeader = 64;  // at least; the entry says how much it really is
constexpr uint64_t kFlagLz4 = 0x2000;
constexpr uint64_t kFlagZstd = 0x8000;
constexpr uint64_t kMaxContainerBytes = uint64_t{1} << 36;
constexpr uint64_t kMaxTotalBytes = 4 * kMaxEntryBytes;
constexpr uint64_t kMaxLz4Ratio = 255;

// An entry as it stands in the container.
struct RawEntry {
  uint16_t kind = 0;
  uint32_t sm = 0;
  uint64_t flags = 0;
  uint64_t uncompressed_bytes = 0;
  std::span<const std::byte> payload;

  bool IsCompressed() const { return (flags & (kFlagLz4 | kFlagZstd)) != 0; }
};

template <typename T>
T Load(std::span<const std::byte> bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

// kDataLoss that the shims report as CUDA's "invalid image".
absl::Status Corrupt(std::string message) {
  absl::Status status(absl::StatusCode::kDataLoss, message);
  CudaStatus(CudaError::kInvalidImage, message).ForEachPayload([&status](const auto& url, const absl::Cord& payload) {
    status.SetPayload(url, payload);
  });
  return status;
}

absl::Status Malformed(std::string message) { return CudaStatus(CudaError::kInvalidImage, std::move(message)); }

// Reads the entry at the start of `bytes` and removes it from them.
absl::StatusOr<RawEntry> TakeEntry(std::span<const std::byte>& bytes) {
  if (bytes.size() < kEntryHeader) return Malformed("a fat binary's entry is cut short");
  const auto header_bytes = Load<uint32_t>(bytes, 4);
  const auto payload_bytes = Load<uint64_t>(bytes, 8);
  const auto compressed_bytes = Load<uint32_t>(bytes, 16);
  if (header_bytes < kEntryHeader || header_bytes > bytes.size() || payload_bytes > bytes.size() - header_bytes) {
    return Malformed(fmt::format("a fat binary's entry ({} + {} bytes) does not fit", header_bytes, payload_bytes));
  }
  RawEntry entry;
  entry.kind = Load<uint16_t>(bytes, 0);
  entry.sm = Load<uint32_t>(bytes, 28);
  entry.flags = Load<uint64_t>(bytes, 40);
  entry.uncompressed_bytes = Load<uint64_t>(bytes, 56);
  entry.payload = bytes.subspan(header_bytes, payload_bytes);
  if (entry.IsCompressed() && compressed_bytes != 0) {  // the payload is padded to eight bytes
    if (compressed_bytes > payload_bytes) return Malformed("a fat binary's entry is larger than its payload");
    entry.payload = entry.payload.first(compressed_bytes);
  }
  bytes = bytes.subspan(header_bytes + payload_bytes);
  return entry;
}

// Every entry of every container, nothing decompressed.
absl::StatusOr<std::vector<RawEntry>> List(std::span<const std::byte> bytes) {
  std::vector<RawEntry> entries;
  do {
    WHARF_ASSIGN_OR_RETURN(const uint64_t container_bytes, ContainerBytes(bytes));
    if (container_bytes > bytes.size()) {
      return Malformed(fmt::format("a fat binary of {} bytes is cut short at {}", container_bytes, bytes.size()));
    }
    const auto header_bytes = Load<uint16_t>(bytes, 6);
    auto rest = bytes.subspan(header_bytes, container_bytes - header_bytes);
    while (!rest.empty()) {
      WHARF_ASSIGN_OR_RETURN(const RawEntry entry, TakeEntry(rest));
      entries.push_back(entry);
    }
    bytes = bytes.subspan(container_bytes);
    const auto next = std::find_if(bytes.begin(), bytes.end(), [](std::byte b) { return b != std::byte{0}; });
    bytes = bytes.subspan(static_cast<size_t>(next - bytes.begin()));  // containers are aligned with zeroes
  } while (!bytes.empty());
  return entries;
}

absl::Status DecompressLz4(const RawEntry& entry, std::vector<std::byte>& out) {
  if (entry.uncompressed_bytes / kMaxLz4Ratio > entry.payload.size()) {
    return Corrupt("a fat binary's LZ4 entry promises more than it can hold");
  }
  out.resize(entry.uncompressed_bytes);
  const int written =
      LZ4_decompress_safe(reinterpret_cast<const char*>(entry.payload.data()), reinterpret_cast<char*>(out.data()),
                          static_cast<int>(entry.payload.size()), static_cast<int>(out.size()));
  if (written < 0 || static_cast<uint64_t>(written) != entry.uncompressed_bytes) {
    return Corrupt("a fat binary's LZ4 entry does not decompress");
  }
  return absl::OkStatus();
}

absl::Status DecompressZstd(const RawEntry& entry, std::vector<std::byte>& out) {
  const unsigned long long promised = ZSTD_getFrameContentSize(entry.payload.data(), entry.payload.size());
  if (promised != ZSTD_CONTENTSIZE_UNKNOWN && promised != entry.uncompressed_bytes) {
    return Corrupt("a fat binary's Zstandard entry is not of the size its header says");
  }
  out.resize(entry.uncompressed_bytes);
  const size_t written = ZSTD_decompress(out.data(), out.size(), entry.payload.data(), entry.payload.size());
  if (ZSTD_isError(written) != 0 || written != entry.uncompressed_bytes) {
    return Corrupt("a fat binary's Zstandard entry does not decompress");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::byte>> Decompress(const RawEntry& entry) {
  const uint64_t bytes = entry.IsCompressed() ? entry.uncompressed_bytes : entry.payload.size();
  if (bytes > kMaxEntryBytes || entry.payload.size() > kMaxEntryBytes) {
    return ResourceExhausted("a fat binary's entry of {} bytes; at most {} are accepted", bytes, kMaxEntryBytes);
  }
  std::vector<std::byte> out;
  if ((entry.flags & kFlagLz4) != 0) {
    WHARF_RETURN_IF_ERROR(DecompressLz4(entry, out));
  } else if ((entry.flags & kFlagZstd) != 0) {
    WHARF_RETURN_IF_ERROR(DecompressZstd(entry, out));
  } else {
    out.assign(entry.payload.begin(), entry.payload.end());
  }
  if (entry.kind == static_cast<uint16_t>(Kind::kPtx)) {
    while (!out.empty() && out.back() == std::byte{0}) out.pop_back();
  }
  return out;
}

bool IsKnown(uint16_t kind) {
  return kind == static_cast<uint16_t>(Kind::kPtx) || kind == static_cast<uint16_t>(Kind::kElf);
}

std::string AsText(std::span<const std::byte> bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

absl::Status NoPtx(std::string_view found) {
  return CudaStatus(CudaError::kNoBinaryForDevice,
                    "the program holds no PTX{}; rebuild it so that it does, for example with nvcc -arch=sm_75 or "
                    "-gencode arch=compute_75,code=compute_75",
                    found);
}

absl::Status NoPtxAmong(const std::vector<RawEntry>& entries) {
  std::vector<uint32_t> architectures;
  for (const RawEntry& entry : entries) {
    if (entry.kind == static_cast<uint16_t>(Kind::kElf)) architectures.push_back(entry.sm);
  }
  std::sort(architectures.begin(), architectures.end());
  architectures.erase(std::unique(architectures.begin(), architectures.end()), architectures.end());
  architectures.resize(std::min<size_t>(architectures.size(), 16));
  if (architectures.empty()) return NoPtx("");
  return NoPtx(fmt::format(", only machine code for sm_{}", fmt::join(architectures, ", sm_")));
}

// The entry with the highest architecture in [lowest, highest]; null if there is none.
const RawEntry* FindHighest(const std::vector<RawEntry>& entries, Kind kind, uint32_t lowest, uint32_t highest) {
  const RawEntry* best = nullptr;
  for (const RawEntry& entry : entries) {
    if (entry.kind != static_cast<uint16_t>(kind) || entry.sm < lowest || entry.sm > highest) continue;
    if (best == nullptr || entry.sm > best->sm) best = &entry;
  }
  return best;
}

bool IsContainer(std::span<const std::byte> image) {
  return image.size() >= kContainerHeader && Load<uint32_t>(image, 0) == kContainerMagic;
}

bool IsElf(std::span<const std::byte> image) {
  constexpr std::string_view kMagic = "\177ELF";
  return image.size() >= kMagic.size() && std::memcmp(image.data(), kMagic.data(), kMagic.size()) == 0;
}

// An image that is no container.
absl::StatusOr<std::string> PlainPtx(std::span<const std::byte> image) {
  std::string text = AsText(image);
  if (IsElf(image)) return NoPtx(", only machine code (a cubin)");
  if (text.find(".version") == std::string::npos) return Malformed("neither a fat binary nor PTX");
  return text;
}

}  // namespace

absl::StatusOr<uint64_t> ContainerBytes(std::span<const std::byte> header) {
  if (header.size() < kContainerHeader) return Malformed("a fat binary of less than 16 bytes");
  if (Load<uint32_t>(header, 0) != kContainerMagic) return Malformed("not a fat binary");
  if (const auto version = Load<uint16_t>(header, 4); version != kContainerVersion) {
    return Malformed(fmt::format("a fat binary of version {}; only 1 is known", version));
  }
  const auto header_bytes = Load<uint16_t>(header, 6);
  const auto body_bytes = Load<uint64_t>(header, 8);
  if (header_bytes < kContainerHeader || body_bytes > kMaxContainerBytes) {
    return Malformed(fmt::format("a fat binary of {} + {} bytes", header_bytes, body_bytes));
  }
  return header_bytes + body_bytes;
}

absl::StatusOr<std::vector<Entry>> Read(std::span<const std::byte> bytes) {
  WHARF_ASSIGN_OR_RETURN(const std::vector<RawEntry> raw_entries, List(bytes));
  std::vector<Entry> entries;
  uint64_t total = 0;
  for (const RawEntry& raw : raw_entries) {
    if (!IsKnown(raw.kind)) continue;
    WHARF_ASSIGN_OR_RETURN(std::vector<std::byte> data, Decompress(raw));
    total += data.size();
    if (total > kMaxTotalBytes) return ResourceExhausted("fat binaries of more than {} bytes", kMaxTotalBytes);
    entries.push_back({static_cast<Kind>(raw.kind), raw.sm, std::move(data)});
  }
  return entries;
}

absl::StatusOr<std::string> FindPtx(std::span<const std::byte> image) {
  if (!IsContainer(image)) return PlainPtx(image);
  WHARF_ASSIGN_OR_RETURN(const std::vector<RawEntry> entries, List(image));
  const RawEntry* best = FindHighest(entries, Kind::kPtx, 0, ~0u);
  if (best == nullptr) return NoPtxAmong(entries);
  WHARF_ASSIGN_OR_RETURN(const std::vector<std::byte> data, Decompress(*best));
  return AsText(data);
}

absl::StatusOr<std::string> FindPtxFor(std::span<const std::byte> image, uint32_t sm) {
  if (!IsContainer(image)) return PlainPtx(image);
  WHARF_ASSIGN_OR_RETURN(const std::vector<RawEntry> entries, List(image));
  const RawEntry* code = FindHighest(entries, Kind::kElf, sm / 10 * 10, sm);
  const RawEntry* best =
      code != nullptr ? FindHighest(entries, Kind::kPtx, code->sm, code->sm) : FindHighest(entries, Kind::kPtx, 0, sm);
  if (best == nullptr) return NoPtxAmong(entries);
  WHARF_ASSIGN_OR_RETURN(const std::vector<std::byte> data, Decompress(*best));
  return AsText(data);
}

absl::StatusOr<std::vector<std::byte>> FindMachineCode(std::span<const std::byte> image) {
  if (!IsContainer(image)) {
    if (!IsElf(image)) return NotFound("neither a fat binary nor machine code");
    return std::vector<std::byte>(image.begin(), image.end());
  }
  WHARF_ASSIGN_OR_RETURN(const std::vector<RawEntry> entries, List(image));
  const RawEntry* lowest = nullptr;
  for (const RawEntry& entry : entries) {
    if (entry.kind != static_cast<uint16_t>(Kind::kElf)) continue;
    if (lowest == nullptr || entry.sm < lowest->sm) lowest = &entry;
  }
  if (lowest == nullptr) return NotFound("a fat binary without machine code");
  return Decompress(*lowest);
}

}  // namespace wharf::device::fatbin
