#include "wharf/split/timeline.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "wharf/split/testing.h"

namespace wharf::split {
namespace {

Link TestLink(double bytes_per_ms) {
  Link link;
  link.bytes_per_ms = bytes_per_ms;
  link.round_trip_ms = 2;
  link.message_overhead_ms = 0;
  return link;
}

// 8 rows of 10 bytes; two element-wise operators of 8 ms (device) and 0.8 ms (server).
Profile TwoOperators() {
  ProfileBuilder builder(8, 80);
  builder.Add({0}, kElementwise, 8, 80, 8, 0.8);
  builder.Add({1}, kElementwise, 8, 80, 8, 0.8);
  return builder.End({2});
}

Plan PlanOf(const RowGraph& graph, std::vector<RowRange> device, std::vector<RowRange> server) {
  Plan plan;
  plan.rows = {std::move(device), std::move(server)};
  EXPECT_TRUE(Check(graph, plan).ok()) << Check(graph, plan);
  return plan;
}

TEST(Timeline, DeviceAloneTakesTheSumAndSendsNothing) {
  const RowGraph graph(TwoOperators());
  const Plan plan = PlanOf(graph, {{0, 8}, {0, 8}, {0, 8}, {0, 1}}, {{}, {}, {}, {}});
  const Outcome outcome = Evaluator(graph).Evaluate(plan, TestLink(0));
  EXPECT_DOUBLE_EQ(outcome.latency_ms, 16);
  EXPECT_EQ(outcome.messages, 0);
  EXPECT_NEAR(outcome.Joules(), 13.35 * 0.016, 1e-12);
}

TEST(Timeline, ServerAloneSendsInputAndResultOneAfterTheOther) {
  const RowGraph graph(TwoOperators());
  const Plan plan = PlanOf(graph, {{0, 8}, {}, {}, {0, 1}}, {{}, {0, 8}, {0, 8}, {}});
  const Outcome outcome = Evaluator(graph).Evaluate(plan, TestLink(10));
  EXPECT_DOUBLE_EQ(outcome.latency_ms, 8 + 1 + 1.6 + 8 + 1);
  EXPECT_DOUBLE_EQ(outcome.link_ms, 16);
  EXPECT_DOUBLE_EQ(outcome.up_bytes, 80);
  EXPECT_DOUBLE_EQ(outcome.down_bytes, 80);
  EXPECT_NEAR(outcome.Joules(), (4.04 * 19.6 + 0.21 * 16) / 1e3, 1e-12);
}

TEST(Timeline, SharesOverlapComputingWithBothDirections) {
  const RowGraph graph(TwoOperators());
  // The device computes 5 rows of each while 3 go up (3 ms), are computed (2 x 0.3 ms) and come back (3 ms).
  const Plan plan = PlanOf(graph, {{0, 8}, {0, 5}, {0, 5}, {0, 1}}, {{}, {5, 8}, {5, 8}, {}});
  std::vector<Event> events;
  const Outcome outcome = Evaluator(graph).Record(plan, TestLink(10), events);
  EXPECT_DOUBLE_EQ(outcome.latency_ms, 10);
  EXPECT_DOUBLE_EQ(outcome.busy_ms[kDevice], 10);
  EXPECT_NEAR(outcome.busy_ms[kServer], 0.6, 1e-12);
  ASSERT_EQ(events.size(), 6u);  // 2 messages, 2 operators on each side
  EXPECT_EQ(events[0].resource, Resource::kUplink);
  EXPECT_DOUBLE_EQ(events[0].end_ms, 3);
}

TEST(Timeline, MessagesOfOneDirectionQueue) {
  ProfileBuilder builder(4, 40);
  builder.Add({0}, kElementwise, 4, 40, 1, 1);
  builder.Add({1}, kConv3, 4, 40, 1, 1);
  const RowGraph graph(builder.End({2}));
  // Rows 2, 3 of the input go up (20 ms at 1 byte/ms), then row 1 of operator 1 waits behind them (10 ms more).
  const Plan plan = PlanOf(graph, {{0, 4}, {0, 3}, {0, 2}, {0, 1}}, {{}, {2, 4}, {2, 4}, {}});
  const Outcome outcome = Evaluator(graph).Evaluate(plan, TestLink(1));
  EXPECT_DOUBLE_EQ(outcome.latency_ms, 20 + 10 + 1 + 0.5 + 20 + 1);
  EXPECT_EQ(outcome.messages, 3);
}

TEST(Timeline, FollowsATraceAndRepeatsIt) {
  const RateTrace trace{100, {1, 0, 3}};
  Link link = TestLink(0);
  link.trace = &trace;
  EXPECT_DOUBLE_EQ(link.Sent(0, 50), 50);
  EXPECT_DOUBLE_EQ(link.Sent(50, 200), 250);  // 50 in the first step, none in the second, 150 in the third
  link.trace_start_ms = 250;
  EXPECT_DOUBLE_EQ(link.Sent(0, 200), 100);  // 150, then 50 in the first step again
  const RateTrace silent{100, {0, 0}};
  link.trace = &silent;
  EXPECT_TRUE(std::isinf(link.Sent(0, 1)));
}

// The same rules, moment by moment: a state that advances by the smallest remaining time of anything under way.
class SteppedWorld {
 public:
  SteppedWorld(const RowGraph& graph, const Plan& plan, const Link& link)
      : graph_(graph), plan_(plan), link_(link), needed_(NeededRows(graph, plan)) {
    for (const Side side : kSides) {
      arrived_[side].assign(graph.Size(), false);
      done_[side].assign(graph.Size(), false);
    }
  }

