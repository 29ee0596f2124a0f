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

// How far hostile workers came. Thread-safe.
struct Reached {
  std::atomic<int> prepared = 0;  // sessions that were told to compute
  std::atomic<int> lies = 0;      // messages after that
};

// Behaves until it is prepared, mostly; then each frame that comes is answered by none to five, of which some are
// right. REQUIRES: it serves the model's first stage.
class HostileSession final : public link::FrameHandler {
 public:
  HostileSession(std::unique_ptr<link::ByteStream> stream, const ModelSource& model, uint64_t seed, Reached& reached)
      : input_bytes_(model.input_bytes),
        output_bytes_(model.output_bytes),
        reached_(reached),
        random_(seed),
        patience_(random_.Below(6)),
        channel_(link::Channel::Create(std::move(stream))) {
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
        return SendMessage(*channel_, FrameKind::kStageDefined, StageDefined{define->stage, input_bytes_, kStageBytes});
      }
      case FrameKind::kCompute:
        if (!std::exchange(computes_, true)) ++reached_.prepared;
        break;
      default:
        break;
    }
    if (--patience_ >= 0) return AnswerWell(header);
    tasks_.push_back(header.tag);
    for (int answers = random_.Below(6); answers > 0; --answers) SendAnything();
    return random_.Chance(0.1) ? Internal("enough") : absl::OkStatus();
  }
  void OnClosed(const absl::Status&) override {}

  absl::Status AnswerWell(const link::FrameHeader& header) {
    if (static_cast<FrameKind>(header.kind) != FrameKind::kCompute) return absl::OkStatus();
    return SendMessage(*channel_, FrameKind::kComputed, Computed{1000}, header.tag);
  }
  // One of its own, now or earlier, one of about that time, which may be another worker's, or none that there is.
  uint64_t AnyTask() {
    if (tasks_.empty() || random_.Chance(0.1)) return random_.Next();
    if (random_.Chance(0.5)) return tasks_[static_cast<size_t>(random_.Below(static_cast<int>(tasks_.size())))];
    return tasks_.back() + static_cast<uint64_t>(random_.Below(20)) - 5;
  }
  void SendAnything() {
    if (computes_) ++reached_.lies;
    const uint64_t task = AnyTask();
    std::vector<std::byte> bulk;
    if (random_.Chance(0.3)) bulk.resize(static_cast<size_t>(random_.Below(3)) * output_bytes_ + random_.Below(2));
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

  const uint64_t input_bytes_, output_bytes_;
  Reached& reached_;
  Random random_;
  int patience_;
  bool computes_ = false;
  std::vector<uint64_t> tasks_;
  std::unique_ptr<link::Channel> channel_;
};

// What a scripted worker does by itself when it is told to compute.
enum class AtWork { kSaysNothing, kFails, kHangsUp };

// Lets itself be prepared, keeps what it is told, and says what the test says. While `fails` it answers every
// computation at once: it has failed.
class ScriptedSession final : public link::FrameHandler {
 public:
  ScriptedSession(std::unique_ptr<link::ByteStream> stream, const ModelSource& model,
                  const std::atomic<AtWork>& at_work)
      : model_(model), at_work_(at_work), channel_(link::Channel::Create(std::move(stream))) {
    channel_->Start(this);
  }
  ~ScriptedSession() override { channel_->Stop(); }

  template <typename Message>
  void Say(FrameKind kind, const Message& message, uint64_t task, std::span<const std::byte> bulk = {}) {
    EXPECT_EQ(SendMessage(*channel_, kind, message, task, bulk), absl::OkStatus());
  }
  void HangUp() { channel_->Close(kLong); }
  bool Prepared() const {
    absl::MutexLock lock(&mutex_);
    return prepared_;
  }
  // The tasks that it was told of in messages of that kind.
  std::vector<uint64_t> Told(FrameKind kind) const {
    absl::MutexLock lock(&mutex_);
    const auto found = told_.find(kind);
    return found == told_.end() ? std::vector<uint64_t>() : found->second;
  }

