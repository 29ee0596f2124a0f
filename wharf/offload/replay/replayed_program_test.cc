#include "wharf/offload/replay/replayed_program.h"

#include <gtest/gtest.h>

#include "wharf/device/fake_device.h"
#include "wharf/offload/testing/fake_performer.h"
#include "wharf/offload/wire_codec.h"

namespace wharf::offload {
namespace {

constexpr uint64_t kAddress = device::FakeDevice::kBase;

class ReplayedProgramTest : public testing::Test {
 protected:
  ReplayedProgramTest() { performer_.mappings = {{kAddress, 4096}}; }
  template <typename Op>
  OperationId Learn(const Op& op, std::span<const std::byte> data = {}) {
    return program_.Learn(Op::kNumber, Encode(op), data).value();
  }
  bool IsSure() const { return program_.PushTicket(0, 1, {}).push->sure; }
  void Make(OperationId id) { program_.Deviate(id, program_.Lane().End() + 1); }
  // The program made it in the place of what was predicted, for all that both ends know.
  OperationId MakeNew(OperationId id) {
    program_.Deviate(id, program_.Lane().Cursor() + 1);
    return id;
  }
  OperationId Kernel(uint32_t rows) {
    return Learn(Launch{0, 7, {}, std::vector<std::byte>(4, static_cast<std::byte>(rows))});
  }

