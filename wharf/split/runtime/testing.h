// What the tests of this room share: models of random networks, plans for them, inputs and comparisons.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "wharf/exec/random_graph.h"
#include "wharf/exec/testing.h"
#include "wharf/split/planner.h"
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

// Against the whole model run in one piece.
inline ::testing::AssertionResult IsWhole(const Model& model, const exec::TensorPtr& input,
                                          const std::vector<exec::TensorPtr>& results) {
  const auto whole = exec::RunWhole(model.Program(), {&input, 1});
  if (!whole.ok()) return ::testing::AssertionFailure() << ToString(whole.status());
  if (results.size() != whole->size()) return ::testing::AssertionFailure() << results.size() << " results";
  for (size_t i = 0; i < results.size(); ++i) {
    const auto near = exec::testing::Near(exec::testing::ToConstant(*results[i]),
                                          exec::testing::ToConstant(*(*whole)[i]), 1e-4, 1e-4);
    if (!near) return near;
  }
  return ::testing::AssertionSuccess();
}

}  // namespace wharf::split::testing
