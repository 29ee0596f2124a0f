// Clients' pictures as they travel: JPEGs of strangers into pixels.
#pragma once

#include <cstddef>
#include <span>

#include "wharf/base/status.h"
#include "wharf/scene/scene.h"

namespace wharf::ar {

// kInvalidArgument: no JPEG of that size, whatever it says of itself, or a damaged one. Its size is checked before
// memory is taken for its pixels.
absl::StatusOr<scene::Image> DecodePicture(std::span<const std::byte> jpeg, int width, int height);

}  // namespace wharf::ar