  device::FakeDevice device_;
  FakePerformer performer_{&device_};
  ReplayedProgram program_{&performer_, &device_, /*prepares=*/true};
};

TEST_F(ReplayedProgramTest, WhatRanCannotFailWhileAllThatWasThereStays) {
  const OperationId fill = Learn(Fill{0, {kAddress, 1, 1}, {1, 1, 1}, 7, 1});
  EXPECT_TRUE(program_.CanFail(fill));
  program_.NoteProven(fill);
  EXPECT_FALSE(program_.CanFail(fill));
  program_.NoteStateChange(RecordEvent::kNumber);
  EXPECT_FALSE(program_.CanFail(fill));
  program_.NoteStateChange(MapMemory::kNumber);
  EXPECT_FALSE(program_.CanFail(fill));
  program_.NoteStateChange(UnmapMemory::kNumber);
  EXPECT_TRUE(program_.CanFail(fill));
}

TEST_F(ReplayedProgramTest, AKernelThatNothingIsKnownOfCanAlwaysFail) {
  const OperationId launch = Learn(Launch{});
  program_.NoteProven(launch);
  EXPECT_TRUE(program_.CanFail(launch));
}

TEST_F(ReplayedProgramTest, AnswersAreUnsureUntilTheProgramHasWaitedForWhatCanFail) {
  const OperationId fill = Learn(Fill{0, {kAddress, 1, 1}, {1, 1, 1}, 7, 1}), wait = Learn(SynchronizeStream{0});
  EXPECT_TRUE(IsSure());
  Make(fill);
  program_.NoteRisk(fill);
  EXPECT_FALSE(IsSure());
  program_.NoteAnswered();
  EXPECT_FALSE(IsSure()) << "a fill is not answered";
  Make(wait);
  program_.NoteAnswered();
  EXPECT_TRUE(IsSure());
}

TEST_F(ReplayedProgramTest, TicketsSayWhatTheyAnswer) {
  const OperationId wait = Learn(SynchronizeStream{0});
  Make(wait);
  program_.NoteTakenBack();
  ProgramPath path = program_.Path();
  EXPECT_EQ(program_.PushTicket().tag, 1u);
  EXPECT_EQ(program_.PushTicket().push->path, path.Value());
  path.Operation(program_.Operations().Hash(wait));
  const ReplyTicket ticket = program_.PushTicket(wait, 5, path);
  EXPECT_EQ(ticket.tag, 5u);
  EXPECT_EQ(ticket.push->path, path.Value());
  EXPECT_EQ(ticket.push->known, 1u);
  EXPECT_EQ(ticket.push->taken_back, 1u);
}

TEST_F(ReplayedProgramTest, SmallAnswersAreKeptToPredictArgumentsBy) {
  const auto answer = [&](uint64_t bytes) {
    return program_.PushTicket(Learn(CopyToHost{0, {kAddress, bytes, bytes}, {bytes, 1, 1}}), 1, {}).answer;
  };
  EXPECT_NE(answer(SmallAnswer::kMaxBytes), nullptr);
  EXPECT_EQ(answer(SmallAnswer::kMaxBytes + 1), nullptr);
  EXPECT_EQ(answer(0), nullptr);
}

// The same kernel twice, with other arguments the second time; what was allocated before it shifts nothing.
TEST_F(ReplayedProgramTest, AnAllocationTakesNobodysPlace) {
  const OperationId wait = Learn(SynchronizeStream{0}), a = Kernel(1), b = Kernel(2);
  for (const OperationId id : {wait, a, b}) Make(id);
  program_.Deviate(wait, 1);
  MakeNew(Learn(MapMemory{kAddress + 4096, 4096}));
  const OperationId other_a = MakeNew(Kernel(3)), other_b = MakeNew(Kernel(4));
  EXPECT_NE(program_.SiteOf(a), kNoSite);
  EXPECT_NE(program_.SiteOf(a), program_.SiteOf(b));
  EXPECT_EQ(program_.SiteOf(other_a), program_.SiteOf(a));
  EXPECT_EQ(program_.SiteOf(other_b), program_.SiteOf(b));
}

TEST_F(ReplayedProgramTest, AnAllocationThatIsNotMadeAgainLeavesNoPlace) {
  const OperationId wait = Learn(SynchronizeStream{0}), map = Learn(MapMemory{kAddress + 4096, 4096}), a = Kernel(1),
                    b = Kernel(2);
  for (const OperationId id : {wait, map, a, b}) Make(id);
  program_.Deviate(wait, 1);
  const OperationId other_a = MakeNew(Kernel(3)), other_b = MakeNew(Kernel(4));
  EXPECT_NE(program_.SiteOf(a), program_.SiteOf(b));
  EXPECT_EQ(program_.SiteOf(other_a), program_.SiteOf(a));
  EXPECT_EQ(program_.SiteOf(other_b), program_.SiteOf(b));
}

TEST_F(ReplayedProgramTest, DataArePredictedThatStayedTheSame) {
  const std::vector<std::byte> data(4, std::byte{1});
  const OperationId copy = Learn(CopyToDevice{0, {kAddress, 4, 4}, {4, 1, 1}}, data);
  EXPECT_FALSE(program_.PredictsData(copy));
  program_.NoteSameData(copy);
  EXPECT_TRUE(program_.PredictsData(copy));
  const std::vector<std::byte> others(4, std::byte{2});
  program_.NoteOtherData(copy, others);
  EXPECT_FALSE(program_.PredictsData(copy));
  EXPECT_EQ(program_.KnownData(copy), others);
  EXPECT_TRUE(program_.PredictsData(Learn(SynchronizeStream{0})));
}

TEST_F(ReplayedProgramTest, MalformedOperationsAreNotLearnt) {
  EXPECT_EQ(program_.Learn(Fill::kNumber, std::vector<std::byte>(3), {}).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(program_.Operations().size(), 0u);
}

TEST_F(ReplayedProgramTest, MoreThanAgreedIsNotRemembered) {
  const std::vector<std::byte> data(OperationTable::kMaxData);
  const std::vector<std::byte> head =
      Encode(CopyToDevice{0, {kAddress, data.size(), data.size()}, {data.size(), 1, 1}});
  absl::Status status;
  for (size_t i = 0; i <= OperationTable::kMaxBytes / data.size() && status.ok(); ++i) {
    status = program_.Learn(CopyToDevice::kNumber, head, data).status();
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  program_.Forget();
  EXPECT_TRUE(program_.Learn(CopyToDevice::kNumber, head, data).ok());
}

}  // namespace
}  // namespace wharf::offload
