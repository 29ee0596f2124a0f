// Arbitrary bytes as the bulk of a message of rows: decoding must not crash, nor give other than the rows' size; and
// whatever is encoded exactly decodes again.
//
// The first byte picks the coding, the second the type, the rest is the bulk.
#include <array>
#include <cstdlib>

#include "wharf/split/codec/row_codec.h"

namespace wharf::split {
namespace {

using graph::ElementType;

void Require(bool condition) {
  if (!condition) std::abort();
}

const std::array<graph::TensorType, 4>& Types() {
  static const std::array<graph::TensorType, 4> kTypes = {{{ElementType::kFloat, {1, 8, 4, 5}},
                                                           {ElementType::kUint8, {1, 3, 16, 24}},
                                                           {ElementType::kUint8, {1, 16, 24, 1}},
                                                           {ElementType::kInt64, {7}}}};
  return kTypes;
}

void DecodeOne(const graph::TensorType& type, RowCodec codec, std::span<const std::byte> bulk) {
  const auto decoded = DecodeRows(type, codec, {bulk.begin(), bulk.end()});
  if (!decoded.ok()) return;
  Require(static_cast<int64_t>(decoded->size()) == type.Bytes());
  const auto again = DecodeRows(type, {RowCoding::kPacked, 0}, EncodeRows(type, {RowCoding::kPacked, 0}, *decoded));
  Require(again.ok() && *again == *decoded);
}

}  // namespace
}  // namespace wharf::split

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const auto coding = static_cast<wharf::split::RowCoding>(data[0] % 5);
  const bool jpeg = coding == wharf::split::RowCoding::kJpeg;
  const auto& types = wharf::split::Types();
  wharf::split::DecodeOne(types[data[1] % types.size()], {coding, jpeg ? uint8_t{90} : uint8_t{0}},
                          std::as_bytes(std::span(data, size)).subspan(2));
  return 0;
}
