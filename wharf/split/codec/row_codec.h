// Rows as they travel: the bytes of a tensor's rows made smaller for the link, and back (split/costs/encoding.h). Runs
// on the threads that send and receive, not on the one that computes. The format: docs/protocol.md, "Split sessions".
//
//   EncodeRows(type, codec, bytes) → a message's bulk → DecodeRows(type, codec, bulk)
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/graph/tensor.h"
#include "wharf/split/costs/encoding.h"

namespace wharf::split {

// The most bytes that rows of this type take: exactly as many unless compressed.
int64_t MaxCodedBytes(const graph::TensorType& type, RowCodec codec);
// Whether a message of so many bytes can be rows of this type: before memory is taken for it. kInvalidArgument.
absl::Status CheckCodedBytes(const graph::TensorType& type, RowCodec codec, uint64_t bytes);

// What compressing does not make smaller travels as it was, and is known by its size. Of kHalf, float32 beyond ±65504
// becomes that, infinities and NaN stay, and the error is at most the larger of 2^-11 of the number and 2^-25.
// REQUIRES: plain.size() == type.Bytes().
std::vector<std::byte> EncodeRows(const graph::TensorType& type, RowCodec codec, std::vector<std::byte> plain);
// As many bytes as the type has. Safe on hostile bytes: takes memory for that and no more. kInvalidArgument: they are
// not what EncodeRows makes of such rows.
absl::StatusOr<std::vector<std::byte>> DecodeRows(const graph::TensorType& type, RowCodec codec,
                                                  std::vector<std::byte> coded);

}  // namespace wharf::split