 private:
  absl::StatusOr<std::span<std::byte>> BulkDestination(const link::FrameHeader&, std::span<const std::byte>) override {
    return std::span<std::byte>();
  }
  absl::Status OnFrame(const link::FrameHeader& header, std::span<const std::byte> head,
                       std::vector<std::byte>) override {
    const auto kind = static_cast<FrameKind>(header.kind);
    absl::MutexLock lock(&mutex_);
    told_[kind].push_back(header.tag);
    switch (kind) {
      case FrameKind::kHello:
        return SendMessage(*channel_, FrameKind::kWelcome, Welcome{});
      case FrameKind::kOpenModel:
        return SendMessage(*channel_, FrameKind::kModelState, ModelState{true});
      case FrameKind::kDefineStage: {
        WHARF_ASSIGN_OR_RETURN(const auto define, wire::Decode<DefineStage>(head));
        prepared_ = true;
        return SendMessage(*channel_, FrameKind::kStageDefined,
                           StageDefined{define.stage, define.first_node == 0 ? model_.input_bytes : kStageBytes,
                                        define.last ? model_.output_bytes : kStageBytes});
      }
      case FrameKind::kCompute:
        if (at_work_ == AtWork::kHangsUp) return Unavailable("no");
        return at_work_ == AtWork::kFails ? SendMessage(*channel_, FrameKind::kFailed, Failed{8, "no"}, header.tag)
                                          : absl::OkStatus();
      default:
        return absl::OkStatus();
    }
  }
  void OnClosed(const absl::Status&) override {}

  const ModelSource& model_;
  const std::atomic<AtWork>& at_work_;
  mutable absl::Mutex mutex_;
  bool prepared_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<FrameKind, std::vector<uint64_t>> told_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<link::Channel> channel_;
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
        auto session = behave_(link::FromSocket(*socket));
        absl::MutexLock lock(&mutex_);
        sessions_.push_back(std::move(session));
      }
    });
  }
  ~HostileWorker() {
    listener_->Shutdown();
    accepting_.join();
  }
  std::string Address() const { return listener_->Address(); }
  size_t Sessions() const {
    absl::MutexLock lock(&mutex_);
    return sessions_.size();
  }
  link::FrameHandler& LastSession() const {
    absl::MutexLock lock(&mutex_);
    return *sessions_.back();
  }

 private:
  const Behave behave_;
  std::unique_ptr<link::Listener> listener_;
  mutable absl::Mutex mutex_;
  std::vector<std::unique_ptr<link::FrameHandler>> sessions_ ABSL_GUARDED_BY(mutex_);
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
  size_t Count() const {
    absl::MutexLock lock(&mutex_);
    return times_.size();
  }
  bool WasComputed(int request) const {
    absl::MutexLock lock(&mutex_);
    return fates_.at(request) == Fate::kOnTime || fates_.at(request) == Fate::kLate;
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

// Two blocks: the first on two workers of the slow class, the second on one of the fast class.
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
  config.task_timeout = std::chrono::milliseconds(300);
  const auto started = PipelineServer::Start(config);
  ASSERT_TRUE(started.ok()) << ToString(started.status());
  PipelineServer& server = **started;
  ASSERT_TRUE(server.AwaitState([](const auto& state) { return state.ready == 2; }, kLong));
  AnswerCounts answers;
  Reached reached;
  int requests = 0;
  const auto submit = [&](int count) {
    for (; count > 0; --count, ++requests) {
      server.Submit(1, 0, testing::RandomInput(model, requests), answers.For(requests));
    }
  };
  for (uint64_t seed = first; seed < first + rounds && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const std::string name = fmt::format("hostile{}", seed);
    const HostileWorker hostile("unix:" + folder.path() + "/" + name,
                                [&, session = seed << 32](std::unique_ptr<link::ByteStream> stream) mutable {
                                  return std::make_unique<HostileSession>(std::move(stream), model, ++session, reached);
                                });
    const auto joined = join(name, "slow", hostile.Address());
    for (int burst = 0; burst < 6; ++burst) {
      server.AwaitState([](const auto& state) { return state.ready == 3; }, std::chrono::milliseconds(100));
      submit(5);
      Clock::Real().SleepFor(std::chrono::milliseconds(20));
    }
    answers.ExpectEachOnce(static_cast<size_t>(requests));
  }
  EXPECT_GE(reached.prepared, static_cast<int>(rounds / 2)) << "hostile workers that were told to compute";
  EXPECT_GE(reached.lies, static_cast<int>(rounds)) << "their messages after that";
  // With the hostile ones gone, what the others compute is right.
  ASSERT_TRUE(server.AwaitState([](const auto& state) { return state.members == 2 && state.ready == 2; }, kLong));
  const int last = requests;
  submit(10);
  answers.ExpectEachOnce(static_cast<size_t>(requests));
  // Hostile workers answer none of the requests themselves, as they serve the first stage only.
  int computed = 0, computed_last = 0;
  for (int request = 0; request < requests; ++request) {
    if (!answers.WasComputed(request)) continue;
    EXPECT_TRUE(testing::NearlyEqual(answers.OutputsOf(request),
                                     testing::WholeModel(model, testing::RandomInput(model, request))))
        << request;
    ++computed;
    if (request >= last) ++computed_last;
  }
  EXPECT_GE(computed, requests / 4) << "the honest workers go on";
  EXPECT_GT(computed_last, 0);
}

