// NumPy's files: of one array (.npy, format versions 1 to 3), and of several by their names (.npz).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "wharf/graph/tensor.h"

namespace wharf::graph {

// Whether these are the bytes of such a file, or mean to be.
bool IsNpy(std::span<const std::byte> bytes);
// kInvalidArgument, in words: not well-formed, Fortran order, another byte order, elements that tensors do not have, or
// a size that is not the shape's. Takes memory for as many bytes as there are. O(bytes).
absl::StatusOr<Constant> ParseNpy(std::span<const std::byte> bytes);

// Format version 1, C order.
std::vector<std::byte> ToNpy(const Constant& array);
// A ZIP archive of such files, not compressed, as numpy.savez writes it. kResourceExhausted: more than 4 GiB or 65,535
// arrays, which its format cannot say. kInvalidArgument: a name of more than 60,000 bytes.
absl::StatusOr<std::vector<std::byte>> ToNpz(std::span<const std::pair<std::string, Constant>> arrays);

}  // namespace wharf::graph
