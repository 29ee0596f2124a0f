// Workers driven frame by frame as a scheduler does, and what hostile peers send them.
#include "wharf/pipeline/runtime/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <random>

#include "absl/synchronization/notification.h"
#include "wharf/link/testing.h"
#include "wharf/pipeline/runtime/worker_testing.h"
#include "wharf/split/execution/engine_around.h"

namespace wharf::pipeline {
namespace {

using testing::kLong;
using testing::NearlyEqual;
using testing::RecordedReports;
using testing::TestWorker;

// Prepares the program of a second model only when it may.
class LateEngine final : public exec::Engine {
 public:
  absl::StatusOr<exec::TensorPtr> MakeTensor(const graph::TensorType& type,
                                             std::span<const std::byte> bytes) const override {
    return engine_->MakeTensor(type, bytes);
  }
  absl::StatusOr<std::unique_ptr<exec::Program>> Prepare(graph::Graph graph) const override {
    if (prepared_++ > 0) {
      asked_.Notify();
      may_.WaitForNotification();
    }
    return engine_->Prepare(std::move(graph));
  }
  std::string Name() const override { return engine_->Name(); }
  std::string Caution() const override { return ""; }
  void AwaitAsked() { asked_.WaitForNotification(); }
  void Allow() { may_.Notify(); }

 private:
  const std::unique_ptr<exec::Engine> engine_ = *MakeEngine({"test", 1, 1});
  mutable std::atomic<int> prepared_ = 0;
  mutable absl::Notification asked_;
  absl::Notification may_;
};

class WorkerTest : public ::testing::Test {
 protected:
  std::string Address(const char* name) const { return "unix:" + folder_.path() + "/" + name; }
  std::shared_ptr<WorkerConnection> Open(const TestWorker& worker, RecordedReports& reports) {
    auto connection = reports.Open(worker.Address(), {});
    EXPECT_TRUE(connection.ok()) << ToString(connection.status());
    return *std::move(connection);
  }
  DefineStage Whole() const { return {1, 0, model_.nodes, true}; }

