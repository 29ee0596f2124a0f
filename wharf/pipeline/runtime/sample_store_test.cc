#include "wharf/pipeline/runtime/sample_store.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

namespace wharf::pipeline {
namespace {

Sample Of(uint64_t number, size_t bytes) { return Sample(bytes, static_cast<std::byte>(number)); }

TEST(SampleStore, GivesEachSampleOnce) {
  SampleStore store(1000);
  store.Put(std::vector<uint64_t>{1, 2, 3}, {Of(1, 5), Of(2, 5), Of(3, 5)});
  const auto taken = store.Take(std::vector<uint64_t>{3, 1});
  ASSERT_TRUE(taken.ok());
  EXPECT_EQ((*taken)[0], Of(3, 5));
  EXPECT_EQ((*taken)[1], Of(1, 5));
  EXPECT_EQ(store.Take(std::vector<uint64_t>{1}).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store.Bytes(), 5u);
}

TEST(SampleStore, WhatIsPutAgainReplaces) {
  SampleStore store(1000);
  store.Put(std::vector<uint64_t>{1}, {Of(1, 5)});
  store.Put(std::vector<uint64_t>{1}, {Of(7, 9)});
  EXPECT_EQ(store.Bytes(), 9u);
  EXPECT_EQ(store.Take(std::vector<uint64_t>{1})->front(), Of(7, 9));
}

TEST(SampleStore, WhatWasHeldForLongestMakesRoom) {
  SampleStore store(10);
  store.Put(std::vector<uint64_t>{1}, {Of(1, 5)});
  store.Put(std::vector<uint64_t>{2}, {Of(2, 5)});
  store.Put(std::vector<uint64_t>{3}, {Of(3, 5)});
  EXPECT_EQ(store.Take(std::vector<uint64_t>{1}).status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(store.Take(std::vector<uint64_t>{2, 3}).ok());
}

TEST(SampleStore, HoldsNothingAfterClear) {
  SampleStore store(10);
  store.Put(std::vector<uint64_t>{1}, {Of(1, 5)});
  store.Clear();
  EXPECT_EQ(store.Bytes(), 0u);
  EXPECT_EQ(store.Take(std::vector<uint64_t>{1}).status().code(), absl::StatusCode::kNotFound);
}

// Against a list in the order of putting.
RC_GTEST_PROP(SampleStore, IsAQueueThatDropsItsOldest, ()) {
  constexpr size_t kLimit = 40;
  SampleStore store(kLimit);
  std::vector<std::pair<uint64_t, Sample>> model;
  const auto erase = [&](uint64_t number) {
    std::erase_if(model, [&](const auto& entry) { return entry.first == number; });
  };
  const auto bytes = [&] {
    size_t sum = 0;
    for (const auto& [number, sample] : model) sum += sample.size();
    return sum;
  };
  const int steps = *rc::gen::inRange(1, 60);
  for (int i = 0; i < steps; ++i) {
    const uint64_t number = *rc::gen::inRange<uint64_t>(0, 10);
    if (*rc::gen::arbitrary<bool>()) {
      const Sample sample = Of(*rc::gen::inRange<uint64_t>(0, 255), *rc::gen::inRange<size_t>(0, 20));
      store.Put(std::vector<uint64_t>{number}, {sample});
      erase(number);
      model.emplace_back(number, sample);
      while (bytes() > kLimit) model.erase(model.begin());
    } else {
      const auto found =
          std::find_if(model.begin(), model.end(), [&](const auto& entry) { return entry.first == number; });
      const auto taken = store.Take(std::vector<uint64_t>{number});
      RC_ASSERT(taken.ok() == (found != model.end()));
      if (taken.ok()) RC_ASSERT(taken->front() == found->second);
      erase(number);
    }
    RC_ASSERT(store.Bytes() == bytes());
  }
}

}  // namespace
}  // namespace wharf::pipeline
