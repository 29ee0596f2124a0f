#include "wharf/device/soft/check/findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wharf::device::soft::check {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class FindingsTest : public testing::Test {
 protected:
  FindingsTest()
      : sites_(std::make_shared<const SiteTable>(SiteTable{
            {.file = "/home/me/a.cu", .line = 24, .ptx_line = 7, .ptx = "ld.shared.f32 %f1, [%r1];", .same = 0},
            {.ptx_line = 9, .ptx = "st.shared.f32 [%r1], %f1;", .same = 1},
            {.file = "/home/me/a.cu", .line = 24, .ptx_line = 11, .ptx = "ld.shared.f32 %f2, [%r2];", .same = 0},
            {.file = "b.cuh", .line = 3, .caller_file = "a.cu", .caller_line = 30, .same = 3}})),
        findings_(kRace, [this](const std::string& line) { told_.push_back(line); }) {}

  void Add(uint32_t block, uint32_t site = 0, uint32_t other_site = 1) {
    findings_.Add(
        {.sites = sites_, .kernel = "_Z7softmaxPfi", .grid = {4, 1, 1}, .block = {block, 0, 0}, .shape = {16, 2, 1}},
        {.site = site,
         .bytes = 4,
         .flags = kReads,
         .address = 0x20,
         .thread = 17,
         .other_site = other_site,
         .other_thread = 3,
         .other_flags = kWrites});
  }

  std::vector<std::string> told_;
  std::shared_ptr<const SiteTable> sites_;
  Findings findings_;
};

TEST_F(FindingsTest, APlaceIsALineAtTheEndOfItsKernel) {
  Add(2);
  Add(1);
  Add(1);
  EXPECT_THAT(told_, ElementsAre());
  findings_.EndKernel();
  EXPECT_THAT(told_, ElementsAre("wharf: race: softmax(float*, int): a.cu:24 reads what PTX line 9 `st.shared.f32 "
                                 "[%r1], %f1;` wrote, and no barrier is between: threads (1,1,0) and (3,0,0) of block "
                                 "(1,0,0), 4 bytes of shared memory at 0x20, 3 times"));
  Add(0);
  findings_.EndKernel();
  EXPECT_EQ(told_.size(), 1u) << "it is known";
  findings_.Summarize();
  EXPECT_EQ(told_.back(), "wharf: check race: found at 1 place, 4 times in 2 launches");
}

TEST_F(FindingsTest, PlacesComeInTheOrderOfBlocksAndCode) {
  Add(3, 0, 0);
  Add(1, 1, 0);
  Add(1, 0, 1);
  findings_.EndKernel();
  ASSERT_EQ(told_.size(), 3u);
  EXPECT_THAT(told_[0], HasSubstr("a.cu:24 reads"));
  EXPECT_THAT(told_[1], HasSubstr("PTX line 9 `st.shared.f32 [%r1], %f1;` reads"));
  EXPECT_THAT(told_[2], HasSubstr("of block (3,0,0)"));
}

TEST_F(FindingsTest, InstructionsOfOneLineAreOnePlace) {
  Add(0, 0, 1);
  Add(0, 2, 1);
  Add(0, 3, 1);
  findings_.EndKernel();
  ASSERT_EQ(told_.size(), 2u);
  EXPECT_THAT(told_[0], HasSubstr(" a.cu:24 reads "));
  EXPECT_THAT(told_[0], HasSubstr(", 2 times"));
  EXPECT_THAT(told_[1], HasSubstr(" b.cuh:3 (inlined at a.cu:30) reads "));
}