// Everybody waits for the test: two workers of the first stage, one of the second.
class ScriptedWorkersTest : public ::testing::TestWithParam<SchedulerKind> {
 protected:
  using Scripted = std::unique_ptr<HostileWorker>;

  void SetUp() override {
    for (const auto& [name, gpu_class] : {std::pair("slow0", "slow"), {"slow1", "slow"}, {"fast", "fast"}}) {
      workers_.push_back(std::make_unique<HostileWorker>(
          "unix:" + folder_.path() + "/" + name, [this](std::unique_ptr<link::ByteStream> stream) {
            return std::make_unique<ScriptedSession>(std::move(stream), model_, at_work_);
          }));
      auto joined = membership_.Join({name, gpu_class, workers_.back()->Address(), 1});
      ASSERT_TRUE(joined.ok()) << ToString(joined.status());
      joined_.push_back(*std::move(joined));
    }
    PipelineServerConfig config;
    config.plan = MakePlan();
    config.plan.models[0].slo_us = 1e9;
    config.scheduler = GetParam();
    config.models = {model_};
    config.membership = &membership_;
    config.task_timeout = kLong;
    auto started = PipelineServer::Start(config);
    ASSERT_TRUE(started.ok()) << ToString(started.status());
    server_ = *std::move(started);
    ASSERT_TRUE(server_->AwaitState([](const auto& state) { return state.ready == 3; }, kLong));
  }
  // The workers' sessions end before what they use.
  void TearDown() override {
    server_.reset();
    workers_.clear();
  }

  static ScriptedSession& Session(const HostileWorker& worker) {
    return dynamic_cast<ScriptedSession&>(worker.LastSession());
  }
  // The first task of that kind that one of the workers is told of; `who` is that worker's number.
  uint64_t AwaitTask(FrameKind kind, std::vector<size_t> among, size_t& who) {
    for (const TimePoint end = Clock::Real().Now() + kLong; Clock::Real().Now() < end;) {
      for (const size_t worker : among) {
        who = worker;
        if (const auto told = Session(*workers_[worker]).Told(kind); !told.empty()) return told.front();
      }
      Clock::Real().SleepFor(std::chrono::milliseconds(1));
    }
    ADD_FAILURE() << "nobody is told of a task";
    return 0;
  }
  // Returns when the server has heard all that the worker has said: it hangs up, and is prepared again.
  void HangUp(const HostileWorker& worker) {
    const size_t before = worker.Sessions();
    Session(worker).HangUp();
    const TimePoint end = Clock::Real().Now() + kLong;
    while ((worker.Sessions() == before || !Session(worker).Prepared()) && Clock::Real().Now() < end) {
      Clock::Real().SleepFor(std::chrono::milliseconds(1));
    }
    ASSERT_TRUE(server_->AwaitState([](const auto& state) { return state.ready == 3; }, kLong));
  }

  const testing::TempFolder folder_;
  const ModelSource model_ = testing::SourceOf("net", {.channels = 4, .stages = 1, .size = 16}, {0, 4});
  std::atomic<AtWork> at_work_ = AtWork::kSaysNothing;
  MemoryMembership membership_;
  std::vector<Scripted> workers_;
  std::vector<std::unique_ptr<Registration>> joined_;
  std::unique_ptr<PipelineServer> server_;
};

INSTANTIATE_TEST_SUITE_P(Schedulers, ScriptedWorkersTest,
                         ::testing::Values(SchedulerKind::kReserving, SchedulerKind::kReactive));

