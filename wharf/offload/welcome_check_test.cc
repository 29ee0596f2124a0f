#include "wharf/offload/welcome_check.h"

#include <gtest/gtest.h>

#include <functional>

namespace wharf::offload {
namespace {

Welcome Right() {
  Welcome welcome;
  welcome.properties.name = "NVIDIA H200 \xc3\xa4";
  welcome.properties.driver = "cuda";
  welcome.properties.multiprocessors = 132;
  welcome.arena = {.base = uint64_t{0x2000} << 32, .size = uint64_t{1} << 41, .granularity = 2 << 20};
  return welcome;
}

TEST(WelcomeCheckTest, WhatServersSayIsTaken) {
  EXPECT_EQ(CheckWelcome(Right()), absl::OkStatus());
  Welcome welcome = Right();
  welcome.arena = {.base = 4096, .size = 8192, .granularity = 4096, .guarded = true};
  EXPECT_EQ(CheckWelcome(welcome), absl::OkStatus());
  welcome.arena = {.base = uint64_t{1} << 56, .size = uint64_t{1} << 56, .granularity = uint64_t{1} << 30};
  EXPECT_EQ(CheckWelcome(welcome), absl::OkStatus());
}

TEST(WelcomeCheckTest, MemoryThatCannotBeIsRefused) {
  const auto expect_refused = [](device::Arena arena, std::string_view which) {
    Welcome welcome = Right();
    welcome.arena = arena;
    EXPECT_EQ(CheckWelcome(welcome), FailedPrecondition("the server's device memory cannot be: {}", which));
  };
  expect_refused({0x100000, 0x10000, 0}, "65536 bytes at 0x100000 in units of 0");
  expect_refused({0x100000, 0x10000, 12288}, "65536 bytes at 0x100000 in units of 12288");
  expect_refused({0x100000, 0x10000, 2048}, "65536 bytes at 0x100000 in units of 2048");
  expect_refused({uint64_t{1} << 40, uint64_t{1} << 40, uint64_t{1} << 31},
                 "1099511627776 bytes at 0x10000000000 in units of 2147483648");
  expect_refused({0, 0x10000, 4096}, "65536 bytes at 0x0 in units of 4096");
  expect_refused({0x100800, 0x10000, 4096}, "65536 bytes at 0x100800 in units of 4096");
  expect_refused({0x100000, 0x10800, 4096}, "67584 bytes at 0x100000 in units of 4096");
  expect_refused({0x100000, 0, 4096}, "0 bytes at 0x100000 in units of 4096");
  expect_refused({0x100000, 4096, 4096}, "4096 bytes at 0x100000 in units of 4096");
  expect_refused({uint64_t{1} << 57, 0x10000, 4096}, "65536 bytes at 0x200000000000000 in units of 4096");
  expect_refused({uint64_t{1} << 56, (uint64_t{1} << 56) + 4096, 4096},
                 "72057594037932032 bytes at 0x100000000000000 in units of 4096");
  expect_refused({4096, UINT64_MAX - 4095, 4096}, "18446744073709547520 bytes at 0x1000 in units of 4096");
}

TEST(WelcomeCheckTest, DevicesThatCannotBeAreRefused) {
  using Properties = device::DeviceProperties;
  const std::vector<std::function<void(Properties&)>> lies = {
      [](Properties& p) { p.name = "x\x1b[2J"; },
      [](Properties& p) {
        p.name =
            "x\xc2\x9b"
            "2J";
      },
      [](Properties& p) { p.name = std::string(256, 'x'); },
      [](Properties& p) { p.driver = "a\nb"; },
      [](Properties& p) { p.warp_size = 0; },
      [](Properties& p) { p.multiprocessors = 0; },
      [](Properties& p) { p.multiprocessors = INT32_MAX; },
      [](Properties& p) { p.max_threads_per_block = 0; },
      [](Properties& p) { p.max_threads_per_block = INT32_MAX; },
      [](Properties& p) { p.max_threads_per_multiprocessor = -1; },
      [](Properties& p) { p.max_blocks_per_multiprocessor = -1; },
      [](Properties& p) { p.registers_per_block = -1; },
      [](Properties& p) { p.registers_per_multiprocessor = -1; },
      [](Properties& p) { p.compute_major = INT32_MAX; },
      [](Properties& p) { p.compute_minor = -1; },
      [](Properties& p) { p.clock_khz = -1; },
      [](Properties& p) { p.memory_clock_khz = -1; },
      [](Properties& p) { p.memory_bus_bits = -1; },
      [](Properties& p) { p.l2_bytes = -1; }};
  for (size_t i = 0; i < lies.size(); ++i) {
    Welcome welcome = Right();
    lies[i](welcome.properties);
    EXPECT_EQ(CheckWelcome(welcome), FailedPrecondition("the properties of the server's device cannot be")) << i;
  }
}

}  // namespace
}  // namespace wharf::offload
