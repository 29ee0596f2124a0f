#include "wharf/offload/client/request_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

#include "wharf/offload/wire_codec.h"

namespace wharf::offload {
namespace {

using device::CudaError;
using Predicted = RequestTable::Predicted;

constexpr device::StreamId kOther = 7;
constexpr Nanoseconds kPingInterval = std::chrono::seconds(1);

class RequestTableTest : public testing::Test {
 protected:
  uint64_t Count(uint16_t number = Launch::kNumber, device::StreamId stream = device::kDefaultStream) {
    return table_.CountOperation(number, stream);
  }
  RequestPtr Add(std::span<std::byte> into = {}, bool detached = false) {
    auto request = MakeRequest(into, detached);
    request->index = Count();
    table_.Add(request);
    return request;
  }
  // A wait for nothing but copies on that stream.
  RequestPtr AddCertain(device::StreamId stream = device::kDefaultStream) {
    auto request = MakeRequest({}, false);
    request->stream = stream;
    request->certain = true;
    table_.Add(request);
    return request;
  }
  // A predicted request at `position`, on that path.
  std::pair<RequestPtr, Predicted> AddPredicted(uint64_t position, bool may_elide = false, uint64_t path = 0,
                                                std::span<std::byte> into = {}, bool detached = false) {
    auto request = MakeRequest(into, detached);
    request->index = Count();
    request->tag = Request::kPredicted | position;
    request->path = path;
    request->place.index = position;
    const Predicted added = table_.AddPredicted(request, may_elide, learnt_);
    return {request, added};
  }
  absl::Status Reply(uint64_t tag, const ReplyHeader& header = {}, uint32_t bulk_bytes = 0) {
    return table_.OnReply({.bulk_bytes = bulk_bytes, .tag = tag}, Encode(header), /*has_stray_data=*/false);
  }
  absl::Status Push(uint64_t position, const PushHeader& push, const ReplyHeader& header = {}, size_t bytes = 0) {
    std::vector<std::byte> head = Encode(push);
    Encoder(head).Put(header);
    const link::FrameHeader frame{.bulk_bytes = static_cast<uint32_t>(bytes), .tag = position};
    std::vector<std::byte> bulk;
    if (bytes > 0) {
      const auto place = table_.PushDestination(frame, head);
      if (!place.ok()) return place.status();
      if (place->empty()) bulk.assign(bytes, std::byte{42});
      std::fill(place->begin(), place->end(), std::byte{42});
    }
    return table_.OnPush(frame, head, std::move(bulk));
  }

  VirtualClock clock_;
  ErrorState errors_{nullptr};
  link::LinkEstimator estimator_;
  std::atomic<int> pings_{0};
  RequestTable::ReadHere read_here_ = [](absl::FunctionRef<bool()>, Nanoseconds) { return false; };
  RequestTable table_{&clock_,
                      &errors_,
                      &estimator_,
                      kPingInterval,
                      [this] { ++pings_; },
                      [this](absl::FunctionRef<bool()> done, Nanoseconds limit) { return read_here_(done, limit); }};
  std::vector<RequestTable::Sureness> learnt_;

