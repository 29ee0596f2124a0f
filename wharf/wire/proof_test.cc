#include "wharf/wire/proof.h"

#include <gtest/gtest.h>

#include <set>

#include "wharf/wire/digest.h"

namespace wharf::wire {
namespace {

const TokenKey kKey = TokenKey::Of("a token", "client");

HandshakeFacts Facts() {
  HandshakeFacts facts{1, "client", {}, {}, "a connection"};
  facts.client.fill(1);
  facts.server.fill(2);
  return facts;
}

TEST(ProofTest, IsTheSameForBothEnds) {
  EXPECT_TRUE(
      Same(ProofOf(kKey, Side::kClient, Facts()), ProofOf(TokenKey::Of("a token", "client"), Side::kClient, Facts())));
}

// Whatever differs, the proof does.
TEST(ProofTest, IsWorthNothingElsewhere) {
  std::set<Mac> proofs = {ProofOf(kKey, Side::kClient, Facts()), ProofOf(kKey, Side::kServer, Facts()),
                          ProofOf(TokenKey::Of("a token", "worker"), Side::kClient, Facts()),
                          ProofOf(TokenKey::Of("a tokem", "client"), Side::kClient, Facts())};
  const auto with = [&](auto&& change) {
    HandshakeFacts facts = Facts();
    change(facts);
    proofs.insert(ProofOf(kKey, Side::kClient, facts));
  };
  with([](HandshakeFacts& facts) { facts.magic = 2; });
  with([](HandshakeFacts& facts) { facts.role = "worker"; });
  with([](HandshakeFacts& facts) { facts.binding = "another"; });
  with([](HandshakeFacts& facts) { facts.binding.clear(); });
  with([](HandshakeFacts& facts) { std::swap(facts.client, facts.server); });
  for (size_t i = 0; i < std::tuple_size_v<Nonce>; ++i) {
    with([i](HandshakeFacts& facts) { facts.client[i] ^= 1; });
    with([i](HandshakeFacts& facts) { facts.server[i] ^= 0x80; });
  }
  EXPECT_EQ(proofs.size(), 4 + 5 + 2 * std::tuple_size_v<Nonce>);
}

// What travels must not change without a new version of the protocols.
TEST(ProofTest, StaysWhatItIs) {
  EXPECT_EQ(HexOf(kKey.bytes), "bc069454ba0f7bb259e4f5834a364ab719c595223b7b462766d26cfefd38bc73");
  EXPECT_EQ(HexOf(ProofOf(kKey, Side::kClient, Facts())),
            "ae25fdbcb7e2259bbbbe604a17eb5557e958627cbd1dbd0a46037a6b5c174051");
  EXPECT_EQ(HexOf(ProofOf(kKey, Side::kServer, Facts())),
            "e6e436ee0fbd0341182e9efea7da5695b2f0a20aad1e077103b2d2e55cec089d");
}

TEST(ProofTest, SameLooksAtEveryByte) {
  Mac one{};
  for (size_t i = 0; i < one.size(); ++i) {
    Mac other{};
    other[i] = 1;
    EXPECT_FALSE(Same(one, other)) << i;
  }
  EXPECT_TRUE(Same(one, Mac{}));
}

TEST(ProofTest, NoncesAreNotRepeated) {
  std::set<Nonce> nonces;
  for (int i = 0; i < 100; ++i) nonces.insert(MakeNonce());
  EXPECT_EQ(nonces.size(), 100u);
}

}  // namespace
}  // namespace wharf::wire
