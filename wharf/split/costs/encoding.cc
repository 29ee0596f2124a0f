#include "wharf/split/costs/encoding.h"

#include "wharf/base/status.h"

namespace wharf::split {
namespace {

bool IsExact(RowCoding coding) { return coding == RowCoding::kPlain || coding == RowCoding::kPacked; }

std::string TextOf(RowCodec codec) {
  switch (codec.coding) {
    case RowCoding::kPlain:
      return "plain";
    case RowCoding::kPacked:
      return "packed";
    case RowCoding::kHalf:
      return "half";
    case RowCoding::kPackedHalf:
      return "packed half";
    case RowCoding::kJpeg:
      break;
  }
  return fmt::format("jpeg {}", codec.quality);
}

}  // namespace

bool Encoding::Exact() const { return IsExact(input.coding) && IsExact(rows.coding); }

std::string Encoding::Text() const {
  if (input == rows) return TextOf(rows);
  return fmt::format("{} input, {} rows", TextOf(input), TextOf(rows));
}

std::vector<Encoding> AllowedEncodings(bool half, std::optional<int> jpeg_quality) {
  constexpr RowCodec kPlain{RowCoding::kPlain, 0}, kPacked{RowCoding::kPacked, 0}, kHalf{RowCoding::kHalf, 0},
      kPackedHalf{RowCoding::kPackedHalf, 0};
  std::vector<Encoding> encodings = {{kPlain, kPlain}, {kPacked, kPacked}};
  if (half) encodings.insert(encodings.end(), {{kHalf, kHalf}, {kPackedHalf, kPackedHalf}});
  if (!jpeg_quality) return encodings;
  const RowCodec jpeg{RowCoding::kJpeg, static_cast<uint8_t>(*jpeg_quality)};
  encodings.push_back({jpeg, kPacked});
  if (half) encodings.push_back({jpeg, kPackedHalf});
  return encodings;
}

const std::vector<std::string>& NamedEncodings() {
  static const std::vector<std::string> names = {"f32", "u8", "f16"};
  return names;
}

}  // namespace wharf::split
