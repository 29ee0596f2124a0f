// What tests of split sessions with real processes share: a small model, what it computes, and a client that is slow to
// give the server up.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "wharf/exec/torch_engine.h"
#include "wharf/split/runtime/edge_model.h"

namespace wharf::server {

inline constexpr const char* kModel = WHARF_TESTDATA "/tiny/model.onnx";

inline const exec::Engine& TestEngine() {
  static const exec::Engine* const engine = exec::MakeTorchEngine({1}).release();
  return *engine;
}

inline std::vector<std::byte> ModelBytes() {
  std::ifstream file(kModel, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

inline std::vector<float> Floats(const exec::Tensor& tensor) {
  std::vector<float> values(static_cast<size_t>(tensor.Type().Bytes()) / sizeof(float));
  tensor.Read(std::as_writable_bytes(std::span(values)));
  return values;
}

inline std::vector<exec::TensorPtr> TensorsOf(const std::vector<graph::Constant>& values) {
  std::vector<exec::TensorPtr> tensors;
  for (const graph::Constant& value : values) tensors.push_back(*TestEngine().MakeTensor(value.type, *value.bytes));
  return tensors;
}

inline ::testing::AssertionResult IsWhole(const split::Model& model, const exec::TensorPtr& input,
                                          const std::vector<exec::TensorPtr>& results) {
  const auto whole = exec::RunWhole(model.Program(), {&input, 1});
  if (!whole.ok() || results.size() != whole->size())
    return ::testing::AssertionFailure() << "no whole to compare with";
  for (size_t i = 0; i < results.size(); ++i) {
    const std::vector<float> ours = Floats(*results[i]), all = Floats(*(*whole)[i]);
    for (size_t j = 0; j < all.size(); ++j) {
      if (!(std::abs(ours[j] - all[j]) <= 1e-4f * std::max(1.0f, std::abs(all[j])))) {
        return ::testing::AssertionFailure() << ours[j] << " for " << all[j];
      }
    }
  }
  return ::testing::AssertionSuccess();
}

// What a user writes: no engine, no profile.
inline split::EdgeModelOptions Patient(const std::string& cache, const std::string& token) {
  split::EdgeModelOptions options;
  options.token = token;
  options.planner = "server-only";
  options.slack = std::chrono::seconds(30);
  options.threads = 1;
  options.cache_directory = cache;
  return options;
}

}  // namespace wharf::server
