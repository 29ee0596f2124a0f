#include "wharf/pipeline/dataplane/reservation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>

#include "wharf/pipeline/dataplane/testing.h"

namespace wharf::pipeline {
namespace {

TimePoint At(int64_t ns) { return {Nanoseconds(ns)}; }

// Two GPUs in two hosts feed one in a third; 10 bytes a request at 1 byte/ns.
struct TwoStages {
  TwoStages() {
    DeploymentBuilder builder;
    const int a = builder.AddHost(1, 1)[0], b = builder.AddHost(1, 1)[0], c = builder.AddHost(1, 1)[0];
    const int model = builder.AddModel(Nanoseconds(1000), 1);
    builder.AddPipeline(model, {{{a, b}, Times({20, 30}), 0}, {{c}, Times({5, 8}), 10}});
    deployment = builder.Build();
  }
  Deployment deployment;
};

TEST(Reservations, AnIdlePipelineTakesItsComputationsAndTransfers) {
  const TwoStages two;
  const Reservations reservations(two.deployment);
  Path path;
  ASSERT_TRUE(reservations.Probe(0, 2, At(100), path));
  EXPECT_EQ(path.finish, At(100 + 30 + 20 + 8));
  EXPECT_EQ(path.wait, Nanoseconds(0));
  EXPECT_EQ(path.steps[1].send, At(130));
  EXPECT_EQ(path.steps[1].start, At(150));
}

TEST(Reservations, ASecondBatchTakesTheOtherGpuAndWaitsForTheSharedDownlink) {
  const TwoStages two;
  Reservations reservations(two.deployment);
  Path first, second;
  reservations.Probe(0, 2, At(0), first);
  reservations.Reserve(first);
  ASSERT_TRUE(reservations.Probe(0, 2, At(0), second));
  EXPECT_NE(second.steps[0].vgpu, first.steps[0].vgpu);
  EXPECT_EQ(second.steps[1].send, At(50));
  EXPECT_EQ(second.wait, Nanoseconds(20));
}

TEST(Reservations, AnEarlyReportMovesWhatWaitsForIt) {
  const TwoStages two;
  Reservations reservations(two.deployment);
  Path path;
  reservations.Probe(0, 2, At(0), path);
  reservations.Reserve(path);
  EXPECT_THAT(reservations.TakeReady(), testing::ElementsAre(path.steps[0].compute_slot));
  reservations.Finish(path.steps[0].compute_slot, At(22));
  EXPECT_EQ(reservations.Promised(path.steps[1].transfer_slot).start, At(22));
  EXPECT_EQ(reservations.Promised(path.steps[1].compute_slot).end, At(50));
  EXPECT_THAT(reservations.TakeReady(), testing::ElementsAre(path.steps[1].transfer_slot));
}

TEST(Reservations, WhatIsOverdueLastsALittleLonger) {
  const TwoStages two;
  Reservations reservations(two.deployment);
  Path path, next;
  reservations.Probe(0, 2, At(0), path);
  reservations.Reserve(path);
  reservations.TakeReady();
  reservations.Advance(At(45));
  EXPECT_EQ(reservations.Promised(path.steps[0].compute_slot).end, At(46));
  EXPECT_EQ(reservations.Promised(path.steps[1].compute_slot).end, At(74));
}

TEST(Reservations, WhatIsCancelledIsFree) {
  const TwoStages two;
  Reservations reservations(two.deployment);
  Path path, again;
  reservations.Probe(0, 2, At(0), path);
  reservations.Reserve(path);
  reservations.Cancel(path.steps[0].compute_slot, At(0));
  EXPECT_EQ(reservations.ReservedSlots(), 0u);
  ASSERT_TRUE(reservations.Probe(0, 2, At(0), again));
  EXPECT_EQ(again.finish, path.finish);
}

TEST(Reservations, NoPathLeadsOverAnUnusableGpu) {
  const TwoStages two;
  Reservations reservations(two.deployment);
  Path path;
  reservations.SetUsable(0, false);
  ASSERT_TRUE(reservations.Probe(0, 1, At(0), path));
  EXPECT_EQ(path.steps[0].vgpu, 1);
  reservations.SetUsable(2, false);
  EXPECT_FALSE(reservations.Probe(0, 1, At(0), path));
}

TEST(Reservations, ABatchGoesIntoAGap) {
  DeploymentBuilder builder;
  const int gpu = builder.AddHost(1, 1)[0], slow = builder.AddHost(1, 1)[0];
  const int model = builder.AddModel(Nanoseconds(1000), 1);
  const int late = builder.AddPipeline(model, {{{slow}, Times({50}), 0}, {{gpu}, Times({10}), 0}});
  const int soon = builder.AddPipeline(model, {{{gpu}, Times({40}), 0}});
  const Deployment deployment = builder.Build();
  Reservations reservations(deployment);
  Path path;
  reservations.Probe(late, 1, At(0), path);
  reservations.Reserve(path);
  ASSERT_TRUE(reservations.Probe(soon, 1, At(5), path));
  EXPECT_EQ(path.steps[0].start, At(5));
  reservations.Reserve(path);
  ASSERT_TRUE(reservations.Probe(soon, 1, At(5), path));
  EXPECT_EQ(path.steps[0].start, At(60));
}

TEST(Reservations, AVirtualGpuIsToldWhatComesNext) {
  DeploymentBuilder builder;
  const int gpu = builder.AddHost(1, 1)[0];
  const int pipeline = builder.AddPipeline(builder.AddModel(Nanoseconds(1000), 1), {{{gpu}, Times({10}), 0}});
  const Deployment deployment = builder.Build();
  Reservations reservations(deployment);
  std::vector<SlotId> slots;
  for (int i = 0; i < 3; ++i) {
    Path path;
    ASSERT_TRUE(reservations.Probe(pipeline, 1, At(0), path));
    reservations.Reserve(path);
    slots.push_back(path.steps[0].compute_slot);
  }
  EXPECT_THAT(reservations.TakeReady(), testing::ElementsAre(slots[0], slots[1]));
  reservations.Finish(slots[0], At(12));
  EXPECT_EQ(reservations.Promised(slots[1]).start, At(12));  // later than promised, though it was commanded
  EXPECT_THAT(reservations.TakeReady(), testing::ElementsAre(slots[2]));
}

// Random batches come, slots begin when they may and end when they like: earlier or later than promised.
class History {
 public:
  History(const Deployment& deployment) : deployment_(deployment), reservations_(deployment) {}

