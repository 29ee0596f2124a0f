#include "wharf/offload/bulk/compression.h"

#include <lz4.h>
#include <zstd.h>

namespace wharf::offload {
namespace {

// Others are slower than what they save is worth on a link that is not very slow.
constexpr int kZstdLevel = 1;

const char* Chars(std::span<const std::byte> bytes) { return reinterpret_cast<const char*>(bytes.data()); }
char* Chars(std::span<std::byte> bytes) { return reinterpret_cast<char*>(bytes.data()); }

template <typename Context, size_t (*free)(Context*)>
struct Freeing {
  void operator()(Context* context) const { free(context); }
};

}  // namespace

// On the heap: the stack is the program's.
struct Compressor::Tables {
  std::unique_ptr<std::byte[]> lz4;
  std::unique_ptr<ZSTD_CCtx, Freeing<ZSTD_CCtx, ZSTD_freeCCtx>> zstd;
};

Compressor::Compressor() : tables_(std::make_unique<Tables>()) {}
Compressor::~Compressor() = default;

size_t Compressor::Compress(Codec codec, std::span<const std::byte> in, std::span<std::byte> out) {
  if (codec == Codec::kLz4) {
    if (tables_->lz4 == nullptr) tables_->lz4.reset(new std::byte[static_cast<size_t>(LZ4_sizeofState())]);
    const int size = LZ4_compress_fast_extState(tables_->lz4.get(), Chars(in), Chars(out), static_cast<int>(in.size()),
                                                static_cast<int>(out.size()), /*acceleration=*/1);
    return size > 0 ? static_cast<size_t>(size) : 0;
  }
  if (tables_->zstd == nullptr) tables_->zstd.reset(ZSTD_createCCtx());
  if (tables_->zstd == nullptr) return 0;
  const size_t size = ZSTD_compressCCtx(tables_->zstd.get(), out.data(), out.size(), in.data(), in.size(), kZstdLevel);
  return ZSTD_isError(size) != 0 ? 0 : size;
}

struct Decompressor::Tables {
  std::unique_ptr<ZSTD_DCtx, Freeing<ZSTD_DCtx, ZSTD_freeDCtx>> zstd;
};

Decompressor::Decompressor() : tables_(std::make_unique<Tables>()) {}
Decompressor::~Decompressor() = default;

absl::Status Decompressor::Decompress(Codec codec, std::span<const std::byte> in, std::span<std::byte> out) {
  if (codec == Codec::kLz4) {
    const int size =
        LZ4_decompress_safe(Chars(in), Chars(out), static_cast<int>(in.size()), static_cast<int>(out.size()));
    if (size < 0 || static_cast<size_t>(size) != out.size()) return DataLoss("compressed data are damaged");
    return absl::OkStatus();
  }
  // A frame says how much it becomes: one that lies is known before any work is done for it.
  if (ZSTD_getFrameContentSize(in.data(), in.size()) != out.size()) {
    return DataLoss("compressed data that are not {} bytes", out.size());
  }
  if (tables_->zstd == nullptr) tables_->zstd.reset(ZSTD_createDCtx());
  if (tables_->zstd == nullptr) return ResourceExhausted("no memory to decompress data");
  const size_t size = ZSTD_decompressDCtx(tables_->zstd.get(), out.data(), out.size(), in.data(), in.size());
  if (ZSTD_isError(size) != 0 || size != out.size()) return DataLoss("compressed data are damaged");
  return absl::OkStatus();
}

void Subtract(std::span<const std::byte> payload, std::span<const std::byte> base, std::span<std::byte> difference) {
  for (size_t i = 0; i < difference.size(); ++i) {
    difference[i] = static_cast<std::byte>(static_cast<uint8_t>(payload[i]) - static_cast<uint8_t>(base[i]));
  }
}

void Add(std::span<const std::byte> base, std::span<std::byte> payload) {
  for (size_t i = 0; i < payload.size(); ++i) {
    payload[i] = static_cast<std::byte>(static_cast<uint8_t>(payload[i]) + static_cast<uint8_t>(base[i]));
  }
}

}  // namespace wharf::offload
