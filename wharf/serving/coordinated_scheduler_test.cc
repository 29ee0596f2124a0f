#include "wharf/serving/coordinated_scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "wharf/serving/testing.h"

namespace wharf::serving {
namespace {

using std::chrono::milliseconds;

ClientState ClientAt(TimePoint now, ClientId id, double sla, double drop_rate, FrameId frame) {
  ClientState state;
  state.id = id;
  state.model = {60, sla, drop_rate, 0.02};
  state.arrivals = ArrivalPredictor(60);
  state.arrivals.Add(frame, now);
  state.last_frame = frame;
  state.newest = {frame, frame + 3};
  return state;
}

// A scheduler whose clients do as they are told, unless they are silent.
class World final : public Engine, public ClientPort, public Balancer {
 public:
  explicit World(const InferenceProfile& profile, const CoordinatorOptions& options = {})
      : profile_(profile), scheduler_(profile_, options, clock_, *this, *this, *this) {
    clock_.Advance(std::chrono::seconds(10));
  }

  void Start(const std::vector<Request>& batch, std::optional<TimePoint> due) override {
    EXPECT_FALSE(busy_until_);
    if (due && clock_.Now() > *due) ++late_;
    busy_until_ = clock_.Now() + profile_.Latency(static_cast<int>(batch.size()));
    for (const Request& request : batch) served_.insert({request.client, request.frame});
    ++batches_;
  }
  void Send(ClientId client, const ClientPlan& plan) override { plans_[client] = plan; }
  std::optional<ClientState> NextWaiting() override {
    if (waiting_.empty()) return std::nullopt;
    ClientState& state = waiting_.front();
    const FrameId now = state.arrivals.LatestBy(clock_.Now());  // it goes on offloading where it is
    state.arrivals.Add(now, state.arrivals.At(now));
    state.last_frame = now;
    state.newest = {now, now + 3};
    return state;
  }
  void Admit(ClientId client) override {
    ASSERT_EQ(waiting_.front().id, client);
    predictors_.emplace(client, waiting_.front().arrivals);
    waiting_.pop_front();
  }
  void Redirect(ClientState client) override {
    handed_over_.push_back(client.id);
    if (waiting_.empty() || waiting_.front().id != client.id) return;
    if (line_up_again_) waiting_.push_back(client);
    waiting_.pop_front();
  }

  void Run(Nanoseconds duration) {
    const TimePoint end = clock_.Now() + duration;
    for (TimePoint next = NextEvent(); next < end; next = NextEvent()) {
      clock_.Advance(std::max(Nanoseconds(0), next - clock_.Now()));
      if (busy_until_ && clock_.Now() >= *busy_until_) {
        busy_until_.reset();
        scheduler_.OnBatchDone();
      }
      Deliver();
      if (clock_.Now() >= scheduler_.NextWakeup()) scheduler_.Poll();
    }
    clock_.Advance(end - clock_.Now());
  }

  VirtualClock clock_;
  const InferenceProfile profile_;
  std::deque<ClientState> waiting_;
  bool line_up_again_ = false;  // who is refused waits on
  std::vector<ClientId> handed_over_;
  std::map<ClientId, ClientPlan> plans_;
  std::set<ClientId> silent_;
  std::set<std::pair<ClientId, FrameId>> served_;
  int batches_ = 0, late_ = 0;
  CoordinatedScheduler scheduler_;

 private:
  // Frames come when the server expects them, each once.
  template <typename Visit>
  void ForEachFrameToCome(Visit visit) {
    for (const auto& [client, plan] : std::map(plans_)) {
      if (silent_.contains(client) || !scheduler_.Serves(client)) continue;
      for (const FrameId frame : plan.frames) {
        if (!delivered_.contains({client, frame})) visit(client, frame, predictors_.at(client).At(frame));
      }
    }
  }

  TimePoint NextEvent() {
    TimePoint next = scheduler_.NextWakeup();
    if (busy_until_) next = std::min(next, *busy_until_);
    ForEachFrameToCome([&](ClientId, FrameId, TimePoint at) { next = std::min(next, at); });
    return next;
  }

  void Deliver() {
    ForEachFrameToCome([&](ClientId client, FrameId frame, TimePoint at) {
      if (at > clock_.Now()) return;
      delivered_.insert({client, frame});
      scheduler_.OnRequest(client, frame);
    });
  }

