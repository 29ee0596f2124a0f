// The incremental search on generated logs whose inferences are known: what it reports is right, always.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "wharf/offload/search/baselines/baselines.h"
#include "wharf/offload/search/log_generator.h"
#include "wharf/offload/search/sequence_finder.h"

namespace wharf::offload {
namespace {

// Follows a finder through one log and checks each event against the truth.
class Referee {
 public:
  explicit Referee(const GeneratedLog& log) : log_(log) {
    for (const auto& inference : log.inferences) inference_ends_[inference.end] = inference;
    for (const auto& turn : log.first_turns) turn_ends_[turn.end] = turn;
  }

  // After operator number added - 1. An empty string, or what is wrong.
  std::string Check(SearchEvent event, const std::optional<FoundSequence>& current, uint64_t added) {
    if (event == SearchEvent::kLeft) return current ? "left, yet still in a sequence" : "";
    const auto truth = inference_ends_.find(added);
    const bool reported = event == SearchEvent::kFound || event == SearchEvent::kInferenceEnd;
    if (truth != inference_ends_.end()) Count(truth->second);
    if (!reported) return truth != inference_ends_.end() && MustBeKnown(truth->second) ? Text("missed", added) : "";
    if (!current || current->first + current->length != added) return Text("does not end here", added);
    if (truth != inference_ends_.end() && truth->second.begin == current->first) {
      if (event == SearchEvent::kFound && inferences_[truth->second.model] < 3) return Text("found too soon", added);
      found_.insert(truth->second.model);
      return "";
    }
    if (IsTurn(event, *current, added)) return "";
    return IsRotation(*current) ? "" : Text("is no inference", added);
  }

 private:
  using Range = GeneratedLog::Range;

  // The inferences of one model that follow each other without a gap.
  void Count(const Range& inference) {
    const bool follows = run_.end == inference.begin && run_.model == inference.model;
    run_length_ = follows ? run_length_ + 1 : 1;
    run_ = inference;
    ++inferences_[inference.model];
  }

  bool MustBeKnown(const Range& inference) const { return run_length_ >= 3 && !log_.ambiguous_cut[inference.model]; }

  // A turn in the first inference that has the loop; the turns found then may be reported until the inference itself is
  // found.
  bool IsTurn(SearchEvent event, const FoundSequence& current, uint64_t added) {
    const auto turn = turn_ends_.find(added);
    if (turn != turn_ends_.end() && turn->second.begin == current.first) {
      turn_ids_[current.id] = turn->second.model;
      return true;
    }
    const auto known = turn_ids_.find(current.id);
    return event == SearchEvent::kInferenceEnd && known != turn_ids_.end() && !found_.contains(known->second);
  }

  // Of a model whose cut is a convention: as many operators as an inference, wherever it begins.
  bool IsRotation(const FoundSequence& current) const {
    return std::ranges::any_of(log_.inferences, [&](const Range& inference) {
      return log_.ambiguous_cut[inference.model] && inference.end - inference.begin == current.length;
    });
  }

  static std::string Text(const std::string& what, uint64_t added) {
    return what + " after " + std::to_string(added) + " operators";
  }