 private:
  RequestPtr MakeRequest(std::span<std::byte> into, bool detached) {
    auto request = std::make_shared<Request>();
    request->into = into;
    request->detached = detached;
    request->sent = clock_.Now();
    return request;
  }
};

TEST_F(RequestTableTest, AReplyFindsItsRequest) {
  std::array<std::byte, 4> data{};
  const RequestPtr first = Add(), second = Add(data);
  EXPECT_EQ(table_.ReplyDestination({.bulk_bytes = 4, .tag = second->tag})->data(), data.data());
  ASSERT_TRUE(Reply(second->tag, {.error = CudaError::kNotReady}, 4).ok());
  EXPECT_FALSE(first->done);
  EXPECT_TRUE(second->done);
  EXPECT_EQ(second->header.error, CudaError::kNotReady);
  EXPECT_EQ(second->received, 4u);
  table_.Await(std::array{second});
}

TEST_F(RequestTableTest, WhatNobodyAskedForIsRefused) {
  std::array<std::byte, 4> data{};
  const RequestPtr request = Add(data);
  EXPECT_EQ(Reply(request->tag + 1).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(table_.ReplyDestination({.bulk_bytes = 4, .tag = request->tag + 1}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(table_.ReplyDestination({.bulk_bytes = 5, .tag = request->tag}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Reply(request->tag).code(), absl::StatusCode::kInvalidArgument) << "without its data";
}

TEST_F(RequestTableTest, ADetachedRequestsErrorIsPending) {
  const RequestPtr request = Add({}, /*detached=*/true);
  EXPECT_TRUE(table_.AnyDetached());
  ASSERT_TRUE(Reply(request->tag, {.error = CudaError::kInvalidValue}).ok());
  EXPECT_FALSE(table_.AnyDetached());
  table_.AwaitDetached();
  EXPECT_EQ(errors_.TakePending(), CudaError::kInvalidValue);
}

TEST_F(RequestTableTest, WhoWaitsPingsNowAndThen) {
  const RequestPtr request = Add();
  std::thread waiter([&] { table_.Await(std::array{request}); });
  while (pings_ < 3) {
    clock_.Advance(kPingInterval);
    std::this_thread::yield();
  }
  ASSERT_TRUE(Reply(request->tag).ok());
  waiter.join();
  EXPECT_TRUE(request->done);
}

TEST_F(RequestTableTest, WhoWaitsForAnswersReadsThem) {
  const RequestPtr first = Add(), second = Add();
  read_here_ = [&](absl::FunctionRef<bool()> done, Nanoseconds) {
    EXPECT_FALSE(done());
    EXPECT_TRUE(Reply(first->tag).ok());
    EXPECT_FALSE(done());
    EXPECT_TRUE(Reply(second->tag).ok());
    EXPECT_TRUE(done());
    return true;
  };
  table_.Await(std::array{first, second});
  EXPECT_EQ(pings_, 0);
}

TEST_F(RequestTableTest, WhoReadsPingsNowAndThen) {
  const RequestPtr request = Add();
  read_here_ = [&](absl::FunctionRef<bool()>, Nanoseconds limit) {
    EXPECT_EQ(limit, kPingInterval);
    clock_.Advance(limit);
    if (pings_ == 3) {
      EXPECT_TRUE(Reply(request->tag).ok());
    }
    return true;
  };
  table_.Await(std::array{request});
  EXPECT_EQ(pings_, 3);
}

TEST_F(RequestTableTest, WhoeverSleepsReadsWhenTheReaderHasItsAnswer) {
  const RequestPtr first = Add(), second = Add();
  std::atomic<bool> reading{false}, second_sleeps{false};
  read_here_ = [&](absl::FunctionRef<bool()> done, Nanoseconds) {
    if (reading.exchange(true)) {
      second_sleeps = true;
      return false;
    }
    while (!second_sleeps) std::this_thread::yield();
    const RequestPtr& mine = first->done ? second : first;
    EXPECT_TRUE(Reply(mine->tag).ok());
    EXPECT_TRUE(done());
    reading = false;
    return true;
  };
  std::thread reader([&] { table_.Await(std::array{first}); });
  while (!reading) std::this_thread::yield();
  table_.Await(std::array{second});
  reader.join();
}

TEST_F(RequestTableTest, WakeAsksAgain) {
  read_here_ = [](absl::FunctionRef<bool()>, Nanoseconds) {
    ADD_FAILURE() << "Wake comes with no frame";
    return false;
  };
  std::atomic<bool> ready{false};
  std::thread waiter([&] { table_.AwaitThat([&] { return ready.load(); }); });
  ready = true;
  table_.Wake();
  waiter.join();
}

TEST_F(RequestTableTest, CloseEndsEveryWait) {
  const RequestPtr request = Add({}, /*detached=*/true);
  std::thread waiter([&] { table_.Await(std::array{request}); });
  std::thread another([&] { table_.AwaitDetached(); });
  table_.Close();
  waiter.join();
  another.join();
  EXPECT_FALSE(request->done);
}

TEST_F(RequestTableTest, APushAnswersARequestThatWaits) {
  std::array<std::byte, 8> data{};
  const auto [request, added] = AddPredicted(5, false, 0, data);
  EXPECT_EQ(added, Predicted::kWaiting);
  ASSERT_TRUE(Push(5, {.known = 4, .sure = true}, {}, data.size()).ok());
  EXPECT_TRUE(request->done);
  EXPECT_EQ(request->known, 4u);
  EXPECT_THAT(data, testing::Each(std::byte{42}));
  AddPredicted(9);
  ASSERT_EQ(learnt_.size(), 1u);
  EXPECT_EQ(learnt_[0].first.index, 5u);
  EXPECT_TRUE(learnt_[0].second);
}

TEST_F(RequestTableTest, APushThatComesEarlyIsKept) {
  std::array<std::byte, 8> data{};
  ASSERT_TRUE(Push(5, {.known = 1}, {}, data.size()).ok());
  const auto [request, added] = AddPredicted(5, false, 0, data);
  EXPECT_EQ(added, Predicted::kAnswered);
  EXPECT_TRUE(request->done);
  EXPECT_THAT(data, testing::Each(std::byte{42}));
  EXPECT_EQ(table_.Pushes().early, 1u);
}

TEST_F(RequestTableTest, APushOfAnotherPathAnswersNothing) {
  const auto [request, added] = AddPredicted(5, false, 1);
  ASSERT_TRUE(Push(5, {.path = 0}).ok());
  EXPECT_FALSE(request->done);
  EXPECT_EQ(table_.Pushes().voided, 1u);
  ASSERT_TRUE(Push(5, {.path = 1}).ok());
  EXPECT_TRUE(request->done);
}

TEST_F(RequestTableTest, ErrorsOfPostedWorkTravelWithAVoidPushToo) {
  AddPredicted(5, false, 1);
  ASSERT_TRUE(Push(5, {.path = 0}, {.posted_error = CudaError::kInvalidValue}).ok());
  EXPECT_EQ(errors_.TakePending(), CudaError::kInvalidValue);
}

TEST_F(RequestTableTest, OfAnEarlyAnswerTheErrorCountsWhenItIsTaken) {
  ASSERT_TRUE(Push(5, {}, {.error = CudaError::kInvalidValue}).ok());
  EXPECT_FALSE(errors_.HasPending());
  AddPredicted(5, false, 0, {}, /*detached=*/true);
  EXPECT_EQ(errors_.TakePending(), CudaError::kInvalidValue);
}

TEST_F(RequestTableTest, AnElidedWaitIsDoneAtOnceAndAnsweredLater) {
  const auto [request, added] = AddPredicted(5, /*may_elide=*/true);
  EXPECT_EQ(added, Predicted::kElided);
  EXPECT_TRUE(request->done);
  EXPECT_TRUE(table_.MustSettle(Launch::kNumber, kOther));
  ASSERT_TRUE(Push(5, {.sure = true}, {.error = CudaError::kInvalidValue}).ok());
  EXPECT_FALSE(table_.MustSettle(Launch::kNumber, kOther));
  table_.AwaitElided();
  EXPECT_EQ(errors_.TakePending(), CudaError::kInvalidValue);
  EXPECT_EQ(table_.Pushes().elided, 1u);
}

TEST_F(RequestTableTest, OnlySoManyWaitsAreElided) {
  for (uint64_t i = 1; i <= 4; ++i) EXPECT_EQ(AddPredicted(i, true).second, Predicted::kElided);
  EXPECT_EQ(AddPredicted(5, true).second, Predicted::kWaiting);
}

TEST_F(RequestTableTest, NoWaitIsElidedBesideOthers) {
  const RequestPtr other = Add({}, /*detached=*/true);
  EXPECT_EQ(AddPredicted(5, true).second, Predicted::kWaiting);
  ASSERT_TRUE(Push(5, {}).ok());
  ASSERT_TRUE(Reply(other->tag).ok());
  EXPECT_EQ(AddPredicted(6, true).second, Predicted::kElided);
}

TEST_F(RequestTableTest, NoWaitIsElidedThatShowsMore) {
  table_.ForbidEliding();
  EXPECT_EQ(AddPredicted(5, true).second, Predicted::kWaiting);
}

TEST_F(RequestTableTest, AWaitCostsARoundTripIfTheServerHadToHearOfTheLastOne) {
  const RequestPtr asked = Add();
  ASSERT_TRUE(Reply(asked->tag).ok());
  EXPECT_TRUE(table_.CountWait(std::array{asked}));  // operation 1
  ASSERT_TRUE(Push(2, {.known = 1}).ok());
  ASSERT_TRUE(Push(3, {.known = 1}).ok());
  ASSERT_TRUE(Push(4, {.known = 3}).ok());
  std::vector<bool> round_trips;
  for (uint64_t position = 2; position <= 4; ++position) {
    round_trips.push_back(table_.CountWait(std::array{AddPredicted(position).first}));
  }
  EXPECT_THAT(round_trips, testing::ElementsAre(false, false, false));
  ASSERT_TRUE(Push(6, {.known = 5}).ok());
  Count();
  EXPECT_TRUE(table_.CountWait(std::array{AddPredicted(6).first}));
}

TEST_F(RequestTableTest, AStreamIsKnownDoneUntilTheNextOperation) {
  const RequestPtr request = Add();
  EXPECT_FALSE(table_.IsKnownDone(3));
  table_.NoteDone(*request, 3);
  EXPECT_TRUE(table_.IsKnownDone(3));
  EXPECT_FALSE(table_.IsKnownDone(4));
  Count();
  EXPECT_FALSE(table_.IsKnownDone(3));
}

TEST_F(RequestTableTest, NothingButCopiesToAStreamThatWasDone) {
  EXPECT_TRUE(table_.OnlyCopiesSince(device::kDefaultStream)) << "nothing was made at all";
  EXPECT_FALSE(table_.OnlyCopiesSince(kOther));
  const RequestPtr request = Add();
  EXPECT_FALSE(table_.OnlyCopiesSince(device::kDefaultStream));
  table_.NoteDone(*request, kOther);
  Count(CopyToDevice::kNumber, kOther);
  Count(MapMemory::kNumber);
  Count(CopyToDevice::kNumber, kOther);
  EXPECT_TRUE(table_.OnlyCopiesSince(kOther));
  EXPECT_FALSE(table_.OnlyCopiesSince(device::kDefaultStream));
  Count(CopyToDevice::kNumber);
  EXPECT_FALSE(table_.OnlyCopiesSince(kOther)) << "a copy to another stream";
  table_.NoteDone(*Add(), kOther);
  Count(Launch::kNumber, kOther);
  EXPECT_FALSE(table_.OnlyCopiesSince(kOther));
}

TEST_F(RequestTableTest, ACertainWaitIsDoneAtOnceAndAnsweredLater) {
  const RequestPtr certain = AddCertain(kOther);
  EXPECT_TRUE(certain->done);
  EXPECT_FALSE(table_.CountWait(std::array{certain})) << "no round trip";
  EXPECT_EQ(table_.Pushes().elided, 1u);
  EXPECT_FALSE(table_.MustSettle(Launch::kNumber, kOther));
  EXPECT_FALSE(table_.MustSettle(MapMemory::kNumber, std::nullopt));
  EXPECT_TRUE(table_.MustSettle(UnmapMemory::kNumber, std::nullopt));
  EXPECT_TRUE(table_.MustSettle(Launch::kNumber, device::kDefaultStream));
  ReplyHeader failed;
  failed.error = CudaError::kOutOfMemory;
  ASSERT_TRUE(Reply(certain->tag, failed).ok());
  EXPECT_FALSE(table_.MustSettle(Launch::kNumber, device::kDefaultStream));
  table_.AwaitElided();
  EXPECT_EQ(table_.Pushes().made_up, 0u) << "there was nothing to wait for";
  EXPECT_EQ(errors_.TakePending(), CudaError::kOutOfMemory) << "who waits next gets it";
}

TEST_F(RequestTableTest, OnlySoManyCertainWaitsAreAheadOfTheServer) {
  int done = 0;
  for (int i = 0; i < 300; ++i) done += AddCertain()->done ? 1 : 0;
  EXPECT_EQ(done, 256);
}

TEST_F(RequestTableTest, TheLinkIsMeasuredWithoutTheServersTime) {
  const RequestPtr request = Add();
  clock_.Advance(std::chrono::milliseconds(30));
  ReplyHeader header;
  header.server_nanoseconds = 10'000'000;
  ASSERT_TRUE(Reply(request->tag, header).ok());
  EXPECT_EQ(estimator_.Estimate().round_trip, std::chrono::milliseconds(20));
}

}  // namespace
}  // namespace wharf::offload
