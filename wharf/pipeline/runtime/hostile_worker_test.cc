// A worker that has been taken over, towards the pipeline server: it joins, lets itself be prepared, and then answers
// with anything at any time. Whatever it sends, every request is answered exactly once, and the others go on.
//
// WHARF_HOSTILE_ROUNDS: how many such workers (default 40); WHARF_HOSTILE_SEED: of the first, to repeat one.
#include <gtest/gtest.h>

#include <deque>

#include "wharf/base/random.h"
#include "wharf/base/test_environment.h"
#include "wharf/pipeline/runtime/pipeline_server.h"
#include "wharf/pipeline/runtime/worker_testing.h"

namespace wharf::pipeline {
namespace {

using testing::kLong;

using Random = BasicRandom<SplitMix64>;

constexpr uint64_t kStageBytes = 4 * 16 * 16 * sizeof(float);  // what the first block takes and makes

// Behaves until it is prepared; then each frame that comes is answered by none to three, of which some are right.
class HostileSession final : public link::FrameHandler {
 public:
  HostileSession(std::unique_ptr<link::ByteStream> stream, uint64_t seed)
      : random_(seed), patience_(random_.Below(20)), channel_(link::Channel::Create(std::move(stream))) {
    channel_->Start(this);
  }
  ~HostileSession() override { channel_->Stop(); }

 private:
  absl::StatusOr<std::span<std::byte>> BulkDestination(const link::FrameHeader&, std::span<const std::byte>) override {
    return std::span<std::byte>();
  }
  absl::Status OnFrame(const link::FrameHeader& header, std::span<const std::byte> head,
                       std::vector<std::byte>) override {
    switch (static_cast<FrameKind>(header.kind)) {
      case FrameKind::kHello:
        return SendMessage(*channel_, FrameKind::kWelcome, Welcome{});
      case FrameKind::kOpenModel:
        if (random_.Chance(0.9)) return SendMessage(*channel_, FrameKind::kModelState, ModelState{true});
        break;
      case FrameKind::kDefineStage: {
        const auto define = wire::Decode<DefineStage>(head);
        if (!define.ok() || random_.Chance(0.1)) break;
        return SendMessage(*channel_, FrameKind::kStageDefined, StageDefined{define->stage, kStageBytes, kStageBytes});
      }
      default:
        break;
    }
    if (--patience_ > 0) return AnswerWell(header);
    tasks_.push_back(header.tag);
    for (int answers = random_.Below(4); answers > 0; --answers) SendAnything();
    return random_.Chance(0.1) ? Internal("enough") : absl::OkStatus();
  }
  void OnClosed(const absl::Status&) override {}

  absl::Status AnswerWell(const link::FrameHeader& header) {
    if (static_cast<FrameKind>(header.kind) != FrameKind::kCompute) return absl::OkStatus();
    return SendMessage(*channel_, FrameKind::kComputed, Computed{1000}, header.tag);
  }
  void SendAnything() {
    const uint64_t task = random_.Chance(0.7) && !tasks_.empty()
                              ? tasks_[static_cast<size_t>(random_.Below(static_cast<int>(tasks_.size())))]
                              : (random_.Chance(0.7) ? static_cast<uint64_t>(random_.Below(200)) : random_.Next());
    std::vector<std::byte> bulk;
    if (random_.Chance(0.3)) bulk.resize(static_cast<size_t>(random_.Below(3)) * kStageBytes + random_.Below(2));
    const uint64_t number = random_.Chance(0.5) ? random_.Next() : static_cast<uint64_t>(random_.Below(10));
    switch (random_.Below(8)) {
      case 0:
      case 1:
        return Ignore(SendMessage(*channel_, FrameKind::kComputed, Computed{number}, task, bulk));
      case 2:
        return Ignore(SendMessage(*channel_, FrameKind::kArrived, Arrived{number}, task));
      case 3:
        return Ignore(SendMessage(*channel_, FrameKind::kFailed,
                                  Failed{static_cast<uint16_t>(number), std::string(random_.Below(100), '\n')}, task));
      case 4:
        return Ignore(SendMessage(*channel_, FrameKind::kStageDefined,
                                  StageDefined{static_cast<uint32_t>(number), number, random_.Next()}));
      case 5:
        return Ignore(SendMessage(*channel_, FrameKind::kModelState, ModelState{random_.Chance(0.5)}));
      case 6:
        return Ignore(SendMessage(*channel_, FrameKind::kGoodbye, wire::GoodbyeOf(Internal("enough"))));
      default: {
        std::vector<std::byte> head(static_cast<size_t>(random_.Below(60)));
        for (std::byte& byte : head) byte = static_cast<std::byte>(random_.Next());
        return Ignore(channel_->Send(static_cast<uint16_t>(random_.Between(155, 185)), task, head, bulk));
      }
    }
  }
  static void Ignore(const absl::Status& status) { status.IgnoreError(); }

