#include "wharf/offload/replay/write_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "wharf/device/fake_device.h"

namespace wharf::offload {
namespace {

using device::FakeDevice;

constexpr uint64_t kBase = uint64_t{1} << 40, kPage = 4096;

std::vector<std::pair<uint64_t, uint64_t>> Ranges(const std::optional<WriteSet>& writes) {
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  if (!writes) return {{0, 0}};
  for (const MemoryRange& range : writes->ranges) ranges.emplace_back(range.address - kBase, range.size);
  return ranges;
}

class WriteSetTest : public ::testing::Test {
 protected:
  WriteSetTest() {
    device::Footprint footprint;
    footprint.oblivious = true;
    footprint.written_parameters = {0};
    device_.SetFootprint("k", footprint);
    EXPECT_TRUE(device_.LoadModule(1, std::vector<std::byte>(1)).ok());
    EXPECT_TRUE(device_.DefineFunction(2, 1, "k").ok());
  }
  std::optional<WriteSet> OfLaunch(uint64_t pointer, bool cooperative = false) {
    Launch op{0, 2, {{1}, {1}, 0, cooperative}, std::vector<std::byte>(8)};
    std::memcpy(op.parameters.data(), &pointer, sizeof(pointer));
    return WritesOf(op, device_, mappings_);
  }

  FakeDevice device_{{{"k", [](FakeDevice&, const device::LaunchConfig&, const std::vector<std::byte>&) {
                         return absl::OkStatus();
                       }}}};
  // Three that touch, a gap, and one alone.
  const Mappings mappings_{
      {kBase, kPage}, {kBase + kPage, 2 * kPage}, {kBase + 3 * kPage, kPage}, {kBase + 5 * kPage, kPage}};
};

TEST_F(WriteSetTest, MappingsThatTouchAreOneAllocation) {
  using Pairs = std::vector<std::pair<uint64_t, uint64_t>>;
  for (const uint64_t at : {uint64_t{0}, kPage - 1, kPage, 3 * kPage, 4 * kPage - 1}) {
    EXPECT_EQ(Ranges(OfLaunch(kBase + at)), (Pairs{{0, 4 * kPage}})) << at;
  }
  EXPECT_EQ(Ranges(OfLaunch(kBase + 5 * kPage + 7)), (Pairs{{5 * kPage, kPage}}));
  EXPECT_FALSE(OfLaunch(kBase + 4 * kPage).has_value());
  EXPECT_FALSE(OfLaunch(kBase + 6 * kPage).has_value());
  const auto fill = [&](uint64_t from, uint64_t bytes) {
    return WritesOf(Fill{0, {kBase + from, 1, 1}, {bytes, 1, 1}, 7, 1}, device_, mappings_);
  };
  EXPECT_EQ(Ranges(fill(10, 3 * kPage)), (Pairs{{10, 3 * kPage}}));
  EXPECT_FALSE(fill(3 * kPage, kPage + 1).has_value());
}

TEST_F(WriteSetTest, ACooperativeLaunchIsNotRunAhead) {
  EXPECT_TRUE(OfLaunch(kBase).has_value());
  EXPECT_FALSE(OfLaunch(kBase, /*cooperative=*/true).has_value());
}

}  // namespace
}  // namespace wharf::offload
