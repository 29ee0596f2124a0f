#include "wharf/offload/search/sequence_finder.h"
#include "wharf/offload/search/baselines/baselines.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace wharf::offload {
namespace {

// A vocabulary for logs: an operator is a word, "class:name(reads>writes)", where class is h (host to device), d
// (device to host), s (synchronise) or k (a kernel); reads and writes are letters, one a buffer. "k:conv(xw>y)" reads x
// and w, writes y.
OperatorClass ClassOf(char c) {
  switch (c) {
    case 'h':
      return OperatorClass::kHostToDevice;
    case 'd':
      return OperatorClass::kDeviceToHost;
    case 's':
      return OperatorClass::kSynchronize;
    case 'k':
      return OperatorClass::kCompute;
    default:
      return OperatorClass::kOther;
  }
}

struct Outcome {
  SearchEvent event;
  uint64_t at;  // records added
  std::string sequence;
  uint64_t id;
  bool operator==(const Outcome&) const = default;
};

class SequenceFinderTest : public ::testing::TestWithParam<LaneSearchFactory> {
 protected:
  void Use(LaneSearchFactory algorithm, SearchOptions options = {}) {
    finder_ = MakeSequenceFinder(options, algorithm);
    words_.clear();
  }

  // Adds the words of `log`, `times` over; the events that are not kNone.
  std::vector<Outcome> Feed(std::string_view log, int times = 1, uint32_t lane = 0) {
    std::vector<Outcome> outcomes;
    for (int i = 0; i < times; ++i) {
      for (size_t begin = 0; begin < log.size();) {
        const size_t end = std::min(log.find(' ', begin), log.size());
        AddWord(log.substr(begin, end - begin), lane, outcomes);
        begin = end + 1;
      }
    }
    return outcomes;
  }

  void AddWord(std::string_view word, uint32_t lane, std::vector<Outcome>& outcomes) {
    std::vector<uint64_t> reads, writes;
    const size_t open = word.find('(');
    std::vector<uint64_t>* into = &reads;
    for (char c : open == std::string_view::npos ? "" : word.substr(open + 1, word.size() - open - 2)) {
      if (c == '>') {
        into = &writes;
      } else {
        into->push_back(static_cast<uint64_t>(c) << 12);
      }
    }
    OperatorRecord record{
        ClassOf(word[0]), std::hash<std::string_view>()(word.substr(0, open)), 0, reads, writes, lane};
    record.identity = std::hash<std::string_view>()(word);
    const SearchEvent event = finder_->Add(record);
    if (words_.size() <= lane) words_.resize(lane + 1);
    words_[lane].emplace_back(word);
    if (event == SearchEvent::kNone) return;
    Outcome outcome{event, words_[lane].size(), "", 0};
    if (const auto& found = finder_->Current(lane)) {
      outcome.id = found->id;
      EXPECT_EQ(found->first + found->length, words_[lane].size()) << "the latest repeat ends here";
      for (uint64_t i = found->first; i < found->first + found->length; ++i) {
        outcome.sequence += fmt::format("{}{}", i > found->first ? " " : "", words_[lane][i]);
      }
    }
    outcomes.push_back(outcome);
  }

