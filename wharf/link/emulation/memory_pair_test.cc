#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "wharf/link/channel.h"
#include "wharf/link/emulation/emulator.h"
#include "wharf/link/testing.h"

namespace wharf::link {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

absl::Status Write(ByteStream& stream, std::span<const std::byte> bytes) { return stream.Write(std::span(&bytes, 1)); }
absl::StatusOr<size_t> TryWrite(ByteStream& stream, std::span<const std::byte> bytes) {
  return stream.TryWrite(std::span(&bytes, 1));
}
// Until the end of the stream.
absl::StatusOr<std::vector<std::byte>> ReadAll(ByteStream& stream) {
  std::vector<std::byte> all;
  std::byte buffer[5000];
  while (true) {
    auto count = stream.Read(buffer);
    if (!count.ok()) return count.status();
    if (*count == 0) return all;
    all.insert(all.end(), buffer, buffer + *count);
  }
}

TEST(MemoryPairTest, CarriesBytesBothWaysAndEndsInOrder) {
  auto [a, b] = MemoryPair();
  EXPECT_EQ(a->Peer(), "memory");
  EXPECT_TRUE(a->IsLocal());
  ASSERT_TRUE(Write(*a, Pattern(1000)).ok());
  ASSERT_TRUE(Write(*b, Pattern(2000)).ok());
  a->FinishWriting();
  EXPECT_EQ(ReadAll(*b).value(), Pattern(1000));
  b->Shutdown();
  EXPECT_EQ(ReadAll(*a).value(), Pattern(2000));
  EXPECT_EQ(Write(*a, Pattern(1)).code(), absl::StatusCode::kUnavailable);
}

TEST(MemoryPairTest, AWriterWaitsForTheReader) {
  auto [a, b] = MemoryPair();
  const auto sent = Pattern(5 << 20);
  std::thread writer([&a = a, &sent] {
    EXPECT_TRUE(Write(*a, sent).ok());
    a->Shutdown();
  });
  EXPECT_EQ(ReadAll(*b).value(), sent);
  writer.join();
  EXPECT_LT(TryWrite(*b, sent).value_or(0), sent.size());
}

TEST(MemoryPairTest, TryWriteTakesWhatFits) {
  auto [a, b] = MemoryPair();
  const auto sent = Pattern(5 << 20);
  const size_t taken = TryWrite(*a, sent).value();
  EXPECT_GT(taken, 0u);
  EXPECT_LT(taken, sent.size());
  EXPECT_EQ(TryWrite(*a, std::span(sent).subspan(taken)).value(), 0u);
  a->FinishWriting();
  EXPECT_EQ(ReadAll(*b).value(), std::vector(sent.begin(), sent.begin() + taken));
}

TEST(MemoryPairTest, ShutdownWakesBlockedCalls) {
  auto [a, b] = MemoryPair();
  std::thread reader([&a = a] {
    std::byte byte;
    EXPECT_EQ(a->Read(std::span(&byte, 1)).value(), 0u);
  });
  std::thread writer([&a = a] { EXPECT_FALSE(Write(*a, Pattern(5 << 20)).ok()); });
  a->Shutdown();
  a->Shutdown();
  reader.join();
  writer.join();
}

TEST(FaultsTest, ACutDeliversWhatCameBeforeIt) {
  Faults faults;
  faults.cut_after_bytes = 100;
  auto [a, b] = MemoryPair(faults);
  static_cast<void>(Write(*a, Pattern(150)));  // the cut may show in this write or in the next
  EXPECT_EQ(Write(*a, Pattern(1)).code(), absl::StatusCode::kUnavailable);
  std::byte buffer[200];
  EXPECT_EQ(b->Read(buffer).value(), 100u);
  EXPECT_EQ(b->Read(buffer).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(a->Read(buffer).status().code(), absl::StatusCode::kUnavailable);
}

TEST(FaultsTest, OneByteIsCorrupted) {
  Faults faults;
  faults.corrupt_byte_at = 70;
  auto [a, b] = MemoryPair(faults);
  auto expected = Pattern(100);
  ASSERT_TRUE(Write(*a, std::span(expected).first(50)).ok());
  ASSERT_TRUE(Write(*a, std::span(expected).subspan(50)).ok());
  a->Shutdown();
  expected[70] ^= std::byte{0xff};
  EXPECT_EQ(ReadAll(*b).value(), expected);
}

TEST(FaultsTest, ShortReads) {
  Faults faults;
  faults.max_read = 3;
  auto [a, b] = MemoryPair(faults);
  ASSERT_TRUE(Write(*a, Pattern(10)).ok());
  std::byte buffer[10];
  EXPECT_EQ(b->Read(buffer).value(), 3u);
}

TEST(FaultsTest, AStallAcceptsEverythingAndDeliversNothing) {
  Faults faults;
  faults.stall = true;
  auto [a, b] = MemoryPair(faults);
  ASSERT_TRUE(Write(*a, Pattern(10 << 20)).ok());
  a->Shutdown();
  std::thread reader([&b = b] {
    std::byte byte;
    EXPECT_EQ(b->Read(std::span(&byte, 1)).value(), 0u);  // only because of our own Shutdown
  });
  b->Shutdown();
  reader.join();
}

// --- the channel under faults ---

TEST(ChannelUnderFaultsTest, SurvivesOneByteReads) {
  Faults faults;
  faults.max_read = 1;
  auto [first, second] = MemoryPair(faults, faults);
  Recorder at_b;
  auto a = Channel::Create(std::move(first));
  auto b = Channel::Create(std::move(second));
  b->Start(&at_b);
  const auto bulk = Pattern(40'000);
  ASSERT_TRUE(a->Send(1, 2, Pattern(20'000), bulk).ok());
  ASSERT_TRUE(a->Send(1, 3, AsBytes("next")).ok());
  size_t got = 0;
  while (got < 2) {
    for (const auto& frame : at_b.Take(1)) {
      if (frame.header.tag == 2) {
        EXPECT_EQ(frame.bulk, bulk);
      }
      ++got;
    }
  }
}

TEST(ChannelUnderFaultsTest, ACutAnywhereClosesBothSidesOnce) {
  const auto bulk = Pattern(100'000);
  for (const uint64_t at : {0, 1, 23, 24, 25, 30, 5000, 20'000, 99'999, 100'028}) {
    Faults faults;
    faults.cut_after_bytes = at;
    auto [first, second] = MemoryPair(faults);
    Recorder at_a, at_b;
    auto a = Channel::Create(std::move(first));
    auto b = Channel::Create(std::move(second));
    a->Start(&at_a);
    b->Start(&at_b);
    static_cast<void>(a->Send(1, 1, AsBytes("head"), bulk));  // may or may not notice
    static_cast<void>(a->Send(1, 2, AsBytes("head"), bulk));
    EXPECT_EQ(at_b.WaitClosed().code(), absl::StatusCode::kUnavailable) << at;
    EXPECT_EQ(at_a.WaitClosed().code(), absl::StatusCode::kUnavailable) << at;
    EXPECT_EQ(at_b.frames_kept(), at >= 100'028 ? 1u : 0u);
    EXPECT_EQ(a->Send(1, 3, {}).code(), absl::StatusCode::kUnavailable);
    a.reset();
    b.reset();
    EXPECT_EQ(at_a.times_closed(), 1u);
    EXPECT_EQ(at_b.times_closed(), 1u);
  }
}

TEST(ChannelUnderFaultsTest, ACorruptMagicIsDataLoss) {
  Faults faults;
  faults.corrupt_byte_at = 2;
  auto [first, second] = MemoryPair(faults);
  Recorder at_b;
  auto a = Channel::Create(std::move(first));
  auto b = Channel::Create(std::move(second));
  b->Start(&at_b);
  ASSERT_TRUE(a->Send(1, 1, AsBytes("head")).ok());
  EXPECT_EQ(at_b.WaitClosed().code(), absl::StatusCode::kDataLoss);
}

TEST(ChannelUnderFaultsTest, ACorruptLengthIsRefusedBeforeMemoryIsTaken) {
  Faults faults;
  faults.corrupt_byte_at = 15;  // the top byte of bulk_bytes
  auto [first, second] = MemoryPair(faults);
  Recorder at_b;
  auto a = Channel::Create(std::move(first));
  auto b = Channel::Create(std::move(second));
  b->Start(&at_b);
  ASSERT_TRUE(a->Send(1, 1, AsBytes("head"), Pattern(5)).ok());
  EXPECT_EQ(at_b.WaitClosed().code(), absl::StatusCode::kResourceExhausted);
}

TEST(ChannelUnderFaultsTest, AStalledPeerDoesNotHoldUpClose) {
  auto [first, second] = MemoryPair();
  Recorder at_a;
  auto a = Channel::Create(std::move(first));
  a->Start(&at_a);
  // The peer never reads; a sender is stuck in its borrowed bulk.
  std::thread sender([&] {
    const auto bulk = Pattern(1 << 20);
    EXPECT_EQ(a->Send(1, 1, {}, bulk, BulkOwnership::kBorrow).code(), absl::StatusCode::kAborted);
  });
  std::byte byte;
  EXPECT_EQ(second->Read(std::span(&byte, 1)).value(), 1u);  // so it has begun
  a->Close(milliseconds(1));
  sender.join();
  EXPECT_EQ(at_a.WaitClosed(), absl::AbortedError("closed"));
}

// --- shaped by a profile, on a virtual clock ---

TEST(ShapedPairTest, DeliversByTheClock) {
  VirtualClock clock;
  LinkProfile profile;
  profile.trace = BandwidthTrace::Constant(8e6);  // a byte a microsecond
  profile.round_trip = milliseconds(10);
  auto [a, b] = MemoryPair({}, {}, &profile, clock);
  ASSERT_TRUE(Write(*a, Pattern(1000)).ok());
  const TimePoint start = clock.Now();
  TimePoint arrived;
  std::thread reader([&b = b, &clock, &arrived] {
    std::byte buffer[1000];
    EXPECT_EQ(b->Read(buffer).value(), 1000u);
    arrived = clock.Now();
  });
  clock.Advance(microseconds(5999));
  clock.Advance(microseconds(1));
  reader.join();
  EXPECT_EQ(arrived - start, milliseconds(6));
}

TEST(ShapedPairTest, TheSendersQueueIsBounded) {
  VirtualClock clock;
  LinkProfile profile;
  profile.trace = BandwidthTrace::Constant(8e6);
  profile.queue_bytes = 10'000;
  auto [a, b] = MemoryPair({}, {}, &profile, clock);
  EXPECT_EQ(TryWrite(*a, Pattern(50'000)).value(), 10'000u);
  EXPECT_EQ(TryWrite(*a, Pattern(50'000)).value(), 0u);
  clock.Advance(milliseconds(5));  // three packets of 1448 bytes have left, the fourth is leaving
  EXPECT_EQ(TryWrite(*a, Pattern(50'000)).value(), 3 * kPacketBytes);
}

TEST(ShapedPairTest, ShutdownWakesAReaderThoughTheClockStandsStill) {
  VirtualClock clock;
  LinkProfile profile;
  profile.round_trip = seconds(10);
  auto [a, b] = MemoryPair({}, {}, &profile, clock);
  ASSERT_TRUE(Write(*a, Pattern(10)).ok());
  std::thread reader([&b = b] {
    std::byte buffer[10];
    EXPECT_EQ(b->Read(buffer).value(), 0u);
  });
  b->Shutdown();
  reader.join();
}

TEST(ShapedPairTest, TheEndOfTheStreamTakesAsLongAsTheBytes) {
  VirtualClock clock;
  LinkProfile profile;
  profile.round_trip = milliseconds(2);
  auto [a, b] = MemoryPair({}, {}, &profile, clock);
  a->Shutdown();
  TimePoint ended;
  std::thread reader([&b = b, &clock, &ended] {
    std::byte byte;
    EXPECT_EQ(b->Read(std::span(&byte, 1)).value(), 0u);
    ended = clock.Now();
  });
  clock.Advance(microseconds(999));
  clock.Advance(microseconds(1));
  reader.join();
  EXPECT_EQ(ended.since_epoch, milliseconds(1));
}

TEST(ShapedPairTest, ChannelsRunOverIt) {
  LinkProfile profile;
  profile.trace = BandwidthTrace::Constant(1e9);
  profile.round_trip = microseconds(200);
  profile.jitter = microseconds(100);
  auto [first, second] = MemoryPair({}, {}, &profile);
  Recorder at_b;
  auto a = Channel::Create(std::move(first));
  auto b = Channel::Create(std::move(second));
  b->Start(&at_b);
  const auto bulk = Pattern(1 << 20);
  ASSERT_TRUE(a->Send(1, 1, AsBytes("head"), bulk, BulkOwnership::kBorrow).ok());
  EXPECT_EQ(at_b.Take(1).at(0).bulk, bulk);
}

}  // namespace
}  // namespace wharf::link
