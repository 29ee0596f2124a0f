// Encoding: how rows travel between device and server, and what that means for planning: bytes of each operator's rows,
// and the time it takes to encode and decode them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace wharf::split {

// What is done with the rows of one message. What a coding has no use for travels plain: other elements than float32
// when it halves, other tensors than images of bytes when it makes JPEGs.
enum class RowCoding : uint8_t {
  kPlain = 0,       // row-major, little-endian
  kPacked = 1,      // compressed without loss
  kHalf = 2,        // float32 rounded to 16 bits
  kPackedHalf = 3,  // and those compressed without loss
  kJpeg = 4,
};

struct RowCodec {
  RowCoding coding = RowCoding::kPlain;
  uint8_t quality = 0;  // of kJpeg: 1 to 100
  friend bool operator==(const RowCodec&, const RowCodec&) = default;
};

struct Encoding {
  RowCodec input;            // the model's input
  RowCodec rows;             // everything that is computed
  bool Exact() const;        // what arrives is what was sent
  std::string Text() const;  // "plain", "jpeg 90 input, packed half rows"
  friend bool operator==(const Encoding&, const Encoding&) = default;
};

// What planners may choose from: what is exact, and what is allowed besides. `jpeg_quality`: 1 to 100, of an input that
// is an image of bytes.
std::vector<Encoding> AllowedEncodings(bool half, std::optional<int> jpeg_quality);

// Of plans for models that were measured elsewhere: "f32", as the papers send tensors; "u8", the input as bytes; "f16",
// that and everything else as halves.
const std::vector<std::string>& NamedEncodings();

}  // namespace wharf::split