  std::unique_ptr<SequenceFinder> finder_ = MakeSequenceFinder({});
  std::vector<std::vector<std::string>> words_;
};

constexpr std::string_view kLoad = "o:malloc h:weights(>w) h:bias(>b)";
constexpr std::string_view kFirst = "o:module h:in(>x) k:tune(xw>t) k:conv(xw>y) d:out(y) s:";
constexpr std::string_view kSteady = "h:in(>x) k:conv(xw>y) k:add(yb>z) d:out(z) s:";

class EveryAlgorithm : public SequenceFinderTest {
 protected:
  void SetUp() override { Use(GetParam()); }
};

TEST_P(EveryAlgorithm, FindsTheSequenceWithTheThirdSteadyInference) {
  EXPECT_TRUE(Feed(kLoad).empty());
  EXPECT_TRUE(Feed(kFirst).empty());
  EXPECT_TRUE(Feed(kSteady, 2).empty());
  EXPECT_EQ(Feed(kSteady), (std::vector<Outcome>{{SearchEvent::kFound, 24, std::string(kSteady), 1}}));
  EXPECT_EQ(Feed(kSteady), (std::vector<Outcome>{{SearchEvent::kInferenceEnd, 29, std::string(kSteady), 1}}));
}

TEST_P(EveryAlgorithm, FindsTheSequenceWhenNoInferenceIsDifferent) {
  EXPECT_TRUE(Feed(kLoad).empty());
  EXPECT_TRUE(Feed(kSteady, 2).empty());
  EXPECT_EQ(Feed(kSteady), (std::vector<Outcome>{{SearchEvent::kFound, 18, std::string(kSteady), 1}}));
}

TEST_P(EveryAlgorithm, ReportsLeavingAndComingBack) {
  Feed(kLoad);
  Feed(kSteady, 3);
  EXPECT_EQ(Feed("k:other(x>y)"), (std::vector<Outcome>{{SearchEvent::kLeft, 19, "", 0}}));
  EXPECT_EQ(finder_->Current(), std::nullopt);
  EXPECT_TRUE(Feed("d:other(y)").empty());
  EXPECT_EQ(Feed(kSteady), (std::vector<Outcome>{{SearchEvent::kInferenceEnd, 25, std::string(kSteady), 1}}));
  EXPECT_EQ(finder_->Current()->repeats, 4u);
  EXPECT_EQ(Feed("h:in(>x) k:conv(xw>y) k:add(yb>z) d:other(z)"),
            (std::vector<Outcome>{{SearchEvent::kLeft, 29, "", 0}}));
}

// Figure 5 (d): many repeats are one sequence many times, not a longer one.
TEST_P(EveryAlgorithm, LongerRunsAreNoLongerSequence) {
  Feed(kLoad);
  Feed(kSteady, 3);
  const auto outcomes = Feed(kSteady, 20);
  ASSERT_EQ(outcomes.size(), 20u);
  EXPECT_EQ(outcomes.back(), (Outcome{SearchEvent::kInferenceEnd, 118, std::string(kSteady), 1}));
  EXPECT_EQ(finder_->Current()->first, 113u);
  EXPECT_EQ(finder_->Current()->repeats, 23u);
}

constexpr std::string_view kTwoStage =
    "h:in(>x) h:scale(>u) k:net(xuw>f) d:boxes(f) s: d:count(f) h:crop(>c) k:head(fcw>r) d:poses(r) s: s:";

// Figure 5 (e): several input and output copies in one inference.
TEST_P(EveryAlgorithm, SeveralCopiesInAndOut) {
  Feed("h:weights(>w) h:in(>x) k:lazy(xw>f) d:boxes(f) s:");
  EXPECT_TRUE(Feed(kTwoStage, 2).empty());
  const auto found = Feed(kTwoStage);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].event, SearchEvent::kFound);
  EXPECT_EQ(found[0].sequence, kTwoStage);
}

// Figure 5 (f): the first inference has the steady one's second half, so that what repeats first is a rotation.
class RotationTest : public SequenceFinderTest {
 protected:
  // What is found when the third repeat of the rotation ends, and then when the third of the sequence does.
  std::pair<std::string, std::string> Found(LaneSearchFactory algorithm) {
    Use(algorithm);
    const size_t middle = kTwoStage.find(" h:crop");
    Feed("h:weights(>w) h:in(>x) k:lazy(xw>f) d:boxes(f) s: d:count(f)");
    Feed(kTwoStage.substr(middle + 1));
    Feed(kTwoStage, 2);
    const auto first = Feed(kTwoStage.substr(0, middle)), second = Feed(kTwoStage.substr(middle + 1));
    return {first.empty() ? "" : first[0].sequence, second.empty() ? "" : second[0].sequence};
  }
};

TEST_F(RotationTest, DataFlowTellsWhereAnInferenceBegins) {
  const std::pair<std::string, std::string> right("", kTwoStage);
  EXPECT_EQ(Found(MakeIncrementalSearch), right);
  EXPECT_EQ(Found(MakePublishedSearch), right);
}

TEST_F(RotationTest, DataDependencySearchTakesTheRotation) { EXPECT_NE(Found(MakeDataDependencySearch).first, ""); }

