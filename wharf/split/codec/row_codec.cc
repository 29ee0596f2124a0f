#include "wharf/split/codec/row_codec.h"

#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "wharf/split/codec/half.h"
#include "wharf/split/codec/jpeg.h"

namespace wharf::split {
namespace {

using graph::ElementType;
using graph::TensorType;
using Bytes = std::vector<std::byte>;

bool Halves(const TensorType& type, RowCodec codec) {
  const bool half = codec.coding == RowCoding::kHalf || codec.coding == RowCoding::kPackedHalf;
  return half && type.element == ElementType::kFloat;
}

// --- JPEG ---

struct ImageLayout {
  int width = 0, height = 0, channels = 0;
  bool planar = false;  // one channel after the other
};

// One image of bytes, of one or three channels, [1, channels, height, width] or [1, height, width, channels]. One or
// three rows of the latter look like the former, to both sides.
std::optional<ImageLayout> LayoutOf(const TensorType& type) {
  const auto is_channels = [](int64_t n) { return n == 1 || n == 3; };
  if (type.element != ElementType::kUint8 || type.Rank() != 4 || type.shape[0] != 1) return std::nullopt;
  const bool planar = is_channels(type.shape[1]);
  const int64_t channels = planar ? type.shape[1] : type.shape[3];
  const int64_t height = planar ? type.shape[2] : type.shape[1], width = planar ? type.shape[3] : type.shape[2];
  const bool fits = height >= 1 && width >= 1 && height <= kMaxImageSide && width <= kMaxImageSide;
  if (!is_channels(channels) || !fits || height * width > kMaxImagePixels) return std::nullopt;
  return ImageLayout{static_cast<int>(width), static_cast<int>(height), static_cast<int>(channels), planar};
}

// Between one channel after the other and the channels of each pixel side by side.
void Transpose(const uint8_t* from, uint8_t* to, size_t rows, size_t columns) {
  for (size_t row = 0; row < rows; ++row) {
    for (size_t column = 0; column < columns; ++column) to[column * rows + row] = from[row * columns + column];
  }
}

Bytes ToJpeg(const ImageLayout& layout, int quality, Bytes plain) {
  Image image{layout.width, layout.height, layout.channels, std::vector<uint8_t>(plain.size())};
  const auto* const from = reinterpret_cast<const uint8_t*>(plain.data());
  const size_t channels = layout.planar ? layout.channels : 1;
  Transpose(from, image.pixels.data(), channels, plain.size() / channels);
  auto jpeg = EncodeJpeg(image, quality);
  return jpeg.ok() && jpeg->size() < plain.size() ? *std::move(jpeg) : std::move(plain);
}

absl::StatusOr<Bytes> FromJpeg(const ImageLayout& layout, const Bytes& coded) {
  WHARF_ASSIGN_OR_RETURN(const ImageSize size, JpegSize(coded));
  if (size.width != layout.width || size.height != layout.height) {
    return InvalidArgument("a JPEG of {} x {} pixels came for rows of {} x {}", size.width, size.height, layout.width,
                           layout.height);
  }
  WHARF_ASSIGN_OR_RETURN(const Image image, DecodeSentJpeg(coded, layout.channels));
  Bytes plain(image.pixels.size());
  const size_t channels = layout.planar ? layout.channels : 1;
  Transpose(image.pixels.data(), reinterpret_cast<uint8_t*>(plain.data()), plain.size() / channels, channels);
  return plain;
}

// --- halves ---

Bytes ToHalves(const Bytes& floats) {
  Bytes halves(floats.size() / 2);
  for (size_t i = 0; i < halves.size() / 2; ++i) {
    float number = 0;
    std::memcpy(&number, &floats[4 * i], sizeof(number));
    const uint16_t half = ToHalf(number);
    std::memcpy(&halves[2 * i], &half, sizeof(half));
  }
  return halves;
}

Bytes FromHalves(const Bytes& halves) {
  Bytes floats(halves.size() * 2);
  for (size_t i = 0; i < halves.size() / 2; ++i) {
    uint16_t half = 0;
    std::memcpy(&half, &halves[2 * i], sizeof(half));
    const float number = FromHalf(half);
    std::memcpy(&floats[4 * i], &number, sizeof(number));
  }
  return floats;
}

// --- compressing ---

// The first bytes of all elements, then the second ones: exponents lie beside exponents. Single bytes, mostly of
// images, become differences from the one before.
Bytes Arranged(const Bytes& bytes, size_t element) {
  Bytes arranged(bytes.size());
  if (element > 1) {
    Transpose(reinterpret_cast<const uint8_t*>(bytes.data()), reinterpret_cast<uint8_t*>(arranged.data()),
              bytes.size() / element, element);
    return arranged;
  }
  uint8_t before = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const auto now = static_cast<uint8_t>(bytes[i]);
    arranged[i] = static_cast<std::byte>(now - std::exchange(before, now));
  }
  return arranged;
}

Bytes Rearranged(const Bytes& arranged, size_t element) {
  Bytes bytes(arranged.size());
  if (element > 1) {
    Transpose(reinterpret_cast<const uint8_t*>(arranged.data()), reinterpret_cast<uint8_t*>(bytes.data()), element,
              bytes.size() / element);
    return bytes;
  }
  uint8_t sum = 0;
  for (size_t i = 0; i < arranged.size(); ++i) {
    sum = static_cast<uint8_t>(sum + static_cast<uint8_t>(arranged[i]));
    bytes[i] = std::byte{sum};
  }
  return bytes;
}

// The tables of a compressor take longer to make than rows to compress.
ZSTD_CCtx* Compressor() {
  thread_local const std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(), ZSTD_freeCCtx);
  return context.get();
}

