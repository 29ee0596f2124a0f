#include "wharf/offload/search/sequence_finder.h"

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

class SequenceFinderTest : public ::testing::TestWithParam<SearchAlgorithm> {
 protected:
  void Use(SearchAlgorithm algorithm, SearchOptions options = {}) { finder_ = MakeSequenceFinder(algorithm, options); }

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
        outcome.sequence += (i > found->first ? " " : "") + words_[lane][i];
      }
    }
    outcomes.push_back(outcome);
  }

  std::unique_ptr<SequenceFinder> finder_ = MakeSequenceFinder(SearchAlgorithm::kIncremental, {});
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

std::string NameOf(const ::testing::TestParamInfo<SearchAlgorithm>& info) {
  switch (info.param) {
    case SearchAlgorithm::kIncremental:
      return "Incremental";
    case SearchAlgorithm::kPublished:
      return "Published";
    case SearchAlgorithm::kDataDependency:
      return "DataDependency";
  }
  return "";
}
INSTANTIATE_TEST_SUITE_P(Algorithms, EveryAlgorithm,
                         ::testing::Values(SearchAlgorithm::kIncremental, SearchAlgorithm::kPublished,
                                           SearchAlgorithm::kDataDependency),
                         NameOf);

}  // namespace
}  // namespace wharf::offload
