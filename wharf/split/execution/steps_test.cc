// Whatever the network and the plan: both sides' steps fit together, and give what the whole model gives.
#include "wharf/split/execution/steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <thread>

#include "wharf/split/execution/side_runner.h"
#include "wharf/split/planners/layer_cut.h"
#include "wharf/split/runtime/testing.h"

namespace wharf::split {
namespace {

using ::testing::ElementsAre;

SideSteps Compiled(const Model& model, const Plan& plan, Side side) {
  auto steps = CompileSteps(model.View(), plan, side);
  EXPECT_TRUE(steps.ok()) << ToString(steps.status());
  return *std::move(steps);
}

std::vector<RowsMessage> Sent(const SideSteps& steps) {
  std::vector<RowsMessage> all;
  for (const Step& step : steps.steps) {
    if (step.kind == Step::Kind::kSend) all.insert(all.end(), step.messages.begin(), step.messages.end());
  }
  return all;
}

// What one side sends is there for the other at once.
class Wire final : public Outbox {
 public:
  Wire(const Model& model, const SideSteps& receiver) : model_(model), inbox(receiver.incoming, Clock::Real()) {}
  void Send(const RowsMessage& message, exec::Part part) override {
    const auto next = inbox.Next();
    if (!next.ok() || !(*next == message) || part.rows.range != message.rows.range ||
        part.tensor->Type() != TypeOfRows(model_.Graph(), model_.View().rules, message.rows)) {
      inbox.Close(Internal("not what was expected"));
      return;
    }
    inbox.Put(std::move(part.tensor));
  }

 private:
  const Model& model_;

 public:
  Inbox inbox;
};

// Both sides, each on a thread of its own.
class Both {
 public:
  Both(const Model& model, const Plan& plan)
      : model_(model),
        steps_{Compiled(model, plan, kDevice), Compiled(model, plan, kServer)},
        to_{Wire(model, steps_[kDevice]), Wire(model, steps_[kServer])},
        rows_{RowStore(model.Graph().values.size()), RowStore(model.Graph().values.size())} {}

  absl::StatusOr<std::vector<exec::TensorPtr>> Run(const exec::TensorPtr& input) {
    const int value = model_.Graph().inputs[0];
    rows_[kDevice].Add({{value, exec::AllRows(model_.Program(), value)}, input});
    absl::Status served;
    std::thread server([&] { served = RunSide(kServer); });
    const absl::Status done = RunSide(kDevice);
    server.join();
    WHARF_RETURN_IF_ERROR(done);
    WHARF_RETURN_IF_ERROR(served);
    return Finish(model_.Program(), rows_[kDevice]);
  }
  const SideSteps& Steps(Side side) const { return steps_[side]; }
  // What a side still has.
  std::vector<int> Held(Side side) const {
    std::vector<int> held;
    for (int value = 0; value < static_cast<int>(rows_[side].Size()); ++value) {
      if (rows_[side].Has(value)) held.push_back(value);
    }
    return held;
  }
  std::vector<Event> Events() const { return recorder_.Events(); }

 private:
  absl::Status RunSide(Side side) {
    const absl::Status done =
        RunSteps({model_.Program(), steps_[side], side, to_[side].inbox, to_[Other(side)], recorder_, {}}, rows_[side]);
    if (!done.ok()) to_[Other(side)].inbox.Close(done);
    return done;
  }