  void Step() {
    const int what = *rc::gen::inRange(0, 10);
    if (what < 4) {
      Arrive();
    } else if (what < 9) {
      EndSomething();
    } else if (!running_.empty()) {
      const auto victim = running_.begin() + *rc::gen::inRange<ptrdiff_t>(0, std::ssize(running_));
      reservations_.Cancel(*victim, now_);
      running_.erase(victim);
    }
    for (const SlotId slot : reservations_.TakeReady()) running_.push_back(slot);
    CheckTables();
  }
  const Reservations& Tables() const { return reservations_; }
  TimePoint Now() const { return now_; }

  void Arrive() {
    const int pipeline = *rc::gen::inRange<int>(0, static_cast<int>(deployment_.pipelines.size()));
    const int batch = *rc::gen::inRange(1, deployment_.pipelines[pipeline].Batch() + 1);
    Path path;
    reservations_.Advance(now_);
    RC_ASSERT(reservations_.Probe(pipeline, batch, now_, path));
    reservations_.Reserve(path);
    for (const PathStep& step : path.steps) {  // exactly what was promised
      vgpu_of_[step.compute_slot] = step.vgpu;
      const Reservations::Times compute = reservations_.Promised(step.compute_slot);
      RC_ASSERT(compute.start == step.start && compute.end == step.start + step.compute);
      RC_ASSERT((step.transfer.count() > 0) == (step.transfer_slot != kNoSlot));
      if (step.transfer_slot == kNoSlot) continue;
      const Reservations::Times transfer = reservations_.Promised(step.transfer_slot);
      RC_ASSERT(transfer.start == step.send && transfer.end == step.send + step.transfer);
      RC_ASSERT(transfer.end <= compute.start);
    }
  }