// Who fails as fast as it is asked is not asked until the requests' deadlines: these are minutes away.
TEST_P(ScriptedWorkersTest, WhoFailsAtEverythingIsAskedAFewTimes) {
  at_work_ = AtWork::kFails;
  AnswerCounts answers;
  for (int request = 0; request < 2; ++request) {
    server_->Submit(1, 0, testing::RandomInput(model_, request), answers.For(request));
  }
  EXPECT_TRUE(server_->AwaitState([](const auto& state) { return state.ready == 1; }, kLong)) << "they have no rest";
  const size_t asked =
      Session(*workers_[0]).Told(FrameKind::kCompute).size() + Session(*workers_[1]).Told(FrameKind::kCompute).size();
  EXPECT_GE(asked, 3u);
  EXPECT_LE(asked, 6u) << "three times each";
  const bool waits = GetParam() == SchedulerKind::kReactive;  // for somebody to be back
  if (waits) server_.reset();
  answers.ExpectEachOnce(2);
  for (int request = 0; request < 2; ++request) {
    EXPECT_EQ(answers.FateOf(request), waits ? Fate::kWorkerLost : Fate::kNoCapacity);
  }
}

// Nor who hangs up and is there again at once.
TEST_P(ScriptedWorkersTest, WhoHangsUpAtEverythingIsConnectedToAFewTimes) {
  at_work_ = AtWork::kHangsUp;
  AnswerCounts answers;
  for (int request = 0; request < 2; ++request) {
    server_->Submit(1, 0, testing::RandomInput(model_, request), answers.For(request));
  }
  const bool waits = GetParam() == SchedulerKind::kReactive;  // for somebody to be back
  Clock::Real().SleepFor(std::chrono::seconds(waits ? 2 : 0));
  if (waits) server_.reset();
  answers.ExpectEachOnce(2);
  EXPECT_EQ(answers.FateOf(0), waits ? Fate::kWorkerLost : Fate::kNoCapacity);
  EXPECT_LE(workers_[0]->Sessions() + workers_[1]->Sessions(), 20u);
}

// Nobody but who was told to do a task says what became of it: another worker reports on each before its own does.
TEST_P(ScriptedWorkersTest, ReportsOnOthersTasksCountForNothing) {
  constexpr size_t kFast = 2;
  const std::vector<std::byte> zeros(2 * model_.output_bytes), ones(2 * model_.output_bytes, std::byte{1});
  AnswerCounts answers;
  for (int request = 0; request < 2; ++request) {
    server_->Submit(1, 0, testing::RandomInput(model_, request), answers.For(request));
  }
  // The first stage is one slow worker's; the other one reports.
  size_t honest = 0, fast = kFast;
  const uint64_t first = AwaitTask(FrameKind::kCompute, {0, 1}, honest);
  const HostileWorker& liar = *workers_[1 - honest];
  Session(liar).Say(FrameKind::kFailed, Failed{1, "no"}, first);
  Session(liar).Say(FrameKind::kComputed, Computed{1000}, first);
  HangUp(liar);
  EXPECT_TRUE(Session(*workers_[honest]).Told(FrameKind::kSend).empty()) << "nobody has computed it";
  EXPECT_EQ(Session(*workers_[honest]).Told(FrameKind::kCompute).size(), 1u) << "nobody has failed";
  Session(*workers_[honest]).Say(FrameKind::kComputed, Computed{1000}, first);
  // What is sent is for its receiver to report.
  const uint64_t sent = AwaitTask(FrameKind::kSend, {honest}, honest);
  Session(liar).Say(FrameKind::kFailed, Failed{1, "no"}, sent);
  Session(liar).Say(FrameKind::kArrived, Arrived{1000}, sent);
  Session(*workers_[honest]).Say(FrameKind::kArrived, Arrived{1000}, sent);
  HangUp(liar);
  EXPECT_TRUE(Session(*workers_[kFast]).Told(FrameKind::kCompute).empty()) << "it has not arrived";
  Session(*workers_[kFast]).Say(FrameKind::kArrived, Arrived{1000}, sent);
  // The last stage is the fast worker's.
  const uint64_t last = AwaitTask(FrameKind::kCompute, {kFast}, fast);
  Session(liar).Say(FrameKind::kFailed, Failed{1, "no"}, last);
  Session(liar).Say(FrameKind::kComputed, Computed{1000}, last, zeros);
  HangUp(liar);
  EXPECT_EQ(answers.Count(), 0u);
  EXPECT_EQ(Session(*workers_[kFast]).Told(FrameKind::kCompute).size(), 1u);
  Session(*workers_[kFast]).Say(FrameKind::kComputed, Computed{1000}, last, ones);
  answers.ExpectEachOnce(2);
  for (int request = 0; request < 2; ++request) {
    EXPECT_EQ(answers.OutputsOf(request), std::vector<std::byte>(model_.output_bytes, std::byte{1})) << request;
  }
}

}  // namespace
}  // namespace wharf::pipeline