  Random random_;
  int patience_;
  std::vector<uint64_t> tasks_;
  std::unique_ptr<link::Channel> channel_;
};

// Does what it is told, as far as it says itself, but sends nothing on; and reports all the time on tasks that are
// other workers': that they have made zeros.
class LyingSession final : public link::FrameHandler {
 public:
  LyingSession(std::unique_ptr<link::ByteStream> stream, const ModelSource& model)
      : input_bytes_(model.input_bytes),
        zeros_(model.output_bytes),
        channel_(link::Channel::Create(std::move(stream))) {
    channel_->Start(this);
    lying_ = std::thread([this] { Lie(); });
  }
  ~LyingSession() override {
    ending_ = true;
    channel_->Stop();
    lying_.join();
  }

 private:
  absl::StatusOr<std::span<std::byte>> BulkDestination(const link::FrameHeader&, std::span<const std::byte>) override {
    return std::span<std::byte>();
  }
  absl::Status OnFrame(const link::FrameHeader& header, std::span<const std::byte> head,
                       std::vector<std::byte>) override {
    switch (static_cast<FrameKind>(header.kind)) {
      case FrameKind::kHello:
        return SendMessage(*channel_, FrameKind::kWelcome, Welcome{});
      case FrameKind::kOpenModel:
        return SendMessage(*channel_, FrameKind::kModelState, ModelState{true});
      case FrameKind::kDefineStage: {
        WHARF_ASSIGN_OR_RETURN(const auto define, wire::Decode<DefineStage>(head));
        return SendMessage(*channel_, FrameKind::kStageDefined, StageDefined{define.stage, input_bytes_, kStageBytes});
      }
      case FrameKind::kCompute:
        own_ = header.tag;
        return SendMessage(*channel_, FrameKind::kComputed, Computed{1000}, header.tag);
      default:
        return absl::OkStatus();
    }
  }
  void OnClosed(const absl::Status&) override { ending_ = true; }

  void Lie() {
    constexpr uint64_t kNext = 30;  // tasks that it guesses
    while (!ending_) {
      const uint64_t own = own_;
      for (uint64_t task = own + 1; own != 0 && task <= own + kNext && !ending_; ++task) {
        SendMessage(*channel_, FrameKind::kComputed, Computed{1000}, task, zeros_).IgnoreError();
        SendMessage(*channel_, FrameKind::kArrived, Arrived{1000}, task).IgnoreError();
        SendMessage(*channel_, FrameKind::kFailed, Failed{1, "no"}, task).IgnoreError();
      }
      Clock::Real().SleepFor(std::chrono::milliseconds(1));
    }
  }

  const uint64_t input_bytes_;
  const std::vector<std::byte> zeros_;
  std::unique_ptr<link::Channel> channel_;
  std::atomic<uint64_t> own_ = 0;  // the last one
  std::atomic<bool> ending_ = false;
  std::thread lying_;
};

class HostileWorker {
 public:
  using Behave = std::function<std::unique_ptr<link::FrameHandler>(std::unique_ptr<link::ByteStream>)>;
  HostileWorker(const std::string& address, Behave behave) : behave_(std::move(behave)) {
    auto listener = link::Listener::Create(address);
    EXPECT_TRUE(listener.ok()) << ToString(listener.status());
    listener_ = *std::move(listener);
    accepting_ = std::thread([this] {
      for (auto socket = listener_->Accept(); socket.ok(); socket = listener_->Accept()) {
        sessions_.push_back(behave_(link::FromSocket(*socket)));
      }
    });
  }
  ~HostileWorker() {
    listener_->Shutdown();
    accepting_.join();
  }
  std::string Address() const { return listener_->Address(); }

