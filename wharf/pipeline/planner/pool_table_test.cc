#include "wharf/pipeline/planner/pool_table.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "wharf/pipeline/planner/testing.h"

namespace wharf::pipeline {
namespace {

// A stage on `gpu_class` of `rate` requests/s a GPU.
CandidateStage On(int gpu_class, double rate) { return {0, 1, gpu_class, 1, 100, 0, rate}; }

std::vector<Candidate> ArbitraryCandidates(int classes) {
  std::vector<Candidate> candidates(*rc::gen::inRange(1, 5));
  for (Candidate& one : candidates) {
    one.stages.resize(*rc::gen::inRange(1, 4));
    for (CandidateStage& stage : one.stages) stage = On(*rc::gen::inRange(0, classes), *rc::gen::inRange(1, 100));
  }
  return candidates;
}

TEST(PoolGridTest, PointsCountGpus) {
  const Cluster cluster = MakeCluster({{"A"}, {"B"}}, {2, 3});
  const PoolGrid grid(cluster);
  EXPECT_EQ(grid.Points(), 12u);
  EXPECT_EQ(PoolGrid::CountPoints(cluster), 12u);
  const size_t point = 2 * grid.Stride(0) + 1 * grid.Stride(1);
  EXPECT_EQ(grid.Gpus(point, 0), 2);
  EXPECT_EQ(grid.Gpus(point, 1), 1);
  EXPECT_TRUE(grid.Fits(point, point));
  EXPECT_FALSE(grid.Fits(point, 1 * grid.Stride(0) + 3 * grid.Stride(1)));
}

TEST(PoolGridTest, HugeClustersSaturate) {
  const std::vector<GpuClass> classes = {{"A"}, {"B"}, {"C"}, {"D"}, {"E"}};
  EXPECT_EQ(PoolGrid::CountPoints(MakeCluster(classes, std::vector<int>(5, 60'000))),
            std::numeric_limits<size_t>::max());
}

TEST(PoolTableTest, APipelineAndTheRestShareGpus) {
  const Cluster cluster = MakeCluster({{"A"}, {"B"}}, {3, 2});
  const PoolGrid grid(cluster);
  const std::vector<Candidate> candidates = {{1, {On(0, 10)}}, {1, {On(1, 8), On(0, 16)}}};
  const PoolTable table(grid, candidates, Mode::kOurs);
  EXPECT_DOUBLE_EQ(table.Best(grid.Points() - 1), 36) << "two B in front of one A make 16, two A alone 20";
  const auto shares = table.Shares(grid.Points() - 1);
  ASSERT_EQ(shares.size(), 2u);
  EXPECT_EQ(shares[0].gpus, std::vector<int>{2});
  EXPECT_EQ(shares[1].gpus, (std::vector<int>{2, 1}));
}

RC_GTEST_PROP(PoolTableProperty, SharesMakeWhatTheTablePromises, ()) {
  const Cluster cluster = MakeCluster({{"A"}, {"B"}}, {*rc::gen::inRange(1, 6), *rc::gen::inRange(1, 6)});
  const PoolGrid grid(cluster);
  const auto candidates = ArbitraryCandidates(2);
  const Mode mode = *rc::gen::element(Mode::kOurs, Mode::kDartR);
  const PoolTable table(grid, candidates, mode);
  for (size_t point = 0; point < grid.Points(); ++point) {
    double made = 0;
    std::vector<int> used(2);
    for (const Share& share : table.Shares(point)) {
      made += Throughput(candidates[share.candidate], share.gpus);
      for (size_t i = 0; i < share.gpus.size(); ++i) {
        used[candidates[share.candidate].stages[i].gpu_class] += share.gpus[i];
        if (mode == Mode::kDartR) RC_ASSERT(share.gpus[i] == share.gpus[0]);
      }
    }
    RC_ASSERT(std::abs(made - table.Best(point)) <= 1e-9 * made);
    for (int i = 0; i < 2; ++i) {
      RC_ASSERT(used[i] <= grid.Gpus(point, i));
      if (grid.Gpus(point, i) > 0) RC_ASSERT(table.Best(point) >= table.Best(point - grid.Stride(i)));
    }
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
  const Division division(grid, tables, weights);
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
