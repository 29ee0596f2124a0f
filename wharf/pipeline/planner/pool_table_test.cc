#include "wharf/pipeline/planner/pool_table.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "wharf/pipeline/planner/relaxation.h"
#include "wharf/pipeline/planner/testing.h"

namespace wharf::pipeline {
namespace {

// A stage on `gpu_class` of `rate` requests/s a GPU.
CandidateStage On(int gpu_class, double rate, int vgpus_per_gpu = 1) {
  return {0, 1, gpu_class, vgpus_per_gpu, 100, 0, rate};
}

// On whole GPUs and halves.
std::vector<Candidate> ArbitraryCandidates(int classes) {
  std::vector<Candidate> candidates(*rc::gen::inRange(1, 5));
  for (Candidate& one : candidates) {
    one.stages.resize(*rc::gen::inRange(1, 4));
    for (CandidateStage& stage : one.stages) {
      stage = On(*rc::gen::inRange(0, classes), *rc::gen::inRange(1, 100), *rc::gen::inRange(1, 3));
    }
  }
  return candidates;
}

TEST(PoolGridTest, PointsCountGpus) {
  const Cluster cluster = MakeCluster({{"A"}, {"B"}}, {2, 3});
  const PoolGrid grid(cluster);
  EXPECT_EQ(grid.Points(), 12u);
  EXPECT_EQ(PoolGrid::CountPoints(cluster), 12u);
  const size_t point = 2 * grid.Stride(0) + 1 * grid.Stride(1);
  EXPECT_EQ(grid.Units(point, 0), 2);
  EXPECT_EQ(grid.Units(point, 1), 1);
  EXPECT_TRUE(grid.Fits(point, point));
  EXPECT_FALSE(grid.Fits(point, 1 * grid.Stride(0) + 3 * grid.Stride(1)));
}

TEST(PoolGridTest, HugeClustersSaturate) {
  const std::vector<GpuClass> classes = {{"A"}, {"B"}, {"C"}, {"D"}, {"E"}};
  EXPECT_EQ(PoolGrid::CountPoints(MakeCluster(classes, std::vector<int>(5, 60'000))),
            std::numeric_limits<size_t>::max());
}

TEST(PoolGridTest, PointsCountPartsOfGpus) {
  const Cluster cluster = MakeCluster({{"A"}, {"B"}}, {2, 3});
  const std::vector<int> units = {2, 6};
  const PoolGrid grid(cluster, units);
  EXPECT_EQ(grid.Points(), 5u * 19);
  EXPECT_EQ(PoolGrid::CountPoints(cluster, units), grid.Points());
  EXPECT_EQ(grid.UnitsPerGpu(1), 6);
  EXPECT_EQ(grid.MaxUnits(1), 18);
}

TEST(PoolTableTest, HalvesAreGivenOneByOne) {
  const Cluster cluster = MakeCluster({{"A"}}, {2});
  const PoolGrid whole(cluster), grid(cluster, {2});
  const std::vector<Candidate> candidates = {{1, {On(0, 10, 2), On(0, 30, 2)}}};
  const PoolTable table(grid, candidates, Mode::kOurs);
  EXPECT_DOUBLE_EQ(table.Best(3), 10) << "two halves before one";
  EXPECT_DOUBLE_EQ(table.Best(4), 15);
  EXPECT_EQ(table.BestOfWholeGpus(whole), (std::vector<double>{0, 5, 15}));
  EXPECT_EQ(table.SharesOfWholeGpus(whole, 2)[0].vgpus, (std::vector<int>{3, 1}));
  const PoolTable of_whole(whole, candidates, Mode::kOurs);
  EXPECT_DOUBLE_EQ(of_whole.Best(2), 10) << "each stage its own GPU";
  EXPECT_EQ(of_whole.Shares(2)[0].vgpus, (std::vector<int>{2, 2}));
}

TEST(PoolTableTest, GivesUpAfterTooManySteps) {
  const Cluster cluster = MakeCluster({{"A"}}, {9});
  const PoolGrid grid(cluster);
  const std::vector<Candidate> candidates = {{1, {On(0, 10)}}};
  PoolPruning pruning;
  pruning.max_steps = 3;
  const PoolTable table(grid, candidates, Mode::kOurs, pruning);
  EXPECT_FALSE(table.Complete());
  EXPECT_DOUBLE_EQ(table.Best(9), 90) << "offered at once";
  EXPECT_TRUE(PoolTable(grid, candidates, Mode::kOurs).Complete());
}

TEST(PoolTableTest, APipelineAndTheRestShareGpus) {
  const Cluster cluster = MakeCluster({{"A"}, {"B"}}, {3, 2});
  const PoolGrid grid(cluster);
  const std::vector<Candidate> candidates = {{1, {On(0, 10)}}, {1, {On(1, 8), On(0, 16)}}};
  const PoolTable table(grid, candidates, Mode::kOurs);
  EXPECT_DOUBLE_EQ(table.Best(grid.Points() - 1), 36) << "two B in front of one A make 16, two A alone 20";
  const auto shares = table.Shares(grid.Points() - 1);
  ASSERT_EQ(shares.size(), 2u);
  EXPECT_EQ(shares[0].vgpus, std::vector<int>{2});
  EXPECT_EQ(shares[1].vgpus, (std::vector<int>{2, 1}));
}

RC_GTEST_PROP(PoolTableProperty, SharesMakeWhatTheTablePromises, ()) {
  const Cluster cluster = MakeCluster({{"A"}, {"B"}}, {*rc::gen::inRange(1, 6), *rc::gen::inRange(1, 6)});
  const int units = *rc::gen::inRange(1, 3);
  const PoolGrid grid(cluster, {units, units});
  const auto candidates = ArbitraryCandidates(2);
  const Mode mode = *rc::gen::element(Mode::kOurs, Mode::kDartR);
  const PoolTable table(grid, candidates, mode);
  for (size_t point = 0; point < grid.Points(); ++point) {
    double made = 0;
    std::vector<int> used(2);
    for (const Share& share : table.Shares(point)) {
      made += Throughput(candidates[share.candidate], share.vgpus);
      for (size_t i = 0; i < share.vgpus.size(); ++i) {
        const CandidateStage& stage = candidates[share.candidate].stages[i];
        RC_ASSERT(share.vgpus[i] * units % stage.vgpus_per_gpu == 0);
        used[stage.gpu_class] += share.vgpus[i] * units / stage.vgpus_per_gpu;
      }
    }
    RC_ASSERT(std::abs(made - table.Best(point)) <= 1e-9 * made);
    for (int i = 0; i < 2; ++i) {
      RC_ASSERT(used[i] <= grid.Units(point, i));
      if (grid.Units(point, i) > 0) RC_ASSERT(table.Best(point) >= table.Best(point - grid.Stride(i)));
    }
  }
}

RC_GTEST_PROP(PoolTableProperty, PruningLosesOnlyWhatWastesMore, ()) {
  const Cluster cluster = MakeCluster({{"A"}, {"B"}}, {*rc::gen::inRange(1, 4), *rc::gen::inRange(1, 4)});
  const PoolGrid grid(cluster, {2, 2});
  const auto candidates = ArbitraryCandidates(2);
  const std::vector<double> prices = {*rc::gen::inRange(0, 5) * 1.0, *rc::gen::inRange(0, 5) * 1.0};
  PoolPruning pruning;
  pruning.unit_prices = {prices[0] / 2, prices[1] / 2};
  pruning.request_price = std::numeric_limits<double>::infinity();
  for (const Candidate& one : candidates) {
    const auto use = GpusPerRate(one, 2, Mode::kOurs);
    pruning.request_price = std::min(pruning.request_price, use[0] * prices[0] + use[1] * prices[1]);
  }
  pruning.slack = *rc::gen::inRange(0, 50) * 0.1;
  const PoolTable all(grid, candidates, Mode::kOurs), pruned(grid, candidates, Mode::kOurs, pruning);
  for (size_t point = 0; point < grid.Points(); ++point) {
    const double best = all.Best(point);
    const double units_price =
        pruning.unit_prices[0] * grid.Units(point, 0) + pruning.unit_prices[1] * grid.Units(point, 1);
    RC_ASSERT(pruned.Best(point) <= best * (1 + 1e-9));
    if (units_price - pruning.request_price * best <= pruning.slack) RC_ASSERT(pruned.Best(point) >= best * (1 - 1e-9));
  }
}

RC_GTEST_PROP(DivisionProperty, NoDivisionIsBetter, ()) {
  const Cluster cluster = MakeCluster({{"A"}, {"B"}}, {*rc::gen::inRange(1, 6), *rc::gen::inRange(1, 6)});
  const PoolGrid grid(cluster);
  std::vector<std::vector<Candidate>> candidates;
  std::vector<PoolTable> tables;
  std::vector<double> weights;
  candidates.reserve(2);
  for (int i = 0; i < 2; ++i) {
    candidates.push_back(ArbitraryCandidates(2));
    tables.emplace_back(grid, candidates.back(), Mode::kOurs);
    weights.push_back(*rc::gen::inRange(1, 4));
  }
  std::vector<std::vector<double>> values;
  for (const PoolTable& table : tables) values.push_back(table.BestOfWholeGpus(grid));
  const Division division(grid, values, weights);
  for (size_t point = 0; point < grid.Points(); ++point) {
    double best = 0;
    for (size_t part = 0; part <= point; ++part) {
      if (!grid.Fits(part, point)) continue;
      best = std::max(best, std::min(tables[0].Best(point - part) / weights[0], tables[1].Best(part) / weights[1]));
    }
    RC_ASSERT(division.Best(point) == best);
    const auto parts = division.Points(point);
    RC_ASSERT(parts[0] + parts[1] == point);
    RC_ASSERT(std::min(tables[0].Best(parts[0]) / weights[0], tables[1].Best(parts[1]) / weights[1]) == best);
  }
}

}  // namespace
}  // namespace wharf::pipeline