TEST_P(EveryAlgorithm, WhatNeverRepeatsIsNeverFound) {
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(Feed(fmt::format("h:in(>x) k:conv{}(xw>y) d:out(y) s:", i)).empty());
  }
}

TEST_P(EveryAlgorithm, LanesAreSearchedByThemselves) {
  Feed(kLoad, 1, 1);
  std::vector<Outcome> outcomes;
  for (int i = 0; i < 3; ++i) {  // word by word in turns: neither is contiguous in the whole log
    for (std::string_view rest = kSteady; !rest.empty();) {
      const size_t end = std::min(rest.find(' '), rest.size());
      AddWord(rest.substr(0, end), 1, outcomes);
      AddWord(fmt::format("other{}", words_[1].size()), 2, outcomes);
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  EXPECT_EQ(outcomes, (std::vector<Outcome>{{SearchEvent::kFound, 18, std::string(kSteady), 1}}));
  EXPECT_EQ(finder_->Current(2), std::nullopt);
  EXPECT_EQ(finder_->Current(77), std::nullopt);
}

std::string NameOf(const ::testing::TestParamInfo<LaneSearchFactory>& info) {
  if (info.param == MakeIncrementalSearch) return "Incremental";
  return info.param == MakePublishedSearch ? "Published" : "DataDependency";
}
INSTANTIATE_TEST_SUITE_P(Algorithms, EveryAlgorithm,
                         ::testing::Values(MakeIncrementalSearch, MakePublishedSearch, MakeDataDependencySearch),
                         NameOf);

using Incremental = SequenceFinderTest;

std::string Loop(std::string_view head, std::string_view turn, int turns, std::string_view tail) {
  std::string log(head);
  for (int i = 0; i < turns; ++i) log += fmt::format(" {}", turn);
  return fmt::format("{} {}", log, tail);
}

constexpr std::string_view kHead = "h:in(>x) k:features(xw>f)";
constexpr std::string_view kTurn = "h:region(>r) k:pool(fr>p) d:label(p) s:";
constexpr std::string_view kTail = "k:sum(fw>z) d:out(z) s:";

TEST_F(Incremental, ALoopWithCopiesOfItsOwnIsNotTheSequence) {
  const std::string inference = Loop(kHead, kTurn, 6, kTail);
  Feed("h:weights(>w)");
  Feed(inference);  // a program whose inference is the turn could have done the same: see docs/replay.md
  EXPECT_TRUE(std::ranges::all_of(Feed(inference), [](const Outcome& o) { return o.event != SearchEvent::kFound; }));
  const auto third = Feed(inference);
  ASSERT_FALSE(third.empty());
  EXPECT_EQ(third.back().event, SearchEvent::kFound);
  EXPECT_EQ(third.back().sequence, inference);
  const auto later = Feed(inference, 5);
  ASSERT_EQ(later.size(), 5u) << "the turns are no longer reported";
  EXPECT_EQ(later.back().sequence, inference);
}

// The published data dependency check asks only whether a sequence writes what it read before.
TEST_F(SequenceFinderTest, OnlyWhatIsNeverReplacedIsAParameter) {
  SearchOptions options;
  options.repeats = 4;
  for (const LaneSearchFactory algorithm : {MakeIncrementalSearch, MakePublishedSearch}) {
    Use(algorithm, options);
    Feed("h:weights(>w)");
    EXPECT_TRUE(Feed(Loop(kHead, kTurn, 3, kTail)).empty()) << "too short to be taken for anything";
    const auto outcomes = Feed(Loop(kHead, kTurn, 6, kTail));
    EXPECT_EQ(outcomes.empty(), algorithm == MakeIncrementalSearch) << "each inference makes its features anew";
  }
}

TEST_F(Incremental, TheLoopOfADecoderIsFound) {
  const auto found = Feed(Loop("h:prompt(>x) k:prefill(xw>c)", "h:token(>t) k:decode(tcw>cl) d:logits(l) s:", 9, ""));
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].sequence, "h:token(>t) k:decode(tcw>cl) d:logits(l) s:");
}

TEST_F(Incremental, RepeatedLayersAreNotTheSequence) {
  const std::string inference = Loop("h:in(>x)", "k:layer(xw>x) k:norm(x>x)", 40, "d:out(x) s:");
  Feed("h:weights(>w)");
  EXPECT_TRUE(Feed(inference, 2).empty());
  const auto found = Feed(inference);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].sequence, inference);
}

