#include "wharf/device/pack/name.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <fmt/format.h>

namespace wharf::device::pack {
namespace {

TEST(NameTest, LeavesOrdinaryNames) {
  for (const char* name :
       {"saxpy", "_Z5scalePfi", "_ZN12_GLOBAL__N_15scaleEPf", "", "_", "_V_", "_GLOBAL__N__", "_GLOBAL__N__12345678_",
        "_GLOBAL__N__12345678_4_a_c", "_INTERNAL_", "_ZN3_V_1_SM_E", "_ZN9_V_300200E", "_ZN13THRUST_300001E",
        "_ZN6THRUST", "THRUST_", "_ZN20THRUST_300001_SM_750E", "_ZN22THRUST_300001_SM_750_NSE"}) {
    EXPECT_EQ(CanonicalName(name), name);
  }
}

TEST(NameTest, TakesHashesFromAnonymousNamespaces) {
  EXPECT_EQ(CanonicalName("_ZN35_GLOBAL__N__b95b4e44_4_a_cu_counter6hiddenEPfi"), "_ZN@_GLOBAL__N__4_a_cu@6hiddenEPfi");
  // The longest there is in the wild: a hash, a number, and the kernel's own name behind them.
  EXPECT_EQ(CanonicalName("_ZN43_GLOBAL__N__f71e7945_10_SoftMax_cu_9f978f6320softmax_warp_forwardIfffEEvPT0_"),
            "_ZN@_GLOBAL__N__10_SoftMax_cu@20softmax_warp_forwardIfffEEvPT0_");
  EXPECT_EQ(
      CanonicalName("_ZN2at6native54_GLOBAL__N__8e11a5fb_21_DistributionNormal_cu_0c5b6e8543distribution_kernelEv"),
      "_ZN2at6native@_GLOBAL__N__21_DistributionNormal_cu@43distribution_kernelEv");
}

TEST(NameTest, TakesHashesFromStaticVariables) {
  EXPECT_EQ(CanonicalName("_ZN33_INTERNAL_b95b4e44_4_a_cu_counter35_GLOBAL__N__b95b4e44_4_a_cu_counter6secretE"),
            "_ZN@_INTERNAL_4_a_cu@@_GLOBAL__N__4_a_cu@6secretE");
}

TEST(NameTest, TakesArchitecturesFromLibraries) {
  EXPECT_EQ(CanonicalName("_ZN6thrust38_V_300200_SM_750_800_860_900_1000_120018transform_iteratorIiEE"),
            "_ZN6thrust@_V_300200_SM_@18transform_iteratorIiEE");
  EXPECT_EQ(CanonicalName("_ZN6thrust16_V_300200_SM_75018transform_iteratorIiEE"),
            "_ZN6thrust@_V_300200_SM_@18transform_iteratorIiEE");
  for (const char* name : {"_ZN6thrust45THRUST_300001_SM_750_800_860_900_1000_1200_NS18transform_iteratorIiEE",
                           "_ZN6thrust23THRUST_300001_SM_750_NS18transform_iteratorIiEE"}) {
    EXPECT_EQ(CanonicalName(name), "_ZN6thrust@THRUST_300001_SM_@18transform_iteratorIiEE");
  }
  EXPECT_EQ(CanonicalName("_ZN3cub24CUB_300001_SM_750_800_NS11EmptyKernelIvEEvv"),
            "_ZN3cub@CUB_300001_SM_@11EmptyKernelIvEEvv");
}

TEST(NameTest, KeepsFilesApart) {
  EXPECT_NE(CanonicalName("_ZN35_GLOBAL__N__b95b4e44_4_a_cu_counter6hiddenEPfi"),
            CanonicalName("_ZN35_GLOBAL__N__b95b4e44_4_b_cu_counter6hiddenEPfi"));
}

std::string Hidden(const std::string& before, uint32_t hash, const std::string& file, const std::string& rest) {
  const std::string identifier = fmt::format("_GLOBAL__N__{:08x}_{}_{}_{}", hash, file.size(), file, rest);
  return fmt::format("{}{}{}6kernelEPfi", before, identifier.size(), identifier);
}

// As long as file names and what follows them are, so that the identifier's length has two digits.
rc::Gen<std::string> Word() {
  const auto letter = rc::gen::elementOf(std::string("abcdefghijxyz_0123456789"));
  return rc::gen::resize(20, rc::gen::nonEmpty(rc::gen::container<std::string>(letter)));
}

TEST(NameTest, DependsOnNoHash) {
  EXPECT_TRUE(rc::check([] {
    const std::string before = "_ZN" + std::to_string(*rc::gen::inRange(1, 9)) + *Word() + "I";
    const std::string file = *Word();
    const auto name = [&] { return Hidden(before, *rc::gen::arbitrary<uint32_t>(), file, *Word()); };
    const std::string canonical = CanonicalName(name());
    RC_ASSERT(CanonicalName(name()) == canonical);
    RC_ASSERT(CanonicalName(canonical) == canonical);
  }));
}

}  // namespace
}  // namespace wharf::device::pack
