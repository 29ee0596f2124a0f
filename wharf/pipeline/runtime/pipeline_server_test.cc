// Plans carried out by real workers of this process: results are the model's, and every request is answered once,
// whatever happens to workers.
#include "wharf/pipeline/runtime/pipeline_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <random>

#include "wharf/pipeline/runtime/worker_testing.h"

namespace wharf::pipeline {
namespace {

using testing::kLong;
using testing::NearlyEqual;
using testing::TestWorker;

// Collects answers. Thread-safe.
class Answers {
 public:
  struct One {
    int times = 0;
    Fate fate = Fate::kOnTime;
    std::vector<std::byte> outputs;
  };
  Answer For(int request) {
    return [this, request](const RequestRecord& record, std::vector<std::byte> outputs) {
      absl::MutexLock lock(&mutex_);
      One& one = answers_[request];
      ++one.times;
      one.fate = record.fate;
      one.outputs = std::move(outputs);
    };
  }
  // When there are so many.
  std::map<int, One> Await(size_t count) {
    const auto enough = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return answers_.size() >= count; };
    absl::MutexLock lock(&mutex_);
    EXPECT_TRUE(mutex_.AwaitWithTimeout(absl::Condition(&enough), absl::FromChrono(kLong))) << answers_.size();
    return answers_;
  }

 private:
  absl::Mutex mutex_;
  std::map<int, One> answers_ ABSL_GUARDED_BY(mutex_);
};

class PipelineServerTest : public ::testing::Test {
 protected:
  // Two blocks, the first on `slow` GPUs and the second on `fast` ones; the times are far above what it takes here.
  static Plan MakePlan(int slow, int fast, int batch = 2) {
    Plan plan;
    plan.cluster.name = "test";
    plan.cluster.classes = {{"fast", 1, 1}, {"slow", 1, 1}};
    plan.cluster.hosts = {{0, fast, 1, 1e9}, {1, slow, 1, 1e9}};
    plan.models = {{"net", 2, 20e6, 0, 1, 100}};
    const std::vector<double> times(batch, 2000);
    Pipeline pipeline;
    pipeline.batch = batch;
    pipeline.throughput = 100;
    pipeline.stages = {{0, 1, 1, 1, slow, times, 4096, 100}, {1, 2, 0, 1, fast, times, 0, 0}};
    plan.pipelines = {pipeline};
    plan.value = plan.bound = 100;
    return plan;
  }
  std::unique_ptr<PipelineServer> Start(const Plan& plan) {
    config_.plan = plan;
    config_.models = {model_};
    config_.membership = &membership_;
    config_.scheduling.guard = 0.98;  // a batch that is not full waits 0.4 s at most
    auto server = PipelineServer::Start(config_);
    EXPECT_TRUE(server.ok()) << ToString(server.status());
    return *std::move(server);
  }
  struct Host {
    std::unique_ptr<TestWorker> worker;
    std::unique_ptr<Registration> registration;
  };
  void Add(const std::string& name, const std::string& gpu_class, int gpus = 1, WorkerConfig config = {}) {
    Host& host = hosts_[name];
    config.gpus = gpus;
    host.worker = std::make_unique<TestWorker>("unix:" + folder_.path() + "/" + name, config);
    auto registration = membership_.Join({name, gpu_class, host.worker->Address(), gpus});
    EXPECT_TRUE(registration.ok()) << ToString(registration.status());
    host.registration = *std::move(registration);
  }
  // As when its process is killed: the connections end at once; that it is no member is seen `lease` later.
  void Kill(const std::string& name) { hosts_[name].worker.reset(); }
  static bool AwaitReady(const PipelineServer& server, int ready) {
    return server.AwaitState([&](const PipelineServer::State& state) { return state.ready == ready; }, kLong);
  }
  void Submit(PipelineServer& server, int request) {
    server.Submit(1, 0, testing::RandomInput(model_, request), answers_.For(request));
  }
  // All answered once, and right if they were.
  int ExpectAllAnswered(int count) {
    int answered = 0;
    for (const auto& [request, one] : answers_.Await(count)) {
      EXPECT_EQ(one.times, 1);
      if (one.fate != Fate::kOnTime && one.fate != Fate::kLate) continue;
      ++answered;
      EXPECT_TRUE(NearlyEqual(one.outputs, testing::WholeModel(model_, testing::RandomInput(model_, request))));
    }
    return answered;
  }

