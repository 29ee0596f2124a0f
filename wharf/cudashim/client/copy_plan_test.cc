#include "wharf/cudashim/client/copy_plan.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <vector>

namespace wharf::client {
namespace {

TEST(CopyPlan, PackedBoxesBecomeOneRow) {
  Box to{1000, 16, 64}, from{5000, 0, 0};
  device::Extent extent{16, 4, 3};
  ASSERT_EQ(Normalize(to, from, extent), CudaError::kSuccess);
  EXPECT_EQ(extent.width, 16u * 4 * 3);
  EXPECT_EQ(extent.height, 1u);
  EXPECT_EQ(extent.depth, 1u);
}

TEST(CopyPlan, GapsKeepTheRows) {
  Box to{1000, 32, 0}, from{5000, 16, 0};
  device::Extent extent{16, 4, 1};
  ASSERT_EQ(Normalize(to, from, extent), CudaError::kSuccess);
  EXPECT_EQ(extent.height, 4u);
  EXPECT_EQ(Span(to, extent), 3u * 32 + 16);
}

TEST(CopyPlan, SizesThatOverflowAreInvalid) {
  Box to, from;
  device::Extent extent{UINT64_MAX / 2, 3, 1};
  EXPECT_EQ(Normalize(to, from, extent), CudaError::kInvalidValue);
  extent = {16, 4, 1};
  to.row_pitch = 8;
  EXPECT_EQ(Normalize(to, from, extent), CudaError::kInvalidPitchValue);
  to.row_pitch = UINT64_MAX / 2;
  EXPECT_EQ(Normalize(to, from, extent), CudaError::kInvalidPitchValue);
}

TEST(CopyPlan, EmptyExtentHasNoPieces) { EXPECT_TRUE(CutIntoPieces({0, 5, 5}, 100).empty()); }

RC_GTEST_PROP(CopyPlanProperty, PiecesCoverEveryByteOnceInOrder, ()) {
  const device::Extent extent{*rc::gen::inRange<uint64_t>(1, 40), *rc::gen::inRange<uint64_t>(1, 12),
                              *rc::gen::inRange<uint64_t>(1, 6)};
  const uint64_t most = *rc::gen::inRange<uint64_t>(1, 3000);
  std::vector<int> hits(Bytes(extent));
  uint64_t previous = 0;
  for (const Piece& piece : CutIntoPieces(extent, most)) {
    RC_ASSERT(Bytes(piece.extent) <= most && Bytes(piece.extent) > 0);
    for (uint64_t z = 0; z < piece.extent.depth; ++z) {
      for (uint64_t y = 0; y < piece.extent.height; ++y) {
        for (uint64_t x = 0; x < piece.extent.width; ++x) {
          const uint64_t at = ((piece.z + z) * extent.height + piece.y + y) * extent.width + piece.x + x;
          ++hits.at(at);
          RC_ASSERT(at >= previous);
          previous = at;
        }
      }
    }
  }
  for (const int count : hits) RC_ASSERT(count == 1);
}

RC_GTEST_PROP(CopyPlanProperty, ScatterUndoesGather, ()) {
  const device::Extent extent{*rc::gen::inRange<uint64_t>(1, 20), *rc::gen::inRange<uint64_t>(1, 6),
                              *rc::gen::inRange<uint64_t>(1, 4)};
  const uint64_t row = extent.width + *rc::gen::inRange<uint64_t>(0, 5);
  const uint64_t slice = row * extent.height + *rc::gen::inRange<uint64_t>(0, 9);
  std::vector<std::byte> source(slice * extent.depth), target(source.size());
  for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i * 7 + 1);
  const Piece all{0, 0, 0, extent};
  Scatter({reinterpret_cast<uint64_t>(target.data()), row, slice}, all,
          Gather({reinterpret_cast<uint64_t>(source.data()), row, slice}, all));
  for (uint64_t z = 0; z < extent.depth; ++z) {
    for (uint64_t y = 0; y < extent.height; ++y) {
      for (uint64_t x = 0; x < row; ++x) {
        const uint64_t at = z * slice + y * row + x;
        RC_ASSERT(target[at] == (x < extent.width ? source[at] : std::byte{0}));
      }
    }
  }
}

}  // namespace
}  // namespace wharf::client