Bytes Pack(Bytes bytes, size_t element) {
  constexpr int kLevel = 1;  // others are slower than what they save is worth on a link
  const Bytes arranged = Arranged(bytes, element);
  Bytes packed(ZSTD_compressBound(arranged.size()));
  const size_t size =
      ZSTD_compressCCtx(Compressor(), packed.data(), packed.size(), arranged.data(), arranged.size(), kLevel);
  if (ZSTD_isError(size) != 0 || size >= bytes.size()) return bytes;
  packed.resize(size);
  return packed;
}

absl::StatusOr<Bytes> Unpack(const Bytes& packed, size_t bytes, size_t element) {
  if (ZSTD_getFrameContentSize(packed.data(), packed.size()) != bytes) {
    return InvalidArgument("compressed rows that are not {} bytes", bytes);
  }
  Bytes arranged(bytes);
  const size_t size = ZSTD_decompress(arranged.data(), arranged.size(), packed.data(), packed.size());
  if (ZSTD_isError(size) != 0 || size != bytes) return InvalidArgument("compressed rows are damaged");
  return Rearranged(arranged, element);
}

bool Packs(RowCodec codec) { return codec.coding == RowCoding::kPacked || codec.coding == RowCoding::kPackedHalf; }

size_t ElementBytes(const TensorType& type, RowCodec codec) {
  return Halves(type, codec) ? sizeof(uint16_t) : graph::ByteSize(type.element);
}

}  // namespace

int64_t MaxCodedBytes(const TensorType& type, RowCodec codec) {
  return type.Elements() * static_cast<int64_t>(ElementBytes(type, codec));
}

absl::Status CheckCodedBytes(const TensorType& type, RowCodec codec, uint64_t bytes) {
  const auto most = static_cast<uint64_t>(MaxCodedBytes(type, codec));
  const bool shrinks = Packs(codec) || (codec.coding == RowCoding::kJpeg && LayoutOf(type));
  if (bytes == most || (shrinks && bytes > 0 && bytes < most)) return absl::OkStatus();
  return InvalidArgument("{} bytes came for {}", bytes, type.Text());
}

std::vector<std::byte> EncodeRows(const TensorType& type, RowCodec codec, Bytes plain) {
  if (codec.coding == RowCoding::kJpeg) {
    const auto layout = LayoutOf(type);
    return layout ? ToJpeg(*layout, codec.quality, std::move(plain)) : plain;
  }
  Bytes bytes = Halves(type, codec) ? ToHalves(plain) : std::move(plain);
  return Packs(codec) ? Pack(std::move(bytes), ElementBytes(type, codec)) : bytes;
}

absl::StatusOr<std::vector<std::byte>> DecodeRows(const TensorType& type, RowCodec codec, Bytes coded) {
  WHARF_RETURN_IF_ERROR(CheckCodedBytes(type, codec, coded.size()));
  const auto most = static_cast<size_t>(MaxCodedBytes(type, codec));
  if (coded.size() < most) {
    if (codec.coding == RowCoding::kJpeg) return FromJpeg(*LayoutOf(type), coded);
    WHARF_ASSIGN_OR_RETURN(coded, Unpack(coded, most, ElementBytes(type, codec)));
  }
  return Halves(type, codec) ? FromHalves(coded) : std::move(coded);
}

}  // namespace wharf::split
