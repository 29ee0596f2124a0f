#include "wharf/split/profiler/profiler.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <random>
#include <set>

#include "wharf/exec/random_graph.h"
#include "wharf/exec/testing.h"

namespace wharf::split {
namespace {

namespace fs = std::filesystem;

class TypeOnly final : public exec::Tensor {
 public:
  explicit TypeOnly(graph::TensorType type) : type_(std::move(type)) {}
  graph::TensorType Type() const override { return type_; }
  void Read(std::span<std::byte>) const override {}

 private:
  const graph::TensorType type_;
};

// Computes nothing, in a time that is known: of every value made, 1 ms and 0.25 ms a row. The first time, 100 ms more;
// and every seventh run is disturbed.
class TimedProgram final : public exec::Program {
 public:
  TimedProgram(graph::Graph graph, VirtualClock& clock)
      : graph_(std::move(graph)), rules_(*graph::RowRulesOf(graph_)), clock_(clock) {}
  const graph::Graph& Graph() const override { return graph_; }
  const graph::RowRules& RowRules() const override { return rules_; }

  absl::StatusOr<std::vector<exec::TensorPtr>> Run(std::span<const exec::Part> given,
                                                   std::span<const exec::Rows> wanted) const override {
    if (fails) return Internal("broken");
    std::vector<bool> is_given(graph_.values.size(), false);
    for (const exec::Part& part : given) {
      EXPECT_NE(part.tensor, nullptr) << "value " << part.rows.value << " was forgotten too early";
      is_given[part.rows.value] = true;
    }
    ++runs_;
    const double disturbed = runs_ % 7 == 0 ? 1000 : static_cast<int>(random_() % 16) < disturbed_of_16 ? 50 : 0;
    double ms = 0;
    const auto needed = NeededRows(graph_, rules_, wanted, is_given);
    for (size_t value = 0; value < needed.size(); ++value) {
      if (needed[value].Empty() || is_given[value]) continue;
      ms += 1 + 0.25 * needed[value].Size() + (seen_.insert(static_cast<int>(value)).second ? 100 : 0);
    }
    computed.Advance(FromSeconds(ms / 1e3));
    clock_.Advance(FromSeconds((ms + disturbed) / 1e3));
    std::vector<exec::TensorPtr> made;
    for (const exec::Rows& rows : wanted) made.push_back(std::make_shared<TypeOnly>(graph_.Type(rows.value)));
    return made;
  }
  exec::Part Cut(const exec::Part& part, graph::RowRange) const override { return part; }
  absl::StatusOr<exec::Part> Join(std::span<const exec::Part>) const override { return Unimplemented("no need"); }

  bool fails = false;
  int disturbed_of_16 = 0;        // runs, besides, by 50 ms
  mutable VirtualClock computed;  // time without disturbance

