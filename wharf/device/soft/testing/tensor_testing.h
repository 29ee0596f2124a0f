// What tests of tensor-core instructions share.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>

#include "wharf/device/soft/testing/compiler_testing.h"

namespace wharf::device::soft::testing {

// "{%r10, %r11}".
inline std::string Registers(const std::string& prefix, uint32_t first, uint32_t count) {
  std::string text;
  for (uint32_t i = 0; i < count; ++i) text += fmt::format("{}{}{}", i == 0 ? "{" : ", ", prefix, first + i);
  return text + "}";
}

class TensorTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kWarps = 4;

  // Runs `text` with blocks of two warps: on suspendable threads, then in lanes.
  void RunBothWays(const std::string& text, const Parameters& parameters, const std::function<void()>& check) {
    for (const bool by_shape : {false, true}) {
      SCOPED_TRACE(by_shape ? "in lanes" : "on suspendable threads");
      const absl::Status status = by_shape ? runner_.RunByShape(text, "k", {kWarps / 2}, {64}, parameters)
                                           : runner_.Run(text, "k", {kWarps / 2}, {64}, parameters);
      ASSERT_TRUE(status.ok()) << status << text;
      ASSERT_EQ(runner_.kernel()->mode == ExecutionMode::kLoop, by_shape);
      check();
    }
  }

  uint64_t Below(uint64_t count) { return std::uniform_int_distribution<uint64_t>(0, count - 1)(random_); }

  KernelRunner runner_;
  std::mt19937 random_{1234};
};

}  // namespace wharf::device::soft::testing