TEST_F(FindingsTest, AccessesOutsideOfMemoryAreSaidWithWhatIsBesideThem) {
  const FoundIn where{.sites = sites_, .kernel = "k", .shape = {8, 1, 1}};
  const auto add = [&](Finding finding) {
    finding.bytes = 4;
    finding.flags = kWrites;
    finding.thread = 3;
    findings_.Add(where, finding);
    findings_.EndKernel();
    return told_.back();
  };
  using Kind = Finding::Kind;
  EXPECT_EQ(add({.kind = Kind::kOutside, .address = 0x1190, .begin = 0x1000, .size = 400}),
            "wharf: memory: k: a.cu:24 writes 4 bytes at 0x1190, which is outside of memory (0 bytes behind an "
            "allocation of 400 bytes): thread (3,0,0) of block (0,0,0), once");
  EXPECT_THAT(add({.kind = Kind::kOutside, .site = 1, .address = 0xfff, .begin = 0x1000, .size = 400}),
              HasSubstr("(1 byte before an allocation of 400 bytes)"));
  EXPECT_THAT(add({.kind = Kind::kOutside, .site = 3, .address = 0x118f, .begin = 0x1000, .size = 400}),
              HasSubstr("(over the end of an allocation of 400 bytes)"));
  EXPECT_THAT(add({.kind = Kind::kOutside, .site = 4, .address = 0}), HasSubstr("(nothing is allocated)"));
  EXPECT_THAT(add({.kind = Kind::kOutside, .site = 5, .begin = uint64_t{1} << 40, .size = 400}),
              HasSubstr("(far from all that is allocated)"));
  EXPECT_THAT(add({.kind = Kind::kOutsideShared, .address = 1024, .size = 1024}),
              HasSubstr("a.cu:24 writes 4 bytes at 0x400, which is beyond the 1024 bytes of shared memory: "));
  EXPECT_THAT(add({.kind = Kind::kMisaligned, .address = 6, .shared = true, .size = 4}),
              HasSubstr("at 0x6, which is no multiple of 4 (shared memory): "));
  EXPECT_THAT(add({.kind = Kind::kUnwritten, .address = 6, .shared = true}),
              AllOf(HasSubstr("wharf: init: k: a.cu:24 "), HasSubstr(", which nobody has written (shared memory): ")));
  findings_.AddLeaks(0, 0);
  findings_.AddLeaks(1, 400);
  EXPECT_EQ(told_.back(), "wharf: memory: an allocation of 400 bytes is never freed");
  findings_.AddLeaks(2, 8);
  EXPECT_EQ(told_.back(), "wharf: memory: 2 allocations of 8 bytes in all are never freed");
  findings_.Summarize();
  EXPECT_EQ(told_.back(), "wharf: check race: found at 8 places, 8 times in 8 launches, 3 allocations are never freed");
}

TEST_F(FindingsTest, NothingIsSaidToo) {
  findings_.Summarize();
  EXPECT_THAT(told_, ElementsAre()) << "no kernel has run";
  findings_.EndKernel();
  findings_.Summarize();
  EXPECT_THAT(told_, ElementsAre("wharf: check race: nothing found in one launch"));
}

TEST_F(FindingsTest, NamesOfTheProgramStayInTheirLine) {
  sites_ = std::make_shared<const SiteTable>(
      SiteTable{{.file = "x\n\033[2J.cu", .line = 1}, {.ptx = std::string(500, 'x'), .same = 1}});
  Add(0, 0, 1);
  Add(0, 7, 0);
  findings_.EndKernel();
  ASSERT_EQ(told_.size(), 2u);
  EXPECT_THAT(told_[0], HasSubstr("x  [2J.cu:1 reads what PTX line 0 `" + std::string(200, 'x') + "…` wrote"));
  EXPECT_THAT(told_[1], HasSubstr(": ? reads"));
}

TEST_F(FindingsTest, ThereIsAnEndToPlaces) {
  for (uint32_t site = 0; site < 1100; ++site) Add(0, site, 0);
  findings_.EndKernel();
  EXPECT_EQ(told_.size(), 1000u);
  findings_.Summarize();
  EXPECT_EQ(told_.back(), "wharf: check race: found at more than 1000 places, 1100 times in one launch");
}

TEST(Checks, AreNamed) {
  EXPECT_EQ(*ParseChecks("race"), kRace);
  EXPECT_EQ(*ParseChecks("all"), kAllChecks);
  EXPECT_EQ(*ParseChecks("race,race"), kRace);
  for (const char* wrong : {"", "races", "race,", ",race", "race, race"}) {
    EXPECT_EQ(ParseChecks(wrong).status().code(), absl::StatusCode::kInvalidArgument) << wrong;
  }
  EXPECT_EQ(Describe(kAllChecks), "race, memory, init");
  EXPECT_EQ(*ParseChecks("memory,init,race"), kAllChecks);
}

}  // namespace
}  // namespace wharf::device::soft::check
