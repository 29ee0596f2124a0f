// What a BulkEncoder makes of payloads, a BulkDecoder makes good again, and what it did not make is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <random>

#include "wharf/offload/bulk/bulk_decoder.h"
#include "wharf/offload/bulk/bulk_encoder.h"
#include "wharf/offload/bulk/incoming_bulk.h"
#include "wharf/offload/bulk/remembered_payloads.h"

namespace wharf::offload {
namespace {

using Payload = std::vector<std::byte>;
using Memory = BulkEncoder::Memory;

constexpr double kSlow = 1e6;      // bit/s
constexpr double kMachine = 1e12;  // within a machine

Payload Noise(size_t bytes, uint32_t seed) {
  std::mt19937 random(seed);
  Payload payload(bytes);
  for (std::byte& byte : payload) byte = static_cast<std::byte>(random());
  return payload;
}

// Rows of a picture: steady colours, with noise of one bit.
Payload Picture(size_t bytes, uint32_t seed) {
  std::mt19937 random(seed);
  Payload payload(bytes);
  for (size_t i = 0; i < bytes; ++i) payload[i] = static_cast<std::byte>((i / 700) * 3 + (random() & 1));
  return payload;
}

// Both ends of one direction.
struct Ends {
  EncodedBulk Send(const Place& place, const Payload& payload, double rate = kSlow, Memory memory = Memory::kPlaces) {
    const EncodedBulk sent = encoder.Encode(place, memory, payload, rate);
    coding = CodingOf(sent.flags).value();
    bulk.assign(sent.bytes.begin(), sent.bytes.end());
    return sent;
  }
  absl::StatusOr<Payload> Receive(const Place& place) { return decoder.Decode(coding, place, bulk); }

  BulkEncoder encoder;
  BulkDecoder decoder;
  BulkCoding coding;
  Payload bulk;
};

// A payload may be new, one that was sent before, or one of these with some bytes changed; to places that repeat.
class RandomPayloads {
 public:
  Payload Next(size_t bytes) {
    Payload payload = *rc::gen::arbitrary<bool>() ? Noise(bytes, *rc::gen::arbitrary<uint32_t>())
                                                  : Picture(bytes, *rc::gen::arbitrary<uint32_t>());
    const int how = *rc::gen::inRange(0, 4);
    if (how > 0 && !sent_.empty()) {
      const Payload& before = sent_[*rc::gen::inRange<size_t>(0, sent_.size())];
      std::copy_n(before.begin(), std::min(before.size(), bytes), payload.begin());
    }
    if (how == 2 && bytes > 0) payload[*rc::gen::inRange<size_t>(0, bytes)] ^= std::byte{1};
    sent_.push_back(payload);
    return payload;
  }