 private:
  void EndSomething() {
    if (running_.empty()) return;
    auto which = running_.begin() + *rc::gen::inRange<ptrdiff_t>(0, std::ssize(running_));
    if (vgpu_of_.count(*which) > 0) {  // a virtual GPU computes in the order of its commands
      which = std::ranges::find_if(running_, [&, vgpu = vgpu_of_.at(*which)](SlotId slot) {
        return vgpu_of_.count(slot) > 0 && vgpu_of_.at(slot) == vgpu;
      });
    }
    now_ = now_ + Nanoseconds(*rc::gen::inRange(0, 12));
    reservations_.Finish(*which, now_);
    running_.erase(which);
  }

  void CheckTables() const {
    for (int resource = 0; resource < reservations_.Resources(); ++resource) {
      TimePoint free;
      for (const Reservations::Times& slot : reservations_.TimesOf(resource)) {
        RC_ASSERT(slot.start >= free);
        RC_ASSERT(slot.end > slot.start);
        free = slot.end;
      }
    }
  }

  const Deployment& deployment_;
  Reservations reservations_;
  TimePoint now_;
  std::vector<SlotId> running_;    // by when they were commanded
  std::map<SlotId, int> vgpu_of_;  // of computations
};

RC_GTEST_PROP(ReservationsProperty, NothingIsBookedTwiceAndPromisesAreKept, ()) {
  const Deployment deployment = ArbitraryDeployment(Nanoseconds(1));
  History history(deployment);
  const int steps = *rc::gen::inRange(1, 60);
  for (int i = 0; i < steps; ++i) history.Step();
}

bool Free(const std::vector<Reservations::Times>& table, TimePoint from, Nanoseconds duration) {
  return std::all_of(table.begin(), table.end(), [&](const Reservations::Times& slot) {
    return slot.end <= from || slot.start >= from + duration;
  });
}

// Every instant is tried.
TimePoint FirstFree(const std::vector<std::vector<Reservations::Times>>& tables, TimePoint from, Nanoseconds duration) {
  const auto free = [&](const auto& table) { return Free(table, from, duration); };
  while (!std::all_of(tables.begin(), tables.end(), free)) from = from + Nanoseconds(1);
  return from;
}

RC_GTEST_PROP(ReservationsProperty, AProbedStageEndsWhenBruteForceSaysItCan, ()) {
  const Deployment deployment = ArbitraryDeployment(Nanoseconds(1));
  History history(deployment);
  const int steps = *rc::gen::inRange(0, 40);
  for (int i = 0; i < steps; ++i) history.Step();
  const Reservations& tables = history.Tables();
  const int pipeline = *rc::gen::inRange<int>(0, static_cast<int>(deployment.pipelines.size()));
  const int batch = *rc::gen::inRange(1, deployment.pipelines[pipeline].Batch() + 1);
  Path path;
  RC_ASSERT(tables.Probe(pipeline, batch, history.Now(), path));

  const int vgpus = static_cast<int>(deployment.vgpus.size()), hosts = static_cast<int>(deployment.hosts.size());
  TimePoint ready = history.Now();
  for (size_t s = 0; s < path.steps.size(); ++s) {
    const DeployedStage& stage = deployment.pipelines[pipeline].stages[s];
    TimePoint best = At(1'000'000);
    for (const int vgpu : stage.vgpus) {
      TimePoint arrived = ready;
      if (s > 0) {
        const int from = deployment.vgpus[path.steps[s - 1].vgpu].host, to = deployment.vgpus[vgpu].host;
        const Nanoseconds transfer = deployment.TransferTime(from, to, batch * stage.input_bytes);
        if (transfer.count() > 0) {
          arrived =
              FirstFree({tables.TimesOf(vgpus + from), tables.TimesOf(vgpus + hosts + to)}, ready, transfer) + transfer;
        }
      }
      const Nanoseconds compute = stage.compute[batch - 1];
      best = std::min(best, FirstFree({tables.TimesOf(vgpu)}, arrived, compute) + compute);
    }
    RC_ASSERT(path.steps[s].start + path.steps[s].compute == best);
    ready = best;
  }
  RC_ASSERT(path.finish == ready);
}

}  // namespace
}  // namespace wharf::pipeline
