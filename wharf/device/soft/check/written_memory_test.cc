#include "wharf/device/soft/check/written_memory.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

namespace wharf::device::soft::check {
namespace {

constexpr uint64_t kBegin = uint64_t{1} << 40, kSize = uint64_t{1} << 20, kPage = 4096;

TEST(WrittenBytes, KnowsTheFirstThatIsMissing) {
  WrittenBytes written;
  written.Start(200);
  EXPECT_EQ(written.FirstUnwritten(8, 4), 8u);
  written.Write(60, 10);
  EXPECT_EQ(written.FirstUnwritten(60, 10), std::nullopt);
  EXPECT_EQ(written.FirstUnwritten(60, 11), 70u);
  EXPECT_EQ(written.FirstUnwritten(59, 2), 59u);
  written.Start(200);
  EXPECT_EQ(written.FirstUnwritten(60, 10), 60u) << "of the next block";
}

TEST(WrittenMemory, IsOfWhatIsMapped) {
  const auto written = *WrittenMemory::Create(kBegin, kSize);
  EXPECT_EQ(written->Map(kBegin + kPage, kPage), absl::OkStatus());
  const uint64_t at = kBegin + kPage;
  EXPECT_EQ(written->FirstUnwritten(at, 16), at);
  written->Write(at, kPage);
  EXPECT_EQ(written->FirstUnwritten(at, kPage), std::nullopt);
  EXPECT_EQ(written->Map(at, kPage), absl::OkStatus());
  EXPECT_EQ(written->FirstUnwritten(at + 100, 1), at + 100) << "it is new";
}

TEST(WrittenMemory, LeavesOutWhatIsOutside) {
  const auto written = *WrittenMemory::Create(kBegin, kSize);
  ASSERT_TRUE(written->Map(kBegin, kSize).ok());
  for (const uint64_t address : {uint64_t{0}, kBegin - 16, kBegin + kSize, ~uint64_t{0} - 7}) {
    written->Write(address, 16);
    EXPECT_EQ(written->FirstUnwritten(address, 16), std::nullopt);
  }
  written->Write(kBegin - 8, 16);
  EXPECT_EQ(written->FirstUnwritten(kBegin - 8, 17), kBegin + 8);
  written->Write(kBegin + kSize - 8, 16);
  EXPECT_EQ(written->FirstUnwritten(kBegin + kSize - 8, 16), std::nullopt);
  EXPECT_EQ(written->Map(kBegin + 2 * kSize, kPage), absl::OkStatus());
}

RC_GTEST_PROP(WrittenMemory, IsWhatASetOfBytesIs, ()) {
  constexpr uint64_t kBytes = 400;  // that are looked at
  const auto written = *WrittenMemory::Create(kBegin, kSize);
  RC_ASSERT(written->Map(kBegin, kPage).ok());
  std::set<uint64_t> known;
  const auto steps = *rc::gen::inRange(1, 40);
  for (int i = 0; i < steps; ++i) {
    const auto at = *rc::gen::inRange<uint64_t>(0, kBytes / 2), from = *rc::gen::inRange<uint64_t>(0, kBytes / 2);
    const auto bytes = *rc::gen::inRange<uint64_t>(0, kBytes / 2);
    if (*rc::gen::arbitrary<bool>()) {
      written->Write(kBegin + at, bytes);
      for (uint64_t k = 0; k < bytes; ++k) known.insert(at + k);
    } else {
      written->Copy(kBegin + at, kBegin + from, bytes);
      const std::set<uint64_t> before = known;
      for (uint64_t k = 0; k < bytes; ++k) {
        known.erase(at + k);
        if (before.contains(from + k)) known.insert(at + k);
      }
    }
    std::optional<uint64_t> first;
    for (uint64_t k = at; k < at + bytes && !first; ++k) {
      if (!known.contains(k)) first = kBegin + k;
    }
    RC_ASSERT(written->FirstUnwritten(kBegin + at, bytes) == first);
  }
}

}  // namespace
}  // namespace wharf::device::soft::check
