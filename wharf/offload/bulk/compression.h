// LZ4 and zstd as the bulk's codecs use them. Knows nothing of frames.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "wharf/offload/bulk/bulk_coding.h"

namespace wharf::offload {

// Keeps the tables that compressing needs, made when they are first used: LZ4's are 16 KiB, zstd's about 1 MiB.
// Not thread-safe.
class Compressor {
 public:
  Compressor();
  ~Compressor();
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;

  // How many bytes of `out` it took; 0 if they do not fit there. REQUIRES: codec is not kNone; at most 1 GiB.
  size_t Compress(Codec codec, std::span<const std::byte> in, std::span<std::byte> out);

 private:
  struct Tables;
  const std::unique_ptr<Tables> tables_;
};

// The same for the way back. Not thread-safe.
class Decompressor {
 public:
  Decompressor();
  ~Decompressor();
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;

  // Fills `out`, for hostile bytes too. kDataLoss unless they are exactly that many bytes, compressed. REQUIRES: codec
  // is not kNone.
  absl::Status Decompress(Codec codec, std::span<const std::byte> in, std::span<std::byte> out);

 private:
  struct Tables;
  const std::unique_ptr<Tables> tables_;
};

// `difference` = payload - base, byte by byte, mod 256; and back, in place. REQUIRES: all are as long.
void Subtract(std::span<const std::byte> payload, std::span<const std::byte> base, std::span<std::byte> difference);
void Add(std::span<const std::byte> base, std::span<std::byte> payload);

}  // namespace wharf::offload
