// Vocabulary of this room's tests: tensors of floats in and out, and comparisons.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "wharf/exec/torch_engine.h"

namespace wharf::exec::testing {

// On the CPU, or what WHARF_EXEC_DEVICE says: where that is not there, the whole program is skipped.
inline const Engine& TestEngine() {
  static const std::unique_ptr<Engine> kEngine = [] {
    const char* const device = std::getenv("WHARF_EXEC_DEVICE");
    auto engine = MakeTorchEngineOn(device == nullptr ? "cpu" : device, {.threads = 1});
    if (engine.ok()) return *std::move(engine);
    constexpr int kSkipped = 77;
    std::printf("skipped: %s\n", std::string(Message(engine.status())).c_str());
    std::fflush(stdout);
    std::_Exit(kSkipped);
  }();
  return *kEngine;
}

inline graph::Constant RandomFloats(const graph::Shape& shape, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> values(graph::TensorType{graph::ElementType::kFloat, shape}.Elements());
  for (float& value : values) value = std::uniform_real_distribution<float>(-1, 1)(random);
  return graph::Constant::Of<float>(graph::ElementType::kFloat, shape, values);
}

inline TensorPtr ToTensor(const graph::Constant& constant) {
  auto tensor = TestEngine().MakeTensor(constant.type, *constant.bytes);
  EXPECT_TRUE(tensor.ok()) << ToString(tensor.status());
  return *std::move(tensor);
}

inline graph::Constant ToConstant(const Tensor& tensor) {
  std::vector<std::byte> bytes(tensor.Type().Bytes());
  tensor.Read(bytes);
  return {tensor.Type(), std::make_shared<const std::vector<std::byte>>(std::move(bytes))};
}

// As ONNX's own runner compares: |a - b| <= absolute + relative * |b|.
inline ::testing::AssertionResult Near(const graph::Constant& a, const graph::Constant& b, double relative,
                                       double absolute) {
  if (a.type != b.type) return ::testing::AssertionFailure() << a.type.Text() << " instead of " << b.type.Text();
  const std::vector<double> ours = graph::Numbers(a), theirs = graph::Numbers(b);
  for (size_t i = 0; i < ours.size(); ++i) {
    const bool same = ours[i] == theirs[i] || (std::isnan(ours[i]) && std::isnan(theirs[i]));
    if (!same && !(std::abs(ours[i] - theirs[i]) <= absolute + relative * std::abs(theirs[i]))) {
      return ::testing::AssertionFailure()
             << "element " << i << " of " << a.type.Text() << " is " << ours[i] << " instead of " << theirs[i];
    }
  }
  return ::testing::AssertionSuccess();
}

}  // namespace wharf::exec::testing
