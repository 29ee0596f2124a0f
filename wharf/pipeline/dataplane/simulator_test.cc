#include "wharf/pipeline/dataplane/simulator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "wharf/pipeline/dataplane/testing.h"

namespace wharf::pipeline {
namespace {

constexpr Nanoseconds kMs = std::chrono::milliseconds(1);

TimePoint AtMs(int64_t ms) { return {ms * kMs}; }

std::vector<Nanoseconds> TimesMs(std::initializer_list<int> ms) {
  std::vector<Nanoseconds> times;
  for (const int one : ms) times.push_back(one * kMs);
  return times;
}

// Batches of 1 or 2 over one GPU (10 or 15 ms), 2 ms each on the link, then another GPU (4 or 6 ms).
Deployment TwoStages(Nanoseconds slo) {
  DeploymentBuilder builder;
  const std::vector<int> first = builder.AddHost(1, 1), second = builder.AddHost(1, 1);
  builder.AddPipeline(builder.AddModel(slo, 100), {{first, TimesMs({10, 15}), 0}, {second, TimesMs({4, 6}), 2e6}});
  return builder.Build();
}

SimulationOptions Keeping(SchedulerKind kind) {
  SimulationOptions options;
  options.scheduler = kind;
  options.seconds = 1;
  options.keep_records = options.keep_timeline = true;
  return options;
}

class BothSchedulers : public testing::TestWithParam<SchedulerKind> {};
INSTANTIATE_TEST_SUITE_P(Simulator, BothSchedulers,
                         testing::Values(SchedulerKind::kReserving, SchedulerKind::kReactive));

TEST_P(BothSchedulers, SayWhereTheTimeOfABatchWent) {
  const Deployment deployment = TwoStages(100 * kMs);
  const SimulationResult result = Simulate(deployment, {{AtMs(0), 0}, {AtMs(3), 0}}, Keeping(GetParam()));
  ASSERT_EQ(result.records.size(), 2u);
  const RequestRecord& first = result.records[0];
  EXPECT_EQ(first.fate, Fate::kOnTime);
  EXPECT_EQ(first.batch, 2);
  EXPECT_EQ(first.queued, 3 * kMs);
  EXPECT_EQ(first.computed, 21 * kMs);
  EXPECT_EQ(first.transferred, 4 * kMs);
  EXPECT_EQ(first.ended, AtMs(28));
  EXPECT_NEAR(result.utilisation[0], 0.021 / 2, 1e-9);
  EXPECT_NEAR(result.models[0].mean_ms, 26.5, 1e-6);
}

TEST_P(BothSchedulers, ALoneRequestWaitsForOthersUntilItMustGo) {
  const SimulationResult result = Simulate(TwoStages(50 * kMs), {{AtMs(0), 0}}, Keeping(GetParam()));
  ASSERT_EQ(result.records.size(), 1u);
  EXPECT_EQ(result.records[0].fate, Fate::kOnTime);
  EXPECT_EQ(result.records[0].ended, AtMs(50));
  EXPECT_EQ(result.records[0].queued, 34 * kMs);
}

TEST_P(BothSchedulers, WhatCannotBeInTimeIsDroppedAtOnce) {
  const SimulationResult result = Simulate(TwoStages(15 * kMs), {{AtMs(5), 0}}, Keeping(GetParam()));
  ASSERT_EQ(result.records.size(), 1u);
  EXPECT_EQ(result.records[0].fate, Fate::kTooLate);
  EXPECT_EQ(result.records[0].ended, AtMs(5));
}

TEST_P(BothSchedulers, TheSameSeedGivesTheSame) {
  SimulationOptions options = Keeping(GetParam());
  options.variation = {VariationKind::kLognormal, 0.2, 0.2};
  const std::vector<Arrival> arrivals = PoissonArrivals({120}, 1, 5);
  const SimulationResult a = Simulate(TwoStages(60 * kMs), arrivals, options);
  const SimulationResult b = Simulate(TwoStages(60 * kMs), arrivals, options);
  ASSERT_EQ(a.records.size(), b.records.size());
  for (size_t i = 0; i < a.records.size(); ++i) EXPECT_EQ(a.records[i].ended, b.records[i].ended);
}

TEST(Simulator, WhatIsPromisedToOthersIsNoCapacity) {
  // Four at once: two batches of two would end at 25 and 40 ms.
  const std::vector<Arrival> arrivals(4, {AtMs(0), 0});
  const SimulationResult result = Simulate(TwoStages(30 * kMs), arrivals, Keeping(SchedulerKind::kReserving));
  EXPECT_EQ(result.models[0].Of(Fate::kOnTime), 2u);
  EXPECT_EQ(result.models[0].Of(Fate::kNoCapacity), 2u);
}

TEST(Simulator, ALostWorkersRequestsBeginAgainOnAnother) {
  DeploymentBuilder builder;
  const std::vector<int> gpus = builder.AddHost(2, 1);
  builder.AddPipeline(builder.AddModel(100 * kMs, 100), {{gpus, TimesMs({10}), 0}});
  for (const SchedulerKind kind : {SchedulerKind::kReserving, SchedulerKind::kReactive}) {
    SimulationOptions options = Keeping(kind);
    options.outages = {{0, AtMs(5), AtMs(500)}};
    const SimulationResult result = Simulate(builder.Build(), {{AtMs(0), 0}}, options);
    ASSERT_EQ(result.records.size(), 1u);
    EXPECT_EQ(result.records[0].fate, Fate::kOnTime);
    EXPECT_EQ(result.records[0].ended, AtMs(15));
  }
}

TEST(Simulator, ALostWorkersRequestsAreReportedIfNobodyElseCanServeThem) {
  for (const SchedulerKind kind : {SchedulerKind::kReserving, SchedulerKind::kReactive}) {
    SimulationOptions options = Keeping(kind);
    options.outages = {{0, AtMs(5), AtMs(500)}};
    const SimulationResult result = Simulate(TwoStages(18 * kMs), {{AtMs(0), 0}}, options);
    ASSERT_EQ(result.records.size(), 1u);
    EXPECT_EQ(result.records[0].fate, Fate::kWorkerLost);
  }
}

// Two batches of one, from one first stage to two GPUs in hosts of their own: where their second stages are computed.
std::vector<int> SecondGpus(const ReactiveRules& rules) {
  DeploymentBuilder builder;
  const std::vector<int> first = builder.AddHost(1, 1);
  std::vector<int> second = builder.AddHost(1, 1);
  second.push_back(builder.AddHost(1, 1).front());
  builder.AddPipeline(builder.AddModel(100 * kMs, 100), {{first, TimesMs({10}), 0}, {second, TimesMs({4}), 2e6}});
  SimulationOptions options = Keeping(SchedulerKind::kReactive);
  options.scheduling.reactive = rules;
  std::vector<int> gpus;
  for (const BusySpan& span : Simulate(builder.Build(), {{AtMs(0), 0}, {AtMs(20), 0}}, options).timeline) {
    if (!span.transfer && span.stage == 1) gpus.push_back(span.vgpu);
  }
  return gpus;
}

TEST(ReactiveRules, SayWhichGpuHasTheNextBatch) {
  using Choice = ReactiveRules::Choice;
  EXPECT_THAT(SecondGpus({Choice::kInOrder, 2, true}), testing::ElementsAre(1, 1));
  EXPECT_THAT(SecondGpus({Choice::kRoundRobin, 2, true}), testing::ElementsAre(1, 2));
  EXPECT_THAT(SecondGpus({Choice::kFreeFirst, 2, true}), testing::ElementsAre(1, 2));
}

TEST(ReactiveRules, WithOneBatchAtATimeNothingMovesToABusyGpu) {
  SimulationOptions options = Keeping(SchedulerKind::kReactive);
  std::vector<TimePoint> ends;
  for (const int ahead : {1, 2}) {
    DeploymentBuilder builder;  // first stages of 2 ms, 10 ms each on the link, then 20 ms on one GPU
    const std::vector<int> first = builder.AddHost(1, 1), second = builder.AddHost(1, 1);
    builder.AddPipeline(builder.AddModel(100 * kMs, 100), {{first, TimesMs({2}), 0}, {second, TimesMs({20}), 10e6}});
    options.scheduling.reactive.ahead = ahead;
    ends.push_back(Simulate(builder.Build(), {{AtMs(0), 0}, {AtMs(12), 0}}, options).records.back().ended);
  }
  EXPECT_EQ(ends[0], AtMs(2 + 2 * (10 + 20)));
  EXPECT_EQ(ends[1], AtMs(2 + 10 + 2 * 20));  // moved while the first was computed
}

std::vector<Arrival> ArbitraryArrivals(const Deployment& deployment) {
  std::vector<Arrival> arrivals(*rc::gen::inRange<size_t>(1, 60));
  TimePoint at;
  for (Arrival& one : arrivals) {
    at = at + kMs * *rc::gen::inRange(0, 8);
    one = {at, *rc::gen::inRange<int>(0, static_cast<int>(deployment.models.size()))};
  }
  return arrivals;
}

std::vector<Outage> ArbitraryOutages(const Deployment& deployment) {
  std::vector<Outage> outages;
  for (int vgpu = 0; vgpu < static_cast<int>(deployment.vgpus.size()); ++vgpu) {
    if (*rc::gen::inRange(0, 4) != 0) continue;
    const TimePoint from = AtMs(*rc::gen::inRange(0, 200));
    outages.push_back({vgpu, from, from + kMs * *rc::gen::inRange(1, 100)});
  }
  return outages;
}

// Every request once, and no fate but the true one.
void CheckRecords(const Deployment& deployment, const std::vector<Arrival>& arrivals, const SimulationResult& result) {
  std::set<RequestId> ended;
  for (const RequestRecord& record : result.records) {
    RC_ASSERT(ended.insert(record.request.id).second);
    RC_ASSERT(record.request.id < arrivals.size());
    RC_ASSERT(record.request.arrival == arrivals[record.request.id].at);
    const Nanoseconds latency = record.ended - record.request.arrival;
    const bool in_time = latency <= deployment.models[record.request.model].slo;
    if (record.fate == Fate::kOnTime) RC_ASSERT(in_time && record.pipeline >= 0);
    if (record.fate == Fate::kLate) RC_ASSERT(!in_time && record.pipeline >= 0);
    RC_ASSERT(record.queued.count() >= 0 && record.queued + record.computed <= latency);
  }
  RC_ASSERT(ended.size() == arrivals.size());
}

// A request that was on time was computed, by the timeline: as many as were answered left their last stages.
void CheckTimeline(const Deployment& deployment, const SimulationResult& result) {
  std::vector<TimePoint> free(deployment.vgpus.size());
  std::vector<BusySpan> spans = result.timeline;
  std::stable_sort(spans.begin(), spans.end(), [](const BusySpan& a, const BusySpan& b) { return a.start < b.start; });
  std::vector<uint64_t> left(deployment.pipelines.size());
  for (const BusySpan& span : spans) {
    if (span.transfer) continue;
    RC_ASSERT(span.start >= free[span.vgpu]);
    free[span.vgpu] = span.end;
    const DeployedPipeline& pipeline = deployment.pipelines[span.pipeline];
    RC_ASSERT(span.requests >= 1 && span.requests <= pipeline.stages[span.stage].Batch());
    if (span.stage + 1 == static_cast<int>(pipeline.stages.size())) left[span.pipeline] += span.requests;
  }
  for (size_t p = 0; p < left.size(); ++p) RC_ASSERT(left[p] >= result.pipelines[p].requests);
}

ReactiveRules ArbitraryRules() {
  using Choice = ReactiveRules::Choice;
  return {*rc::gen::element(Choice::kFreeFirst, Choice::kInOrder, Choice::kRoundRobin), *rc::gen::inRange(1, 5),
          *rc::gen::arbitrary<bool>()};
}

RC_GTEST_PROP(SimulatorProperty, EveryRequestEndsOnceAndAsItIsSaid, ()) {
  const Deployment deployment = ArbitraryDeployment(kMs);
  const std::vector<Arrival> arrivals = ArbitraryArrivals(deployment);
  SimulationOptions options = Keeping(*rc::gen::element(SchedulerKind::kReserving, SchedulerKind::kReactive));
  options.variation.kind = *rc::gen::element(VariationKind::kLognormal, VariationKind::kGaussian);
  options.variation.compute_cv = *rc::gen::element(0.0, 0.1, 0.5);
  options.variation.transfer_cv = *rc::gen::element(0.0, 0.3);
  options.scheduling.guard = *rc::gen::element(0.0, 0.1);
  options.scheduling.reactive = ArbitraryRules();
  options.seed = *rc::gen::arbitrary<uint64_t>();
  options.outages = ArbitraryOutages(deployment);
  const SimulationResult result = Simulate(deployment, arrivals, options);
  CheckRecords(deployment, arrivals, result);
  CheckTimeline(deployment, result);
}

RC_GTEST_PROP(SimulatorProperty, WhereNothingVariesPromisesAreKeptAndNoLinkIsShared, ()) {
  const Deployment deployment = ArbitraryDeployment(kMs);
  const std::vector<Arrival> arrivals = ArbitraryArrivals(deployment);
  const SimulationResult result = Simulate(deployment, arrivals, Keeping(SchedulerKind::kReserving));
  CheckRecords(deployment, arrivals, result);
  for (const ModelResult& model : result.models) {
    RC_ASSERT(model.Of(Fate::kLate) == 0u);
    RC_ASSERT(model.Of(Fate::kWorkerLost) == 0u);
  }
  const int hosts = static_cast<int>(deployment.hosts.size());
  std::vector<TimePoint> free(2 * hosts);
  std::vector<BusySpan> spans = result.timeline;
  std::stable_sort(spans.begin(), spans.end(), [](const BusySpan& a, const BusySpan& b) { return a.start < b.start; });
  for (const BusySpan& span : spans) {
    if (!span.transfer) continue;
    for (const int link : {deployment.vgpus[span.from_vgpu].host, hosts + deployment.vgpus[span.vgpu].host}) {
      RC_ASSERT(span.start >= free[link]);
      free[link] = span.end;
    }
  }
}

}  // namespace
}  // namespace wharf::pipeline