  const Model& model_;
  const std::array<SideSteps, 2> steps_;
  std::array<Wire, 2> to_;
  std::array<RowStore, 2> rows_;
  Recorder recorder_{Clock::Real()};
};

bool Reads(const SideSteps& side, int value) {
  const auto is = [value](const exec::Rows& rows) { return rows.value == value; };
  return std::any_of(side.steps.begin(), side.steps.end(), [&](const Step& step) {
    return std::any_of(step.given.begin(), step.given.end(), is) ||
           std::any_of(step.messages.begin(), step.messages.end(),
                       [&](const RowsMessage& message) { return is(message.rows); });
  });
}

RC_GTEST_PROP(Steps, GiveWhatTheWholeModelGives, (uint32_t seed)) {
  const auto model = testing::RandomModel(seed, *rc::gen::inRange(1, 12));
  const RowGraph& rows = model->View().rows;
  const Plan plan = ArbitraryLaidOutPlan(rows);
  RC_ASSERT(CheckPlan(rows, plan).ok());
  RC_CLASSIFY(!plan.layout.bands.empty(), "in bands");
  Both both(*model, plan);
  const exec::TensorPtr input = testing::RandomInput(*model, seed);
  const auto results = both.Run(input);
  if (!results.ok()) RC_FAIL(ToString(results.status()));
  const auto whole = testing::IsWhole(*model, input, *results);
  if (!whole) RC_FAIL(whole.message());
  RC_CLASSIFY(!both.Steps(kDevice).incoming.empty(), "something comes back");
  // Nothing is held longer than it is read (an input that nothing reads stays), and the outputs came of the steps
  // alone.
  RC_ASSERT(both.Held(kServer).empty());
  std::vector<int> held = both.Held(kDevice);
  if (!Reads(both.Steps(kDevice), model->Graph().inputs[0])) std::erase(held, model->Graph().inputs[0]);
  RC_ASSERT(held == model->Graph().outputs);
}

RC_GTEST_PROP(Steps, SendWhatTheOtherSideExpectsAndThePlanSays, (uint32_t seed)) {
  const auto model = testing::RandomModel(seed, *rc::gen::inRange(1, 12));
  const Plan plan = ArbitraryLaidOutPlan(model->View().rows);
  const RowGraph rows = WithLayout(model->View().rows, plan.layout);
  const std::array<SideSteps, 2> steps = {Compiled(*model, plan, kDevice), Compiled(*model, plan, kServer)};
  for (const Side side : kSides) {
    RC_ASSERT(Sent(steps[side]) == steps[Other(side)].incoming);
    std::vector<RowsMessage> received;
    for (const Step& step : steps[side].steps) {
      if (step.kind == Step::Kind::kReceive)
        received.insert(received.end(), step.messages.begin(), step.messages.end());
    }
    RC_ASSERT(received.size() == steps[side].incoming.size());
  }
  std::array<int, 2> sent{}, planned{};
  for (const Side side : kSides) {
    for (const RowsMessage& message : steps[Other(side)].incoming) {
      const int op = rows.Operator(message.op);
      if (message.rows.value == model->Operators().values[op][0]) sent[side] += message.rows.range.Size();
    }
  }
  for (const Transfer& transfer : Transfers(rows, plan)) {
    // Of an operator that cannot be cut the value's rows count, not the operator's one.
    const int value = model->Operators().values[rows.Operator(transfer.op)][0];
    const bool whole = rows.OperatorRows(transfer.op) == 1;
    planned[transfer.from] += whole ? model->View().rules.Rows(model->Graph(), value) : transfer.rows;
  }
  RC_ASSERT(sent == planned);
}

TEST(Steps, OfTheDeviceAloneAreOneComputation) {
  const auto model = testing::RandomModel(7, 8);
  const SideSteps steps = Compiled(*model, DeviceOnlyPlan(model->View().rows), kDevice);
  ASSERT_EQ(steps.steps.size(), 1u);
  EXPECT_EQ(steps.steps[0].kind, Step::Kind::kCompute);
  EXPECT_TRUE(Compiled(*model, DeviceOnlyPlan(model->View().rows), kServer).steps.empty());
}

TEST(Steps, OfTheServerAloneAreOneComputationAsWell) {
  const auto model = testing::RandomModel(7, 8);
  const Plan plan = ServerOnlyPlan(model->View().rows);
  std::vector<Step::Kind> device, server;
  for (const Step& step : Compiled(*model, plan, kDevice).steps) device.push_back(step.kind);
  for (const Step& step : Compiled(*model, plan, kServer).steps) server.push_back(step.kind);
  EXPECT_THAT(device, ElementsAre(Step::Kind::kSend, Step::Kind::kReceive));
  EXPECT_THAT(server, ElementsAre(Step::Kind::kReceive, Step::Kind::kCompute, Step::Kind::kSend));
}

TEST(Steps, RecordWhatTookTime) {
  const auto model = testing::RandomModel(7, 8);
  Both both(*model, ServerOnlyPlan(model->View().rows));
  ASSERT_TRUE(both.Run(testing::RandomInput(*model, 1)).ok());
  const auto events = both.Events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].resource, Resource::kServer);
  EXPECT_EQ(events[0].op, model->View().rows.Output() - 1);
  EXPECT_GE(events[0].end_ms, events[0].start_ms);
}

// The device goes on alone from any state: whatever rows it has of whatever values.
RC_GTEST_PROP(Finish, NeedsNothingButTheInput, (uint32_t seed)) {
  const auto model = testing::RandomModel(seed, *rc::gen::inRange(1, 10));
  const exec::Program& program = model->Program();
  const exec::TensorPtr input = testing::RandomInput(*model, seed);
  const int first = model->Graph().inputs[0];
  const exec::Part image{{first, exec::AllRows(program, first)}, input};
  RowStore store(model->Graph().values.size());
  for (const auto& values : model->Operators().values) {
    for (const int value : values) {
      if (!*rc::gen::arbitrary<bool>()) continue;
      const RowRange all = exec::AllRows(program, value);
      const int lo = *rc::gen::inRange(all.lo, all.hi);
      const exec::Rows rows{value, {lo, *rc::gen::inRange(lo + 1, all.hi + 1)}};
      const auto made = program.Run({&image, 1}, {&rows, 1});
      if (!made.ok()) RC_FAIL(ToString(made.status()));
      store.Add({rows, made->front()});
    }
  }
  store.Add(image);
  const auto results = Finish(program, store);
  if (!results.ok()) RC_FAIL(ToString(results.status()));
  const auto whole = testing::IsWhole(*model, input, *results);
  if (!whole) RC_FAIL(whole.message());
}

TEST(Inbox, SaysWhenRowsAreLateAndWhyNoneCome) {
  VirtualClock clock;
  const RowsMessage message{1, {3, {0, 2}}};
  Inbox inbox({message}, clock);
  const TimePoint deadline = clock.Now() + std::chrono::milliseconds(5);
  absl::Status late;
  std::thread waiting([&] { late = inbox.Take({message}, deadline).status(); });
  clock.Advance(std::chrono::milliseconds(6));
  waiting.join();
  EXPECT_EQ(late.code(), absl::StatusCode::kDeadlineExceeded);
  inbox.Close(Unavailable("gone"));
  inbox.Close(Internal("later"));
  EXPECT_EQ(inbox.Take({message}, {}).status(), Unavailable("gone"));
}

TEST(Inbox, TakesNoMoreThanThePlanHas) {
  Inbox inbox({{1, {3, {0, 2}}}}, Clock::Real());
  ASSERT_TRUE(inbox.Next().ok());
  inbox.Put(nullptr);
  EXPECT_EQ(inbox.Next().status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(inbox.Take({{1, {3, {0, 2}}}}, {}).ok());
}

}  // namespace
}  // namespace wharf::split
