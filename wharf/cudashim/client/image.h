// A program image: fat binary, cubin or PTX text, wherever it lies, and what the client reads from it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/device/ptx/ast.h"

namespace wharf::client {

// The bytes of an image given by its address alone, its length found from its content: a registration wrapper, a fat
// binary, an ELF image or NUL-terminated PTX. kInvalidImage if it is none of them.
absl::StatusOr<std::span<const std::byte>> MeasureImage(const void* image);
// The containers that nvcc's device linker made a wrapper's image of (-rdc=true); none if it was not.
std::vector<const void*> LinkedParts(const void* wrapper);
// The PTX of such containers, linked. kNoBinaryForDevice if one has none.
absl::StatusOr<std::string> LinkParts(std::span<const void* const> parts);

// The parsed module-level PTX of an image. kNoBinaryForDevice, with the way out, if it has none; kInvalidPtx.
absl::StatusOr<std::shared_ptr<const device::ptx::Module>> ParseImage(std::span<const std::byte> image);

}  // namespace wharf::client
