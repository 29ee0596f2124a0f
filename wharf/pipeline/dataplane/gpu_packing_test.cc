#include "wharf/pipeline/dataplane/gpu_packing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

namespace wharf::pipeline {
namespace {

using ::testing::ElementsAre;

// Models of one block, each stage a pipeline of its own, on classes of which there are always enough.
class PackingPlan {
 public:
  PackingPlan(int classes, int models) {
    plan_.cluster = {"test", {}, {}};
    for (int i = 0; i < classes; ++i) {
      plan_.cluster.classes.push_back({std::string(1, static_cast<char>('A' + i)), kMaxVgpus});
      plan_.cluster.hosts.push_back({i, 100, 1, 1e9});
    }
    for (int i = 0; i < models; ++i) plan_.models.push_back({.name = "net", .blocks = 1});
  }
  PackingPlan& Add(int model, int gpu_class, int vgpus_per_gpu, int vgpus) {
    plan_.pipelines.push_back({model, 1, {{0, 1, gpu_class, vgpus_per_gpu, vgpus, {1}}}});
    return *this;
  }
  const Plan& Get() const { return plan_; }

 private:
  Plan plan_;
};

// What is not so: empty if all is.
std::string Mistake(const Plan& plan, const std::vector<PackedGpu>& gpus) {
  std::map<std::pair<int, int>, int> placed;  // by pipeline and stage
  std::vector<int> used(plan.cluster.classes.size());
  for (const PackedGpu& gpu : gpus) {
    ++used[gpu.gpu_class];
    int units = 0;
    for (const GpuPart& part : gpu.parts) {
      const Pipeline& pipeline = plan.pipelines[part.pipeline];
      units += kUnitsPerGpu / pipeline.stages[part.stage].vgpus_per_gpu;
      ++placed[{part.pipeline, part.stage}];
      if (pipeline.stages[part.stage].gpu_class != gpu.gpu_class) return "a part is on a GPU of another class";
      if (pipeline.model != plan.pipelines[gpu.parts[0].pipeline].model) return "a GPU serves two models";
    }
    if (units > kUnitsPerGpu) return "a GPU is given away more than once";
    if (units == 0) return "a GPU serves nothing";
  }
  for (int p = 0; p < static_cast<int>(plan.pipelines.size()); ++p) {
    for (int s = 0; s < static_cast<int>(plan.pipelines[p].stages.size()); ++s) {
      if (placed[{p, s}] != plan.pipelines[p].stages[s].vgpus) return "not every virtual GPU is there once";
    }
  }
  for (size_t i = 0; i < used.size(); ++i) {
    if (used[i] != plan.GpusUsed(static_cast<int>(i))) return "other GPUs than the plan says";
  }
  return "";
}

TEST(PackGpusTest, StagesShareWhatTheyDoNotFill) {
  const Plan plan = PackingPlan(1, 2).Add(0, 0, 2, 3).Add(0, 0, 4, 2).Add(1, 0, 2, 1).Get();
  const auto gpus = PackGpus(plan);
  ASSERT_EQ(gpus.size(), 3u);
  EXPECT_EQ(Mistake(plan, gpus), "");
  EXPECT_THAT(gpus[0].parts, ElementsAre(GpuPart{0, 0}, GpuPart{0, 0}));
  EXPECT_THAT(gpus[1].parts, ElementsAre(GpuPart{0, 0}, GpuPart{1, 0}, GpuPart{1, 0}));
  EXPECT_THAT(gpus[2].parts, ElementsAre(GpuPart{2, 0})) << "of another model";
}

// Any number of each size that is not a whole GPU: no GPU is lost by the sizes' not fitting each other.
TEST(PackGpusTest, AnySizesFitAsTightlyAsTheirSum) {
  for (int halves = 0; halves <= 4; ++halves) {
    for (int thirds = 0; thirds <= 6; ++thirds) {
      for (int quarters = 0; quarters <= 8; ++quarters) {
        PackingPlan plan(1, 1);
        for (int i = 0; i < halves; ++i) plan.Add(0, 0, 2, 1);
        for (int i = 0; i < thirds; ++i) plan.Add(0, 0, 3, 1);
        for (int i = 0; i < quarters; ++i) plan.Add(0, 0, 4, 1);
        ASSERT_EQ(Mistake(plan.Get(), PackGpus(plan.Get())), "") << halves << " " << thirds << " " << quarters;
      }
    }
  }
}

RC_GTEST_PROP(PackGpusProperty, EveryVirtualGpuIsOnAGpuOfItsModel, ()) {
  const int classes = *rc::gen::inRange(1, 3), models = *rc::gen::inRange(1, 4);
  PackingPlan plan(classes, models);
  for (int i = *rc::gen::inRange(0, 12); i > 0; --i) {
    plan.Add(*rc::gen::inRange(0, models), *rc::gen::inRange(0, classes), *rc::gen::inRange(1, kMaxVgpus + 1),
             *rc::gen::inRange(1, 12));
  }
  RC_ASSERT(Mistake(plan.Get(), PackGpus(plan.Get())) == "");
}

}  // namespace
}  // namespace wharf::pipeline
