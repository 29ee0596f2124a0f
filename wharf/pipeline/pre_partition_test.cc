#include "wharf/pipeline/pre_partition.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <functional>

namespace wharf::pipeline {
namespace {

std::vector<Layer> Layers(const std::vector<double>& times) {
  std::vector<Layer> layers;
  for (const double time : times) layers.push_back({time, 1});
  return layers;
}

std::vector<Layer> ArbitraryLayers(int most) {
  std::vector<Layer> layers(*rc::gen::inRange(1, most + 1));
  for (Layer& layer : layers) layer = {*rc::gen::inRange(0, 50) * 1.0, *rc::gen::inRange(0, 100)};
  return layers;
}

struct Grouped {
  double longest = 0;
  int64_t bytes = 0;  // at borders between blocks
};

Grouped Evaluate(const std::vector<Layer>& layers, const std::vector<int>& ends) {
  Grouped grouped;
  int begin = 0;
  for (const int end : ends) {
    double time = 0;
    for (int i = begin; i < end; ++i) time += layers[i].time_us;
    grouped.longest = std::max(grouped.longest, time);
    if (begin > 0) grouped.bytes += layers[begin - 1].cut_bytes;
    begin = end;
  }
  return grouped;
}

// visit(ends) for every way to make `blocks` blocks.
void ForEveryGrouping(int layers, int blocks, std::vector<int>& ends,
                      const std::function<void(const std::vector<int>&)>& visit) {
  const int begin = ends.empty() ? 0 : ends.back();
  if (blocks == 1) {
    ends.push_back(layers);
    visit(ends);
    ends.pop_back();
    return;
  }
  for (int end = begin + 1; end <= layers - blocks + 1; ++end) {
    ends.push_back(end);
    ForEveryGrouping(layers, blocks - 1, ends, visit);
    ends.pop_back();
  }
}

void AssertCovers(const std::vector<int>& ends, size_t layers) {
  int before = 0;
  for (const int end : ends) {
    RC_ASSERT(end > before);
    before = end;
  }
  RC_ASSERT(before == static_cast<int>(layers));
}

TEST(EqualTimeBlocksTest, BlocksComeAsNearAsTheyCan) {
  EXPECT_EQ(*EqualTimeBlocks(Layers({1, 1, 1, 1, 1, 1}), 3), (std::vector<int>{2, 4, 6}));
  EXPECT_EQ(*EqualTimeBlocks(Layers({3, 2, 4, 3}), 2), (std::vector<int>{2, 4})) << "5 is nearer to 6 than 9";
  EXPECT_EQ(*EqualTimeBlocks(Layers({2, 2, 5, 3}), 2), (std::vector<int>{2, 4})) << "4 is nearer to 6 than 9";
  EXPECT_EQ(*EqualTimeBlocks(Layers({10, 1, 1}), 3), (std::vector<int>{1, 3}))
      << "a long layer is several blocks' worth";
  EXPECT_EQ(*EqualTimeBlocks(Layers({1, 1}), 10), (std::vector<int>{1, 2}));
  EXPECT_EQ(*EqualTimeBlocks(Layers({1, 2, 3}), 1), (std::vector<int>{3}));
}

TEST(EqualTimeBlocksTest, WrongInputIsRefused) {
  EXPECT_EQ(EqualTimeBlocks({}, 3).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(EqualTimeBlocks(Layers({1}), 0).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(EqualTimeBlocks(Layers({-1}), 1).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(SmallestCutBlocks(Layers({1}), 1, -1).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(SmallestCutBlocksTest, ABorderMovesToTheNarrowPlace) {
  const std::vector<Layer> layers = {{10, 900}, {1, 5}, {9, 0}};
  EXPECT_EQ(*SmallestCutBlocks(layers, 2, 0), (std::vector<int>{1, 3})) << "10 and 10";
  EXPECT_EQ(*SmallestCutBlocks(layers, 2, 0.1), (std::vector<int>{2, 3})) << "11 and 9";
}

RC_GTEST_PROP(EqualTimeBlocksProperty, EveryLayerIsInABlock, ()) {
  const auto layers = ArbitraryLayers(40);
  const int blocks = *rc::gen::inRange(1, 12);
  const auto ends = *EqualTimeBlocks(layers, blocks);
  AssertCovers(ends, layers.size());
  RC_ASSERT(static_cast<int>(ends.size()) <= blocks);
}

RC_GTEST_PROP(EqualTimeBlocksProperty, NoBlockButTheLastIsFarFromItsTime, ()) {
  const auto layers = ArbitraryLayers(40);
  const int blocks = *rc::gen::inRange(1, 12);
  double total = 0, longest = 0;
  for (const Layer& layer : layers) {
    total += layer.time_us;
    longest = std::max(longest, layer.time_us);
  }
  const auto ends = *EqualTimeBlocks(layers, blocks);
  const auto all_but_last = std::vector<int>(ends.begin(), ends.end() - 1);
  RC_ASSERT(Evaluate(layers, all_but_last).longest <= std::max(longest, total / blocks + longest / 2) + 1e-9);
}

RC_GTEST_PROP(SmallestCutBlocksProperty, NoOtherGroupingIsSmaller, ()) {
  const auto layers = ArbitraryLayers(9);
  const int count = static_cast<int>(layers.size());
  const int blocks = std::min(*rc::gen::inRange(1, 6), count);
  const double slack = *rc::gen::inRange(0, 10) / 10.0;
  const auto ends = *SmallestCutBlocks(layers, blocks, slack);
  AssertCovers(ends, layers.size());
  RC_ASSERT(static_cast<int>(ends.size()) == blocks);
  double longest = 1e300;
  std::vector<int> scratch;
  ForEveryGrouping(count, blocks, scratch,
                   [&](const std::vector<int>& each) { longest = std::min(longest, Evaluate(layers, each).longest); });
  const Grouped found = Evaluate(layers, ends);
  RC_ASSERT(found.longest <= longest * (1 + slack));
  ForEveryGrouping(count, blocks, scratch, [&](const std::vector<int>& each) {
    const Grouped other = Evaluate(layers, each);
    if (other.longest <= longest * (1 + slack)) RC_ASSERT(found.bytes <= other.bytes);
  });
}

}  // namespace
}  // namespace wharf::pipeline