 private:
  std::vector<Payload> sent_;
};

RC_GTEST_PROP(BulkProperty, EverySequenceOfPayloadsComesOutAsItWentIn, ()) {
  Ends ends;
  RandomPayloads payloads;
  constexpr size_t kSizes[] = {0, 1, 4096, 4097, 5000, 24 << 10, 70'000, 200'000};
  const int count = *rc::gen::inRange(1, 40);
  for (int i = 0; i < count; ++i) {
    const size_t bytes = *rc::gen::elementOf(std::vector<size_t>(std::begin(kSizes), std::end(kSizes)));
    const Place place{static_cast<uint64_t>(*rc::gen::inRange(0, 3)), bytes};
    const double rate = *rc::gen::element(kSlow, kSlow, 1e8, kMachine, 0.0);
    const Payload payload = payloads.Next(bytes);
    ends.Send(place, payload, rate, *rc::gen::element(Memory::kPlaces, Memory::kPlaces, Memory::kNone));
    RC_ASSERT(ends.bulk.size() <= payload.size());
    const auto received = ends.Receive(place);
    RC_ASSERT(received.ok());
    RC_ASSERT(*received == payload);
    RC_ASSERT(ends.decoder.remembered_bytes() == ends.encoder.remembered_bytes());
    RC_ASSERT(ends.decoder.remembered_bytes() <= kMostRememberedBytes);
  }
}

TEST(RememberedPayloadsTest, TheOldestMakeRoom) {
  RememberedPayloads remembered;
  constexpr size_t kBytes = 3 << 20;
  const auto remember = [&](uint64_t address) {
    remembered.Remember({address, kBytes}, Payload(kBytes, static_cast<std::byte>(address)));
  };
  for (uint64_t address = 1; address <= 5; ++address) remember(address);
  EXPECT_EQ(remembered.bytes(), 15u << 20);
  remember(1);  // now 2 is the oldest
  remember(6);
  EXPECT_EQ(remembered.bytes(), 15u << 20);
  EXPECT_TRUE(remembered.Find({2, kBytes}).empty());
  EXPECT_EQ(remembered.Find({1, kBytes}).front(), std::byte{1});
  EXPECT_EQ(remembered.FindLatest(kBytes).front(), std::byte{6});
  EXPECT_TRUE(remembered.FindLatest(kBytes + 1).empty());
}

TEST(RememberedPayloadsTest, ThatTheLatestOfASizeIsForgottenLeavesNone) {
  RememberedPayloads remembered;
  remembered.Remember({1, 10}, Payload(10));
  remembered.Remember({2, 10}, Payload(10));
  for (uint64_t i = 0; i < kMostRememberedPlaces - 1; ++i) remembered.Remember({i, 20}, Payload(20));
  EXPECT_FALSE(remembered.FindLatest(10).empty());
  EXPECT_TRUE(remembered.Find({1, 10}).empty());
  remembered.Remember({kMostRememberedPlaces, 20}, Payload(20));
  EXPECT_TRUE(remembered.FindLatest(10).empty());
  EXPECT_EQ(remembered.places(), kMostRememberedPlaces);
}

TEST(BulkTest, PayloadsToThePlaceOfAlikeOnesTravelAsDifferences) {
  Ends ends;
  const Place place{1, 100'000};
  Payload payload = Noise(100'000, 1);  // which no codec makes smaller
  for (int i = 0; i < 3; ++i) {
    ends.Send(place, payload);
    ASSERT_EQ(ends.Receive(place).value(), payload);
    payload[static_cast<size_t>(i) * 1000] ^= std::byte{0x55};
  }
  EXPECT_TRUE(ends.coding.difference);
  EXPECT_LT(ends.bulk.size(), 1000u);
  const BulkTraffic traffic = ends.encoder.Counters();
  EXPECT_EQ(traffic.differences, 1u);
  EXPECT_EQ(traffic.plain.payloads, 2u);
  EXPECT_EQ(traffic.plain.before + traffic.lz4.before + traffic.zstd.before, 300'000u);
  EXPECT_EQ(ends.decoder.Counters().differences, 1u);
}

// As programs have it whose allocator gives them another address each time.
TEST(BulkTest, AlikePayloadsToOtherPlacesTravelAsDifferencesToo) {
  Ends ends;
  Payload payload = Noise(100'000, 1);
  for (uint64_t i = 0; i < 10; ++i) {
    const Place place{i, payload.size()};
    ends.Send(place, payload);
    ASSERT_EQ(ends.Receive(place).value(), payload);
    payload[i * 1000] ^= std::byte{0x55};
    if (i < 2) continue;
    EXPECT_TRUE(ends.coding.difference && ends.coding.latest) << i;
    EXPECT_LT(ends.bulk.size(), 1000u);
  }
}

// Two cameras: each picture is like the one before of the same camera, and not like the other's.
TEST(BulkTest, OfPayloadsThatTakeTurnsEachDiffersFromItsOwn) {
  Ends ends;
  Payload payloads[] = {Noise(100'000, 1), Noise(100'000, 2)};
  size_t sent = 0;
  for (uint64_t i = 0; i < 100; ++i) {
    Payload& payload = payloads[i % 2];
    payload[i] ^= std::byte{0x55};
    const Place place{i % 2, payload.size()};
    ends.Send(place, payload);
    ASSERT_EQ(ends.Receive(place).value(), payload);
    sent += ends.bulk.size();
  }
  EXPECT_LT(sent, 20 * payloads[0].size());
}

TEST(BulkTest, WhatIsSmallOrOnAFastOrUnknownLinkTravelsAsItIs) {
  Ends ends;
  const Payload small(kLeastCodedBytes), zeros(1 << 20);
  EXPECT_EQ(ends.Send({1, small.size()}, small).bytes.data(), small.data());
  for (const double rate : {kMachine, 10e9, 0.0}) {
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(ends.Send({2, zeros.size()}, zeros, rate).bytes.data(), zeros.data());
      EXPECT_EQ(ends.coding, BulkCoding());
    }
  }
  EXPECT_EQ(ends.encoder.Counters().nanoseconds, 0u);
  EXPECT_EQ(ends.encoder.remembered_bytes(), 0u);
  EXPECT_LT(ends.Send({2, zeros.size()}, zeros).bytes.size(), zeros.size() / 100);
}

TEST(BulkTest, WithoutMemoryNothingIsRemembered) {
  Ends ends;
  const Payload payload = Noise(50'000, 3);
  for (int i = 0; i < 5; ++i) {
    ends.Send({0, payload.size()}, payload, kSlow, Memory::kNone);
    EXPECT_EQ(ends.coding, BulkCoding());
  }
}

// --- a hostile sender ---

struct Hostile {
  BulkCoding coding;
  Place place;
  Payload bulk;
};

class BulkDecoderTest : public ::testing::Test {
 protected:
  // A payload of zeros, compressed, with a prefix that says `declared`.
  static Payload Coded(Codec codec, size_t bytes, uint32_t declared) {
    Payload coded(bytes + 64);
    std::memcpy(coded.data(), &declared, kCodedPrefixBytes);
    Compressor compressor;
    const size_t size = compressor.Compress(codec, Payload(bytes), std::span(coded).subspan(kCodedPrefixBytes));
    EXPECT_GT(size, 0u);
    coded.resize(kCodedPrefixBytes + size);
    return coded;
  }
  absl::StatusCode Code(const BulkCoding& coding, const Place& place, Payload bulk) {
    return decoder_.Decode(coding, place, std::move(bulk)).status().code();
  }

  BulkDecoder decoder_;
};

constexpr absl::StatusCode kLoss = absl::StatusCode::kDataLoss;

TEST_F(BulkDecoderTest, RefusesFlagsOfNoCoding) {
  for (const unsigned flags : {0x3u, 0xfu, 0x10u, 0x30u, 0x40u, 0x41u, 0x50u, 0x81u, 0x8001u}) {
    EXPECT_EQ(CodingOf(static_cast<uint16_t>(flags)).status().code(), kLoss) << flags;
  }
  for (const unsigned flags : {0x0u, 0x1u, 0x2u, 0x11u, 0x20u, 0x32u, 0x51u, 0x72u}) {
    ASSERT_TRUE(CodingOf(static_cast<uint16_t>(flags)).ok()) << flags;
    EXPECT_EQ(CodingOf(static_cast<uint16_t>(flags))->Flags(), flags);
  }
}

TEST_F(BulkDecoderTest, RefusesDifferencesFromWhatItDoesNotHold) {
  const Place place{1, 10'000}, other{2, 10'000}, longer{1, 10'001};
  ASSERT_TRUE(decoder_.Decode({Codec::kNone, false, true}, place, Noise(10'000, 1)).ok());
  const BulkCoding difference{Codec::kLz4, true, false};
  EXPECT_EQ(Code(difference, other, Coded(Codec::kLz4, 10'000, 10'000)), kLoss);
  EXPECT_EQ(Code(difference, longer, Coded(Codec::kLz4, 10'001, 10'001)), kLoss);
  const BulkCoding latest{Codec::kLz4, true, false, true};
  EXPECT_EQ(Code(latest, longer, Coded(Codec::kLz4, 10'001, 10'001)), kLoss);
  EXPECT_EQ(decoder_.Decode(latest, other, Coded(Codec::kLz4, 10'000, 10'000)).value(), Noise(10'000, 1));
  EXPECT_EQ(decoder_.Decode(difference, place, Coded(Codec::kLz4, 10'000, 10'000)).value(), Noise(10'000, 1));
}

TEST_F(BulkDecoderTest, RefusesWhatBecomesMoreOrLessThanItShould) {
  for (const Codec codec : {Codec::kLz4, Codec::kZstd}) {
    const BulkCoding coding{codec, false, false};
    const Place place{1, 10'000};
    EXPECT_EQ(Code(coding, place, Coded(codec, 10'000, 9'999)), kLoss);
    EXPECT_EQ(Code(coding, place, Coded(codec, 16 << 20, 10'000)), kLoss) << "a bomb";
    EXPECT_EQ(Code(coding, place, Coded(codec, 9'999, 10'000)), kLoss);
    EXPECT_EQ(Code(coding, place, Payload(4)), kLoss);
    EXPECT_EQ(Code(coding, place, Payload(10'000)), kLoss) << "not smaller";
    Payload damaged = Coded(codec, 10'000, 10'000);
    damaged.resize(damaged.size() - 1);
    EXPECT_EQ(Code(coding, place, damaged), kLoss);
    EXPECT_TRUE(decoder_.Decode(coding, place, Coded(codec, 10'000, 10'000)).ok());
  }
  EXPECT_EQ(Code({}, {1, 10'000}, Payload(9'999)), kLoss);
}

TEST_F(BulkDecoderTest, RemembersNoMoreThanIsAgreed) {
  const BulkCoding remember{Codec::kNone, false, true};
  EXPECT_EQ(Code(remember, {1, kMostRememberedPayload + 1}, Payload(kMostRememberedPayload + 1)), kLoss);
  EXPECT_EQ(Code(remember, {1, 0}, {}), kLoss);
  for (uint64_t address = 0; address < 2 * kMostRememberedPlaces; ++address) {
    ASSERT_TRUE(decoder_.Decode(remember, {address, 1}, Payload(1)).ok());
  }
  EXPECT_EQ(decoder_.remembered_bytes(), kMostRememberedPlaces);
}

TEST_F(BulkDecoderTest, WhatBelongsToNoPlaceCannotDiffer) {
  Payload into(10'000);
  const Payload coded = Coded(Codec::kLz4, 10'000, 10'000);
  EXPECT_TRUE(decoder_.DecodeInto({Codec::kLz4, false, false}, coded, into).ok());
  EXPECT_EQ(decoder_.DecodeInto({Codec::kLz4, true, false}, coded, into).code(), kLoss);
  EXPECT_EQ(decoder_.DecodeInto({Codec::kLz4, false, true}, coded, into).code(), kLoss);
  EXPECT_EQ(decoder_.DecodeInto({}, into, into).code(), kLoss);
  EXPECT_EQ(decoder_.DecodeInto({Codec::kLz4, false, false}, coded, std::span(into).first(9'999)).code(), kLoss);
}

TEST(IncomingBulkTest, IsTakenOnceByWhoExpectsItsSize) {
  IncomingBulk plain(Payload(5));
  EXPECT_EQ(plain.Take({1, 5}).value().size(), 5u);
  EXPECT_TRUE(plain.empty());
  EXPECT_EQ(IncomingBulk(Payload(5)).Take({1, 6}).status().code(), kLoss);
  BulkDecoder decoder;
  IncomingBulk coded(Payload(5), {Codec::kLz4, false, false}, &decoder);
  EXPECT_EQ(coded.Take({1, 5000}).status().code(), kLoss);
}

}  // namespace
}  // namespace wharf::offload