  std::optional<TimePoint> busy_until_;
  std::map<ClientId, ArrivalPredictor> predictors_;
  std::set<std::pair<ClientId, FrameId>> delivered_;
};

class CoordinatedSchedulerTest : public testing::Test {
 protected:
  void AddWaiting(int count, double drop_rate = 0.005) {
    for (int i = 0; i < count; ++i) {
      world_.waiting_.push_back(ClientAt(world_.clock_.Now(), ++last_id_, 0.02, drop_rate, 100 + i % 7));
    }
  }

  World world_{ProfileOf({8, 11, 14, 17, 20})};
  ClientId last_id_ = 0;
};

TEST_F(CoordinatedSchedulerTest, WhatComesLateIsDoneAtOnceIfTheEngineIsIdle) {
  AddWaiting(1, 0.0005);
  world_.Run(milliseconds(10));
  world_.silent_.insert(1);
  ASSERT_FALSE(world_.scheduler_.plan().empty());
  const CoordinatedScheduler::Batch batch = world_.scheduler_.plan().front();
  const FrameId frame = batch.slots.at(0).frame;
  world_.Run(batch.end + milliseconds(5) - world_.clock_.Now());
  ASSERT_FALSE(world_.served_.contains({1, frame}));
  world_.scheduler_.OnRequest(1, frame);
  EXPECT_TRUE(world_.served_.contains({1, frame}));
  EXPECT_EQ(world_.scheduler_.stats().late, 1);
}

TEST_F(CoordinatedSchedulerTest, WhatIsOverdueStaysInThePlan) {
  AddWaiting(1, 0.0005);
  world_.Run(milliseconds(10));
  world_.silent_.insert(1);
  const FrameId frame = world_.scheduler_.plan().front().slots.at(0).frame;
  world_.Run(milliseconds(650));  // rounds later
  const std::vector<FrameId>& frames = world_.plans_.at(1).frames;
  EXPECT_EQ(frames.front(), frame);
  EXPECT_TRUE(std::is_sorted(frames.begin(), frames.end()));
}

TEST_F(CoordinatedSchedulerTest, ServesWhoWaitsInTurn) {
  AddWaiting(6);
  world_.Run(milliseconds(500));
  EXPECT_EQ(world_.scheduler_.clients(), 6);
  EXPECT_EQ(world_.scheduler_.stats().admitted, 6);
  world_.Run(milliseconds(1500));
  EXPECT_TRUE(world_.handed_over_.empty());
  EXPECT_EQ(world_.scheduler_.stats().unscheduled, 0);
  EXPECT_EQ(world_.late_, 0);
  EXPECT_GT(world_.batches_, 20);
  EXPECT_GT(world_.served_.size(), static_cast<size_t>(world_.batches_));  // some are batches of several
}

TEST_F(CoordinatedSchedulerTest, TakesNoMoreThanItCanServe) {
  world_.line_up_again_ = true;
  AddWaiting(100);
  world_.Run(std::chrono::seconds(6));
  EXPECT_GT(world_.scheduler_.clients(), 5);
  EXPECT_LT(world_.scheduler_.clients(), 60);
  EXPECT_FALSE(world_.waiting_.empty());
}

TEST_F(CoordinatedSchedulerTest, RefusesWhoseSlaCannotBeMet) {
  AddWaiting(1, 0.5);
  AddWaiting(1);
  world_.Run(milliseconds(300));
  EXPECT_THAT(world_.handed_over_, testing::ElementsAre(1));
  EXPECT_EQ(world_.scheduler_.clients(), 1);
}

TEST_F(CoordinatedSchedulerTest, WhoDoesNotFitHoldsUpNobodyBehind) {
  AddWaiting(2, 0.0138);  // a few of whom fill the server
  world_.Run(milliseconds(500));
  const size_t hard = world_.scheduler_.clients();
  AddWaiting(40, 0.0138);
  AddWaiting(1, 0.001);
  world_.Run(std::chrono::seconds(4));
  EXPECT_GT(world_.scheduler_.clients(), hard);
  EXPECT_TRUE(world_.scheduler_.Serves(43));
}

TEST_F(CoordinatedSchedulerTest, DropsWhatWasNotScheduled) {
  AddWaiting(1);
  world_.Run(milliseconds(100));
  world_.scheduler_.OnRequest(1, 5);
  world_.scheduler_.OnRequest(1, 1'000'000);
  world_.scheduler_.OnRequest(77, 100);
  EXPECT_EQ(world_.scheduler_.stats().unscheduled, 3);
}

TEST_F(CoordinatedSchedulerTest, DoesNotWaitForOneThatFellSilent) {
  AddWaiting(4);
  world_.Run(milliseconds(600));
  world_.silent_.insert(2);
  const int before = world_.batches_;
  world_.Run(std::chrono::seconds(2));
  EXPECT_FALSE(world_.scheduler_.Serves(2));
  EXPECT_EQ(world_.scheduler_.stats().vanished, 1);
  EXPECT_EQ(world_.scheduler_.clients(), 3);
  EXPECT_GT(world_.batches_, before + 20);
  EXPECT_EQ(world_.late_, 0);
}

TEST_F(CoordinatedSchedulerTest, ForgetsOneThatCloses) {
  AddWaiting(2);
  world_.Run(milliseconds(600));
  world_.scheduler_.OnGone(1);
  for (const auto& batch : world_.scheduler_.plan()) {
    for (const auto& slot : batch.slots) EXPECT_NE(slot.client, 1);
  }
  EXPECT_EQ(world_.scheduler_.clients(), 1);
}

TEST_F(CoordinatedSchedulerTest, IgnoresReportsThatCannotBe) {
  AddWaiting(1);
  world_.Run(milliseconds(300));
  const double none = std::numeric_limits<double>::quiet_NaN();
  for (const ClientReport& report : {ClientReport{none, 0.02}, ClientReport{-1, 0.02}, ClientReport{0.01, none}}) {
    world_.scheduler_.OnReport(1, report);
  }
  world_.Run(milliseconds(300));
  EXPECT_EQ(world_.scheduler_.clients(), 1);
  world_.scheduler_.OnReport(1, {1e9, 0.02});  // whoever asks for more than its share goes
  world_.Run(milliseconds(300));
  EXPECT_EQ(world_.scheduler_.clients(), 0);
}

TEST_F(CoordinatedSchedulerTest, ShortensAnIntervalRatherThanRemoveAClient) {
  std::map<bool, size_t> served;
  for (const bool shorten : {false, true}) {
    CoordinatorOptions options;
    options.most_shortened = shorten ? 3 : 0;
    options.budget.reset();  // whose allowances would be what differs
    options.replace_at = 0;
    World world(ProfileOf({8, 11, 14, 17, 20}), options);
    for (int i = 0; i < 100; ++i) {
      world.waiting_.push_back(ClientAt(world.clock_.Now(), i + 1, 0.02, 0.003 + 0.0001 * (i % 50), 100 + i % 7));
    }
    world.Run(std::chrono::seconds(4));
    served[shorten] = world.scheduler_.clients();
  }
  EXPECT_GT(served[true], served[false]);
}

// One that was let in as a modest client, and says when the server is full that it needs nearly as much as the others
// do: it does not get that in the place of one of them.
TEST_F(CoordinatedSchedulerTest, WhoAsksForMoreThanWasAgreedGoesFirst) {
  for (const bool charge : {false, true}) {
    SCOPED_TRACE(charge);
    CoordinatorOptions options;
    options.charge_growth = charge;
    options.budget.reset();  // nobody has lost anything
    World world(ProfileOf({8, 11, 14, 17, 20}), options);
    world.line_up_again_ = true;
    constexpr ClientId kLiar = 1, kOthers = 40;
    for (ClientId id = kLiar; id <= kLiar + kOthers; ++id) {
      world.waiting_.push_back(ClientAt(world.clock_.Now(), id, 0.02, id == kLiar ? 0.0005 : 0.0138, 100 + id % 7));
    }
    world.Run(std::chrono::seconds(4));
    std::vector<ClientId> served;
    for (ClientId id = kLiar + 1; id <= kLiar + kOthers; ++id) {
      if (world.scheduler_.Serves(id)) served.push_back(id);
    }
    ASSERT_TRUE(world.scheduler_.Serves(kLiar));
    ASSERT_LT(served.size(), kOthers);
    world.waiting_.clear();
    world.scheduler_.OnReport(kLiar, {0.0125, 0.02});
    world.Run(std::chrono::seconds(1));
    const bool all = std::ranges::all_of(served, [&](ClientId id) { return world.scheduler_.Serves(id); });
    EXPECT_EQ(all, charge);
    EXPECT_EQ(world.scheduler_.Serves(kLiar), !charge);
  }
}

// A full server of equal clients, one of whom needs more than the others together have to spare.
class FullServerTest : public testing::Test {
 protected:
  explicit FullServerTest(const CoordinatorOptions& options = {}) : world_(ProfileOf({8, 11, 14, 17, 20}), options) {
    world_.line_up_again_ = true;
    for (ClientId id = 1; id <= 40; ++id) {
      world_.waiting_.push_back(ClientAt(world_.clock_.Now(), id, kSla, kRate, 100 + static_cast<FrameId>(id % 7)));
    }
    world_.Run(std::chrono::seconds(8));
    for (ClientId id = 1; id <= 40; ++id) {
      if (world_.scheduler_.Serves(id)) served_.push_back(id);
    }
    world_.waiting_.clear();
  }

