// Data Dependency Search as published (rrto-robotic-iot, section IV-C, Algorithm 3), the earlier baseline.
//
// Where the pseudo-code leaves a choice:
//  - Start operators are those that depend on no other, end operators those that no other depends on; as the paper
//  found in practice, an
//    end operator has to be an output copy, here with the synchronisations that follow it. So the search runs when
//    these are added, with the newest of them as the end.
//  - Verify asks whether repeats of the sequence cover the whole log. Loading never repeats, so the repeats have to
//  cover its end.
//  - FindLongestPair looks for the longest sequence that Verify could accept: candidates are tried from the longest on.
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "wharf/offload/search/baselines/baselines.h"
#include "wharf/offload/search/known_sequences.h"
#include "wharf/offload/search/lane_search.h"
#include "wharf/offload/search/operator_log.h"

namespace wharf::offload {
namespace {

class DataDependencySearch : public LaneSearch {
 public:
  DataDependencySearch(const SearchOptions& options, uint64_t* next_id)
      : options_(options), keys_(options.log_capacity), known_(options, next_id) {}

  SearchEvent Add(const OperatorRecord& record) override {
    const uint64_t key = KeyOf(record);
    const uint64_t index = keys_.Append(key);
    const SearchEvent event = known_.Follow(key, index, boundary_.Before(record.operator_class));
    if (graph_.size() >= options_.log_capacity) {
      graph_.clear();
      writers_.clear();
      first_ = index;
    }
    UpdateGraph(record, index - first_);
    if (known_.Current() || !boundary_.AfterOutput()) return event;
    const uint64_t length = FindLongestPair();
    if (length == 0 || known_.Knows(keys_, length)) return event;
    known_.Learn(keys_, length);
    return SearchEvent::kFound;
  }

  const std::optional<FoundSequence>& Current() const override { return known_.Current(); }

 private:
  struct Node {
    std::vector<uint64_t> producers;  // operators whose results it reads
    bool is_copy_in = false;
  };

  void UpdateGraph(const OperatorRecord& record, uint64_t node) {
    Node& added = graph_.emplace_back();
    added.is_copy_in = record.operator_class == OperatorClass::kHostToDevice;
    for (uint64_t address : record.reads) {
      if (const auto writer = writers_.find(address); writer != writers_.end())
        added.producers.push_back(writer->second);
    }
    for (uint64_t address : record.writes) writers_[address] = node;
  }

  // The length of the longest sequence from a start operator to the newest operator that Verify accepts, or 0.
  uint64_t FindLongestPair() const {
    for (uint64_t start = 0; start < graph_.size(); ++start) {
      const uint64_t length = graph_.size() - start;
      if (!graph_[start].producers.empty() || !graph_[start].is_copy_in || length < options_.min_length) continue;
      if (keys_.EndsWithRepeats(length, options_.repeats)) return length;  // Verify
    }
    return 0;
  }

  const SearchOptions options_;
  OperatorLog keys_;
  Boundary boundary_;
  KnownSequences known_;
  uint64_t first_ = 0;  // index of graph_[0]
  std::vector<Node> graph_;
  absl::flat_hash_map<uint64_t, uint64_t> writers_;
};

}  // namespace

std::unique_ptr<LaneSearch> MakeDataDependencySearch(const SearchOptions& options, uint64_t* next_id) {
  return std::make_unique<DataDependencySearch>(options, next_id);
}

}  // namespace wharf::offload