  const GeneratedLog& log_;
  std::map<uint64_t, Range> inference_ends_, turn_ends_;
  std::map<uint64_t, size_t> turn_ids_;  // ids of sequences that were turns, and of which model
  std::set<size_t> found_;
  std::map<size_t, uint64_t> inferences_;  // so far, of each model
  Range run_{};
  uint64_t run_length_ = 0;
};

std::string Judge(const GeneratedLog& log, SequenceFinder& finder) {
  Referee referee(log);
  for (uint64_t i = 0; i < log.order.size(); ++i) {
    const SearchEvent event = finder.Add(log.operators[log.order[i]].Record());
    const std::string wrong = referee.Check(event, finder.Current(), i + 1);
    if (!wrong.empty()) return wrong;
  }
  return "";
}

LogFeatures AnyFeatures() {
  LogFeatures f;
  for (bool* feature :
       {&f.load, &f.different_first, &f.several_exchanges, &f.inner_outputs, &f.kernel_loops, &f.copy_loops, &f.state,
        &f.unknown_roles, &f.lead_in, &f.deviations, &f.alternate, &f.reuse_buffers}) {
    *feature = *rc::gen::arbitrary<bool>();
  }
  f.models = *rc::gen::inRange(1, 4);
  f.kernels = *rc::gen::inRange(1, 12);
  f.inferences = *rc::gen::inRange(1, 12);
  if (f.alternate) f.reuse_buffers = false;  // who takes turns cannot share memory that holds results
  // In memory that held another model's results, state looks like these.
  if (f.reuse_buffers && (f.several_exchanges || f.copy_loops)) f.state = false;
  // Unknown roles make everything state, and state binds models of several exchanges that take turns.
  if (f.alternate && f.unknown_roles) f.several_exchanges = f.copy_loops = false;
  return f;
}

// As short as it takes to make the log again.
std::string Text(const LogFeatures& f) {
  std::string text;
  for (bool feature : {f.load, f.different_first, f.several_exchanges, f.inner_outputs, f.kernel_loops, f.copy_loops,
                       f.state, f.unknown_roles, f.lead_in, f.deviations, f.alternate, f.reuse_buffers}) {
    text += feature ? '1' : '0';
  }
  return text + " " + std::to_string(f.models) + " " + std::to_string(f.kernels) + " " + std::to_string(f.inferences);
}

// What the program did three times in a row is found when the third ends, and what is reported is always an inference.
RC_GTEST_PROP(SequenceFinderProperty, WhatIsFoundIsAnInference, ()) {
  const LogFeatures features = AnyFeatures();
  const uint64_t first_seed = *rc::gen::arbitrary<uint32_t>();
  for (uint64_t seed = first_seed; seed < first_seed + 50; ++seed) {  // thousands of logs in all
    const GeneratedLog log = GenerateLog(features, seed);
    const auto finder = MakeSequenceFinder({});
    const std::string wrong = Judge(log, *finder);
    if (!wrong.empty()) RC_FAIL(wrong + " in " + Text(features) + " " + std::to_string(seed));
  }
}

// Threads: records of several programs, each in a lane, in any order.
RC_GTEST_PROP(SequenceFinderProperty, LanesDoNotDisturbEachOther, ()) {
  const uint64_t seed = *rc::gen::arbitrary<uint64_t>();
  std::vector<GeneratedLog> logs;
  for (int lane = 0; lane < 3; ++lane) logs.push_back(GenerateLog(AnyFeatures(), seed + static_cast<uint64_t>(lane)));
  std::vector<Referee> referees(logs.begin(), logs.end());
  std::vector<uint64_t> added(logs.size());
  const auto finder = MakeSequenceFinder({});
  std::mt19937_64 random(seed);
  for (size_t left = 3; left > 0;) {
    const size_t lane = random() % logs.size();
    if (added[lane] == logs[lane].order.size()) continue;
    const uint32_t number = static_cast<uint32_t>(lane);
    const SearchEvent event = finder->Add(logs[lane].operators[logs[lane].order[added[lane]]].Record(number));
    const std::string wrong = referees[lane].Check(event, finder->Current(number), ++added[lane]);
    if (!wrong.empty()) RC_FAIL(wrong);
    if (added[lane] == logs[lane].order.size()) --left;
  }
}

// A million operators: every ring has turned over many times.
TEST(SequenceFinderLongLogs, WhatIsFoundIsAnInference) {
  uint64_t longest = 0;
  for (uint64_t seed = 0; seed < 16; ++seed) {
    LogFeatures features;
    features.different_first = features.lead_in = features.deviations = true;
    features.several_exchanges = seed % 2 == 0;
    features.inner_outputs = features.state = seed % 3 == 0;
    features.kernel_loops = features.copy_loops = seed % 5 == 0;
    features.alternate = seed % 4 < 2;
    features.models = 3;
    features.kernels = 40;
    features.inferences = 6000;
    const GeneratedLog log = GenerateLog(features, seed);
    longest = std::max(longest, static_cast<uint64_t>(log.order.size()));
    const auto finder = MakeSequenceFinder({});
    EXPECT_EQ(Judge(log, *finder), "") << Text(features) << " " << seed;
  }
  EXPECT_GT(longest, 1'000'000u);
}

// The referee itself: what the published searches get wrong, it sees.
TEST(SequenceFinderReferee, SeesWhatIsWrong) {
  LogFeatures features;
  features.several_exchanges = features.copy_loops = features.state = true;
  int wrong = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const GeneratedLog log = GenerateLog(features, seed);
    wrong += Judge(log, *MakeSequenceFinder({}, MakeDataDependencySearch)).empty() ? 0 : 1;
  }
  EXPECT_GT(wrong, 0);
}

}  // namespace
}  // namespace wharf::offload
