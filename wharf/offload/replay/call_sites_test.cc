#include "wharf/offload/replay/call_sites.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>
#include <cstring>

#include "wharf/base/random.h"
#include "wharf/device/fake_device.h"
#include "wharf/offload/wire_codec.h"

namespace wharf::offload {
namespace {

constexpr uint64_t kCounts = device::FakeDevice::kBase;
constexpr uint64_t kGather = 7, kSort = 8;

// A program that copies counts from the device and launches kernels with them.
class CallSitesTest : public testing::Test {
 protected:
  OperationId Known(uint16_t number, const std::vector<std::byte>& head) {
    for (OperationId id = 0; id < operations_.size(); ++id) {
      if (operations_.Is(id, number, head)) return id;
    }
    return operations_.Append(number, head, {});
  }
  OperationId Kernel(uint64_t function, std::initializer_list<uint32_t> parameters, uint64_t stream = 0) {
    Launch launch{stream, function, {}, {}};
    launch.parameters.resize(4 * parameters.size());
    std::memcpy(launch.parameters.data(), parameters.begin(), launch.parameters.size());
    return Known(Launch::kNumber, Encode(launch));
  }
  OperationId Copy(uint64_t bytes) {
    return Known(CopyToHost::kNumber, Encode(CopyToHost{0, {kCounts, bytes, bytes}, {bytes, 1, 1}}));
  }
  void See(uint32_t count) {
    auto answer = std::make_shared<SmallAnswer>();
    answer->Fill(absl::OkStatus(), std::as_bytes(std::span(&count, 1)));
    recent_.AddAnswer(std::move(answer));
  }
  SiteId SiteFor(OperationId id) { return sites_.Add(id); }
  // What is predicted at `site`; then the program makes `id` there.
  OperationId Make(SiteId site, OperationId id, OperationId expected) {
    const OperationId predicted = sites_.Choose(site, expected, recent_).id;
    sites_.Record(site, id, recent_);
    recent_.SetOperation(site, id);
    return predicted;
  }

