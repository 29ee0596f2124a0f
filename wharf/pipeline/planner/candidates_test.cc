#include "wharf/pipeline/planner/candidates.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "wharf/pipeline/planner/testing.h"

namespace wharf::pipeline {
namespace {

// Two blocks of 100 µs on "fast", 300 µs on "slow"; 1000 bytes between them take 1 µs.
class CandidatesTest : public ::testing::Test {
 protected:
  CandidatesTest() : cluster(MakeCluster({{"fast"}, {"slow"}}, {2, 2})) {
    net = MakeProfile(cluster, {{100, 100}, {300, 300}}, {1000, 0});
  }
  std::vector<Candidate> Find(double slo_us, CandidateRules rules = {}) {
    return FindCandidates(cluster, net, {"net", 2, slo_us, 0, 1, 0, 0}, rules);
  }
  // The classes of each candidate's stages.
  static std::set<std::vector<int>> Classes(const std::vector<Candidate>& candidates) {
    std::set<std::vector<int>> all;
    for (const Candidate& one : candidates) {
      std::vector<int> classes;
      for (const CandidateStage& stage : one.stages) classes.push_back(stage.gpu_class);
      all.insert(classes);
    }
    return all;
  }

  Cluster cluster;
  ModelProfile net;
};

using Set = std::set<std::vector<int>>;

TEST_F(CandidatesTest, TheBudgetHoldsLatenciesAndTransfers) {
  EXPECT_EQ(Classes(Find(199)), Set{});
  EXPECT_EQ(Classes(Find(200)), (Set{{0}}));
  EXPECT_EQ(Classes(Find(201)), (Set{{0}, {0, 0}}));
  EXPECT_EQ(Classes(Find(400)), (Set{{0}, {0, 0}}));
  EXPECT_EQ(Classes(Find(401)), (Set{{0}, {0, 0}, {0, 1}, {1, 0}}));
  EXPECT_EQ(Classes(Find(600)), (Set{{0}, {1}, {0, 0}, {0, 1}, {1, 0}}));
  EXPECT_EQ(Classes(Find(601)), (Set{{0}, {1}, {0, 0}, {0, 1}, {1, 0}, {1, 1}}));
}

TEST_F(CandidatesTest, ModesRestrictTheStages) {
  EXPECT_EQ(Classes(Find(1000, {Mode::kNoPartitioning, 2})), (Set{{0}, {1}}));
  EXPECT_EQ(Classes(Find(1000, {Mode::kDartR, 2})), (Set{{0}, {1}, {0, 1}, {1, 0}}));
  EXPECT_EQ(Classes(Find(1000, {Mode::kOurs, 1})), (Set{{0}, {1}}));
}

TEST_F(CandidatesTest, ALinksShareBoundsTheRate) {
  net.output_bytes[0] = 1'000'000;  // 1000 a second and GPU at 8 Gbit/s
  for (const Candidate& one : Find(10'000)) {
    for (const CandidateStage& stage : one.stages) {
      if (one.stages.size() < 2) continue;
      EXPECT_DOUBLE_EQ(stage.gpu_rate, 1000);
    }
  }
  cluster.hosts[1] = {1, 1, 2, 8e9};  // both slow GPUs in one host
  for (const Candidate& one : Find(10'000)) {
    for (const CandidateStage& stage : one.stages) {
      if (one.stages.size() < 2 || stage.gpu_class == 0) continue;
      EXPECT_DOUBLE_EQ(stage.gpu_rate, 500);
    }
  }
}

TEST_F(CandidatesTest, VirtualGpusAddUp) {
  cluster.classes[0].max_vgpus = 2;
  net.vgpus.push_back({"fast", 2, {{150, 150}}});
  const auto found = Find(300, {Mode::kOurs, 1});
  ASSERT_EQ(found.size(), 1u) << "the whole GPU is slower and dominated";
  EXPECT_EQ(found[0].stages[0].vgpus_per_gpu, 2);
  EXPECT_DOUBLE_EQ(found[0].stages[0].gpu_rate, 2e6 / 300);
  EXPECT_EQ(Find(299, {Mode::kOurs, 1})[0].stages[0].vgpus_per_gpu, 1) << "half a GPU takes too long";
  EXPECT_EQ(Find(300, {Mode::kNoPartitioning, 1})[0].stages[0].vgpus_per_gpu, 1);
  EXPECT_EQ(Find(300, {Mode::kDartR, 1})[0].stages[0].vgpus_per_gpu, 1);
}

TEST_F(CandidatesTest, BuildingABatchTakesItsTime) {
  net.vgpus[0].latency_us.push_back({110, 110});
  const auto largest_batch = [&](double rate) {
    int batch = 0;
    for (const Candidate& one : FindCandidates(cluster, net, {"net", 2, 350, 0, 1, rate, 0}, {})) {
      batch = std::max(batch, one.batch);
    }
    return batch;
  };
  EXPECT_EQ(largest_batch(0), 2);
  EXPECT_EQ(largest_batch(1.3e6 / 130), 2) << "130 and 220 µs";
  EXPECT_EQ(largest_batch(1.3e6 / 131), 1);
}

RC_GTEST_PROP(CandidatesProperty, NoneDominatesAnother, ()) {
  const Cluster cluster = ArbitraryCluster(4);
  const ModelProfile profile = ArbitraryProfile(cluster, "net");
  CandidateRules rules;
  rules.share_gpus = *rc::gen::arbitrary<bool>();
  const auto found = FindCandidates(cluster, profile, {"net", profile.Blocks(), 5000, 1000, 1, 2000, 0}, rules);
  for (const Candidate& a : found) {
    RC_ASSERT(a.LatencyUs() <= 4000);
    for (const Candidate& b : found) {
      if (&a == &b || a.stages.size() != b.stages.size()) continue;
      bool same_classes = true, none_slower = true, parts_fit = true;
      for (size_t i = 0; i < a.stages.size(); ++i) {
        same_classes = same_classes && a.stages[i].gpu_class == b.stages[i].gpu_class;
        none_slower = none_slower && a.stages[i].gpu_rate >= b.stages[i].gpu_rate;
        parts_fit = parts_fit && a.stages[i].vgpus_per_gpu % b.stages[i].vgpus_per_gpu == 0;
      }
      RC_ASSERT(!same_classes || !none_slower || (rules.share_gpus && !parts_fit));
    }
  }
}

}  // namespace
}  // namespace wharf::pipeline
