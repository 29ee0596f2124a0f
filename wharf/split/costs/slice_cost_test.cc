#include "wharf/split/costs/slice_cost.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "wharf/split/testing.h"

namespace wharf::split {
namespace {

class SliceCostTest : public ::testing::Test {
 protected:
  // `count` operators of a kind, each of more bytes than the one before, that take so long in turn.
  void Add(const std::string& kind, int count, std::vector<double> device_ms, std::vector<double> server_ms) {
    for (int i = 0; i < count; ++i) {
      const int op = builder_.Add({last_}, kElementwise, 8, 80 * (i + 1), device_ms[i % device_ms.size()],
                                  server_ms[i % server_ms.size()]);
      names_.push_back(kind);
      last_ = op;
    }
  }
  std::array<double, 2> FixedMs() {
    Profile profile = builder_.End({last_});
    for (size_t i = 0; i < names_.size(); ++i) profile.operators[i + 1].op.name = names_[i];
    return SliceCostOf(profile).fixed_ms;
  }

 private:
  ProfileBuilder builder_{8, 80};
  std::vector<std::string> names_;
  int last_ = 0;
};

TEST_F(SliceCostTest, IsTheMeanOfTheSmallestOfAKind) {
  std::vector<double> device(40, 7), server(40, 7);  // the larger ones
  for (int i = 0; i < 10; ++i) device[i] = i % 2 == 0 ? 0.04 : 0.06, server[i] = i % 2 == 0 ? 0 : 0.02;
  Add("relu", 40, device, server);
  EXPECT_NEAR(FixedMs()[kDevice], 0.05, 1e-12);
  EXPECT_NEAR(FixedMs()[kServer], 0.01, 1e-12);
}

TEST_F(SliceCostTest, IsTheMedianOverKindsAndLeavesOutWhatTakesNoTime) {
  Add("linear", 10, {3}, {0.3});  // computes after all
  Add("relu", 10, {0.04}, {0.01});
  Add("add", 10, {0.05}, {0.02});
  Add("permute", 100, {0}, {0.001});
  Add("gelu", 7, {0.001}, {0.001});  // too few
  EXPECT_NEAR(FixedMs()[kDevice], 0.05, 1e-12);
  EXPECT_NEAR(FixedMs()[kServer], 0.02, 1e-12);
}

TEST_F(SliceCostTest, IsTheDefaultWhereNothingTells) {
  Add("relu", 3, {0.01}, {0.01});
  EXPECT_EQ(FixedMs(), SliceCost().fixed_ms);
}

TEST(SliceCost, OfTheStoredProfilesIsLessOnTheServer) {
  for (const char* model :
       {"vgg19_bn", "densenet121", "regnet_x_16gf", "convnext_base", "convnext_large", "kapao", "agrnav"}) {
    const Profile profile = *Profile::Load(fmt::format("{}/{}.csv", WHARF_PROFILES, model));
    const SliceCost cost = profile.slice_cost;
    RecordProperty(model, fmt::format("{:.4f} {:.4f}", cost.fixed_ms[kDevice], cost.fixed_ms[kServer]));
    EXPECT_GT(cost.fixed_ms[kServer], 0) << model;
    EXPECT_LT(cost.fixed_ms[kServer], cost.fixed_ms[kDevice]) << model;
    EXPECT_LT(cost.fixed_ms[kDevice], 0.15) << model;
  }
}

}  // namespace
}  // namespace wharf::split