  OperationTable operations_;
  CallSites sites_{&operations_};
  RecentWords recent_;
};

TEST_F(CallSitesTest, OnlyTheSameCallWithOtherArgumentsMayReplaceAnother) {
  const auto may = [this](OperationId a, OperationId b) { return CallSites::MayReplace(operations_, a, b); };
  const OperationId gather = Kernel(kGather, {1});
  EXPECT_TRUE(may(gather, Kernel(kGather, {2})));
  EXPECT_FALSE(may(gather, gather));
  EXPECT_FALSE(may(gather, Kernel(kSort, {2}))) << "another kernel";
  EXPECT_FALSE(may(gather, Kernel(kGather, {2}, 1))) << "on another stream";
  EXPECT_FALSE(may(gather, Kernel(kGather, {2, 3}))) << "of other parameters";
  EXPECT_TRUE(may(Copy(8), Copy(16)));
  EXPECT_FALSE(may(Copy(8), gather));
}

TEST_F(CallSitesTest, AnArgumentIsTheCountThatTheProgramSaw) {
  const OperationId first = Kernel(kGather, {5});
  const SiteId site = SiteFor(first);
  for (const uint32_t count : {5, 6, 9, 5, 6, 9, 6}) {
    See(count);
    Make(site, Kernel(kGather, {count}), first);
  }
  See(9);
  EXPECT_EQ(Make(site, Kernel(kGather, {9}), first), Kernel(kGather, {9}));
  EXPECT_TRUE(sites_.Predicts(site));
  See(1000);
  EXPECT_EQ(sites_.Choose(site, first, recent_).id, kNoOperation) << "which it never made";
}

TEST_F(CallSitesTest, WhatIsStillToComeIsAwaited) {
  const OperationId first = Kernel(kGather, {5});
  const SiteId site = SiteFor(first);
  for (const uint32_t count : {5, 6, 9, 5, 6, 9}) {
    See(count);
    Make(site, Kernel(kGather, {count}), first);
  }
  const auto answer = std::make_shared<SmallAnswer>();
  recent_.AddAnswer(answer);
  EXPECT_EQ(sites_.Choose(site, first, recent_).awaits, answer);
  const uint32_t count = 6;
  answer->Fill(absl::OkStatus(), std::as_bytes(std::span(&count, 1)));
  EXPECT_EQ(sites_.Choose(site, first, recent_).id, Kernel(kGather, {6}));
}

// Rows so far and new ones; then a kernel of all rows, which lie where the allocator puts so many.
RC_GTEST_FIXTURE_PROP(CallSitesTest, SumsAndFunctionsAreFoundAndThenPredicted, (uint64_t seed)) {
  Random random(seed);
  const auto place_of = [](uint32_t rows) { return 4096 * (rows / 8); };
  const OperationId a = Kernel(kGather, {0, 0}), b = Kernel(kGather, {1, 0}), c = Kernel(kSort, {0, 0, 0});
  const SiteId at_a = SiteFor(a), at_b = SiteFor(b), at_c = SiteFor(c);
  int right = 0, known = 0;
  for (int i = 0; i < 300; ++i) {
    const auto x = static_cast<uint32_t>(1 + random.Below(7)), y = static_cast<uint32_t>(1 + random.Below(7));
    const size_t before = operations_.size();
    See(x);
    Make(at_a, Kernel(kGather, {0, x}), a);
    See(y);
    const OperationId made_b = Kernel(kGather, {1, x + y});
    const OperationId made_c = Kernel(kSort, {x + y, 3 * (x + y), place_of(x + y)});
    const bool is_new = operations_.size() > before;
    const OperationId told_b = Make(at_b, made_b, b), told_c = Make(at_c, made_c, c);
    if (i < 150 || is_new) continue;
    ++known;
    right += told_b == made_b && told_c == made_c;
  }
  RC_ASSERT(sites_.Predicts(at_a) && sites_.Predicts(at_b) && sites_.Predicts(at_c));
  RC_ASSERT(right * 10 >= known * 9);
}

// As many elements as rows times columns, in blocks of 64 threads. No number of rows comes again while it is learnt.
TEST_F(CallSitesTest, MultiplesAndTheirBlocksArePredicted) {
  const auto launch = [this](uint32_t rows) { return Kernel(kGather, {39 * rows, (39 * rows + 63) / 64}); };
  const OperationId first = launch(1);
  const SiteId site = SiteFor(first);
  for (uint32_t i = 0; i < 40; ++i) {
    const uint32_t rows = 2 + 7 * i % 41;
    See(rows);
    Make(site, launch(rows), first);
  }
  for (const uint32_t rows : {20, 3, 33}) {
    See(rows);
    EXPECT_EQ(Make(site, launch(rows), first), launch(rows));
  }
}

TEST_F(CallSitesTest, BetweenTwoValuesThatGiveTheSameAllDo) {
  const auto launch = [this](uint32_t rows) { return Kernel(kGather, {0x40000000 + 4096 * (rows / 8)}); };
  const OperationId first = launch(1);
  const SiteId site = SiteFor(first);
  for (int i = 0; i < 5; ++i) {
    for (const uint32_t rows : {1, 9, 15, 17}) {
      See(rows);
      Make(site, launch(rows), first);
    }
  }
  See(12);
  EXPECT_EQ(sites_.Choose(site, first, recent_).id, launch(15));
}

TEST_F(CallSitesTest, ArgumentsThatFollowFromNothingAreNotPredicted) {
  const OperationId first = Kernel(kGather, {0});
  const SiteId site = SiteFor(first);
  for (uint32_t i = 0; i < 200; ++i) {
    See(i % 2);
    Make(site, Kernel(kGather, {i * 2654435761U}), first);
  }
  EXPECT_FALSE(sites_.Predicts(site));
}

TEST_F(CallSitesTest, WhatDoesNotChangeAnyMoreIsLeftToTheHistory) {
  const OperationId first = Kernel(kGather, {5});
  const SiteId site = SiteFor(first);
  const auto infer = [&](uint32_t count) {
    See(count);
    Make(site, Kernel(kGather, {count}), first);
  };
  for (const uint32_t count : {5, 6, 9, 5, 6, 9, 5, 6}) infer(count);
  EXPECT_TRUE(sites_.Predicts(site));
  for (size_t i = 0; i <= CallSites::kSamples; ++i) infer(9);
  EXPECT_FALSE(sites_.Predicts(site));
  for (const uint32_t count : {5, 6}) infer(count);
  EXPECT_TRUE(sites_.Predicts(site)) << "it knows how they come about";
}

// What the history says is right there: the site's own last operation comes again.
TEST_F(CallSitesTest, WhatStaysTheSameIsLeftToTheHistory) {
  const OperationId first = Kernel(kGather, {4}), other = Kernel(kGather, {5});
  const SiteId site = SiteFor(first);
  Make(site, other, first);
  for (uint32_t i = 0; i < 50; ++i) {
    See(i);
    Make(site, other, other);
  }
  EXPECT_FALSE(sites_.Predicts(site));
}

TEST_F(CallSitesTest, SitesAndTheirOperationsAreBounded) {
  const OperationId first = Kernel(kGather, {0});
  const SiteId site = SiteFor(first);
  for (uint32_t i = 0; i < 2 * CallSites::kMaxOperations; ++i) Make(site, Kernel(kGather, {i}), first);
  while (sites_.Add(first) != kNoSite) continue;
  EXPECT_EQ(sites_.Add(first), kNoSite);
  sites_.Clear();
  EXPECT_NE(sites_.Add(first), kNoSite);
}

TEST(SmallAnswerTest, CallsWhenItIsHere) {
  SmallAnswer answer;
  int calls = 0;
  answer.WhenHere([&] { ++calls; });
  EXPECT_EQ(calls, 0);
  EXPECT_TRUE(answer.Words().empty());
  const uint32_t words[] = {1, 2, 3, 4, 5};
  answer.Fill(absl::OkStatus(), std::as_bytes(std::span(words)));
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(answer.Words().size(), SmallAnswer::kMaxWords);
  answer.WhenHere([&] { ++calls; });
  EXPECT_EQ(calls, 2);
}

TEST(SmallAnswerTest, WhatWasRefusedHasNoWords) {
  SmallAnswer answer;
  const uint32_t word = 1;
  answer.Fill(Internal("refused"), std::as_bytes(std::span(&word, 1)));
  EXPECT_TRUE(answer.IsHere());
  EXPECT_TRUE(answer.Words().empty());
}

}  // namespace
}  // namespace wharf::offload
