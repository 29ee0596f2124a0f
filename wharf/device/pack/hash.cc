#include "wharf/device/pack/hash.h"

#include <openssl/evp.h>

#include <algorithm>
#include <new>

namespace wharf::device::pack {

Hasher::Hasher() : context_(EVP_MD_CTX_new()) {
  if (context_ == nullptr || EVP_DigestInit_ex(context_, EVP_sha256(), nullptr) != 1) throw std::bad_alloc();
}

Hasher::~Hasher() { EVP_MD_CTX_free(context_); }

void Hasher::Add(std::span<const std::byte> bytes) { EVP_DigestUpdate(context_, bytes.data(), bytes.size()); }

Hash Hasher::Finish() {
  Hash hash{};
  unsigned size = 0;
  EVP_DigestFinal_ex(context_, hash.data(), &size);
  return hash;
}

Hash HashOf(std::string_view text) {
  Hasher hasher;
  hasher.Add(std::as_bytes(std::span(text)));
  return hasher.Finish();
}

std::array<uint8_t, 16> KeyOf(std::string_view canonical_name) {
  const Hash hash = HashOf(canonical_name);
  std::array<uint8_t, 16> key{};
  std::copy_n(hash.begin(), key.size(), key.begin());
  return key;
}

}  // namespace wharf::device::pack
