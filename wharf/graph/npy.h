// NumPy's files of one array (.npy, format versions 1 to 3).
#pragma once

#include <cstddef>
#include <span>

#include "wharf/graph/tensor.h"

namespace wharf::graph {

// Whether these are the bytes of such a file, or mean to be.
bool IsNpy(std::span<const std::byte> bytes);
// kInvalidArgument, in words: not well-formed, Fortran order, another byte order, elements that tensors do not have, or
// a size that is not the shape's. Takes memory for as many bytes as there are. O(bytes).
absl::StatusOr<Constant> ParseNpy(std::span<const std::byte> bytes);

}  // namespace wharf::graph
