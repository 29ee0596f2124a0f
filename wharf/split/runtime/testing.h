// What the tests of this room share: models of random networks, plans for them, inputs and comparisons.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "wharf/exec/random_graph.h"
#include "wharf/exec/testing.h"
#include "wharf/split/planners/planner.h"
#include "wharf/split/runtime/model.h"
#include "wharf/split/testing.h"

namespace wharf::split::testing {

inline std::shared_ptr<const Model> RandomModel(uint32_t seed, int operators) {
  auto model = Model::Make(exec::testing::TestEngine(), exec::testing::RandomGraph::Make(seed, operators));
  EXPECT_TRUE(model.ok()) << ToString(model.status());
  return *std::move(model);
}

inline exec::TensorPtr RandomInput(const Model& model, uint32_t seed) {
  return exec::testing::ToTensor(exec::testing::RandomFloats(model.Graph().Type(model.Graph().inputs[0]).shape, seed));
}

// How much the outputs change when the input changes by a rounding error: random networks may divide by a variance that
// is next to nothing.
inline double EffectOfRounding(const Model& model, const exec::TensorPtr& input,
                               const std::vector<exec::TensorPtr>& whole) {
  const graph::Constant before = exec::testing::ToConstant(*input);
  std::vector<float> floats(before.As<float>().begin(), before.As<float>().end());
  for (float& value : floats) value *= 1 + 1e-7f;
  const auto rounded = exec::testing::ToTensor(
      graph::Constant::Of<float>(graph::ElementType::kFloat, before.type.shape, std::span<const float>(floats)));
  const auto results = exec::RunWhole(model.Program(), {&rounded, 1});
  double worst = 0;
  for (size_t i = 0; results.ok() && i < whole.size(); ++i) {
    const auto a = graph::Numbers(exec::testing::ToConstant(*(*results)[i]));
    const auto b = graph::Numbers(exec::testing::ToConstant(*whole[i]));
    for (size_t j = 0; j < a.size(); ++j) worst = std::max(worst, std::abs(a[j] - b[j]));
  }
  return worst;
}

// Against the whole model run in one piece.
inline ::testing::AssertionResult IsWhole(const Model& model, const exec::TensorPtr& input,
                                          const std::vector<exec::TensorPtr>& results) {
  const auto whole = exec::RunWhole(model.Program(), {&input, 1});
  if (!whole.ok()) return ::testing::AssertionFailure() << ToString(whole.status());
  if (results.size() != whole->size()) return ::testing::AssertionFailure() << results.size() << " results";
  for (size_t i = 0; i < results.size(); ++i) {
    const graph::Constant ours = exec::testing::ToConstant(*results[i]), all = exec::testing::ToConstant(*(*whole)[i]);
    if (exec::testing::Near(ours, all, 1e-4, 1e-4)) continue;
    const auto near = exec::testing::Near(ours, all, 1e-4, 1e-4 + 10 * EffectOfRounding(model, input, *whole));
    if (!near) return near;
  }
  return ::testing::AssertionSuccess();
}

}  // namespace wharf::split::testing
