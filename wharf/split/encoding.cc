#include "wharf/split/encoding.h"

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

}  // namespace wharf::split