 private:
  const graph::Graph graph_;
  const graph::RowRules rules_;
  VirtualClock& clock_;
  mutable int runs_ = 0;
  mutable std::minstd_rand random_;
  mutable std::set<int> seen_;
};

// 16 rows through a 1x1 convolution, added to themselves (so that it is an operator of its own), and their means.
graph::Graph ThreeOperators() {
  graph::Graph graph;
  const graph::TensorType image{graph::ElementType::kFloat, {1, 2, 16, 4}};
  graph::Value weights{"w", {graph::ElementType::kFloat, {2, 2, 1, 1}}, {}};
  weights.constant = exec::testing::RandomFloats(weights.type.shape, 1);
  graph.values.push_back({"x", image, {}});
  graph.values.push_back(std::move(weights));
  graph.values.push_back({"conv", image, {}});
  graph.values.push_back({"sum", image, {}});
  graph.values.push_back({"mean", {graph::ElementType::kFloat, {1, 2, 1, 1}}, {}});
  graph.nodes = {{"Conv", "", {0, 1}, {2}, {}}, {"Add", "", {2, 0}, {3}, {}}, {"GlobalAveragePool", "", {3}, {4}, {}}};
  graph.inputs = {0};
  graph.outputs = {4};
  return graph;
}

class ProfilerTest : public ::testing::Test {
 protected:
  absl::StatusOr<MachineProfile> Measure(const ProfilerOptions& options = {}) {
    return MeasureModel(program_, *OperatorsOf(program_.Graph(), program_.RowRules()),
                        std::make_shared<TypeOnly>(program_.Graph().Type(0)), clock_, options);
  }
  VirtualClock clock_;
  TimedProgram program_{ThreeOperators(), clock_};
};

TEST_F(ProfilerTest, FindsWhatDoesAndWhatDoesNotGrowWithRows) {
  const auto profile = Measure();
  ASSERT_TRUE(profile.ok()) << ToString(profile.status());
  ASSERT_EQ(profile->operators.size(), 5u);
  for (const int op : {1, 2}) {
    const MeasuredOperator& one = profile->operators[op];
    EXPECT_EQ(one.rows, 16);
    EXPECT_DOUBLE_EQ(one.full_ms, 5);
    EXPECT_NEAR(one.slice.fixed_ms, 1, 1e-9);
    EXPECT_NEAR(one.slice.row_ms, 0.25, 1e-9);
    EXPECT_NEAR(one.fit_error, 0, 1e-9);
  }
  EXPECT_EQ(profile->operators[3].name, "GlobalAveragePool");
  EXPECT_DOUBLE_EQ(profile->operators[3].full_ms, 1.25);
  EXPECT_EQ(profile->operators[0].full_ms, 0);
  EXPECT_EQ(profile->operators[4].full_ms, 0);
  EXPECT_DOUBLE_EQ(profile->whole_ms, 11.25);
  EXPECT_DOUBLE_EQ(profile->SumMs(), 11.25);
}

TEST_F(ProfilerTest, MeasuresAgainWhereOthersDisturb) {
  program_.disturbed_of_16 = 10;  // most runs take longer: what is usual is not what it takes
  const auto profile = Measure();
  ASSERT_TRUE(profile.ok()) << ToString(profile.status());
  EXPECT_DOUBLE_EQ(profile->operators[1].full_ms, 5);
  EXPECT_DOUBLE_EQ(profile->noise, 0);
  EXPECT_FALSE(profile->Doubtful());
  program_.disturbed_of_16 = 15;  // nearly all
  const auto doubtful = Measure();
  ASSERT_TRUE(doubtful.ok()) << ToString(doubtful.status());
  EXPECT_TRUE(doubtful->Doubtful());
}

TEST_F(ProfilerTest, MeasuresByProcessorTimeWhereThatIsKnown) {
  program_.disturbed_of_16 = 15;
  const auto operators = *OperatorsOf(program_.Graph(), program_.RowRules());
  const Subject subject{exec::testing::TestEngine(), program_, operators, "small", std::string(64, 'c')};
  ProfilerOptions options;
  options.cpu_clock = &program_.computed;
  const auto profile = FindOrMeasure(subject, ThisMachine("an engine", 1), ProfileCache(""), clock_, options);
  ASSERT_TRUE(profile.ok()) << ToString(profile.status());
  EXPECT_FALSE(profile->Doubtful());
  EXPECT_DOUBLE_EQ(profile->operators[1].full_ms, 5);
}

TEST_F(ProfilerTest, PassesOnWhyAModelDoesNotRun) {
  program_.fails = true;
  EXPECT_EQ(Measure().status().code(), absl::StatusCode::kInternal);
}

TEST_F(ProfilerTest, EndsBetweenOperatorsWhenItIsToldTo) {
  int operators = 0;
  const GoOn go_on = [&]() -> absl::Status {
    return ++operators > 2 ? absl::CancelledError("nobody waits") : absl::OkStatus();
  };
  EXPECT_EQ(Measure({.go_on = go_on}).status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(operators, 3);
}

TEST_F(ProfilerTest, MeasuresFewerRoundsOfASlowModel) {
  int asked = 0;
  const GoOn count = [&] {
    ++asked;
    return absl::OkStatus();
  };
  ASSERT_TRUE(Measure({.rounds = 1, .go_on = count}).ok());
  const int of_one = asked;
  asked = 0;
  const auto profile = Measure({.enough = Nanoseconds{1}, .go_on = count});
  ASSERT_TRUE(profile.ok()) << ToString(profile.status());
  EXPECT_EQ(asked, of_one);
  EXPECT_GT(profile->whole_ms, 0);
}

TEST_F(ProfilerTest, MeasuresAModelOnce) {
  const fs::path directory = fs::path(::testing::TempDir()) / fmt::format("wharf-profiler-{}", getpid());
  const auto operators = *OperatorsOf(program_.Graph(), program_.RowRules());
  const Subject subject{exec::testing::TestEngine(), program_, operators, "small", std::string(64, 'c')};
  const Machine machine = ThisMachine("an engine", 1);
  const ProfileCache cache(directory);
  const auto first = FindOrMeasure(subject, machine, cache, clock_, {});
  ASSERT_TRUE(first.ok()) << ToString(first.status());
  EXPECT_EQ(first->model, "small");
  const TimePoint measured = clock_.Now();
  EXPECT_EQ(*FindOrMeasure(subject, machine, cache, clock_, {}), *first);
  EXPECT_EQ(clock_.Now(), measured) << "it was measured again";
  EXPECT_TRUE(FindOrMeasure(subject, machine, cache, clock_, {.again = true}).ok());
  EXPECT_GT(clock_.Now(), measured);
  MachineProfile other = *first;  // as another version may have read the model
  other.operators.pop_back();
  ASSERT_EQ(cache.Put(other), absl::OkStatus());
  EXPECT_EQ(FindOrMeasure(subject, machine, cache, clock_, {})->operators.size(), first->operators.size());
  fs::remove_all(directory);
}

TEST(Profiler, MeasuresEachRowCountOnce) {
  EXPECT_EQ(MeasuredRows(1), (std::vector<int>{1}));
  EXPECT_EQ(MeasuredRows(3), (std::vector<int>{3, 1}));
  EXPECT_EQ(MeasuredRows(8), (std::vector<int>{8, 4, 2, 1}));
  EXPECT_EQ(MeasuredRows(224), (std::vector<int>{224, 112, 56, 28, 1}));
}

// No other line with parts that are not negative has a smaller error, as far as a search around it can see.
RC_GTEST_PROP(Profiler, FitsTheBestLine, ()) {
  std::vector<RowTime> times;
  for (const int rows : MeasuredRows(*rc::gen::inRange(1, 300))) {
    times.push_back({rows, *rc::gen::inRange(1, 10'000) / 1e3});
  }
  const auto error = [&](SliceTime line) {
    double sum = 0;
    for (const RowTime& one : times) sum += std::pow((line.fixed_ms + line.row_ms * one.rows) / one.ms - 1, 2);
    return sum;
  };
  const SliceTime fit = FitSlices(times);
  RC_ASSERT(fit.fixed_ms >= 0 && fit.row_ms >= 0);
  for (const double fixed : {-1e-3, 0.0, 1e-3}) {
    for (const double per_row : {-1e-4, 0.0, 1e-4}) {
      const SliceTime other{std::max(0.0, fit.fixed_ms + fixed), std::max(0.0, fit.row_ms + per_row)};
      RC_ASSERT(error(fit) <= error(other) + 1e-9);
    }
  }
}

// Whatever the network, every operator can be run alone on what the others made.
RC_GTEST_PROP(Profiler, MeasuresRealPrograms, (uint32_t seed)) {
  const exec::Engine& engine = exec::testing::TestEngine();
  const auto program = *engine.Prepare(exec::testing::RandomGraph::Make(seed, *rc::gen::inRange(1, 9)));
  const auto operators = OperatorsOf(program->Graph(), program->RowRules());
  RC_PRE(operators.ok());
  const auto input = *SampleInput(engine, program->Graph().Type(program->Graph().inputs[0]));
  const auto profile = MeasureModel(*program, *operators, input, Clock::Real(), {.rounds = 1});
  if (!profile.ok()) RC_FAIL(ToString(profile.status()));
  RC_ASSERT(profile->whole_ms > 0);
  RC_ASSERT(MakeProfile(*operators, *profile, *profile).ok());
}

TEST(Profiler, SampleInputsAreAlwaysTheSame) {
  const exec::Engine& engine = exec::testing::TestEngine();
  for (const auto element : {graph::ElementType::kFloat, graph::ElementType::kUint8, graph::ElementType::kInt64}) {
    const graph::TensorType type{element, {2, 3}};
    const auto once = SampleInput(engine, type), again = SampleInput(engine, type);
    ASSERT_TRUE(once.ok()) << ToString(once.status());
    EXPECT_EQ(*exec::testing::ToConstant(**once).bytes, *exec::testing::ToConstant(**again).bytes);
  }
}

}  // namespace
}  // namespace wharf::split
