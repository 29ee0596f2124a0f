#include "wharf/wire/proof.h"

#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include <cstdlib>
#include <span>
#include <vector>

#include "wharf/wire/codec.h"

namespace wharf::wire {
namespace {

Mac HmacOf(std::span<const uint8_t> key, std::span<const std::byte> message) {
  Mac mac{};
  unsigned size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(message.data()),
       message.size(), mac.data(), &size);
  if (size != mac.size()) std::abort();  // a proof of nothing would be every token's
  return mac;
}

// What is proved: encoded with lengths, so that no two of them look alike.
struct Statement {
  std::string what = "wharf proof 1";
  Side prover{};
  uint32_t magic = 0;
  std::string role;
  Nonce client{}, server{};
  std::string binding;
  auto Fields() { return std::tie(what, prover, magic, role, client, server, binding); }
};
struct RoleStatement {
  std::string what = "wharf role 1", role;
  auto Fields() { return std::tie(what, role); }
};

}  // namespace

Nonce MakeNonce() {
  Nonce nonce;
  // The kernel gives so few bytes whole, once it has started.
  if (getrandom(nonce.data(), nonce.size(), 0) != static_cast<ssize_t>(nonce.size())) std::abort();
  return nonce;
}

TokenKey::~TokenKey() { OPENSSL_cleanse(bytes.data(), bytes.size()); }

TokenKey TokenKey::Of(std::string_view token, std::string_view role) {
  TokenKey key;
  RoleStatement statement;
  statement.role = role;
  key.bytes = HmacOf({reinterpret_cast<const uint8_t*>(token.data()), token.size()}, Encode(statement));
  return key;
}

Mac ProofOf(const TokenKey& key, Side prover, const HandshakeFacts& facts) {
  Statement statement;
  statement.prover = prover;
  statement.magic = facts.magic;
  statement.role = facts.role;
  statement.client = facts.client;
  statement.server = facts.server;
  statement.binding = facts.binding;
  return HmacOf(key.bytes, Encode(statement));
}

bool Same(const Mac& one, const Mac& other) { return CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0; }

}  // namespace wharf::wire