  const testing::TempFolder folder_;
  const ModelSource model_ = testing::SourceOf("net", {.channels = 4, .stages = 1, .size = 16}, {0, 4});
  MemoryMembership membership_;
  PipelineServerConfig config_;
  std::map<std::string, Host> hosts_;
  Answers answers_;
};

TEST_F(PipelineServerTest, RequestsGoThroughBothStages) {
  Add("s1", "slow");
  Add("s2", "slow");
  Add("f1", "fast");
  const auto server = Start(MakePlan(2, 1));
  ASSERT_TRUE(AwaitReady(*server, 3));
  for (int i = 0; i < 20; ++i) Submit(*server, i);
  EXPECT_EQ(ExpectAllAnswered(20), 20);
}

// The first stage has single requests, the second pairs of them.
TEST_F(PipelineServerTest, BatchesAreFormedAnewAtStagesOfOtherSizes) {
  Add("s1", "slow");
  Add("s2", "slow");
  Add("f1", "fast");
  Plan plan = MakePlan(2, 1);
  plan.pipelines[0].stages[0].latency_us.pop_back();
  config_.scheduler = SchedulerKind::kReactive;
  const auto server = Start(plan);
  ASSERT_TRUE(AwaitReady(*server, 3));
  for (int i = 0; i < 20; ++i) Submit(*server, i);
  EXPECT_EQ(ExpectAllAnswered(20), 20);
}

TEST_F(PipelineServerTest, BatchesThatStayTogetherAreOfOneSize) {
  config_.plan = MakePlan(2, 1);
  config_.plan.pipelines[0].stages[0].latency_us.pop_back();
  config_.models = {model_};
  config_.membership = &membership_;
  EXPECT_EQ(PipelineServer::Start(config_).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(PipelineServerTest, WithoutWorkersRequestsAreDroppedAndReported) {
  const auto server = Start(MakePlan(1, 1));
  for (int i = 0; i < 5; ++i) Submit(*server, i);
  EXPECT_EQ(ExpectAllAnswered(5), 0);
}

TEST_F(PipelineServerTest, WorkersThatComeLateAreUsed) {
  const auto server = Start(MakePlan(1, 1));
  Add("s1", "slow");
  Add("f1", "fast");
  ASSERT_TRUE(AwaitReady(*server, 2));
  Submit(*server, 1);
  EXPECT_EQ(ExpectAllAnswered(1), 1);
}

TEST_F(PipelineServerTest, ALostWorkersRequestsAreComputedByAnother) {
  Add("s1", "slow");
  Add("s2", "slow");
  Add("f1", "fast");
  const auto server = Start(MakePlan(2, 1));
  ASSERT_TRUE(AwaitReady(*server, 3));
  for (int i = 0; i < 30; ++i) Submit(*server, i);
  Kill("s1");
  EXPECT_EQ(ExpectAllAnswered(30), 30);  // the SLO of 20 s leaves time to begin again
}

TEST_F(PipelineServerTest, AWorkerThatComesBackIsUsedAgain) {
  Add("s1", "slow");
  Add("f1", "fast");
  const auto server = Start(MakePlan(1, 1));
  ASSERT_TRUE(AwaitReady(*server, 2));
  Kill("s1");
  ASSERT_TRUE(AwaitReady(*server, 1));
  Submit(*server, 1);
  answers_.Await(1);
  Add("s1", "slow");
  ASSERT_TRUE(AwaitReady(*server, 2));
  Submit(*server, 2);
  answers_.Await(2);
  EXPECT_EQ(ExpectAllAnswered(2), 1);  // the first had nobody to go to
}

TEST_F(PipelineServerTest, ASpareTakesTheLostOnesPlace) {
  Add("s1", "slow");
  Add("f1", "fast");
  const auto server = Start(MakePlan(1, 1));
  ASSERT_TRUE(AwaitReady(*server, 2));
  Add("s2", "slow");
  ASSERT_TRUE(server->AwaitState([](const auto& state) { return state.members == 3; }, kLong));
  Kill("s1");
  membership_.Expire("s1");
  ASSERT_TRUE(server->AwaitState([](const auto& state) { return state.members == 2 && state.ready == 2; }, kLong));
  for (int i = 0; i < 5; ++i) Submit(*server, i);
  EXPECT_EQ(ExpectAllAnswered(5), 5);
}

TEST_F(PipelineServerTest, ThePlanIsMadeAnewForTheWorkersThereAre) {
  std::vector<int> asked;
  config_.settle = std::chrono::milliseconds(10);
  config_.replan = [&](const Cluster& cluster) -> absl::StatusOr<Plan> {
    const int slow = cluster.FindClass("slow");
    return MakePlan(cluster.Gpus(slow), 1);
  };
  for (const char* name : {"s1", "s2", "s3"}) Add(name, "slow");
  Add("f1", "fast");
  const auto server = Start(MakePlan(3, 1));
  ASSERT_TRUE(AwaitReady(*server, 4));
  for (int i = 0; i < 20; ++i) Submit(*server, i);
  Kill("s2");
  membership_.Expire("s2");
  ASSERT_TRUE(server->AwaitState([](const auto& state) { return state.vgpus == 3 && state.ready == 3; }, kLong));
  EXPECT_EQ(server->GetState().plans, 2);
  for (int i = 20; i < 30; ++i) Submit(*server, i);
  EXPECT_EQ(ExpectAllAnswered(30), 30);
}

TEST_F(PipelineServerTest, WhatIsInFlightIsReportedAtTheEnd) {
  Add("s1", "slow");
  Add("f1", "fast");
  auto server = Start(MakePlan(1, 1));
  ASSERT_TRUE(AwaitReady(*server, 2));
  for (int i = 0; i < 50; ++i) Submit(*server, i);
  server.reset();
  for (const auto& [request, one] : answers_.Await(50)) EXPECT_EQ(one.times, 1);
}

// Workers die and come back at random while requests come.
TEST_F(PipelineServerTest, NoRequestIsLostWhateverHappensToWorkers) {
  const std::vector<std::pair<std::string, std::string>> workers = {
      {"s1", "slow"}, {"s2", "slow"}, {"f1", "fast"}, {"f2", "fast"}};
  for (const auto& [name, gpu_class] : workers) Add(name, gpu_class);
  const auto server = Start(MakePlan(2, 2));
  ASSERT_TRUE(AwaitReady(*server, 4));
  std::mt19937 random(7);
  int request = 0;
  for (int round = 0; round < 12; ++round) {
    const auto& [name, gpu_class] = workers[random() % workers.size()];
    const int before = static_cast<int>(random() % 20), after = static_cast<int>(random() % 20);
    for (int i = 0; i < before; ++i) Submit(*server, request++);
    Kill(name);
    for (int i = 0; i < after; ++i) Submit(*server, request++);
    ASSERT_TRUE(AwaitReady(*server, 3));
    Add(name, gpu_class);
    ASSERT_TRUE(AwaitReady(*server, 4));
  }
  ExpectAllAnswered(request);
  for (int i = 0; i < 20; ++i) Submit(*server, request + i);
  const auto answers = answers_.Await(request + 20);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(answers.at(request + i).fate, Fate::kOnTime);
}

// The first stage on halves of two GPUs of one host, the second on whole GPUs of a host and of another.
TEST_F(PipelineServerTest, HostsHaveSeveralGpusAndGpusAreDivided) {
  Plan plan = MakePlan(2, 3);
  plan.cluster.classes[1].max_vgpus = 2;
  plan.cluster.hosts = {{0, 1, 2, 1e9}, {0, 1, 1, 1e9}, {1, 1, 2, 1e9}};
  plan.pipelines[0].stages[0].vgpus_per_gpu = 2;
  plan.pipelines[0].stages[0].vgpus = 4;
  Add("s", "slow", 2);
  Add("f1", "fast", 1);  // too small for the host of two
  const auto server = Start(plan);
  ASSERT_TRUE(AwaitReady(*server, 4 + 1));
  Add("f2", "fast", 2);
  ASSERT_TRUE(AwaitReady(*server, 4 + 3));
  for (int i = 0; i < 40; ++i) Submit(*server, i);
  EXPECT_EQ(ExpectAllAnswered(40), 40);
  Kill("f2");
  ASSERT_TRUE(AwaitReady(*server, 4 + 1));
  for (int i = 40; i < 60; ++i) Submit(*server, i);
  EXPECT_EQ(ExpectAllAnswered(60), 60);
}

// Each stage on a half of the only GPU: its worker serves both, and hands over to itself.
TEST_F(PipelineServerTest, StagesShareAGpu) {
  Plan plan = MakePlan(1, 1);
  plan.cluster.classes = {{"slow", 2}};
  plan.cluster.hosts = {{0, 1, 1, 1e9}};
  for (Stage& stage : plan.pipelines[0].stages) {
    stage.gpu_class = 0;
    stage.vgpus_per_gpu = 2;
  }
  Add("s", "slow", 1);
  const auto server = Start(plan);
  ASSERT_TRUE(AwaitReady(*server, 2));
  for (int i = 0; i < 20; ++i) Submit(*server, i);
  EXPECT_EQ(ExpectAllAnswered(20), 20);
}

// One of two slow workers is not let in by the fast one: the way between them is bad, and both can be reached from
// here.
TEST_F(PipelineServerTest, WorkersThatCannotReachEachOtherAreNotUsedTogether) {
  WorkerConfig config;
  config.check = WorkersCheck("right", "right");
  config_.access.token = "right";
  config.access.token = "wrong";
  Add("s1", "slow", 1, config);
  config.access.token = "right";
  Add("s2", "slow", 1, config);
  Add("f1", "fast", 1, config);
  Plan plan = MakePlan(2, 1);
  plan.models[0].slo_us = 60e6;  // time to find out, and to begin again
  const auto server = Start(plan);
  ASSERT_TRUE(AwaitReady(*server, 3));
  for (int i = 0; i < 20; ++i) Submit(*server, i);
  EXPECT_EQ(ExpectAllAnswered(20), 20);
}

TEST_F(PipelineServerTest, RefusesPlansThatWorkersCannotCarryOut) {
  config_.models = {model_};
  config_.membership = &membership_;
  config_.plan = MakePlan(1, 1);
  config_.plan.models[0].name = "other";
  EXPECT_EQ(PipelineServer::Start(config_).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace wharf::pipeline
