// The two places where an operation of the program can run.
#pragma once

#include <cstdint>

namespace wharf::offload {

enum class Side : uint8_t { kLocal, kRemote };  // the client's own device; the server's
inline constexpr Side Other(Side side) { return side == Side::kLocal ? Side::kRemote : Side::kLocal; }

}  // namespace wharf::offload
