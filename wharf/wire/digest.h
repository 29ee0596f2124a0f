// What names a file by its content.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace wharf::wire {

using Sha256 = std::array<uint8_t, 32>;

Sha256 HashOf(std::span<const std::byte> bytes);
// 64 lower-case hexadecimal digits.
std::string HexOf(const Sha256& hash);

}  // namespace wharf::wire
