#include "wharf/device/ptx/locations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wharf/device/ptx/parser.h"

namespace wharf::device::ptx {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(Locations, AreThoseOfTheLastLocBefore) {
  const std::string text = R"(.version 8.0
.target sm_75
.address_size 64
.file	1 "/src/a.cu", 1700000000, 42
.visible .entry k()
{
  .reg .b32 %r<3>;
  mov.u32 %r1, 1;
  .loc	1 12 5
  mov.u32 %r1, 2;
  mov.u32 %r1, 3; mov.u32 %r2, 3;
  .loc 2 7 1, function_name $L__info_string0, inlined_at 1 14 9
again:
  mov.u32 %r1, 4;
  .loc	1 15 1
  ret;
}
.file 2 "b.cuh"
)";
  const auto sound = Parse(text);
  ASSERT_TRUE(sound.ok()) << sound.status();
  const auto body = ParseBody(**sound, *(*sound)->FindFunction("k"));
  ASSERT_TRUE(body.ok()) << body.status();
  EXPECT_THAT(LocationsOf(*body), ElementsAre(Location{0, 0}, Location{1, 12}, Location{1, 12}, Location{1, 12},
                                              Location{2, 7, 1, 14}, Location{1, 15}));
  EXPECT_THAT(FilesOf(**sound), ElementsAre(Pair(1, "/src/a.cu"), Pair(2, "b.cuh")));
}

}  // namespace
}  // namespace wharf::device::ptx
