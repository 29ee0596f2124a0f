// Device code as programs hand it to a linker (nvJitLink, cuLinkAddData), and as they get it back. Input is hostile:
// every length is checked before it is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wharf/base/status.h"

namespace wharf::device::fatbin {

// The PTX of each part of what may be linked: PTX text itself, fat binaries one behind the other, a host's object with
// device code in it (nvcc -rdc=true -c), or an archive of such objects, whose members without device code count for
// nothing. Of a part with PTX for several architectures the highest. kUnimplemented if a part holds machine code only,
// kInvalidArgument if it is nothing of this or malformed, errors of Read besides.
absl::StatusOr<std::vector<std::string>> PtxOfParts(std::span<const std::byte> bytes);

// What NVRTC makes with -dlto: the compiler's own intermediate code.
bool IsLtoIr(std::span<const std::byte> bytes);

// PTX as an image that says how long it is, as machine code does: a fat binary that holds nothing else.
std::vector<std::byte> WrapPtx(std::string_view ptx);

}  // namespace wharf::device::fatbin