  // So many frames were served, and lost so many times what they may.
  void Report(ClientId client, double drop_rate, double times) {
    constexpr double kFrames = 600;
    world_.scheduler_.OnReport(client, {drop_rate, 0.02, kFrames, times * kSla * kFrames});
  }
  void ReportAll(double times) {
    for (const ClientId id : served_) Report(id, kRate, times);
  }

  static constexpr double kSla = 0.04, kRate = 0.0125;
  static constexpr double kAsAgreed = 0.7;  // what is kept back is there: it may go on losing what was agreed
  World world_;
  std::vector<ClientId> served_;
};

TEST_F(FullServerTest, WhoOwesIsServedBetterAndStays) {
  ASSERT_GT(served_.size(), 3);
  ReportAll(0.5);
  Report(served_[0], kRate, 1.1);
  world_.Run(std::chrono::seconds(1));
  EXPECT_TRUE(world_.scheduler_.Serves(served_[0]));
  std::map<ClientId, int> offloads;
  world_.served_.clear();
  world_.Run(std::chrono::seconds(2));
  for (const auto& [client, frame] : world_.served_) ++offloads[client];
  for (const ClientId id : served_) {
    if (id == served_[0] || !world_.scheduler_.Serves(id)) continue;
    EXPECT_GT(offloads[served_[0]], offloads[id]);
  }
}

TEST_F(FullServerTest, WhoHasLostLittleMakesRoom) {
  ReportAll(0);
  world_.waiting_.push_back(ClientAt(world_.clock_.Now(), 100, kSla, kRate, 100));
  world_.Run(std::chrono::seconds(1));
  EXPECT_TRUE(world_.scheduler_.Serves(100));
  EXPECT_EQ(world_.scheduler_.clients(), served_.size() + 1);
}

TEST_F(FullServerTest, AModestClientTakesThePlaceOfACostlyOne) {
  ReportAll(1);
  Report(served_[0], 1.02 * kRate, 0.9);
  const size_t before = world_.scheduler_.clients();
  for (ClientId id = 100; id < 104; ++id) {
    world_.waiting_.push_back(ClientAt(world_.clock_.Now(), id, kSla, kRate / 2, 100));
  }
  world_.Run(std::chrono::seconds(2));
  EXPECT_FALSE(world_.scheduler_.Serves(served_[0]));
  EXPECT_GE(world_.scheduler_.clients(), before);
  for (ClientId id = 100; id < 104; ++id) EXPECT_TRUE(world_.scheduler_.Serves(id));
}

class FullServerOfStrangersTest : public FullServerTest {
 protected:
  FullServerOfStrangersTest() : FullServerTest({.charge_growth = true}) {}
};

TEST_F(FullServerOfStrangersTest, NobodyGoesBecauseAnotherSaysThatItIsModest) {
  ReportAll(kAsAgreed);
  for (ClientId id = 100; id < 104; ++id) {
    world_.waiting_.push_back(ClientAt(world_.clock_.Now(), id, kSla, kRate / 2, 100));
  }
  world_.Run(std::chrono::seconds(2));
  for (const ClientId id : served_) EXPECT_TRUE(world_.scheduler_.Serves(id));
}

// Half of them say that they have lost more than they may.
TEST_F(FullServerOfStrangersTest, WhoSaysThatItOwesGetsNothingAtTheCostOfOthers) {
  ReportAll(kAsAgreed);
  world_.Run(std::chrono::seconds(1));
  std::erase_if(served_, [&](ClientId id) { return !world_.scheduler_.Serves(id); });
  ASSERT_GT(served_.size(), 3);
  const size_t liars = served_.size() / 2;
  for (size_t i = 0; i < liars; ++i) Report(served_[i], kRate, 1.01);
  world_.Run(std::chrono::seconds(2));
  for (size_t i = liars; i < served_.size(); ++i) EXPECT_TRUE(world_.scheduler_.Serves(served_[i]));
}

TEST(ApplyReportTest, LimitsWhatIsReportedToWhatCanBe) {
  ClientModel model{60, 0.02, 0.01, 0.02};
  ApplyReport({0.02, 0.03}, model);
  EXPECT_EQ(model.drop_rate, 0.02);
  EXPECT_EQ(model.network_s, 0.03);
  ApplyReport({1e9, 1e9}, model);
  EXPECT_EQ(model.drop_rate, kMostDropRate);
  EXPECT_EQ(model.network_s, kMostNetworkSeconds);
  ApplyReport({-1, 0.01}, model);
  ApplyReport({0.01, std::numeric_limits<double>::quiet_NaN()}, model);
  EXPECT_EQ(model.drop_rate, kMostDropRate);
  EXPECT_EQ(model.network_s, kMostNetworkSeconds);
  ApplyReport({0.01, 0.01, 100, 3}, model);
  EXPECT_EQ(model.frames, 100);
  EXPECT_EQ(model.lost, 3);
  ApplyReport({0.01, 0.01, 100, -1e9}, model);
  EXPECT_EQ(model.lost, -100);
  ApplyReport({0.02, 0.01, -1, 0}, model);
  ApplyReport({0.02, 0.01, 10, std::numeric_limits<double>::infinity()}, model);
  EXPECT_EQ(model.drop_rate, 0.01);
  EXPECT_EQ(model.frames, 100);
}

// Random clients, some of whom fall silent: the plan that is carried out never books the engine twice, and its batches
// are not begun late (World::Start expects an idle engine).
RC_GTEST_PROP(CoordinatedSchedulerPropertyTest, TheEngineIsBookedOnce, ()) {
  std::vector<double> batch_ms;
  double ms = 4;
  for (int b = *rc::gen::inRange(1, 9); b > 0; --b) batch_ms.push_back(ms += *rc::gen::inRange(1, 10));
  World world(ProfileOf(batch_ms));
  const int clients = *rc::gen::inRange(1, 30);
  for (int i = 0; i < clients; ++i) {
    world.waiting_.push_back(ClientAt(world.clock_.Now() + milliseconds(*rc::gen::inRange(0, 100)), i + 1,
                                      *rc::gen::inRange(1, 60) * 1e-3, *rc::gen::inRange(1, 20) * 1e-3,
                                      *rc::gen::inRange(0, 500)));
    if (*rc::gen::inRange(0, 10) == 0) world.silent_.insert(i + 1);
  }
  for (int step = 0; step < 10; ++step) {
    world.Run(milliseconds(100));
    TimePoint free_at;
    for (const auto& batch : world.scheduler_.plan()) {
      RC_ASSERT(batch.arrival >= free_at && batch.start >= batch.arrival && batch.end > batch.start);
      free_at = batch.end;
    }
  }
  RC_ASSERT(world.late_ == 0);
}

// Whatever anybody says: the same holds, and whoever does as told is served as planned.
RC_GTEST_PROP(CoordinatedSchedulerPropertyTest, NonsenseChangesNothing, ()) {
  World world(ProfileOf({8, 11, 14, 17, 20}));
  constexpr ClientId kClients = 8, kHostile = 3;  // the first ones
  for (ClientId id = 1; id <= kClients; ++id) {
    world.waiting_.push_back(ClientAt(world.clock_.Now(), id, 0.03, 0.004, 100));
  }
  world.Run(milliseconds(700));
  RC_ASSERT(world.scheduler_.clients() == kClients);
  const double infinity = std::numeric_limits<double>::infinity();
  const auto value = [&] {
    return *rc::gen::element(-1.0, 0.0, 0.01, 1e300, infinity, -infinity, std::numeric_limits<double>::quiet_NaN());
  };
  for (int step = 0; step < 30; ++step) {
    world.Run(milliseconds(*rc::gen::inRange(0, 100)));
    for (int n = *rc::gen::inRange(0, 10); n > 0; --n) {
      const ClientId id = *rc::gen::inRange<ClientId>(0, kHostile + 1);  // 0 is nobody
      const FrameId frame =
          *rc::gen::oneOf(rc::gen::arbitrary<FrameId>(), rc::gen::inRange<FrameId>(100, 300),
                          rc::gen::element(std::numeric_limits<FrameId>::max(), std::numeric_limits<FrameId>::min()));
      world.scheduler_.OnRequest(id, frame);
      world.scheduler_.OnReport(id, {value(), value()});
      if (*rc::gen::inRange(0, 20) == 0) world.scheduler_.OnGone(id);
    }
  }
  RC_ASSERT(world.late_ == 0);
  for (ClientId id = kHostile + 1; id <= kClients; ++id) {
    RC_ASSERT(world.scheduler_.Serves(id));
    RC_ASSERT(std::count(world.handed_over_.begin(), world.handed_over_.end(), id) == 0);
  }
}

class Line final : public Candidates {
 public:
  explicit Line(std::vector<PlanningClient> clients) : clients_(std::move(clients)) {}
  std::optional<PlanningClient> Next() override {
    return next_ == clients_.size() ? std::nullopt : std::optional(clients_[next_]);
  }
  void Admit() override {
    ++next_;
    ++admitted_;
  }
  void Refuse() override { ++next_; }
  size_t next_ = 0, admitted_ = 0;
  std::vector<PlanningClient> clients_;
};

// However many clients ask for far too much at once, a round is not one of as many plans.
TEST(CoordinatorTest, AFewPlansFindOutWhoHasToGo) {
  const InferenceProfile profile = ProfileOf({8, 11, 14, 17, 20});
  const TimePoint now{std::chrono::seconds(10)};
  constexpr size_t kClients = 256;
  std::deque<ClientState> states;
  std::vector<PlanningClient> clients;
  for (ClientId id = 1; id <= kClients; ++id) {
    const ClientState& state = states.emplace_back(ClientAt(now, id, 0.02, 0.01, 100));
    clients.push_back({id, state.model, {1, 5}, &state.arrivals, state.last_frame, state.newest});
  }
  Line nobody({});
  const Coordination result = Coordinate(clients, {}, now, now + milliseconds(60), profile, {}, nobody);
  EXPECT_EQ(clients.size() + result.evicted.size(), kClients);
  EXPECT_EQ(std::set(result.evicted.begin(), result.evicted.end()).size(), result.evicted.size());
  EXPECT_GT(clients.size(), 0);
  EXPECT_LT(result.plans, 20);
}

RC_GTEST_PROP(CoordinatorPropertyTest, NoPlanViolatesAnSla, ()) {
  const InferenceProfile profile = ProfileOf({8, 11, 14, 17, 20});
  const TimePoint now{std::chrono::seconds(10)};
  std::deque<ClientState> states;
  const auto random = [&](ClientId id) -> std::optional<PlanningClient> {
    states.push_back(ClientAt(now - milliseconds(*rc::gen::inRange(0, 200)), id, *rc::gen::inRange(1, 60) * 1e-3,
                              *rc::gen::inRange(1, 20) * 1e-3, *rc::gen::inRange(0, 500)));
    const ClientState& state = states.back();
    const auto settings = BestSettings(state.model, profile);
    if (!settings) return std::nullopt;
    return PlanningClient{id, state.model, *settings, &state.arrivals, state.last_frame, state.newest};
  };
  CoordinatorOptions options;
  options.most_shortened = *rc::gen::inRange(0, 5);
  options.remove_costliest = *rc::gen::arbitrary<bool>();
  std::vector<PlanningClient> clients, more;
  const int count = *rc::gen::inRange(0, 30);
  for (int i = 0; i < count; ++i) {
    if (const auto client = random(i + 1)) clients.push_back(*client);
  }
  for (int i = 0; i < 5; ++i) {
    if (const auto client = random(i + 1000)) more.push_back(*client);
  }
  std::map<ClientId, OffloadSettings> chosen;
  for (const auto* some : {&clients, &more}) {
    for (const PlanningClient& client : *some) chosen[client.id] = client.settings;
  }
  const size_t before = clients.size();
  Line line(more);
  const auto result = Coordinate(clients, {}, now, now + milliseconds(60), profile, options, line);
  RC_ASSERT(clients.size() == before + line.admitted_ - result.evicted.size());
  for (const PlanningClient& client : clients) {
    const int shortened = chosen[client.id].interval - client.settings.interval;
    RC_ASSERT(shortened == 0 || (shortened > 0 && options.most_shortened > 0));
    RC_ASSERT(shortened == 0 || Allowed(client.settings, client.model, profile, options.limits));
  }
  const auto drops = EstimateDrops(clients, result.plan, profile, now);
  for (size_t i = 0; i < clients.size(); ++i) RC_ASSERT(drops[i] <= clients[i].model.sla);
  RC_ASSERT(drops == result.drops);
  // Whoever was removed had to go, so nobody was taken in that round.
  RC_ASSERT(result.evicted.empty() || line.next_ == 0);
}

}  // namespace
}  // namespace wharf::serving
