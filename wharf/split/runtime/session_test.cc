// Device and server over a link in memory: results equal the whole model's, whatever happens to the link.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "wharf/base/stored/stored_files.h"
#include "wharf/split/execution/slowed_engine.h"
#include "wharf/split/profiler/profiler.h"
#include "wharf/split/runtime/measure_codings.h"
#include "wharf/split/runtime/plan_cache.h"
#include "wharf/split/runtime/session_testing.h"

namespace wharf::split {
namespace {

using testing::ModelName;
using testing::TestServer;

constexpr ModelName kModel{11, 8};

absl::StatusOr<std::unique_ptr<SplitClient>> Connected(TestServer& server, const SplitClientOptions& options,
                                                       ModelName name = kModel) {
  return SplitClient::Open(
      testing::BytesOf(name),
      [&server]() -> absl::StatusOr<std::unique_ptr<link::ByteStream>> { return server.Dial(); }, options);
}

// Until the session has a server again.
void AwaitConnection(const SplitClient& session) {
  while (!session.Connected() && session.GivenUp().ok()) std::this_thread::yield();
}

RC_GTEST_PROP(ServerConnection, AnyPlanGivesWhatTheWholeModelGives, (uint32_t seed)) {
  const ModelName name{seed, *rc::gen::inRange<uint32_t>(1, 12)};
  TestServer server;
  link::LinkEstimator estimator;
  ServerConnectionConfig config;
  config.onnx = std::make_shared<const std::vector<std::byte>>(testing::BytesOf(name));
  config.model = *testing::LoadRandom(*config.onnx);
  config.estimator = &estimator;
  const auto link = ServerConnection::Open(server.Dial(), config);
  if (!link.ok()) RC_FAIL(ToString(link.status()));
  const Model& model = *config.model;
  const int value = model.Graph().inputs[0];
  const exec::TensorPtr input = testing::RandomInput(model, seed);
  for (uint32_t plan_id = 0; plan_id < 3; ++plan_id) {
    Plan plan = ArbitraryLaidOutPlan(model.View().rows);
    const RowCodec codec{*rc::gen::element(RowCoding::kPlain, RowCoding::kPacked)};
    plan.encoding = {codec, codec};
    const auto steps = CompileSteps(model.View(), plan, kDevice);
    RC_ASSERT(steps.ok());
    for (int i = 0; i < 2; ++i) {
      const auto recorder = std::make_shared<Recorder>(Clock::Real());
      const auto inference = (*link)->Begin(plan_id, plan, *steps, recorder);
      if (!inference.ok()) RC_FAIL(ToString(inference.status()));
      RowStore store(model.Graph().values.size());
      store.Add({{value, exec::AllRows(model.Program(), value)}, input});
      const absl::Status done =
          RunSteps({model.Program(), *steps, kDevice, *inference->inbox, *inference->outbox, *recorder, {}}, store);
      if (!done.ok()) RC_FAIL(ToString(done));
      const auto results = Finish(model.Program(), store);
      if (!results.ok()) RC_FAIL(ToString(results.status()));
      const auto whole = testing::IsWhole(model, input, *results);
      if (!whole) RC_FAIL(whole.message());
      // A plan may have the server compute what nobody reads, of rows that are still on their way.
      (*link)->AwaitServerEvents(inference->number, Clock::Real().Now() + std::chrono::seconds(20));
    }
  }
}

TEST(Session, ComputesWithTheServer) {
  TestServer server;
  const auto session = Connected(server, testing::TestOptions());
  ASSERT_TRUE(session.ok()) << ToString(session.status());
  for (uint32_t i = 0; i < 5; ++i) {
    const exec::TensorPtr input = testing::RandomInput((*session)->GetModel(), i);
    const auto results = (*session)->Run(input);
    ASSERT_TRUE(results.ok()) << ToString(results.status());
    EXPECT_TRUE(testing::IsWhole((*session)->GetModel(), input, *results));
    EXPECT_EQ((*session)->Report().lost, absl::OkStatus());
    EXPECT_FALSE((*session)->Report().alone);
  }
}

TEST(Session, BeginsWithSimplePlansWhileBetterOnesAreMade) {
  TestServer server;
  SplitClientOptions options = testing::TestOptions();
  options.plan_in_background = true;
  std::atomic<bool> asked = false;
  options.progress = [&](const std::string& what, double share) {
    if (what == "planning (intra-dp)" && share >= 0 && share <= 1) asked = true;
  };
  const auto session = Connected(server, options);
  ASSERT_TRUE(session.ok()) << ToString(session.status());
  const auto run = [&](uint32_t seed) {
    const exec::TensorPtr input = testing::RandomInput((*session)->GetModel(), seed);
    const auto results = (*session)->Run(input);
    ASSERT_TRUE(results.ok()) << ToString(results.status());
    EXPECT_TRUE(testing::IsWhole((*session)->GetModel(), input, *results));
    EXPECT_EQ((*session)->Report().lost, absl::OkStatus());
  };
  run(1);
  (*session)->AwaitPlans();
  EXPECT_FALSE((*session)->Planning());
  EXPECT_TRUE(asked);
  for (uint32_t seed = 2; seed < 6; ++seed) run(seed);
  const auto planned = Connected(server, testing::TestOptions());
  ASSERT_TRUE(planned.ok()) << ToString(planned.status());
  EXPECT_EQ((*session)->Plans().size(), (*planned)->Plans().size()) << "the better ones are used";
}

TEST(Session, EndsWhilePlansAreMade) {
  TestServer server;
  SplitClientOptions options = testing::TestOptions();
  options.plan_in_background = true;
  options.planner_options.budget = 5'000'000;  // for as long as users wait
  const auto session = Connected(server, options);
  ASSERT_TRUE(session.ok()) << ToString(session.status());
}

TEST(PlanCache, KeepsPlansOfOneQuestion) {
  const auto directory = std::filesystem::path(::testing::TempDir()) / fmt::format("wharf-plans-{}", getpid());
  const auto model = testing::RandomModel(11, 8);
  const Profile profile = *testing::EqualMachines(*model, "");
  PlanningOptions question;
  question.planner_options.budget = 20'000;
  int asked = 0;
  question.go_on = [&](double) { return ++asked > 0; };
  const auto plan = [&] {
    asked = 0;
    const PlanCache kept(directory, profile, question);
    question.kept = &kept;
    const auto made = EncodedPlans::Make(profile, question);
    EXPECT_TRUE(made.ok()) << ToString(made.status());
    return made.ok() ? (*made)->Plans() : std::vector<Plan>();
  };
  question.link.round_trip_ms = 5;
  const std::vector<Plan> first = plan();
  EXPECT_GT(asked, 0);
  for (const double near_ms : {5.0, 8.0, 3.0}) {
    question.link.round_trip_ms = near_ms;
    EXPECT_EQ(plan(), first);
    EXPECT_EQ(asked, 0) << "it planned anew at " << near_ms;
  }
  question.link.round_trip_ms = 100;
  plan();
  EXPECT_GT(asked, 0) << "another round trip";
  question.link.round_trip_ms = 5;
  question.planner_options.budget += 1;
  plan();
  EXPECT_GT(asked, 0) << "another budget";
  question.planner_options.budget -= 1;
  for (const auto& file : std::filesystem::directory_iterator(directory / "plans")) {
    std::ofstream(file.path()) << "damaged";
  }
  EXPECT_EQ(plan(), first);
  EXPECT_GT(asked, 0) << "what was kept is damaged";
  question.go_on = [](double) { return false; };
  question.planner_options.budget += 2;
  const PlanCache kept(directory, profile, question);
  question.kept = &kept;
  EXPECT_EQ(EncodedPlans::Make(profile, question).status().code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(kept.Find("intra-dp", {}).empty()) << "plans that were not finished are not kept";
  std::filesystem::remove_all(directory);
}

// All of the server's, in one encoding.
absl::StatusOr<std::unique_ptr<SplitClient>> Encoded(TestServer& server, RowCoding coding) {
  SplitClientOptions options = testing::TestOptions();
  options.planner = "server-only";
  options.encodings = {{{coding, 0}, {coding, 0}}};
  return Connected(server, options);
}

double UplinkBytes(SplitClient& session) {
  double bytes = 0;
  for (const Event& event : session.MeasuredEvents()) bytes += event.resource == Resource::kUplink ? event.bytes : 0;
  return bytes;
}

TEST(Session, PackedRowsAreSmallerAndTheSame) {
  TestServer server;
  const auto session = Encoded(server, RowCoding::kPacked);
  ASSERT_TRUE(session.ok()) << ToString(session.status());
  const Model& model = (*session)->GetModel();
  const graph::TensorType type = model.Graph().Type(model.Graph().inputs[0]);
  const auto dull = exec::testing::TestEngine().MakeTensor(type, std::vector<std::byte>(type.Bytes()));
  ASSERT_TRUE(dull.ok()) << ToString(dull.status());
  for (const exec::TensorPtr& input : {*dull, testing::RandomInput(model, 1)}) {
    const auto results = (*session)->Run(input);
    ASSERT_TRUE(results.ok()) << ToString(results.status());
    EXPECT_TRUE(testing::IsWhole(model, input, *results));
    EXPECT_EQ((*session)->Report().lost, absl::OkStatus());
    EXPECT_LE(UplinkBytes(**session), static_cast<double>(type.Bytes()) / (input == *dull ? 2 : 1));
  }
}

TEST(Session, HalvesAreHalfTheSizeAndNearlyTheSame) {
  TestServer server;
  const auto session = Encoded(server, RowCoding::kHalf);
  ASSERT_TRUE(session.ok()) << ToString(session.status());
  const Model& model = (*session)->GetModel();
  const exec::TensorPtr input = testing::RandomInput(model, 1);
  const auto results = (*session)->Run(input);
  ASSERT_TRUE(results.ok()) << ToString(results.status());
  EXPECT_EQ((*session)->Report().lost, absl::OkStatus());
  EXPECT_EQ(UplinkBytes(**session), static_cast<double>(input->Type().Bytes()) / 2);
  const auto whole = exec::RunWhole(model.Program(), {&input, 1});
  ASSERT_TRUE(whole.ok()) << ToString(whole.status());
  for (size_t i = 0; i < whole->size(); ++i) {
    const graph::Constant ours = exec::testing::ToConstant(*(*results)[i]);
    const graph::Constant exact = exec::testing::ToConstant(*(*whole)[i]);
    EXPECT_TRUE(exec::testing::Near(ours, exact, 1e-2, 1e-2));
    EXPECT_NE(*ours.bytes, *exact.bytes);
  }
}

TEST(MeasureCodings, SaysWhatRowsBecome) {
  const auto model = testing::RandomModel(11, 8);
  const RowCodec packed{RowCoding::kPacked, 0}, half{RowCoding::kHalf, 0};
  const auto costs = MeasureCodings(*model, testing::RandomInput(*model, 1), {{}, {packed, half}, {half, packed}});
  ASSERT_TRUE(costs.ok()) << ToString(costs.status());
  ASSERT_EQ(costs->size(), 2u);
  const size_t output = model->Operators().operators.size() - 1;
  for (size_t op = 0; op < output; ++op) {
    EXPECT_DOUBLE_EQ(costs->at(RowCoding::kHalf).size[op], 0.5);
    EXPECT_GT(costs->at(RowCoding::kPacked).size[op], 0);
    EXPECT_LE(costs->at(RowCoding::kPacked).size[op], 1);
  }
  EXPECT_EQ(costs->at(RowCoding::kHalf).size[output], 1) << "it makes nothing";
}

TEST(Session, ShowsWhatTookTimeOnAllFourLanes) {
  TestServer server;
  SplitClientOptions options = testing::TestOptions();
  options.planner = "server-only";
  const auto session = Connected(server, options);
  ASSERT_TRUE(session.ok()) << ToString(session.status());
  ASSERT_TRUE((*session)->Run(testing::RandomInput((*session)->GetModel(), 1)).ok());
  std::vector<Resource> measured, planned;
  for (const Event& event : (*session)->MeasuredEvents()) {
    measured.push_back(event.resource);
    EXPECT_LE(event.start_ms, event.end_ms);
  }
  for (const Event& event : (*session)->PlannedEvents()) planned.push_back(event.resource);
  EXPECT_THAT(measured, ::testing::UnorderedElementsAre(Resource::kUplink, Resource::kServer, Resource::kDownlink));
  EXPECT_THAT(planned, ::testing::IsSupersetOf({Resource::kUplink, Resource::kServer, Resource::kDownlink}));
}

TEST(Session, OfTheDeviceAloneNeedsNoServer) {
  SplitClientOptions options = testing::TestOptions();
  options.planner = "device-only";
  const auto session = SplitClient::Open(
      testing::BytesOf(kModel), []() -> absl::StatusOr<std::unique_ptr<link::ByteStream>> { return Unavailable("no"); },
      options);
  ASSERT_TRUE(session.ok()) << ToString(session.status());
  const exec::TensorPtr input = testing::RandomInput((*session)->GetModel(), 1);
  const auto results = (*session)->Run(input);
  ASSERT_TRUE(results.ok()) << ToString(results.status());
  EXPECT_TRUE(testing::IsWhole((*session)->GetModel(), input, *results));
  EXPECT_TRUE((*session)->Report().alone);
}

TEST(Session, RefusesAnInputThatIsNotTheModels) {
  TestServer server;
  const auto session = Connected(server, testing::TestOptions());
  ASSERT_TRUE(session.ok()) << ToString(session.status());
  const auto wrong = exec::testing::ToTensor(exec::testing::RandomFloats({1, 2}, 1));
  EXPECT_EQ((*session)->Run(wrong).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE((*session)->Run(testing::RandomInput((*session)->GetModel(), 1)).ok());
}

TEST(Session, AFirstConnectionThatIsHungUpOnIsTriedAgain) {
  TestServer server;
  int dials = 0;
  const auto session = SplitClient::Open(
      testing::BytesOf(kModel),
      [&]() -> absl::StatusOr<std::unique_ptr<link::ByteStream>> {
        if (++dials == 1) return std::move(link::MemoryPair().first);  // ends without an answer
        return server.Dial();
      },
      testing::TestOptions());
  EXPECT_TRUE(session.ok()) << ToString(session.status());
  EXPECT_EQ(dials, 2);
}

TEST(Session, SaysWhyThereIsNone) {
  TestServer server;
  SplitClientOptions options = testing::TestOptions();
  server.config.max_model_bytes = 4;
  EXPECT_EQ(Connected(server, options).status().code(), absl::StatusCode::kResourceExhausted);
  options.planner = "magic";
  server.config.max_model_bytes = 1 << 20;
  EXPECT_EQ(Connected(server, options).status().code(), absl::StatusCode::kInvalidArgument);
}

// The link is cut anywhere after the handshake, connection after connection.
RC_GTEST_PROP(Session, LosesNoInferenceWhenTheLinkIsCut, ()) {
  TestServer server;
  const ModelName name{*rc::gen::arbitrary<uint32_t>(), 8};
  const std::vector<uint32_t> cuts = *rc::gen::container<std::vector<uint32_t>>(8, rc::gen::inRange(0u, 20'000u));
  std::atomic<size_t> dials = 0;
  const auto dial = [&]() -> absl::StatusOr<std::unique_ptr<link::ByteStream>> {
    const size_t one = dials++;
    const uint64_t after = kProbeBytes + 500 + cuts[one % cuts.size()];
    return one % 2 == 0 ? server.Dial({.cut_after_bytes = after}, {}) : server.Dial({}, {.cut_after_bytes = after});
  };
  SplitClientOptions options = testing::TestOptions();
  options.planner = *rc::gen::element<std::string>("intra-dp", "server-only");
  options.planner_options.budget = 2'000;
  const auto session = SplitClient::Open(testing::BytesOf(name), dial, options);
  if (!session.ok()) RC_FAIL(ToString(session.status()));
  int lost = 0;
  for (uint32_t i = 0; i < 12; ++i) {
    if (*rc::gen::arbitrary<bool>()) AwaitConnection(**session);
    const exec::TensorPtr input = testing::RandomInput((*session)->GetModel(), i);
    const auto results = (*session)->Run(input);
    if (!results.ok()) RC_FAIL(ToString(results.status()));
    const auto whole = testing::IsWhole((*session)->GetModel(), input, *results);
    if (!whole) RC_FAIL(whole.message());
    if (!(*session)->Report().lost.ok()) ++lost;
  }
  RC_ASSERT((*session)->GivenUp().ok());
  RC_CLASSIFY(lost > 0, "cut in mid-inference");
}

// This network joins rows to rows of the same input that lie far apart: a band would read the whole input, a plan
// without bands does not, and what was valid in one was not in the other.
TEST(Planning, IsValidWhereAnOperatorReadsAnInputInTwoPlaces) {
  const auto model = testing::LoadRandom(testing::BytesOf({339217067, 8})).value();
  const RowGraph graph(testing::EqualMachines(*model, "").value());
  PlannerOptions options;
  options.budget = 2'000;
  const auto planner = MakePlanner("intra-dp", graph, options).value();
  for (const double bytes_per_ms : {0.0, 500.0, 1000.0, 5000.0}) {
    Link link;
    link.bytes_per_ms = bytes_per_ms;
    EXPECT_EQ(CheckPlan(graph, planner->MakePlan(link, Objective::Latency())), absl::OkStatus()) << bytes_per_ms;
  }
}

// Time that passes a little whenever it is looked at, and otherwise when told.
class TickingClock final : public Clock {
 public:
  TimePoint Now() const override {
    time_.Advance(std::chrono::microseconds(1));
    return time_.Now();
  }
  void SleepUntil(TimePoint deadline) override { time_.SleepUntil(deadline); }
  void Advance(Nanoseconds duration) { time_.Advance(duration); }

 private:
  mutable VirtualClock time_;
};

// A stream whose bytes from the peer can be held back.
class Valve final : public link::ByteStream {
 public:
  Valve(std::unique_ptr<link::ByteStream> stream, std::atomic<bool>& held) : stream_(std::move(stream)), held_(held) {}
  absl::StatusOr<size_t> Read(std::span<std::byte> into) override {
    const auto count = stream_->Read(into);
    while (held_ && !shut_) std::this_thread::yield();
    return count;
  }
  absl::Status Write(std::span<const std::span<const std::byte>> pieces) override { return stream_->Write(pieces); }
  void Shutdown() override {
    shut_ = true;
    stream_->Shutdown();
  }
  std::string Peer() const override { return "valve"; }
  bool IsLocal() const override { return true; }

 private:
  const std::unique_ptr<link::ByteStream> stream_;
  std::atomic<bool>& held_;
  std::atomic<bool> shut_ = false;
};

TEST(Session, FinishesAloneWhenTheLinkStallsAndConnectsAgain) {
  TickingClock clock;
  TestServer server;
  std::atomic<bool> held = false;
  const auto dial = [&]() -> absl::StatusOr<std::unique_ptr<link::ByteStream>> {
    return std::make_unique<Valve>(server.Dial(), held);
  };
  SplitClientOptions options = testing::TestOptions();
  options.clock = &clock;
  options.planner = "server-only";
  const auto session = SplitClient::Open(testing::BytesOf(kModel), dial, options);
  ASSERT_TRUE(session.ok()) << ToString(session.status());
  const Model& model = (*session)->GetModel();
  const exec::TensorPtr input = testing::RandomInput(model, 1);
  ASSERT_TRUE((*session)->Run(input).ok());
  ASSERT_EQ((*session)->Report().lost, absl::OkStatus());
  held = true;
  absl::StatusOr<std::vector<exec::TensorPtr>> results;
  std::atomic<bool> over = false;
  std::thread running([&] {
    results = (*session)->Run(input);
    over = true;
  });
  while (!over) clock.Advance(std::chrono::milliseconds(1));
  running.join();
  ASSERT_TRUE(results.ok()) << ToString(results.status());
  EXPECT_TRUE(testing::IsWhole(model, input, *results));
  EXPECT_EQ((*session)->Report().lost.code(), absl::StatusCode::kDeadlineExceeded);
  held = false;
  AwaitConnection(**session);
  ASSERT_TRUE((*session)->Run(input).ok());
  EXPECT_EQ((*session)->Report().lost, absl::OkStatus());
  EXPECT_EQ(server.SessionsSoFar(), 2u);
}

TEST(Server, ServesManyClientsAtOnce) {
  TestServer server;
  std::vector<std::thread> clients;
  std::atomic<int> right = 0;
  for (uint32_t client = 0; client < 6; ++client) {
    clients.emplace_back([&server, &right, client] {
      const auto session = Connected(server, testing::TestOptions(), {client / 2, 6});  // each model twice
      if (!session.ok()) return;
      for (uint32_t i = 0; i < 5; ++i) {
        const exec::TensorPtr input = testing::RandomInput((*session)->GetModel(), client * 100 + i);
        const auto results = (*session)->Run(input);
        if (results.ok() && (*session)->Report().lost.ok() &&
            testing::IsWhole((*session)->GetModel(), input, *results)) {
          ++right;
        }
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(right, 30);
}

// Every look at it moves it on by a millisecond.
class CountingClock final : public Clock {
 public:
  TimePoint Now() const override { return {++looks_ * Nanoseconds(std::chrono::milliseconds(1))}; }
  void SleepUntil(TimePoint deadline) override { slept_until = deadline; }
  TimePoint slept_until;

 private:
  mutable int looks_ = 0;
};

TEST(SlowedEngine, WaitsForAMultipleOfWhatARunTook) {
  CountingClock clock;
  const auto engine = MakeSlowedEngine(exec::MakeTorchEngine({.threads = 1}), SlowDown(5, clock, clock));
  const auto model = Model::Make(*engine, exec::testing::RandomGraph::Make(3, 4));
  ASSERT_TRUE(model.ok()) << ToString(model.status());
  const auto input = SampleInput(*engine, (*model)->Graph().Type((*model)->Graph().inputs[0]));
  ASSERT_TRUE(input.ok()) << ToString(input.status());
  const auto results = exec::RunWhole((*model)->Program(), {{*input}});
  ASSERT_TRUE(results.ok()) << ToString(results.status());
  EXPECT_EQ(clock.slept_until.since_epoch, std::chrono::milliseconds(1 + 5 * 1));
}

class Store : public ::testing::Test {
 protected:
  Store() : directory_(std::filesystem::temp_directory_path() / fmt::format("wharf_store_{}", getpid())) {}
  ~Store() override { std::filesystem::remove_all(directory_); }

  // Bytes that are a model's name and a name only.
  static std::vector<std::byte> Named(uint32_t seed) { return testing::BytesOf({seed, 2}); }
  size_t Files() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(directory_), {}));
  }
  const std::filesystem::path directory_;
};

TEST_F(Store, KeepsModelsAcrossServers) {
  const auto bytes = Named(1);
  {
    ModelStore store(testing::LoadRandom, directory_, 100);
    EXPECT_EQ(store.Find(wire::HashOf(bytes)).status().code(), absl::StatusCode::kNotFound);
    const auto added = store.Add(wire::HashOf(bytes), bytes);
    ASSERT_TRUE(added.ok()) << ToString(added.status());
    EXPECT_EQ(*store.Find(wire::HashOf(bytes)), *added) << "one model for all that use it";
  }
  ModelStore later(testing::LoadRandom, directory_, 100);
  EXPECT_TRUE(later.Find(wire::HashOf(bytes)).ok());
}

TEST_F(Store, TakesNothingButWhatWasAnnouncedAndIsAModel) {
  ModelStore store(testing::LoadRandom, directory_, 100);
  EXPECT_EQ(store.Add(wire::HashOf(Named(2)), Named(1)).status().code(), absl::StatusCode::kInvalidArgument);
  const std::vector<std::byte> nonsense(5);
  EXPECT_EQ(store.Add(wire::HashOf(nonsense), nonsense).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(std::filesystem::exists(directory_));
}

TEST_F(Store, ForgetsADamagedFile) {
  const auto bytes = Named(1);
  ASSERT_TRUE(ModelStore(testing::LoadRandom, directory_, 100).Add(wire::HashOf(bytes), bytes).ok());
  for (const auto& file : std::filesystem::directory_iterator(directory_)) std::ofstream(file.path()) << "x";
  EXPECT_EQ(ModelStore(testing::LoadRandom, directory_, 100).Find(wire::HashOf(bytes)).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(Files(), 0u);
}

TEST_F(Store, KeepsToItsLimit) {
  ModelStore store(testing::LoadRandom, directory_, 2 * (sizeof(ModelName) + kBytesOfAFile));
  for (uint32_t seed = 0; seed < 5; ++seed) ASSERT_TRUE(store.Add(wire::HashOf(Named(seed)), Named(seed)).ok());
  EXPECT_EQ(Files(), 2u);
  ModelStore later(testing::LoadRandom, directory_, 100);
  EXPECT_TRUE(later.Find(wire::HashOf(Named(4))).ok()) << "the newest stays";
}

}  // namespace
}  // namespace wharf::split