  double Latency() {
    for (Begin(); !done_[kDevice][graph_.Output()]; Begin()) {
      double step = INFINITY;
      for (const Side side : kSides) {
        if (computing_[side] >= 0) step = std::min(step, compute_left_[side]);
        if (sending_[side] >= 0) step = std::min(step, send_left_[side]);
      }
      for (const Flight& flight : flying_) step = std::min(step, flight.at - now_);
      if (!std::isfinite(step)) return INFINITY;
      Advance(step);
    }
    return now_;
  }

 private:
  struct Flight {
    double at;
    Side to;
    int op;
  };

  bool Ready(Side side, int op) const {
    for (const auto& edge : graph_.Inputs(op)) {
      const int input = edge.from;
      const RowRange rows = graph_.Needed(op, edge, plan_.rows[side][op]);
      const RowRange own = plan_.rows[side][input];
      for (int row = rows.lo; row < rows.hi; ++row) {
        if (own.Contains({row, row + 1}) ? !done_[side][input] : !arrived_[side][input]) return false;
      }
    }
    return true;
  }

  void Begin() {
    for (bool changed = true; changed;) {
      changed = false;
      for (const Side side : kSides) {
        while (computing_[side] < 0 && next_[side] < graph_.Size() && plan_.rows[side][next_[side]].Empty())
          ++next_[side];
        if (computing_[side] < 0 && next_[side] < graph_.Size() && Ready(side, next_[side])) {
          computing_[side] = next_[side]++;
          compute_left_[side] = graph_.Ms(side, computing_[side], plan_.rows[side][computing_[side]].Size());
        }
        if (sending_[side] < 0 && !queue_[side].empty()) {
          sending_[side] = queue_[side].front();
          queue_[side].erase(queue_[side].begin());
          const int rows = Missing(Other(side), sending_[side]);
          send_left_[side] = link_.message_overhead_ms + graph_.CodingMs(sending_[side], rows) +
                             rows * graph_.BytesPerRow(sending_[side]) / link_.bytes_per_ms;
        }
        if (computing_[side] >= 0 && compute_left_[side] == 0) changed = Finish(side);
      }
    }
  }

