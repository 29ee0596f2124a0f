// MD2 (RFC 1319) and HMAC (RFC 2104) with it. Broken as a protection, and none here: it is what validity.h is made of.
// Debian's OpenSSL is built without it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace wharf::cudashim {

using Md2Digest = std::array<uint8_t, 16>;

Md2Digest Md2(std::span<const uint8_t> message);
// The key as long as one block, so that it is neither padded nor hashed.
Md2Digest HmacMd2(const std::array<uint8_t, 16>& key, std::span<const uint8_t> message);

}  // namespace wharf::cudashim
