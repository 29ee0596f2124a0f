// The incremental search on generated logs whose inferences are known: what it reports is right, always.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

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
    if (truth != inference_ends_.end()) Count(truth->second, reported);
    if (!reported) return truth != inference_ends_.end() && MustBeKnown(truth->second) ? Text("missed", added) : "";
    if (!current || current->first + current->length != added) return Text("does not end here", added);
    if (truth != inference_ends_.end() && truth->second.begin == current->first) {
      ++found_[truth->second.model];
      return "";
    }
    if (IsTurn(event, *current, added)) return "";
    return IsRotation(*current) ? "" : Text("is no inference", added);
  }

  bool Found(size_t model) const { return found_.contains(model); }

 private:
  using Range = GeneratedLog::Range;

  // The inferences of one model that follow each other without a gap.
  void Count(const Range& inference, bool) {
    const bool follows = run_.end == inference.begin && run_.model == inference.model;
    run_length_ = follows ? run_length_ + 1 : 1;
    run_ = inference;
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
  std::map<size_t, uint64_t> found_;
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

RC_GTEST_PROP(SequenceFinderProperty, WhatIsFoundIsAnInference, ()) {
  const LogFeatures features = AnyFeatures();
  const uint64_t seed = *rc::gen::arbitrary<uint64_t>();
  const GeneratedLog log = GenerateLog(features, seed);
  const auto finder = MakeSequenceFinder(SearchAlgorithm::kIncremental, {});
  const std::string wrong = Judge(log, *finder);
  if (!wrong.empty()) RC_FAIL(wrong + " in " + Text(features) + " " + std::to_string(seed));
}

}  // namespace
}  // namespace wharf::offload
