#include "wharf/link/resume/resumable_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <latch>
#include <random>
#include <thread>

#include <rapidcheck/gtest.h>

#include "wharf/base/random.h"
#include "wharf/link/resume/resume_testing.h"
#include "wharf/link/testing.h"

namespace wharf::link {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

// The byte at every place of a stream.
std::byte ByteAt(uint64_t place) { return static_cast<std::byte>((place * kGoldenRatio) >> 56); }

struct Connected {
  std::unique_ptr<ByteStream> client;
  std::shared_ptr<ResumableStream> server;
};
Connected Connect(ResumableListener& listener, const ResumeOptions& options = {}) {
  auto client = OpenResumable(listener.Dialer(), options);
  EXPECT_TRUE(client.ok()) << client.status();
  return {*std::move(client), listener.Accept()};
}

void AwaitResuming(const ByteStream& stream) {
  while (!stream.Resuming()) std::this_thread::sleep_for(milliseconds(1));
}

// Sends `total` bytes in pieces of up to `largest`, as a channel does: what TryWrite leaves, Write takes.
void Send(ByteStream& stream, uint64_t total, size_t largest, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> piece;
  for (uint64_t done = 0; done < total;) {
    piece.resize(std::min<uint64_t>(total - done, random() % largest + 1));
    for (size_t i = 0; i < piece.size(); ++i) piece[i] = ByteAt(done + i);
    done += piece.size();
    const size_t half = random() % (piece.size() + 1);
    const std::span<const std::byte> pieces[] = {std::span(piece).first(half), std::span(piece).subspan(half)};
    size_t taken = 0;
    if (random() % 2 == 0) {
      const auto count = stream.TryWrite(pieces);
      ASSERT_TRUE(count.ok()) << count.status();
      taken = *count;
    }
    ASSERT_EQ(Write(stream, std::span(piece).subspan(taken)), absl::OkStatus());
  }
}

// Expects exactly what Send sends.
void Receive(ByteStream& stream, uint64_t total, size_t largest, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> piece(largest);
  for (uint64_t done = 0; done < total;) {
    const auto count = stream.Read(std::span(piece).first(random() % largest + 1));
    ASSERT_TRUE(count.ok()) << count.status();
    ASSERT_GT(*count, 0u);
    ASSERT_LE(done + *count, total);
    size_t right = 0;
    while (right < *count && piece[right] == ByteAt(done + right)) ++right;
    ASSERT_EQ(right, *count) << "wrong at " << done + right;
    done += *count;
  }
}

// Both ways at once; whoever has everything goes on reading until both have, as a channel does, and gets nothing more.
void Exchange(const Connected& ends, uint64_t up, uint64_t down, size_t largest, uint32_t seed) {
  std::latch received(2);
  const auto receive = [&](ByteStream& stream, uint64_t total, uint32_t own_seed) {
    Receive(stream, total, largest, own_seed);
    received.count_down();
    std::byte more;
    EXPECT_EQ(stream.Read(std::span(&more, 1)).value_or(1), 0u);
  };
  std::thread threads[] = {std::thread([&] { Send(*ends.client, up, largest, seed); }),
                           std::thread([&] { receive(*ends.server, up, seed + 1); }),
                           std::thread([&] { Send(*ends.server, down, largest, seed + 2); }),
                           std::thread([&] { receive(*ends.client, down, seed + 3); })};
  received.wait();
  ends.client->Shutdown();
  ends.server->Shutdown();
  for (std::thread& thread : threads) thread.join();
}

TEST(ResumableStreamTest, CarriesBytesBothWaysAndEndsInOrder) {
  ResumableListener listener;
  auto [client, server] = Connect(listener);
  ASSERT_TRUE(Write(*client, "hello").ok());
  EXPECT_EQ(ReadText(*server, 5), "hello");
  ASSERT_TRUE(Write(*server, "good day").ok());
  client->FinishWriting();
  EXPECT_EQ(ReadText(*server, 1), "");
  EXPECT_EQ(ReadText(*client, 8), "good day");
  EXPECT_EQ(Write(*client, "more").code(), absl::StatusCode::kFailedPrecondition);
  server->Shutdown();
  EXPECT_EQ(ReadText(*client, 1), "");
  EXPECT_EQ(client->Peer(), "memory");
  EXPECT_EQ(listener.connections(), 1);
}

TEST(ResumableStreamTest, AnEndIsNoBreak) {
  ResumableListener listener;
  auto [client, server] = Connect(listener);
  ASSERT_TRUE(Write(*client, "last words").ok());
  client.reset();
  EXPECT_EQ(ReadText(*server, 100), "last words");
  EXPECT_FALSE(server->Resuming());
  while (Write(*server, "nobody reads this").ok()) {
  }
  EXPECT_EQ(Write(*server, "nor this").code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(listener.connections(), 1);
}

// What does not wait for the peer is not written before the gate opens.
class GatedStream final : public ForwardingStream {
 public:
  GatedStream(std::shared_ptr<ByteStream> stream, std::latch& reached, std::latch& gate)
      : ForwardingStream(std::move(stream)), reached_(reached), gate_(gate) {}
  absl::StatusOr<size_t> TryWrite(std::span<const std::span<const std::byte>> pieces) override {
    if (!std::exchange(passed_, true)) {
      reached_.count_down();
      gate_.wait();
    }
    return ForwardingStream::TryWrite(pieces);
  }

 private:
  std::latch &reached_, &gate_;
  bool passed_ = false;  // what is written at one time is one thread's
};

TEST(ResumableStreamTest, AnEndWhileAnAcknowledgementIsWrittenIsNoBreak) {
  for (int round = 0; round < 30; ++round) {
    ResumableListener listener;
    std::latch reached(1), gate(1);
    const Dial dial = [&, inner = listener.Dialer()]() -> absl::StatusOr<std::unique_ptr<ByteStream>> {
      WHARF_ASSIGN_OR_RETURN(auto stream, inner());
      return std::make_unique<GatedStream>(std::move(stream), reached, gate);
    };
    auto client = OpenResumable(dial, {});
    ASSERT_TRUE(client.ok()) << client.status();
    const auto server = listener.Accept();
    const std::vector<std::byte> much(size_t{300} << 10);  // more than is read without acknowledging
    std::thread sender([&] { Write(*server, much).IgnoreError(); });
    std::thread receiver([&] { ReadExactly(**client, much.size()).IgnoreError(); });
    reached.wait();  // the receiver acknowledges
    std::thread closer([&] { (*client)->Shutdown(); });
    for (int i = 0; i < round; ++i) std::this_thread::yield();  // it may come to wait, or not
    gate.count_down();
    closer.join();
    receiver.join();
    sender.join();
    EXPECT_EQ(ReadText(*server, 1), "");
    EXPECT_FALSE(server->Resuming());
  }
}

// Every connection dies after a few bytes, of data, acknowledgements or openings.
TEST(ResumableStreamTest, ThousandsOfBreaksLoseNothingAndRepeatNothing) {
  constexpr int kBytes = 4 << 20, kMeanLife = 2500;
  std::mt19937 random(7);
  std::uniform_int_distribution<uint64_t> life(0, 2 * kMeanLife);
  ResumeOptions options;
  options.limit = std::chrono::hours(1);
  ResumableListener listener(options, [&](int) { return std::pair(Faults{life(random)}, Faults{life(random)}); });
  const Connected ends = Connect(listener, options);
  Exchange(ends, kBytes, kBytes, 3000, 11);
  EXPECT_GT(listener.connections(), 2000);
}

// Any mix of sizes, lives, short reads and connections that swallow everything.
RC_GTEST_PROP(ResumableStreamProperty, EveryByteArrivesOnceAndInOrder, ()) {
  const auto seed = *rc::gen::arbitrary<uint32_t>();
  const auto up = *rc::gen::inRange<uint64_t>(0, 3 << 20), down = *rc::gen::inRange<uint64_t>(0, 3 << 20);
  const auto largest = *rc::gen::element<size_t>(1, 100, 5000, 300 << 10, 1 << 20);
  const auto mean_life = *rc::gen::element<uint64_t>(50'000, 300'000, 2'000'000);
  const bool stalls = *rc::gen::arbitrary<bool>();
  VirtualClock clock;
  ResumeOptions options;
  options.limit = std::chrono::hours(10'000);
  options.clock = &clock;
  std::mt19937 random(seed);
  ResumableListener listener(options, [&](int number) {
    std::uniform_int_distribution<uint64_t> life(0, 2 * mean_life);
    Faults faults[2];
    for (Faults& fault : faults) {
      fault.cut_after_bytes = life(random);
      if (random() % 3 == 0) fault.max_read = random() % 100 + 1;
      fault.stall = stalls && number > 0 && random() % 10 == 0;
    }
    return std::pair(faults[0], faults[1]);
  });
  std::atomic<bool> over{false};
  std::thread time([&] {  // passes a hundred times as fast
    while (!over) {
      clock.Advance(milliseconds(20));
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  });
  {
    const Connected ends = Connect(listener, options);
    const size_t shortened = largest == 1 ? 20'000 : SIZE_MAX;
    Exchange(ends, std::min(up, shortened), std::min(down, shortened), largest, seed);
  }
  over = true;
  time.join();
  RC_ASSERT(!testing::Test::HasFailure());
}

TEST(ResumableStreamTest, AReaderWaitsThroughAnOutage) {
  ResumableListener listener(
      {}, [](int number) { return number == 0 ? std::pair(Faults{100}, Faults{}) : std::pair<Faults, Faults>(); });
  std::atomic<int> outages{0};
  ResumeOptions options;
  options.on_outage = [&outages] { ++outages; };
  auto [client, server] = Connect(listener, options);
  listener.Close(true);
  const auto sent = Pattern(1000);
  EXPECT_EQ(outages, 0);
  ASSERT_TRUE(Write(*client, sent).ok());  // cut in the middle
  auto answer = std::async(std::launch::async, [&c = client] { return ReadText(*c, 2); });
  AwaitResuming(*client);
  auto got = std::async(std::launch::async, [&s = server] { return ReadExactly(*s, 1000); });
  listener.Close(false);
  EXPECT_EQ(got.get().value(), sent);
  ASSERT_TRUE(Write(*server, "ok").ok());
  EXPECT_EQ(answer.get(), "ok");
  EXPECT_EQ(listener.connections(), 2);
  EXPECT_EQ(outages, 1);  // however often it dialed
}

TEST(ResumableStreamTest, BothEndsGiveUpWhenTheTimeIsOver) {
  VirtualClock clock;
  ResumeOptions options;
  options.clock = &clock;
  ResumableListener listener(options, [](int) { return std::pair(Faults{100}, Faults{}); });
  auto [client, server] = Connect(listener, options);
  listener.Close(true);
  ASSERT_TRUE(Write(*client, Pattern(100)).ok());
  auto client_end = std::async(std::launch::async, [&c = client] { return ReadText(*c, 1); });
  ASSERT_TRUE(ReadExactly(*server, 50).ok());
  auto server_end = std::async(std::launch::async, [&s = server] { return ReadText(*s, 50); });
  AwaitResuming(*client);
  AwaitResuming(*server);
  clock.Advance(seconds(29));
  EXPECT_EQ(client_end.wait_for(milliseconds(5)), std::future_status::timeout);
  EXPECT_TRUE(client->Resuming());
  clock.Advance(seconds(1));
  EXPECT_THAT(client_end.get(), HasSubstr("no way back within 30 s"));
  EXPECT_THAT(server_end.get(), HasSubstr("did not come back within 30 s"));
  EXPECT_EQ(Write(*client, "x").code(), absl::StatusCode::kUnavailable);
  EXPECT_FALSE(client->Resuming());
}

TEST(ResumableStreamTest, ASilentConnectionIsReplaced) {
  VirtualClock clock;
  ResumeOptions options;
  options.clock = &clock;
  std::atomic<bool> calm{false};
  ResumableListener listener(options, [&calm](int number) {
    Faults swallow;
    swallow.stall = number > 0 && !calm;
    return std::pair(swallow, Faults{});
  });
  auto first = OpenResumable(listener.Dialer(), options);
  ASSERT_TRUE(first.ok());
  auto server = listener.Accept();
  std::thread reader([&] { EXPECT_EQ(ReadText(**first, 2), "ok"); });
  // Nobody reads at the server, so nothing is acknowledged.
  ASSERT_TRUE(Write(**first, "request").ok());
  while (listener.connections() == 1) {
    clock.Advance(milliseconds(100));
    std::this_thread::sleep_for(milliseconds(1));
  }
  calm = true;
  while (listener.connections() < 3) {  // the second one swallows the opening
    clock.Advance(milliseconds(100));
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_EQ(ReadText(*server, 7), "request");
  ASSERT_TRUE(Write(*server, "ok").ok());
  reader.join();
}

// Each end has a clock of its own: the client's stands still until it knows that all it sent has arrived.
TEST(ResumableStreamTest, AnIdleStreamFallsSilent) {
  VirtualClock client_clock, server_clock;
  ResumeOptions options, server_options;
  options.clock = &client_clock;
  server_options.clock = &server_clock;
  ResumableListener listener(server_options);
  Traffic traffic;
  auto opened = OpenResumable(
      [&]() -> absl::StatusOr<std::unique_ptr<ByteStream>> {
        WHARF_ASSIGN_OR_RETURN(auto link, listener.Connect());
        return traffic.Watch(std::move(link));
      },
      options);
  ASSERT_EQ(opened.status(), absl::OkStatus());
  const std::unique_ptr<ByteStream> client = *std::move(opened);
  const std::shared_ptr<ResumableStream> server = listener.Accept();
  std::thread reader([&] { EXPECT_EQ(ReadText(*client, 3), "bye"); });
  ASSERT_TRUE(Write(*client, "hello").ok());
  EXPECT_EQ(ReadText(*server, 5), "hello");
  std::thread server_reader([&] { EXPECT_EQ(ReadText(*server, 1), ""); });
  constexpr uint64_t kAcknowledgementBytes = 12;
  while (!traffic.IsReadingAfter(kOpeningBytes + kAcknowledgementBytes)) {
    server_clock.Advance(milliseconds(100));
    std::this_thread::sleep_for(milliseconds(1));
  }
  const uint64_t read = traffic.read(), written = traffic.written();
  for (int i = 0; i < 1000; ++i) {  // many times the time of a stall
    client_clock.Advance(milliseconds(100));
    server_clock.Advance(milliseconds(100));
    std::this_thread::sleep_for(std::chrono::microseconds(300));
  }
  EXPECT_EQ(traffic.read(), read);
  EXPECT_EQ(traffic.written(), written);
  ASSERT_TRUE(Write(*server, "bye").ok());
  reader.join();
  client->Shutdown();
  server_reader.join();
  EXPECT_EQ(listener.connections(), 1);
}

// Both ends send more than the window before the server reads at all: its writer takes the acknowledgements itself.
TEST(ResumableStreamTest, AFullWindowWaitsForAcknowledgementsAndNotForTheReader) {
  ResumableListener listener;
  const Connected ends = Connect(listener);
  constexpr uint64_t kTotal = kResumeWindow + (12 << 20);
  std::thread up([&] { Send(*ends.client, kTotal, 1 << 20, 1); });
  std::thread down([&] { Receive(*ends.client, kTotal, 1 << 20, 2); });
  Send(*ends.server, kTotal, 1 << 20, 3);
  Receive(*ends.server, kTotal, 1 << 20, 4);
  up.join();
  down.join();
  EXPECT_EQ(listener.connections(), 1);
}

TEST(ResumableStreamTest, AChannelRunsOverItUnchanged) {
  std::mt19937 random(3);
  std::uniform_int_distribution<uint64_t> life(0, 400'000);
  ResumeOptions options;
  options.limit = std::chrono::hours(1);
  ResumableListener listener(options, [&](int) { return std::pair(Faults{life(random)}, Faults{life(random)}); });
  auto client = OpenResumable(listener.Dialer(), options);
  ASSERT_TRUE(client.ok());
  auto near = Channel::Create(*std::move(client));
  auto far = Channel::Create(std::make_unique<SharedStream>(listener.Accept()));
  Recorder answers, echo;
  // Every frame comes back, from the handler.
  echo.on_frame = [&](const FrameHeader& header, std::span<const std::byte> head) {
    return far->Send(header.kind, header.tag, head, Pattern(header.tag % 70'000, 5));
  };
  near->Start(&answers);
  far->Start(&echo);
  constexpr uint64_t kFrames = 2000;
  std::thread sender([&] {
    for (uint64_t tag = 0; tag < kFrames; ++tag) {
      const auto urgency = tag % 3 == 0 ? Urgency::kSoon : Urgency::kNow;
      const auto ownership = tag % 2 == 0 ? BulkOwnership::kBorrow : BulkOwnership::kCopy;
      const std::string head = fmt::format("frame {}", tag);
      ASSERT_TRUE(near->Send(7, tag, AsBytes(head), Pattern(tag * 37 % 60'000, 6), ownership, urgency).ok());
    }
    ASSERT_TRUE(near->Flush().ok());
  });
  uint64_t next = 0;
  while (next < kFrames) {
    for (const ReceivedFrame& frame : answers.Take(1)) {
      ASSERT_EQ(frame.header.tag, next);
      ASSERT_EQ(frame.head, fmt::format("frame {}", next));
      ASSERT_EQ(frame.bulk, Pattern(next % 70'000, 5));
      ++next;
    }
    ASSERT_EQ(answers.times_closed(), 0u);
  }
  sender.join();
  EXPECT_GT(listener.connections(), 100);
  near->Close(seconds(10));
  EXPECT_EQ(echo.WaitClosed().code(), absl::StatusCode::kUnavailable);
  near.reset();
  far.reset();
}

// What a stranger, or a client gone wrong, gets.
class ResumeRefusalTest : public testing::Test {
 protected:
  void SetUp() override {
    ends_ = Connect(listener_);
    ASSERT_TRUE(Write(*ends_.client, "hello").ok());
    ASSERT_EQ(ReadText(*ends_.server, 5), "hello");
  }
  absl::Status TryToResume(const Opening& opening) {
    auto link = listener_.Connect();
    return ExchangeOpenings(**link, opening, seconds(60)).status();
  }
  ResumableListener listener_;
  Connected ends_;
};

TEST_F(ResumeRefusalTest, AWrongSecretOrAnUnknownSessionChangesNothing) {
  Opening guess{OpeningKind::kResume, ResumeKey::Make(1).value(), 0};
  EXPECT_EQ(TryToResume(guess).code(), absl::StatusCode::kNotFound);
  guess.key.session = 99;
  EXPECT_EQ(TryToResume(guess).code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(Write(*ends_.server, "still here").ok());
  EXPECT_EQ(ReadText(*ends_.client, 10), "still here");
  EXPECT_FALSE(ends_.client->Resuming());
}

// A server with one stream whose client is the test: raw bytes.
class HostilePeerTest : public testing::Test {
 protected:
  void SetUp() override {
    auto [near, far] = MemoryPair();
    peer_ = std::move(near);
    key_ = ResumeKey::Make(1).value();
    auto stream = ResumableStream::Accept(std::move(far), key_);
    ASSERT_TRUE(stream.ok());
    stream_ = *std::move(stream);
    ASSERT_EQ(ReadExactly(*peer_, kOpeningBytes).value(),
              std::vector(BytesOf(EncodeOpening({OpeningKind::kAccepted, key_, 0}))));
  }
  template <size_t n>
  static std::vector<std::byte> BytesOf(const std::array<std::byte, n>& bytes) {
    return {bytes.begin(), bytes.end()};
  }
  void SendChunk(uint8_t kind, uint32_t length, std::string_view body = {}) {
    const uint32_t header = uint32_t{kind} << 24 | length;
    ASSERT_TRUE(Write(*peer_, std::as_bytes(std::span(&header, 1))).ok());
    ASSERT_TRUE(Write(*peer_, body).ok());
  }
  void SendAcknowledgement(uint64_t place) { SendChunk(1, 8, {reinterpret_cast<const char*>(&place), sizeof(place)}); }
  // The stream ends at once, as one whose peer broke the rules.
  void ExpectDataLoss() {
    EXPECT_EQ(ReadExactly(*stream_, 100).status().code(), absl::StatusCode::kDataLoss);
    EXPECT_EQ(Write(*stream_, "x").code(), absl::StatusCode::kDataLoss);
    EXPECT_FALSE(stream_->Resuming());
  }
  absl::StatusOr<Opening> Resume(const Opening& opening) {
    auto [near, far] = MemoryPair();
    previous_.push_back(std::exchange(peer_, std::move(near)));
    stream_->Resume(std::move(far), opening);
    const auto bytes = ReadExactly(*peer_, kOpeningBytes);
    if (!bytes.ok()) return bytes.status();
    Opening decoded;
    uint16_t kind = 0;
    std::memcpy(&kind, bytes->data() + 6, 2);
    std::memcpy(&decoded.received, bytes->data() + 32, 8);
    decoded.kind = static_cast<OpeningKind>(kind);
    return decoded;
  }

  ResumeKey key_;
  std::unique_ptr<ByteStream> peer_;
  std::vector<std::unique_ptr<ByteStream>> previous_;
  std::unique_ptr<ResumableStream> stream_;
};

TEST_F(HostilePeerTest, UnknownChunksEndTheStream) {
  SendChunk(9, 0);
  ExpectDataLoss();
}
TEST_F(HostilePeerTest, ControlChunksOfAnotherLengthEndTheStream) {
  SendChunk(1, 4, "abcd");
  ExpectDataLoss();
}
TEST_F(HostilePeerTest, EmptyDataEndsTheStream) {
  SendChunk(0, 0);
  ExpectDataLoss();
}
TEST_F(HostilePeerTest, AcknowledgingWhatWasNotSentEndsTheStream) {
  ASSERT_TRUE(Write(*stream_, "four").ok());
  SendAcknowledgement(5);
  ExpectDataLoss();
}
TEST_F(HostilePeerTest, AcknowledgingLessThanBeforeEndsTheStream) {
  ASSERT_TRUE(Write(*stream_, "four").ok());
  SendAcknowledgement(3);
  SendAcknowledgement(2);
  ExpectDataLoss();
}
TEST_F(HostilePeerTest, DataAfterTheEndIsNotRead) {
  SendChunk(3, 0);
  SendChunk(0, 3, "abc");
  EXPECT_EQ(ReadText(*stream_, 1), "");
}
TEST_F(HostilePeerTest, MoreThanTheWindowIsNotKept) {
  std::thread flood([this] {
    const std::vector<std::byte> chunk(1 << 20);
    const uint32_t header = 1 << 20;
    const std::span<const std::byte> pieces[] = {std::as_bytes(std::span(&header, 1)), chunk};
    while (peer_->Write(pieces).ok()) {
    }
  });
  std::thread drain([this] {  // takes everything and acknowledges nothing
    std::vector<std::byte> sink(1 << 20);
    while (peer_->Read(sink).value_or(0) > 0) {
    }
  });
  EXPECT_EQ(Write(*stream_, Pattern(kResumeWindow + 1)).code(), absl::StatusCode::kDataLoss);
  peer_->Shutdown();
  flood.join();
  drain.join();
}
TEST_F(HostilePeerTest, OnlyItsOwnPlacesAreResumedAt) {
  ASSERT_TRUE(Write(*stream_, "0123456789").ok());
  SendAcknowledgement(4);
  SendChunk(0, 3, "abc");
  ASSERT_EQ(ReadText(*stream_, 3), "abc");
  EXPECT_EQ(Resume({OpeningKind::kResume, key_, 3})->kind, OpeningKind::kRefused);
  EXPECT_EQ(Resume({OpeningKind::kResume, key_, 11})->kind, OpeningKind::kRefused);
  ResumeKey other = key_;
  other.secret[15] ^= std::byte{1};
  EXPECT_EQ(Resume({OpeningKind::kResume, other, 6})->kind, OpeningKind::kRefused);
  const auto answer = Resume({OpeningKind::kResume, key_, 6});
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->kind, OpeningKind::kAccepted);
  EXPECT_EQ(answer->received, 3u);
  EXPECT_EQ(ReadText(*peer_, 8), std::string("\4\0\0\0", 4) + "6789");
}

// A connection that takes nothing: who writes to it would wait for ever.
class FullStream final : public ForwardingStream {
 public:
  FullStream(std::shared_ptr<ByteStream> stream, std::atomic<bool>& waited)
      : ForwardingStream(std::move(stream)), waited_(waited) {}
  absl::Status Write(std::span<const std::span<const std::byte>>) override {
    waited_ = true;
    return absl::OkStatus();
  }
  absl::StatusOr<size_t> TryWrite(std::span<const std::span<const std::byte>>) override { return 0; }

 private:
  std::atomic<bool>& waited_;
};
TEST_F(HostilePeerTest, NobodyWaitsToRefuseAConnection) {
  auto [near, far] = MemoryPair();
  std::atomic<bool> waited{false};
  ResumeKey other = key_;
  other.secret[0] ^= std::byte{1};
  EXPECT_FALSE(stream_->Resume(std::make_unique<FullStream>(std::move(far), waited), {OpeningKind::kResume, other, 0}));
  EXPECT_FALSE(waited);
  ASSERT_TRUE(Write(*stream_, "here").ok());
  EXPECT_EQ(ReadText(*peer_, 8), std::string("\4\0\0\0", 4) + "here");
}

}  // namespace
}  // namespace wharf::link
