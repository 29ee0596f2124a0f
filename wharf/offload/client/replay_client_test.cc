#include "wharf/offload/client/replay_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <thread>
#include <utility>

#include "wharf/link/emulation/emulator.h"
#include "wharf/offload/replay/step_op.h"
#include "wharf/offload/wire_codec.h"

namespace {
thread_local uint64_t allocations = 0;
}
// Not inlined: one inlined without the other looks to the compiler like memory freed by another allocator.
[[gnu::noinline]] void* operator new(size_t size) {
  ++allocations;
  if (void* const memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace wharf::offload {
namespace {

constexpr uint16_t kProgress = static_cast<uint16_t>(FrameKind::kProgress);

// Notes the frames that arrive.
class Recorder final : public link::FrameHandler {
 public:
  struct Frame {
    uint16_t kind = 0;
    uint64_t tag = 0;
    size_t bulk = 0;
    friend bool operator==(const Frame&, const Frame&) = default;
  };
  std::vector<Frame> WaitFor(size_t count) {
    absl::MutexLock lock(&mutex_);
    const auto there = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return frames_.size() >= count; };
    mutex_.Await(absl::Condition(&there));
    return frames_;
  }
  size_t Count() {
    absl::MutexLock lock(&mutex_);
    return frames_.size();
  }

 private:
  absl::StatusOr<std::span<std::byte>> BulkDestination(const link::FrameHeader&, std::span<const std::byte>) override {
    return std::span<std::byte>();
  }
  absl::Status OnFrame(const link::FrameHeader& header, std::span<const std::byte>, std::vector<std::byte>) override {
    absl::MutexLock lock(&mutex_);
    frames_.push_back({header.kind, header.tag, header.bulk_bytes});
    return absl::OkStatus();
  }
  void OnClosed(const absl::Status&) override {}

  absl::Mutex mutex_;
  std::vector<Frame> frames_ ABSL_GUARDED_BY(mutex_);
};

class ReplayClientTest : public testing::Test {
 protected:
  ReplayClientTest() {
    auto [ours, theirs] = link::MemoryPair();
    channel_ = link::Channel::Create(std::move(ours));
    peer_ = link::Channel::Create(std::move(theirs));
    channel_->Start(&ignored_);
    peer_->Start(&recorder_);
    liveness_.emplace(channel_.get(), &clock_, std::chrono::seconds(10));
    uploads_.emplace(channel_.get(), &estimator_);
    requests_.emplace(
        &clock_, &errors_, &estimator_, std::chrono::seconds(1), [] {},
        [](absl::FunctionRef<bool()>, Nanoseconds) { return false; });
    client_.emplace(&*uploads_, &*requests_, &*liveness_, &clock_, /*begins_with_input=*/false);
  }
  ~ReplayClientTest() override {
    channel_->Close();
    client_.reset();
    channel_->Stop();
    peer_->Stop();
  }

  template <typename Op>
  absl::Status Post(const Op& op, std::span<const std::byte> bulk = {}) {
    const std::vector<std::byte> head = Encode(op);
    return client_->Post({Op::kNumber, head, StreamOf(op), bulk});
  }
  template <typename Op>
  RequestPtr Ask(const Op& op) {
    const auto request = std::make_shared<Request>();
    const std::vector<std::byte> head = Encode(op);
    EXPECT_TRUE(client_->Ask({Op::kNumber, head, StreamOf(op)}, request).ok());
    return request;
  }
  static RecordEvent Event(uint64_t event) { return {event, 0}; }

  VirtualClock clock_;  // nobody paces unless it is moved
  ErrorState errors_{nullptr};
  link::LinkEstimator estimator_;
  Recorder recorder_, ignored_;
  std::unique_ptr<link::Channel> channel_, peer_;
  std::optional<LivenessMonitor> liveness_;
  std::optional<RequestTable> requests_;
  std::optional<UploadSender> uploads_;
  std::optional<ReplayClient> client_;
};

TEST_F(ReplayClientTest, WhatIsNewTravelsWholeBehindWhatWasPredicted) {
  ASSERT_TRUE(Post(Event(1)).ok());
  ASSERT_TRUE(Post(Event(2)).ok());
  ASSERT_TRUE(Post(Event(1)).ok());  // known: nothing is sent yet
  ASSERT_TRUE(Post(Event(2)).ok());
  ASSERT_TRUE(Post(DestroyEvent{1}).ok());
  ASSERT_TRUE(channel_->Flush().ok());
  std::vector<uint16_t> kinds;
  const std::vector<Recorder::Frame> frames = recorder_.WaitFor(5);
  for (const Recorder::Frame& frame : frames) kinds.push_back(frame.kind);
  // The thread's number, two whole ones, two that are counted, one whole.
  EXPECT_THAT(kinds, testing::ElementsAre(kProgress, RecordEvent::kNumber, RecordEvent::kNumber, kProgress,
                                          DestroyEvent::kNumber));
  EXPECT_EQ(frames[3].tag, 4u);
  EXPECT_EQ(client_->Counters().prediction.unknown, 3u);
}

TEST_F(ReplayClientTest, ManyOperationsLeaveTogether) {
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(Post(Event(1)).ok());
  ASSERT_TRUE(channel_->Flush().ok());
  for (int i = 0; i < 63; ++i) ASSERT_TRUE(Post(Event(1)).ok());
  EXPECT_EQ(recorder_.WaitFor(3).back(), (Recorder::Frame{kProgress, 65, 0}));
}

TEST_F(ReplayClientTest, PredictedOperationsAllocateNothing) {
  const std::vector<std::byte> head = Encode(Event(1));
  const auto post = [&] { ASSERT_TRUE(client_->Post({RecordEvent::kNumber, head, 0}).ok()); };
  for (int i = 0; i < 64 * 9 + 10; ++i) post();
  const uint64_t before = allocations;
  for (int i = 0; i < 40; ++i) post();  // none of which fills a frame
  EXPECT_EQ(allocations, before);
}

TEST_F(ReplayClientTest, WhatNobodyElseSendsLeavesByItself) {
  client_->Start();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(Post(Event(1)).ok());
  ASSERT_TRUE(channel_->Flush().ok());
  while (recorder_.Count() < 3) {
    clock_.Advance(std::chrono::milliseconds(1));
    std::this_thread::yield();
  }
  EXPECT_EQ(recorder_.WaitFor(3).back(), (Recorder::Frame{kProgress, 5, 0}));
}

TEST_F(ReplayClientTest, NearTheServerItLeavesSooner) {
  using std::chrono::microseconds;
  EXPECT_EQ(PaceFor(microseconds(0)), microseconds(1000));  // not known
  EXPECT_EQ(PaceFor(microseconds(40)), microseconds(100));
  EXPECT_EQ(PaceFor(microseconds(400)), microseconds(200));
  EXPECT_EQ(PaceFor(microseconds(2600)), microseconds(1000));
}

TEST_F(ReplayClientTest, AWaitTellsAtOnceWhatWasMade) {
  const RequestPtr whole = Ask(SynchronizeStream{0});
  EXPECT_FALSE(whole->IsPredicted());
  const RequestPtr predicted = Ask(SynchronizeStream{0});
  EXPECT_EQ(predicted->tag, Request::kPredicted | 2);
  EXPECT_EQ(predicted->index, 2u);
  EXPECT_EQ(recorder_.WaitFor(3).back(), (Recorder::Frame{kProgress, 2, 0}));
  EXPECT_FALSE(predicted->done);
}

TEST_F(ReplayClientTest, LargeDataTravelEveryTimeFewOnlyIfTheyChanged) {
  const auto upload = [&](size_t bytes, int value) {
    const std::vector<std::byte> data(bytes, static_cast<std::byte>(value));
    ASSERT_TRUE(Post(CopyToDevice{0, {4096, bytes, bytes}, {bytes, 1, 1}}, data).ok());
    ASSERT_TRUE(channel_->Flush().ok());
  };
  constexpr size_t kLarge = OperationTable::kMaxData + 1;
  for (int i = 0; i < 2; ++i) upload(kLarge, 1);
  EXPECT_EQ(recorder_.WaitFor(3).back(), (Recorder::Frame{kProgress, 2, kLarge}));
  upload(16, 1);
  upload(16, 1);
  EXPECT_EQ(recorder_.WaitFor(4).size(), 4u);
  upload(16, 2);
  EXPECT_EQ(recorder_.WaitFor(5).back(), (Recorder::Frame{kProgress, 5, 16}));
}

}  // namespace
}  // namespace wharf::offload
