#include "wharf/offload/partition/validity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <array>

namespace wharf::offload {

bool operator==(const MemoryRange& a, const MemoryRange& b) { return a.address == b.address && a.size == b.size; }

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ValidityMap, FreshMemoryIsValidWhereItIs) {
  ValidityMap map;
  map.Add({0x1000, 0x1000}, true);
  map.Add({0x4000, 0x1000}, false);
  EXPECT_THAT(map.Missing(Side::kRemote), IsEmpty());
  EXPECT_THAT(map.Missing(Side::kLocal), ElementsAre(MemoryRange{0x4000, 0x1000}));
}

TEST(ValidityMap, WhatIsWrittenOnOneSideIsMissingOnTheOtherUntilItIsCopied) {
  ValidityMap map;
  map.Add({0x1000, 0x1000}, true);
  map.NoteWritten({0x1100, 0x200}, Side::kLocal);
  EXPECT_THAT(map.Missing({0x1000, 0x1000}, Side::kRemote), ElementsAre(MemoryRange{0x1100, 0x200}));
  EXPECT_THAT(map.Missing({0x1180, 0x10}, Side::kRemote), ElementsAre(MemoryRange{0x1180, 0x10}));
  EXPECT_THAT(map.Missing(Side::kLocal), IsEmpty());
  map.NoteCopied({0x1100, 0x100});
  EXPECT_THAT(map.Missing(Side::kRemote), ElementsAre(MemoryRange{0x1200, 0x100}));
}

TEST(ValidityMap, WritesBeyondAnAllocationSayNothingOfWhatIsNotRemote) {
  ValidityMap map;
  map.Add({0x1000, 0x1000}, true);
  map.NoteWritten({0, UINT64_MAX}, Side::kRemote);
  EXPECT_THAT(map.Missing(Side::kLocal), ElementsAre(MemoryRange{0x1000, 0x1000}));
  map.Remove({0x1000, 0x1000});
  EXPECT_THAT(map.Missing(Side::kLocal), IsEmpty());
}

// The same, byte by byte.
class Bytes {
 public:
  static constexpr uint64_t kSize = 64;
  enum State { kNone, kLocal, kRemote, kBoth };
  void Set(const MemoryRange& range, State state, bool only_live) {
    for (uint64_t i = 0; i < range.size; ++i) {
      State& byte = states_[range.address + i];
      if (!only_live || byte != kNone) byte = state;
    }
  }
  std::vector<MemoryRange> Missing(const MemoryRange& range, Side side) const {
    std::vector<MemoryRange> missing;
    for (uint64_t at = range.address; at < range.address + range.size; ++at) {
      if (states_[at] != (side == Side::kLocal ? kRemote : kLocal)) continue;
      if (!missing.empty() && missing.back().address + missing.back().size == at) {
        ++missing.back().size;
      } else {
        missing.push_back({at, 1});
      }
    }
    return missing;
  }

 private:
  std::array<State, kSize> states_{};
};

RC_GTEST_PROP(ValidityMapProperty, KnowsOfEveryByteWhereItIsValid, ()) {
  ValidityMap map;
  Bytes bytes;
  const int steps = *rc::gen::inRange(1, 40);
  for (int i = 0; i < steps; ++i) {
    const uint64_t from = *rc::gen::inRange<uint64_t>(0, Bytes::kSize);
    const MemoryRange range{from, *rc::gen::inRange<uint64_t>(0, Bytes::kSize - from + 1)};
    const Side side = *rc::gen::element(Side::kLocal, Side::kRemote);
    switch (*rc::gen::inRange(0, 5)) {
      case 0: {
        const bool on_both = *rc::gen::arbitrary<bool>();
        map.Add(range, on_both);
        bytes.Set(range, on_both ? Bytes::kBoth : Bytes::kRemote, false);
        break;
      }
      case 1:
        map.Remove(range);
        bytes.Set(range, Bytes::kNone, false);
        break;
      case 2:
        map.NoteCopied(range);
        bytes.Set(range, Bytes::kBoth, true);
        break;
      default:
        map.NoteWritten(range, side);
        bytes.Set(range, side == Side::kLocal ? Bytes::kLocal : Bytes::kRemote, true);
    }
    RC_ASSERT(map.Missing(range, side) == bytes.Missing(range, side));
    RC_ASSERT(map.Missing(Other(side)) == bytes.Missing({0, Bytes::kSize}, Other(side)));
  }
}

}  // namespace
}  // namespace wharf::offload