 private:
  const Behave behave_;
  std::unique_ptr<link::Listener> listener_;
  std::vector<std::unique_ptr<link::FrameHandler>> sessions_;  // of the thread, and after it
  std::thread accepting_;
};

// How often each request was answered. Thread-safe.
class AnswerCounts {
 public:
  Answer For(int request) {
    return [this, request](const RequestRecord& record, const std::vector<std::byte>& outputs) {
      absl::MutexLock lock(&mutex_);
      ++times_[request];
      fates_[request] = record.fate;
      outputs_[request] = outputs;
    };
  }
  void ExpectEachOnce(size_t count) {
    const auto all = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return times_.size() >= count; };
    absl::MutexLock lock(&mutex_);
    ASSERT_TRUE(mutex_.AwaitWithTimeout(absl::Condition(&all), absl::FromChrono(kLong)))
        << count - times_.size() << " requests have no answer";
    for (const auto& [request, times] : times_) EXPECT_EQ(times, 1) << "answers to request " << request;
  }
  Fate FateOf(int request) const {
    absl::MutexLock lock(&mutex_);
    return fates_.at(request);
  }
  std::vector<std::byte> OutputsOf(int request) const {
    absl::MutexLock lock(&mutex_);
    return outputs_.at(request);
  }

 private:
  mutable absl::Mutex mutex_;
  std::map<int, int> times_ ABSL_GUARDED_BY(mutex_);
  std::map<int, Fate> fates_ ABSL_GUARDED_BY(mutex_);
  std::map<int, std::vector<std::byte>> outputs_ ABSL_GUARDED_BY(mutex_);
};

// Two blocks: the first on a good and a hostile worker of the slow class, the second on a good one.
Plan MakePlan() {
  Plan plan;
  plan.cluster.name = "test";
  plan.cluster.classes = {{"fast", 1, 1}, {"slow", 1, 1}};
  plan.cluster.hosts = {{0, 1, 1, 1e9}, {1, 2, 1, 1e9}};
  plan.models = {{"net", 2, 1e6, 0, 1, 100}};  // an SLO of 1 s: what the hostile one keeps is given up soon
  const std::vector<double> times(2, 2000);
  Pipeline pipeline;
  pipeline.batch = 2;
  pipeline.throughput = 100;
  pipeline.stages = {{0, 1, 1, 1, 2, times, kStageBytes, 100}, {1, 2, 0, 1, 1, times, 0, 0}};
  plan.pipelines = {pipeline};
  plan.value = plan.bound = 100;
  return plan;
}

TEST(HostileWorkerTest, EveryRequestIsAnsweredOnceWhateverItSends) {
  const uint64_t rounds = FromEnvironment("WHARF_HOSTILE_ROUNDS", 40), first = FromEnvironment("WHARF_HOSTILE_SEED", 1);
  const testing::TempFolder folder;
  const ModelSource model = testing::SourceOf("net", {.channels = 4, .stages = 1, .size = 16}, {0, 4});
  MemoryMembership membership;
  const auto join = [&](const std::string& name, const std::string& gpu_class, const std::string& address) {
    auto registration = membership.Join({name, gpu_class, address, 1});
    EXPECT_TRUE(registration.ok()) << ToString(registration.status());
    return *std::move(registration);
  };
  const testing::TestWorker slow("unix:" + folder.path() + "/slow"), fast("unix:" + folder.path() + "/fast");
  const auto slow_joined = join("slow", "slow", slow.Address()), fast_joined = join("fast", "fast", fast.Address());
  PipelineServerConfig config;
  config.plan = MakePlan();
  config.models = {model};
  config.membership = &membership;
  const auto started = PipelineServer::Start(config);
  ASSERT_TRUE(started.ok()) << ToString(started.status());
  PipelineServer& server = **started;
  ASSERT_TRUE(server.AwaitState([](const auto& state) { return state.ready == 2; }, kLong));
  AnswerCounts answers;
  int requests = 0;
  const auto submit = [&](int count) {
    for (; count > 0; --count, ++requests) {
      server.Submit(0, testing::RandomInput(model, requests), answers.For(requests));
    }
  };
  for (uint64_t seed = first; seed < first + rounds && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const std::string name = fmt::format("hostile{}", seed);
    const HostileWorker hostile("unix:" + folder.path() + "/" + name,
                                [session = seed << 32](std::unique_ptr<link::ByteStream> stream) mutable {
                                  return std::make_unique<HostileSession>(std::move(stream), ++session);
                                });
    const auto joined = join(name, "slow", hostile.Address());
    for (int burst = 0; burst < 4; ++burst) {
      submit(5);
      server.AwaitState([](const auto& state) { return state.ready == 3; }, std::chrono::milliseconds(20));
    }
    answers.ExpectEachOnce(static_cast<size_t>(requests));
  }
  // With the hostile ones gone, what the others compute is right.
  ASSERT_TRUE(server.AwaitState([](const auto& state) { return state.members == 2 && state.ready == 2; }, kLong));
  const int last = requests;
  submit(10);
  answers.ExpectEachOnce(static_cast<size_t>(requests));
  int right = 0;
  for (int request = last; request < requests; ++request) {
    if (answers.FateOf(request) != Fate::kOnTime && answers.FateOf(request) != Fate::kLate) continue;
    EXPECT_TRUE(testing::NearlyEqual(answers.OutputsOf(request),
                                     testing::WholeModel(model, testing::RandomInput(model, request))));
    ++right;
  }
  EXPECT_GT(right, 0);
}

// Nobody but who was told to do a task says what became of it.
TEST(HostileWorkerTest, ReportsOnOthersTasksCountForNothing) {
  constexpr int kRequests = 60;
  const testing::TempFolder folder;
  const ModelSource model = testing::SourceOf("net", {.channels = 4, .stages = 1, .size = 16}, {0, 4});
  MemoryMembership membership;
  const testing::TestWorker slow("unix:" + folder.path() + "/slow"), fast("unix:" + folder.path() + "/fast");
  const HostileWorker liar("unix:" + folder.path() + "/liar", [&](std::unique_ptr<link::ByteStream> stream) {
    return std::make_unique<LyingSession>(std::move(stream), model);
  });
  const auto slow_joined = membership.Join({"slow", "slow", slow.Address(), 1});
  const auto fast_joined = membership.Join({"fast", "fast", fast.Address(), 1});
  const auto liar_joined = membership.Join({"liar", "slow", liar.Address(), 1});
  PipelineServerConfig config;
  config.plan = MakePlan();
  config.models = {model};
  config.membership = &membership;
  config.task_timeout = std::chrono::milliseconds(300);  // of what the liar does not send on: then it has a rest
  const auto started = PipelineServer::Start(config);
  ASSERT_TRUE(started.ok()) << ToString(started.status());
  PipelineServer& server = **started;
  ASSERT_TRUE(server.AwaitState([](const auto& state) { return state.ready == 3; }, kLong));
  AnswerCounts answers;
  for (int request = 0; request < kRequests; ++request) {
    server.Submit(0, testing::RandomInput(model, request), answers.For(request));
    Clock::Real().SleepFor(std::chrono::milliseconds(20));
  }
  answers.ExpectEachOnce(kRequests);
  int right = 0;
  for (int request = 0; request < kRequests; ++request) {
    if (answers.FateOf(request) != Fate::kOnTime && answers.FateOf(request) != Fate::kLate) continue;
    EXPECT_TRUE(testing::NearlyEqual(answers.OutputsOf(request),
                                     testing::WholeModel(model, testing::RandomInput(model, request))))
        << request;
    ++right;
  }
  EXPECT_GT(right, 0);
}

}  // namespace
}  // namespace wharf::pipeline
