#include "wharf/ar/server/picture_memory.h"

#include <gtest/gtest.h>

#include <optional>

#include "wharf/ar/messages.h"

namespace wharf::ar {
namespace {

TEST(PictureMemoryTest, SharesEndWithTheirOwners) {
  const uint64_t one = PictureMemory::Of(640, 480);
  PictureMemory memory(2 * one);
  auto first = memory.Admit(640, 480);
  ASSERT_TRUE(first.ok());
  std::optional<PictureMemory::Share> moved(*std::move(first)), second(*memory.Admit(640, 480));
  EXPECT_EQ(memory.Shares(), 2u);
  EXPECT_EQ(memory.Admit(16, 16).status().code(), absl::StatusCode::kResourceExhausted);
  first = PictureMemory::Share();  // has none any more
  EXPECT_EQ(memory.Admit(16, 16).status().code(), absl::StatusCode::kResourceExhausted);
  second.reset();
  EXPECT_EQ(memory.Shares(), 1u);
  EXPECT_TRUE(memory.Admit(640, 480).ok());  // and goes at once
  *moved = *memory.Admit(640, 480);
  EXPECT_TRUE(memory.Admit(640, 480).ok());
  moved.reset();
  const auto all = memory.Admit(640, 960);
  EXPECT_TRUE(all.ok());
}

TEST(PictureMemoryTest, SaysWhatToDo) {
  PictureMemory memory(100 << 20);
  const auto some = memory.Admit(1024, 1024);
  ASSERT_TRUE(some.ok());
  EXPECT_EQ(memory.Admit(2048, 2048).status(),
            ResourceExhausted("no room for pictures of 2048 x 2048: a client with them may take 164.0 MiB, and of the "
                              "server's 100.0 MiB for pictures 41.0 MiB are taken; come again later, send smaller "
                              "ones, or start it with a larger --picture-memory"));
}

TEST(PictureMemoryTest, TheLargestPicturesDoNotOverflow) {
  EXPECT_EQ(PictureMemory::Of(kMaxSide, kMaxSide), uint64_t{41} * kMaxSide * kMaxSide);
  PictureMemory memory(0);
  EXPECT_EQ(memory.Admit(kMaxSide, kMaxSide).status().code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace wharf::ar