constexpr std::string_view kA = "h:a(>a) k:netA(av>b) d:outA(b) s:";
constexpr std::string_view kB = "h:c(>c) k:netB(cw>d) d:outB(d) s:";

std::string InTurns(std::string_view pattern) {
  std::string log;
  for (char c : pattern) log += fmt::format("{}{}", log.empty() ? "" : " ", c == 'A' ? kA : kB);
  return log;
}

TEST_F(Incremental, TwoModelsInTurnsAreTwoSequences) {
  Feed("h:wa(>v) h:wb(>w)");
  Feed(InTurns("ABABABAB"));
  const auto outcomes = Feed(InTurns("AABABBBA"));
  ASSERT_EQ(outcomes.size(), 8u) << "each end is reported";
  const uint64_t a = outcomes[0].id, b = outcomes[2].id;
  EXPECT_NE(a, b);
  std::vector<uint64_t> ids;
  for (const Outcome& o : outcomes) {
    EXPECT_EQ(o.event, SearchEvent::kInferenceEnd);
    EXPECT_EQ(o.sequence, o.id == a ? kA : kB);
    ids.push_back(o.id);
  }
  EXPECT_EQ(ids, (std::vector<uint64_t>{a, a, b, a, b, b, b, a}));
}

TEST_F(Incremental, AnIrregularMixtureIsLearntModelByModel) {
  Feed("h:wa(>v) h:wb(>w)");
  const auto outcomes = Feed(InTurns("ABAABBABAAABBBAB"));
  std::vector<std::string> found;
  for (const Outcome& o : outcomes) {
    if (o.event == SearchEvent::kFound) found.push_back(o.sequence);
  }
  EXPECT_EQ(found, (std::vector<std::string>{std::string(kA), std::string(kB)}));
  EXPECT_EQ(outcomes.back().sequence, kB);
}

TEST_F(Incremental, ModelsOfWhichOneUsesTheOthersResultAreOneSequence) {
  constexpr std::string_view pipeline = "h:a(>a) k:netA(av>b) d:outA(b) s: h:c(>c) k:netB(bcw>d) d:outB(d) s:";
  Feed("h:wa(>v) h:wb(>w)");
  EXPECT_TRUE(Feed(pipeline, 2).empty());
  const auto found = Feed(pipeline);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].sequence, pipeline);
}

TEST_F(Incremental, StateIsCarriedFromInferenceToInference) {
  constexpr std::string_view stateful = "h:in(>x) k:cell(xhw>y) k:update(y>h) d:out(y) s:";
  Feed("h:weights(>w) h:zero(>h)");
  EXPECT_TRUE(Feed(stateful, 2).empty());
  const auto found = Feed(stateful);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].sequence, stateful);
}

TEST_F(Incremental, StateThroughSeveralExchangesDoesNotMoveTheCut) {
  constexpr std::string_view stateful =
      "h:in(>x) k:one(xhgw>y) d:mid(y) s: h:more(>m) k:two(my>z) k:update(z>hg) d:out(z) s:";
  Feed("h:weights(>w) h:zero(>h) h:zero(>g)");
  EXPECT_TRUE(Feed(stateful, 3).size() <= 1);
  EXPECT_EQ(Feed(stateful).back().sequence, stateful);
}

TEST_F(Incremental, AKnownModelsStateDoesNotBindItToAnother) {
  constexpr std::string_view stateful =
      "h:in(>x) k:one(xhw>y) d:mid(y) s: h:more(>m) k:two(my>z) k:update(z>h) d:out(z) s:";
  Feed("h:weights(>w) h:zero(>h)");
  ASSERT_FALSE(Feed(stateful, 4).empty());
  std::vector<std::string> found;
  for (int turn = 0; turn < 4; ++turn) {
    const auto outcomes = Feed(stateful);
    ASSERT_FALSE(outcomes.empty()) << turn;
    EXPECT_EQ(outcomes.back().sequence, stateful);
    for (const Outcome& o : Feed(kB)) {
      if (o.event == SearchEvent::kFound) found.push_back(o.sequence);
    }
  }
  EXPECT_EQ(found, std::vector<std::string>{std::string(kB)});
}

