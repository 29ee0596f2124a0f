#include "wharf/offload/replay/prepared_batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>
#include <cstring>

#include "absl/synchronization/notification.h"
#include "wharf/device/fake_device.h"

namespace wharf::offload {
namespace {

using testing::ElementsAre;

constexpr device::FunctionId kFunction = 5, kOther = 6;

// A server that does operations as they come, prepared where they are. Operation `id` writes its number into the log.
class PreparedBatchesTest : public testing::Test {
 protected:
  PreparedBatchesTest() {
    const FakeKernel log = [this](device::FakeDevice&, const device::LaunchConfig&,
                                  const std::vector<std::byte>& parameters) {
      OperationId id = 0;
      std::memcpy(&id, parameters.data(), sizeof(id));
      log_.push_back(id);
      return absl::OkStatus();
    };
    device_ = std::make_unique<device::FakeDevice>(std::map<std::string, FakeKernel>{{"log", log}, {"other", log}});
    batches_ = std::make_unique<PreparedBatches>(device_.get());
    EXPECT_TRUE(device_->LoadModule(1, std::vector<std::byte>(16)).ok());
    EXPECT_TRUE(device_->DefineFunction(kFunction, 1, "log").ok());
    EXPECT_TRUE(device_->DefineFunction(kOther, 1, "other").ok());
  }

  // 0 is no work for a list.
  static StepOp Operation(OperationId id) {
    if (id == 0) return SynchronizeStream{0};
    Launch op;
    op.function = id % 2 == 0 ? kOther : kFunction;
    op.parameters.resize(sizeof(id));
    std::memcpy(op.parameters.data(), &id, sizeof(id));
    return op;
  }
  void DoOne(OperationId id) {
    const StepOp op = Operation(id);
    device::Device& device = *device_;
    if (const auto work = WorkOf(op)) {
      ASSERT_TRUE(device.Run(*work).ok());
    }
    batches_->Note(id, op);
  }
  // As predicted. How many of them were done as parts of lists.
  size_t Do(const std::vector<OperationId>& ids) {
    size_t prepared = 0;
    for (size_t i = 0; i < ids.size();) {
      const PreparedBatches::Match match =
          batches_->Find([&](size_t k) { return i + k < ids.size() ? ids[i + k] : kNoOperation; }, ids.size() - i);
      if (match.ids.empty()) {
        DoOne(ids[i++]);
        continue;
      }
      const size_t count = match.ids.size();
      EXPECT_EQ(match.list->Submit(match.first, count).queued, count);
      batches_->Advance(count);
      prepared += count;
      i += count;
    }
    return prepared;
  }
  // The operations the device did since the last look.
  std::vector<OperationId> Done() {
    absl::Notification done;
    EXPECT_TRUE(device_->NotifyAll([&done](const absl::Status&) { done.Notify(); }).ok());
    done.WaitForNotification();
    return std::exchange(log_, {});
  }

  using FakeKernel = device::FakeDevice::Kernel;
  std::vector<OperationId> log_;
  std::unique_ptr<device::FakeDevice> device_;
  std::unique_ptr<PreparedBatches> batches_;
};

TEST_F(PreparedBatchesTest, WhatComesAgainIsPrepared) {
  EXPECT_EQ(Do({1, 2, 3, 4, 5, 0}), 0u);
  EXPECT_EQ(Do({1, 2, 3, 4, 5, 0}), 5u);
  EXPECT_THAT(Done(), ElementsAre(1, 2, 3, 4, 5, 1, 2, 3, 4, 5));
}

TEST_F(PreparedBatchesTest, AFewNeighboursAreNotWorthAList) {
  Do({1, 2, 3, 0});
  EXPECT_EQ(Do({1, 2, 3, 0}), 0u);
}

TEST_F(PreparedBatchesTest, OtherArgumentsTakeTheirPlace) {
  Do({1, 2, 3, 4, 5, 6, 0});
  EXPECT_EQ(Do({1, 2, 13, 4, 5, 6, 0}), 5u);
  EXPECT_EQ(Do({1, 2, 13, 4, 5, 6, 0}), 6u);
  EXPECT_THAT(Done(), ElementsAre(1, 2, 3, 4, 5, 6, 1, 2, 13, 4, 5, 6, 1, 2, 13, 4, 5, 6));
}

TEST_F(PreparedBatchesTest, AnotherKernelBeginsAnotherPath) {
  Do({1, 2, 3, 4, 5, 6, 0});
  EXPECT_EQ(Do({1, 2, 8, 10, 12, 14, 0}), 2u);
  EXPECT_EQ(Do({1, 2, 8, 10, 12, 14, 0}), 6u);
  EXPECT_EQ(Do({1, 2, 3, 4, 5, 6, 0}), 6u);
}

TEST_F(PreparedBatchesTest, AfterAnInterruptionAListBeginsAtItsBeginning) {
  Do({1, 2, 3, 4, 5, 0});
  EXPECT_EQ(Do({1, 2}), 2u);
  batches_->Interrupt();
  EXPECT_EQ(Do({3, 4, 5, 0}), 0u);
  EXPECT_EQ(Do({1, 2, 3, 4, 5, 0}), 5u);
}

// Nothing but room is lost when too much is prepared.
TEST_F(PreparedBatchesTest, WhatIsKeptIsBounded) {
  std::vector<OperationId> many;
  for (OperationId id = 1; id < 200000; ++id) many.push_back(id);
  Do(many);
  EXPECT_LT(Do(many), many.size());
  many.insert(many.end(), many.begin(), many.end());
  EXPECT_THAT(Done(), testing::Eq(many));
}

TEST_F(PreparedBatchesTest, NothingIsLeftAfterClear) {
  Do({1, 2, 3, 4, 5, 0});
  batches_->Clear();
  EXPECT_EQ(Do({1, 2, 3, 4, 5, 0}), 0u);
}

// Whatever is prepared, the device does what came, in order.
RC_GTEST_FIXTURE_PROP(PreparedBatchesTest, TheDeviceDoesWhatCame, ()) {
  const auto part = rc::gen::container<std::vector<OperationId>>(rc::gen::inRange<OperationId>(0, 9));
  const auto parts = *rc::gen::container<std::vector<std::vector<OperationId>>>(4, part);
  std::vector<OperationId> expected;
  for (const size_t which : *rc::gen::container<std::vector<size_t>>(rc::gen::inRange<size_t>(0, 5))) {
    if (which == 4) {
      batches_->Interrupt();
      continue;
    }
    Do(parts[which]);
    for (const OperationId id : parts[which]) {
      if (id != 0) expected.push_back(id);
    }
  }
  RC_ASSERT(Done() == expected);
}

}  // namespace
}  // namespace wharf::offload
