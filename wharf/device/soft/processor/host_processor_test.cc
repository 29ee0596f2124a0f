#include "wharf/device/soft/processor/host_processor.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace wharf::device::soft {
namespace {

HostProcessor Found(std::string cpu, std::initializer_list<const char*> features) {
  HostProcessor found{.cpu = std::move(cpu), .features = {}};
  for (const char* feature : features) found.features[feature] = true;
  return found;
}

constexpr std::string_view kX86 = "x86_64", kArm = "aarch64";

TEST(HostProcessorTest, X86HasLanesByItsVectors) {
  const auto narrow = UsedAs(kX86, Found("haswell", {"avx2", "fma", "f16c"}));
  ASSERT_TRUE(narrow.ok());
  EXPECT_EQ(narrow->cpu, "haswell");
  EXPECT_EQ(narrow->lanes, 8U);
  const auto wide = UsedAs(kX86, Found("sapphirerapids", {"avx2", "fma", "f16c", "avx512vl", "avx512fp16"}));
  ASSERT_TRUE(wide.ok());
  EXPECT_EQ(wide->cpu, "sapphirerapids");
  EXPECT_EQ(wide->lanes, 16U);
  EXPECT_FALSE(wide->features.at("avx512fp16"));
}

TEST(HostProcessorTest, AnX86ThatLlvmDoesNotKnowIsALevel) {
  EXPECT_EQ(UsedAs(kX86, Found("generic", {"avx2", "fma", "f16c"}))->cpu, "x86-64-v3");
  EXPECT_EQ(UsedAs(kX86, Found("", {"avx2", "fma", "f16c", "avx512vl"}))->cpu, "x86-64-v4");
}

TEST(HostProcessorTest, AnX86WithoutThemIsRefused) {
  EXPECT_EQ(UsedAs(kX86, Found("x86-64", {"avx2", "fma"})).status().code(), absl::StatusCode::kUnimplemented);
}

TEST(HostProcessorTest, ArmHasFourLanesAndNoScalableVectors) {
  const auto grace = UsedAs(kArm, Found("neoverse-v2", {"neon", "lse", "sve", "sve2", "sve2-bitperm", "fullfp16"}));
  ASSERT_TRUE(grace.ok());
  EXPECT_EQ(grace->cpu, "neoverse-v2");
  EXPECT_EQ(grace->lanes, 4U);
  EXPECT_TRUE(grace->features.at("neon"));
  EXPECT_TRUE(grace->features.at("lse"));
  // A feature that is not named is what the CPU has.
  for (const char* feature : {"sve", "sve2", "sve2-bitperm", "fullfp16"}) {
    ASSERT_TRUE(grace->features.contains(feature)) << feature;
    EXPECT_FALSE(grace->features.at(feature)) << feature;
  }
  EXPECT_EQ(UsedAs(kArm, Found("", {}))->cpu, "generic");
}

TEST(HostProcessorTest, OthersAreRefused) {
  EXPECT_EQ(UsedAs("riscv64", Found("generic", {})).status().code(), absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace wharf::device::soft