  int Missing(Side side, int op) const {
    int rows = 0;
    for (int row = needed_[side][op].lo; row < needed_[side][op].hi; ++row) {
      rows += plan_.rows[side][op].Contains({row, row + 1}) ? 0 : 1;
    }
    return rows;
  }

  bool Finish(Side side) {
    const int op = computing_[side];
    computing_[side] = -1;
    done_[side][op] = true;
    if (Missing(Other(side), op) > 0) queue_[side].push_back(op);
    return true;
  }

  void Advance(double step) {
    now_ += step;
    for (const Side side : kSides) {
      if (sending_[side] >= 0 && (send_left_[side] -= step) <= 1e-12) {
        flying_.push_back({now_ + link_.round_trip_ms / 2, Other(side), sending_[side]});
        sending_[side] = -1;
      }
      if (computing_[side] >= 0 && (compute_left_[side] -= step) <= 1e-12) Finish(side);
    }
    std::erase_if(flying_, [&](const Flight& flight) {
      if (flight.at > now_ + 1e-12) return false;
      arrived_[flight.to][flight.op] = true;
      return true;
    });
  }

  const RowGraph& graph_;
  const Plan& plan_;
  const Link& link_;
  const std::array<std::vector<RowRange>, 2> needed_;
  std::array<std::vector<bool>, 2> arrived_, done_;
  std::array<int, 2> next_{}, computing_{-1, -1}, sending_{-1, -1};
  std::array<double, 2> compute_left_{}, send_left_{};
  std::array<std::vector<int>, 2> queue_;
  std::vector<Flight> flying_;
  double now_ = 0;
};

RC_GTEST_PROP(TimelineProperty, AgreesWithASimulationMomentByMoment, ()) {
  Profile profile = ArbitraryProfile(8, 6);
  profile.slice_cost = {{0.05, 0.02}, 1.05};
  for (ProfiledOperator& one : profile.operators) one.coding_ms = *rc::gen::inRange(0, 10) / 10.0;
  const RowGraph plain(profile);
  const RowGraph graph = *rc::gen::arbitrary<bool>() ? WithLayout(plain, ArbitraryLayout(plain)) : plain;
  const Plan plan = ArbitraryPlan(graph);
  RC_ASSERT(Check(graph, plan).ok());
  Link link = TestLink(*rc::gen::inRange(1, 5000));
  link.message_overhead_ms = 0.05;
  const double expected = SteppedWorld(graph, plan, link).Latency();
  RC_ASSERT(std::abs(Evaluator(graph).Evaluate(plan, link).latency_ms - expected) < 1e-6 * (1 + expected));
}

RC_GTEST_PROP(TimelineProperty, AFasterLinkIsNeverWorse, ()) {
  const RowGraph graph(ArbitraryProfile(10, 8));
  const Plan plan = ArbitraryPlan(graph);
  Evaluator evaluator(graph);
  const int slow = *rc::gen::inRange(1, 1000), fast = slow + *rc::gen::inRange(1, 1000);
  RC_ASSERT(evaluator.Evaluate(plan, TestLink(fast)).latency_ms <=
            evaluator.Evaluate(plan, TestLink(slow)).latency_ms + 1e-9);
}

RC_GTEST_PROP(TimelineProperty, ATraceOfOneRateIsAConstantLink, ()) {
  const RowGraph graph(ArbitraryProfile(6, 6));
  const Plan plan = ArbitraryPlan(graph);
  Evaluator evaluator(graph);
  const Link constant = TestLink(*rc::gen::inRange(1, 1000));
  const RateTrace trace{7.5, {constant.bytes_per_ms, constant.bytes_per_ms}};
  Link traced = constant;
  traced.trace = &trace;
  traced.trace_start_ms = *rc::gen::inRange(0, 1000) / 10.0;
  const double expected = evaluator.Evaluate(plan, constant).latency_ms;
  RC_ASSERT(std::abs(evaluator.Evaluate(plan, traced).latency_ms - expected) < 1e-6 * (1 + expected));
}

}  // namespace
}  // namespace wharf::split