  const testing::TempFolder folder_;
  const ModelSource model_ = testing::SourceOf("net", {}, {0, 9});
};

TEST_F(WorkerTest, FeatureMapsGoFromWorkerToWorker) {
  const TestWorker first(Address("1")), second(Address("2"));
  RecordedReports first_reports, second_reports;
  const auto to_first = Open(first, first_reports), to_second = Open(second, second_reports);
  ASSERT_EQ(to_first->Prepare(model_, 3, 1, {{1, 0, 9, false}}, kLong), absl::OkStatus());
  ASSERT_EQ(to_second->Prepare(model_, 3, 1, {{2, 9, model_.nodes, true}}, kLong), absl::OkStatus());
  Sample bulk;
  std::vector<Sample> inputs;
  for (uint32_t seed = 1; seed <= 3; ++seed) {
    inputs.push_back(testing::RandomInput(model_, seed));
    bulk.insert(bulk.end(), inputs.back().begin(), inputs.back().end());
  }
  to_first->Input(1, {11, 12, 13}, bulk);
  to_first->Compute(101, 1, 0, {11, 12, 13});
  EXPECT_EQ(first_reports.Next().task, 101u);
  to_first->Send(102, 2, {11, 12, 13}, second.Address());
  const auto arrived = second_reports.Next();
  EXPECT_EQ(arrived.what, 'a');
  EXPECT_EQ(arrived.task, 102u);
  to_second->Compute(103, 2, 0, {12, 11, 13});  // in any order
  const auto computed = second_reports.Next();
  ASSERT_EQ(computed.task, 103u);
  ASSERT_EQ(computed.outputs.size(), 3 * model_.output_bytes);
  const std::span<const std::byte> outputs = computed.outputs;
  const int order[] = {1, 0, 2};
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(NearlyEqual(outputs.subspan(i * model_.output_bytes, model_.output_bytes),
                            testing::WholeModel(model_, inputs[order[i]])));
  }
}

TEST_F(WorkerTest, EachVirtualGpuComputesAndStagesPassSamplesOnWithinAHost) {
  const TestWorker worker(Address("1"));
  RecordedReports reports;
  const auto connection = Open(worker, reports);
  ASSERT_EQ(connection->Prepare(model_, 1, 2, {{1, 0, 9, false}}, kLong), absl::OkStatus());
  ASSERT_EQ(connection->Prepare(model_, 1, 1, {{2, 9, model_.nodes, true}}, kLong), absl::OkStatus());
  const Sample input = testing::RandomInput(model_, 1);
  connection->Input(1, {11}, input);
  connection->Compute(101, 1, 0, {11});
  EXPECT_EQ(reports.Next().task, 101u);
  connection->Compute(102, 2, 1, {11});
  EXPECT_TRUE(NearlyEqual(reports.Next().outputs, testing::WholeModel(model_, input)));
}

TEST_F(WorkerTest, APacedStageTakesItsTime) {
  const TestWorker worker(Address("1"));
  RecordedReports reports;
  const auto connection = Open(worker, reports);
  DefineStage stage = Whole();
  const Nanoseconds least = std::chrono::milliseconds(20);
  stage.least = EncodeList<uint64_t>({0, static_cast<uint64_t>(least.count())});
  ASSERT_EQ(connection->Prepare(model_, 2, 1, {stage}, kLong), absl::OkStatus());
  Sample two = testing::RandomInput(model_, 1);
  two.insert(two.end(), two.begin(), two.end());
  connection->Input(1, {5, 6}, two);
  connection->Compute(1, 1, 0, {5, 6});
  EXPECT_GE(reports.Next().took, least);
}

TEST_F(WorkerTest, WhatIsMissingOrCannotBeSentIsReported) {
  const TestWorker worker(Address("1"));
  RecordedReports reports;
  const auto connection = Open(worker, reports);
  ASSERT_EQ(connection->Prepare(model_, 1, 1, {Whole()}, kLong), absl::OkStatus());
  connection->Compute(1, 1, 0, {99});
  auto report = reports.Next();
  EXPECT_EQ(report.what, 'f');
  EXPECT_EQ(report.why.code(), absl::StatusCode::kNotFound);
  connection->Send(2, 1, {99}, worker.Address());
  EXPECT_EQ(reports.Next().why.code(), absl::StatusCode::kNotFound);
  connection->Input(1, {5}, testing::RandomInput(model_, 1));
  connection->Send(3, 1, {5}, Address("nobody"));
  report = reports.Next();
  EXPECT_EQ(report.task, 3u);
  EXPECT_EQ(report.what, 'f');
}

TEST_F(WorkerTest, TasksDoNotWaitBehindTheNextModel) {
  LateEngine engine;
  WorkerConfig config;
  config.engines = {&engine};
  const TestWorker worker(Address("1"), config);
  RecordedReports reports;
  const auto connection = Open(worker, reports);
  ASSERT_EQ(connection->Prepare(model_, 1, 1, {Whole()}, kLong), absl::OkStatus());
  const ModelSource next = testing::SourceOf("next", {.seed = 2}, {0, 9});
  std::thread preparing([&] {
    EXPECT_EQ(connection->Prepare(next, 1, 1, {{2, 0, next.nodes, true}}, kLong), absl::OkStatus());
  });
  engine.AwaitAsked();
  for (uint64_t task = 1; task <= 3; ++task) {
    connection->Input(1, {task}, testing::RandomInput(model_, 1));
    connection->Compute(task, 1, 0, {task});
    EXPECT_EQ(reports.Next().what, 'c');
  }
  engine.Allow();
  preparing.join();
  connection->Input(2, {9}, testing::RandomInput(next, 1));
  connection->Compute(9, 2, 0, {9});
  EXPECT_EQ(reports.Next().outputs.size(), next.output_bytes);
}

TEST_F(WorkerTest, AModelTravelsOnce) {
  const split::ModelFiles files(folder_.path() + "/models", 1 << 30);
  WorkerConfig config;
  config.files = &files;
  EXPECT_EQ(files.Read(model_.hash).status().code(), absl::StatusCode::kNotFound);
  {
    const TestWorker worker(Address("1"), config);
    RecordedReports reports;
    ASSERT_EQ(Open(worker, reports)->Prepare(model_, 1, 1, {Whole()}, kLong), absl::OkStatus());
  }
  EXPECT_TRUE(files.Read(model_.hash).ok());
  ModelSource hash_only = model_;  // a worker that asked for this would get nothing that has the hash
  hash_only.onnx = std::make_shared<const std::vector<std::byte>>(10);
  const TestWorker worker(Address("2"), config);
  RecordedReports reports;
  EXPECT_EQ(Open(worker, reports)->Prepare(hash_only, 1, 1, {Whole()}, kLong), absl::OkStatus());
}

TEST_F(WorkerTest, TheSchedulerThatCameLastIsTheWorkers) {
  const TestWorker worker(Address("1"));
  RecordedReports old_reports, reports;
  const auto old_connection = Open(worker, old_reports);
  ASSERT_EQ(old_connection->Prepare(model_, 1, 1, {Whole()}, kLong), absl::OkStatus());
  const auto connection = Open(worker, reports);
  ASSERT_EQ(connection->Prepare(model_, 1, 1, {Whole()}, kLong), absl::OkStatus());  // its number is free again
  const Sample input = testing::RandomInput(model_, 1);
  connection->Input(1, {7}, input);
  connection->Compute(70, 1, 0, {7});
  const auto report = reports.Next();
  ASSERT_EQ(report.task, 70u);
  EXPECT_TRUE(NearlyEqual(report.outputs, testing::WholeModel(model_, input)));
}

TEST_F(WorkerTest, PreparingFailsWithWhatTheWorkerSays) {
  const TestWorker worker(Address("1"));
  {
    RecordedReports reports;
    EXPECT_EQ(Open(worker, reports)->Prepare(model_, 1, 1, {{1, 5, 5, false}}, kLong).code(),
              absl::StatusCode::kInvalidArgument);
  }
  ModelSource lie = model_;
  lie.hash[0] ^= 1;
  {
    RecordedReports reports;
    EXPECT_EQ(Open(worker, reports)->Prepare(lie, 1, 1, {Whole()}, kLong).code(), absl::StatusCode::kInvalidArgument);
  }
  ModelSource other_size = model_;
  other_size.output_bytes += 4;
  RecordedReports reports;
  EXPECT_EQ(Open(worker, reports)->Prepare(other_size, 1, 1, {Whole()}, kLong).code(), absl::StatusCode::kInternal);
}

TEST_F(WorkerTest, AStageThatMovesTooMuchIsRefused) {
  WorkerConfig config;
  config.max_batch_bytes = 2 * (model_.input_bytes + model_.output_bytes);
  const TestWorker worker(Address("1"), config);
  for (const int batch : {3, 2}) {
    RecordedReports reports;
    EXPECT_EQ(Open(worker, reports)->Prepare(model_, batch, 1, {Whole()}, kLong).code(),
              batch == 3 ? absl::StatusCode::kResourceExhausted : absl::StatusCode::kOk);
  }
}

TEST_F(WorkerTest, AResultThatCannotBeSentIsAFailure) {
  const ModelSource small = testing::SourceOf("small", {.size = 16}, {0});
  const split::ModelFiles files(folder_.path() + "/models", 1 << 30);  // no piece of a model must fit into a frame
  files.Keep(small.hash, *small.onnx);
  WorkerConfig config;
  config.files = &files;
  config.limits.max_bulk_bytes = static_cast<uint32_t>(small.input_bytes);
  const TestWorker worker(Address("1"), config);
  RecordedReports reports;
  const auto connection = Open(worker, reports);
  const size_t fit = small.input_bytes / small.output_bytes;
  ASSERT_EQ(connection->Prepare(small, static_cast<int>(fit) + 1, 1, {{1, 0, small.nodes, true}}, kLong),
            absl::OkStatus());
  for (const size_t count : {fit + 1, fit}) {
    std::vector<uint64_t> numbers;
    for (size_t i = 0; i < count; ++i) {
      numbers.push_back(1000 * count + i);
      connection->Input(1, {numbers.back()}, testing::RandomInput(small, 1));
    }
    connection->Compute(count, 1, 0, numbers);
    const auto report = reports.Next();
    EXPECT_EQ(report.task, count);
    EXPECT_EQ(report.what, count > fit ? 'f' : 'c') << ToString(report.why);
    EXPECT_EQ(report.why.code(), count > fit ? absl::StatusCode::kInvalidArgument : absl::StatusCode::kOk);
  }
}

TEST_F(WorkerTest, WithoutMemoryATaskFailsAndTheWorkerGoesOn) {
  std::atomic<bool> full = false;
  const auto engine = split::MakeEngineAround(*MakeEngine({"test", 1, 1}),
                                              [&](const auto& run) { return full ? throw std::bad_alloc() : run(); });
  WorkerConfig config;
  config.engines = {engine.get()};
  const TestWorker worker(Address("1"), config);
  RecordedReports reports;
  const auto connection = Open(worker, reports);
  ASSERT_EQ(connection->Prepare(model_, 1, 1, {Whole()}, kLong), absl::OkStatus());
  for (const bool is_full : {true, false}) {
    full = is_full;
    connection->Input(1, {5}, testing::RandomInput(model_, 1));
    connection->Compute(7, 1, 0, {5});
    EXPECT_EQ(reports.Next().why.code(), is_full ? absl::StatusCode::kResourceExhausted : absl::StatusCode::kOk);
  }
}

TEST_F(WorkerTest, AsksForTheToken) {
  WorkerConfig config;
  config.check = WorkersCheck("right", "right");
  const TestWorker worker(Address("1"), config);
  RecordedReports reports;
  EXPECT_EQ(reports.Open(worker.Address(), {"wrong"}).status().code(), absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(reports.Open(worker.Address(), {"right"}).status(), absl::OkStatus());
}

TEST_F(WorkerTest, SchedulersAndWorkersHaveTokensOfTheirOwn) {
  WorkerConfig config;
  config.check = WorkersCheck("the workers'", "the schedulers'");
  const TestWorker worker(Address("1"), config);
  RecordedReports reports;
  EXPECT_EQ(reports.Open(worker.Address(), {"the workers'"}).status().code(), absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(reports.Open(worker.Address(), {"the schedulers'"}).status(), absl::OkStatus());
}

// Frames by hand.
class HostileTest : public WorkerTest {
 protected:
  void SetUp() override {
    worker_.emplace(Address("w"));
    connection_ = Open(*worker_, reports_);
    ASSERT_EQ(connection_->Prepare(model_, 2, 1, {Whole()}, kLong), absl::OkStatus());
  }
  void Connect(Role role) {
    auto stream = link::Connect(worker_->Address());
    ASSERT_TRUE(stream.ok());
    channel_ = link::Channel::Create(*std::move(stream), {.limits = PipelineFrameLimits()});
    channel_->Start(&recorder_);
    Hello hello;
    hello.role = role;
    ASSERT_EQ(SendMessage(*channel_, FrameKind::kHello, hello), absl::OkStatus());
    EXPECT_EQ(recorder_.Take(1).at(0).header.kind, static_cast<uint16_t>(FrameKind::kWelcome));
  }
  // The code of the Goodbye that comes instead of anything else.
  absl::StatusCode GoodbyeCode() {
    const auto frames = recorder_.Take(1);
    if (frames.empty() || frames[0].header.kind != static_cast<uint16_t>(FrameKind::kGoodbye)) {
      return absl::StatusCode::kOk;
    }
    const auto goodbye = wire::Decode<Goodbye>(link::AsBytes(frames[0].head));
    return goodbye.ok() ? static_cast<absl::StatusCode>(goodbye->code) : absl::StatusCode::kOk;
  }
  // The scheduler's session goes on.
  void ExpectWorks() {
    const Sample input = testing::RandomInput(model_, 3);
    connection_->Input(1, {1000}, input);
    connection_->Compute(1001, 1, 0, {1000});
    const auto report = reports_.Next();
    EXPECT_EQ(report.task, 1001u);
    EXPECT_TRUE(NearlyEqual(report.outputs, testing::WholeModel(model_, input)));
  }

  std::optional<TestWorker> worker_;
  RecordedReports reports_;
  std::shared_ptr<WorkerConnection> connection_;
  link::Recorder recorder_;
  std::unique_ptr<link::Channel> channel_;
};

TEST_F(HostileTest, SamplesOfAnotherSizeAreRefusedAtTheHeader) {
  Connect(Role::kWorker);
  const std::vector<std::byte> bulk(model_.input_bytes - 1);
  SendMessage(*channel_, FrameKind::kSamples, Samples{1, EncodeList<uint64_t>({5})}, 9, bulk).IgnoreError();
  EXPECT_EQ(GoodbyeCode(), absl::StatusCode::kInvalidArgument);
  ExpectWorks();
}

TEST_F(HostileTest, StagesThatAreNotThereAreRefused) {
  Connect(Role::kWorker);
  const std::vector<std::byte> bulk(model_.input_bytes);
  SendMessage(*channel_, FrameKind::kSamples, Samples{77, EncodeList<uint64_t>({5})}, 9, bulk).IgnoreError();
  EXPECT_EQ(GoodbyeCode(), absl::StatusCode::kInvalidArgument);
  ExpectWorks();
}

TEST_F(HostileTest, MoreSamplesThanABatchAreRefused) {
  Connect(Role::kWorker);
  const std::vector<std::byte> bulk(3 * model_.input_bytes);
  SendMessage(*channel_, FrameKind::kSamples, Samples{1, EncodeList<uint64_t>({5, 6, 7})}, 9, bulk).IgnoreError();
  EXPECT_EQ(GoodbyeCode(), absl::StatusCode::kInvalidArgument);
  ExpectWorks();
}

TEST_F(HostileTest, ListsThatAreNoNumbersAreRefused) {
  Connect(Role::kWorker);
  const std::vector<std::byte> bulk(model_.input_bytes);
  SendMessage(*channel_, FrameKind::kSamples, Samples{1, std::vector<std::byte>(7)}, 9, bulk).IgnoreError();
  EXPECT_EQ(GoodbyeCode(), absl::StatusCode::kInvalidArgument);
  ExpectWorks();
}

TEST_F(HostileTest, WorkersMayNotCommand) {
  Connect(Role::kWorker);
  SendMessage(*channel_, FrameKind::kCompute, Compute{1, 0, EncodeList<uint64_t>({5})}, 9).IgnoreError();
  EXPECT_EQ(GoodbyeCode(), absl::StatusCode::kInvalidArgument);
  ExpectWorks();
}

TEST_F(HostileTest, ModelsBeyondTheLimitAndPiecesNobodyAskedForAreRefused) {
  RecordedReports reports;
  const auto connection = Open(*worker_, reports);
  connection.get();
  Connect(Role::kScheduler);
  SendMessage(*channel_, FrameKind::kOpenModel, OpenModel{{}, uint64_t{1} << 40, 1}).IgnoreError();
  EXPECT_EQ(GoodbyeCode(), absl::StatusCode::kResourceExhausted);
  recorder_.WaitClosed().IgnoreError();
}

TEST_F(WorkerTest, PartsAndTimesThatThereAreNotAreRefused) {
  const TestWorker worker(Address("1"));  // it has whole GPUs and halves
  for (const int parts : {0, 3}) {
    RecordedReports reports;
    EXPECT_EQ(Open(worker, reports)->Prepare(model_, 2, parts, {Whole()}, kLong).code(),
              absl::StatusCode::kInvalidArgument);
  }
  for (const std::vector<uint64_t>& least : {std::vector<uint64_t>{1, 2, 3}, {uint64_t{1} << 50}}) {
    DefineStage stage = Whole();
    stage.least = EncodeList(least);
    RecordedReports reports;
    EXPECT_EQ(Open(worker, reports)->Prepare(model_, 2, 1, {stage}, kLong).code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST_F(WorkerTest, AVirtualGpuThatThereIsNotEndsTheSession) {
  const TestWorker worker(Address("1"));
  RecordedReports reports;
  const auto connection = Open(worker, reports);
  ASSERT_EQ(connection->Prepare(model_, 2, 1, {Whole()}, kLong), absl::OkStatus());
  connection->Compute(1, 1, 2, {5});  // one GPU has two halves
  EXPECT_EQ(reports.AwaitLoss().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(HostileTest, RandomFramesEndTheSessionAtMost) {
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    link::Recorder recorder;
    auto stream = link::Connect(worker_->Address());
    ASSERT_TRUE(stream.ok());
    const auto channel = link::Channel::Create(*std::move(stream), {.limits = PipelineFrameLimits()});
    channel->Start(&recorder);
    Hello hello;
    hello.role = Role::kWorker;
    SendMessage(*channel, FrameKind::kHello, hello).IgnoreError();
    for (int frame = 0; frame < 10; ++frame) {
      std::vector<std::byte> head(random() % 40), bulk(random() % 3 == 0 ? random() % 100 : 0);
      for (std::byte& byte : head) byte = static_cast<std::byte>(random() % 4);
      channel->Send(static_cast<uint16_t>(160 + random() % 20), random(), head, bulk).IgnoreError();
    }
    recorder.WaitClosed().IgnoreError();
  }
  ExpectWorks();
}

}  // namespace
}  // namespace wharf::pipeline