TEST_F(Incremental, KernelsOfUnknownRoles) {
  constexpr std::string_view unknown = "h:in(>x) k:conv(xwy>xwy) k:add(ybz>ybz) d:out(z) s:";
  Feed(kLoad);
  EXPECT_TRUE(Feed(unknown, 2).empty());
  const auto found = Feed(unknown);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].sequence, unknown);
}

TEST_F(Incremental, OperatorsAfterTheOutputBelongToTheNextSequence) {
  constexpr std::string_view inference = "o:clear(>h) h:in(>x) k:conv(xhw>y) d:out(y) s:";
  Feed("h:weights(>w)");
  EXPECT_TRUE(Feed(inference, 2).empty());
  const auto outcomes = Feed(inference, 2);
  ASSERT_FALSE(outcomes.empty());
  EXPECT_EQ(outcomes.back().sequence, inference);
}

TEST_F(Incremental, TheApplicationChangesModel) {
  Feed(kLoad);
  Feed(kSteady, 10);
  const auto outcomes = Feed("h:weights(>v)");
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_EQ(outcomes[0].event, SearchEvent::kLeft);
  constexpr std::string_view other = "h:in(>x) k:other(xv>y) d:out(y) s:";
  EXPECT_TRUE(Feed(other, 2).empty());
  const auto found = Feed(other);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0], (Outcome{SearchEvent::kFound, words_[0].size(), std::string(other), 2}));
  const auto back = Feed(kSteady);  // begins as the other does
  ASSERT_EQ(back.size(), 1u);
  EXPECT_EQ(back[0], (Outcome{SearchEvent::kInferenceEnd, words_[0].size(), std::string(kSteady), 1}));
}

TEST_F(Incremental, TheSequenceSeenLongestAgoIsForgotten) {
  SearchOptions options;
  options.max_sequences = 1;
  Use(MakeIncrementalSearch, options);
  Feed(InTurns("AAABBB"));
  EXPECT_TRUE(Feed(kA).front().event == SearchEvent::kLeft);
  EXPECT_EQ(finder_->Current(), std::nullopt);
  EXPECT_EQ(Feed(InTurns("AA")).back().sequence, kA) << "and found again, under a new id";
  EXPECT_EQ(finder_->Current()->id, 3u);
}

TEST_F(Incremental, ASequenceLongerThanTheLogIsNotFound) {
  SearchOptions options;
  options.log_capacity = 8;
  Use(MakeIncrementalSearch, options);
  EXPECT_TRUE(Feed(kSteady, 20).empty()) << "3 repeats of 5 operators do not fit";
}

TEST_F(Incremental, LanesBeyondTheLimitAreIgnored) {
  SearchOptions options;
  options.max_lanes = 1;
  Use(MakeIncrementalSearch, options);
  Feed(kSteady, 3, 0);
  EXPECT_TRUE(Feed(kSteady, 5, 1).empty());
  EXPECT_EQ(Feed(kSteady, 1, 0).size(), 1u);
}

TEST_F(Incremental, ProgramsThatAllocateForEverAreStillSearched) {
  Feed("h:weights(>w)");
  Feed(kA, 1, 1);
  std::vector<uint64_t> fresh(1);
  for (uint64_t i = 1; i < 200'000; ++i) {  // more buffers than are remembered
    fresh[0] = i << 12;
    ASSERT_EQ(finder_->Add({OperatorClass::kOther, 1, i, {}, fresh, 7}), SearchEvent::kNone);
  }
  const OperatorRecord steady[] = {{OperatorClass::kHostToDevice, 1, 1, {}, fresh, 7},
                                   {OperatorClass::kCompute, 2, 2, fresh, fresh, 7},
                                   {OperatorClass::kDeviceToHost, 3, 3, fresh, {}, 7}};
  std::vector<SearchEvent> events;
  for (int i = 0; i < 12; ++i) events.push_back(finder_->Add(steady[i % 3]));
  EXPECT_EQ(std::ranges::count(events, SearchEvent::kFound), 1);
  EXPECT_EQ(finder_->Current(7)->length, 3u);
}

}  // namespace
}  // namespace wharf::offload
