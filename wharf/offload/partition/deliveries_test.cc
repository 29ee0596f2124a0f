#include "wharf/offload/partition/deliveries.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace wharf::offload {
namespace {

class DeliveriesTest : public testing::Test {
 protected:
  // Whether what waits for all that has begun so far has been called; asked later.
  std::shared_ptr<bool> Wait() {
    auto called = std::make_shared<bool>(false);
    deliveries_->WhenDelivered(deliveries_->Begun(), [called] { *called = true; });
    return called;
  }
  const std::shared_ptr<Deliveries> deliveries_ = std::make_shared<Deliveries>();
};

TEST_F(DeliveriesTest, NobodyWaitsForNothing) {
  EXPECT_TRUE(*Wait());
  deliveries_->Begin().reset();
  EXPECT_TRUE(*Wait());
}

TEST_F(DeliveriesTest, WhoeverWaitsDoesSoForAllThatBeganBefore) {
  auto first = deliveries_->Begin(), second = deliveries_->Begin();
  const auto waiting = Wait();
  const auto third = deliveries_->Begin();
  second.reset();
  EXPECT_FALSE(*waiting);
  first.reset();
  EXPECT_TRUE(*waiting) << "what began later does not count";
}

TEST_F(DeliveriesTest, EveryOneWaitsForItsOwnInAnyOrder) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::shared_ptr<Deliveries::Delivery>> under_way;
    std::vector<std::pair<size_t, std::shared_ptr<bool>>> waits;  // for the first so many
    for (int i = 0; i < 8; ++i) {
      under_way.push_back(deliveries_->Begin());
      if (random() % 2 == 0) waits.emplace_back(under_way.size(), Wait());
    }
    std::vector<size_t> order{0, 1, 2, 3, 4, 5, 6, 7};
    std::shuffle(order.begin(), order.end(), random);
    for (const size_t ended : order) {
      under_way[ended].reset();
      for (const auto& [count, called] : waits) {
        const bool all_ended = std::all_of(under_way.begin(), under_way.begin() + static_cast<std::ptrdiff_t>(count),
                                           [](const auto& delivery) { return delivery == nullptr; });
        EXPECT_EQ(*called, all_ended);
      }
    }
  }
}

}  // namespace
}  // namespace wharf::offload
