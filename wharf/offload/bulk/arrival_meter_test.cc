#include "wharf/offload/bulk/arrival_meter.h"

#include <gtest/gtest.h>

namespace wharf::offload {
namespace {

constexpr size_t kBulk = 100 << 10;

TimePoint At(int64_t microseconds) { return {std::chrono::microseconds(microseconds)}; }

TEST(ArrivalMeterTest, MeasuresWhatTheReaderHadWaitedFor) {
  ArrivalMeter meter;
  meter.Begin(kBulk, At(0));
  const auto first = meter.End(kBulk, At(8000));
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->bytes, kBulk);
  EXPECT_EQ(first->duration, std::chrono::microseconds(8000));
  meter.Free(At(50'000));
  meter.Begin(kBulk, At(50'100));
  EXPECT_FALSE(meter.End(kBulk, At(50'101)).has_value()) << "some of it may have been here before";
  meter.Free(At(60'000));
  meter.Begin(kBulk, At(61'000));
  EXPECT_TRUE(meter.End(kBulk, At(69'000)).has_value());
}

TEST(ArrivalMeterTest, LeavesOutSmallOnes) {
  ArrivalMeter meter;
  meter.Begin(ArrivalMeter::kLeastBytes - 1, At(0));
  EXPECT_FALSE(meter.End(ArrivalMeter::kLeastBytes - 1, At(8000)).has_value());
}

TEST(ArrivalMeterTest, TellsRarely) {
  ArrivalMeter meter;
  int told = 0;
  for (int64_t now = 0; now < 1'000'000; now += 5000) {
    meter.Begin(kBulk, At(now));
    if (meter.End(kBulk, At(now + 1000))) ++told;
    meter.Free(At(now + 1000));
  }
  EXPECT_EQ(told, 50);
}

}  // namespace
}  // namespace wharf::offload
