#include "wharf/offload/replay/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>
#include <cstring>

namespace wharf::offload {
namespace {

using ::testing::ElementsAre;

std::vector<std::byte> Bytes(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

std::vector<RecordKind> KindsIn(std::span<const std::byte> bytes) {
  std::vector<RecordKind> kinds;
  ProgressReader reader(bytes);
  ProgressRecord record;
  while (!reader.AtEnd()) {
    EXPECT_TRUE(reader.Next(record).ok());
    kinds.push_back(record.kind);
  }
  return kinds;
}

TEST(ProgressTest, ConsecutiveStepsAreOneRecord) {
  ProgressWriter writer;
  for (int i = 0; i < 300; ++i) writer.Advance();
  writer.Wait();
  EXPECT_EQ(writer.Bytes(), Bytes({2, 0xac, 2, 6}));  // run of 300 = 0b10'0101100, wait
}

TEST(ProgressTest, RecordsComeBackInOrder) {
  const std::vector<std::byte> changed = Bytes({7, 8, 9});
  ProgressWriter writer;
  writer.Lane(3);
  writer.Advance();
  writer.Advance();
  writer.Known(12, 650);
  writer.Variant(70000, std::vector<ChangedRange>{{16, changed}, {200, std::span(changed).first(1)}});
  writer.Forget();
  writer.Wait();
  writer.Fresh();
  const std::vector<std::byte> bytes = writer.Bytes();
  EXPECT_THAT(KindsIn(bytes), ElementsAre(RecordKind::kLane, RecordKind::kRun, RecordKind::kKnown, RecordKind::kVariant,
                                          RecordKind::kForget, RecordKind::kWait, RecordKind::kFresh));
  ProgressReader reader(bytes);
  ProgressRecord record;
  ASSERT_TRUE(reader.Next(record).ok());
  EXPECT_EQ(record.value, 3u);
  ASSERT_TRUE(reader.Next(record).ok());
  EXPECT_EQ(record.value, 2u);
  ASSERT_TRUE(reader.Next(record).ok());
  EXPECT_EQ(record.value, 12u);
  EXPECT_EQ(record.distance, 650u);
  ASSERT_TRUE(reader.Next(record).ok());
  EXPECT_EQ(record.value, 70000u);
  ASSERT_EQ(record.changes.size(), 2u);
  EXPECT_EQ(record.changes[0].offset, 16u);
  EXPECT_THAT(record.changes[0].bytes, ElementsAre(std::byte{7}, std::byte{8}, std::byte{9}));
  EXPECT_EQ(record.changes[1].offset, 200u);
}

TEST(ProgressTest, WhatIsCutShortIsRefused) {
  const std::vector<std::byte> changed = Bytes({7, 8, 9});
  ProgressWriter writer;
  writer.Variant(300, std::vector<ChangedRange>{{16, changed}});
  const std::vector<std::byte> whole = writer.Bytes();
  for (size_t size = 1; size < whole.size(); ++size) {
    ProgressReader reader(std::span<const std::byte>(whole).first(size));
    ProgressRecord record;
    EXPECT_EQ(reader.Next(record).code(), absl::StatusCode::kDataLoss) << size;
  }
}

TEST(ProgressTest, UnknownKindsAndEndlessNumbersAreRefused) {
  for (const auto& bytes : {Bytes({0}), Bytes({9}), Bytes({2, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1}),
                            Bytes({4, 1, 200, 1})}) {
    ProgressReader reader(bytes);
    ProgressRecord record;
    EXPECT_EQ(reader.Next(record).code(), absl::StatusCode::kDataLoss);
  }
}

std::span<const std::byte> AsBytes(const std::vector<uint8_t>& values) {
  return {reinterpret_cast<const std::byte*>(values.data()), values.size()};
}

RC_GTEST_PROP(ProgressTest, ChangesTurnOneHeadIntoTheOther, ()) {
  auto from = *rc::gen::container<std::vector<uint8_t>>(rc::gen::inRange<uint8_t>(0, 3));
  auto to = from;
  for (auto& value : to) {
    if (*rc::gen::weightedElement<bool>({{5, false}, {1, true}})) value = *rc::gen::inRange<uint8_t>(0, 3);
  }
  std::vector<ChangedRange> changes;
  FindChanges(AsBytes(from), AsBytes(to), changes);
  auto patched = from;
  size_t end = 0;
  for (const ChangedRange& change : changes) {
    RC_ASSERT(change.offset >= end);
    RC_ASSERT(!change.bytes.empty());
    end = change.offset + change.bytes.size();
    RC_ASSERT(end <= patched.size());
    std::memcpy(patched.data() + change.offset, change.bytes.data(), change.bytes.size());
  }
  RC_ASSERT(patched == to);
}

}  // namespace
}  // namespace wharf::offload
