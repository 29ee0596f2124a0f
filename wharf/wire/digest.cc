#include "wharf/wire/digest.h"

#include <fmt/format.h>
#include <openssl/evp.h>

namespace wharf::wire {

Sha256 HashOf(std::span<const std::byte> bytes) {
  Sha256 hash;
  unsigned size = 0;
  EVP_Digest(bytes.data(), bytes.size(), hash.data(), &size, EVP_sha256(), nullptr);
  return hash;
}

std::string HexOf(const Sha256& hash) {
  std::string digits;
  for (const uint8_t byte : hash) digits += fmt::format("{:02x}", byte);
  return digits;
}

}  // namespace wharf::wire
