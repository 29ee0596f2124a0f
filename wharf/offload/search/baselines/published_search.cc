// Operator Sequence Search as published (rrto-mec, section III-B2, Algorithms 1 and 2), the baseline.
//
// Where the pseudo-code leaves a choice or cannot be meant:
//  - The client calls it for every operator; here it runs when an output copy, or a synchronisation that follows one,
//  was added: `end`
//    is MAX(T), so nothing else can change the answer. As published, it runs only while no sequence is known, and reads
//    the whole log.
//  - Algorithm 1, line 9 takes the length as end - j and Algorithm 2, line 10 the end as start + length - 1, so that a
//  candidate from j
//    could never end in T. The length is end - j + 1.
//  - Copies count with the synchronisations that follow them ("grouping"): T holds the last of each such group.
//  - The order in which starts are tried is not said. The latest start comes first: a longer candidate can be a
//  multiple of the sequence.
//  - FullCheck's candidates k < j end before `end`. They were found when their own last operator was added, or
//  FullCheck refuses them
//    now as it did then; the search is done at its cost, and only what ends now is returned.
//  - CheckDataDependency is given in words: what an operator reads comes from an earlier operator of the sequence
//  (input copies are such)
//    or from a buffer the sequence does not write, a parameter. So a sequence that carries state is refused.
#include <algorithm>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "wharf/offload/search/baselines/baselines.h"
#include "wharf/offload/search/known_sequences.h"
#include "wharf/offload/search/lane_search.h"
#include "wharf/offload/search/operator_log.h"

namespace wharf::offload {
namespace {

class PublishedSearch : public LaneSearch {
 public:
  PublishedSearch(const SearchOptions& options, uint64_t* next_id)
      : options_(options), keys_(options.log_capacity), known_(options, next_id) {}

  SearchEvent Add(const OperatorRecord& record) override {
    const uint64_t key = KeyOf(record);
    const uint64_t index = keys_.Append(key);
    const SearchEvent event = known_.Follow(key, index, boundary_.Before(record.operator_class));
    if (logs_.size() >= options_.log_capacity) {
      logs_.clear();
      addresses_.clear();
    }
    const auto copy = [&](std::span<const uint64_t> from) {
      addresses_.insert(addresses_.end(), from.begin(), from.end());
      return static_cast<uint64_t>(addresses_.size());
    };
    const uint64_t begin = addresses_.size();
    const uint64_t reads_end = copy(record.reads);
    logs_.push_back({record.operator_class, record.tag, key, begin, reads_end, copy(record.writes)});
    if (known_.Current() || !boundary_.AfterOutput()) return event;
    const uint64_t length = OperatorSequenceSearch();
    if (length < options_.min_length || known_.Knows(keys_, length)) return event;
    known_.Learn(keys_, length);
    return SearchEvent::kFound;
  }

  const std::optional<FoundSequence>& Current() const override { return known_.Current(); }

 private:
  struct Entry {
    OperatorClass operator_class;
    uint64_t tag, key;
    uint64_t reads_begin, reads_end, writes_end;  // in addresses_; the writes follow the reads
  };

  // Algorithm 1. The length of the sequence that ends the log, or 0.
  uint64_t OperatorSequenceSearch() {
    std::vector<uint64_t> inputs, starts, tags;  // S, starts, Tags
    std::vector<bool> is_end(logs_.size());      // T
    Boundary boundary;
    for (uint64_t i = 0; i < logs_.size(); ++i) {
      const bool was_after_output = boundary.AfterOutput();
      boundary.Before(logs_[i].operator_class);
      if (was_after_output && (!boundary.AfterOutput() || logs_[i].operator_class == OperatorClass::kDeviceToHost)) {
        is_end[i - 1] = true;
        starts.push_back(i);
      }
      if (logs_[i].operator_class == OperatorClass::kHostToDevice) {
        inputs.push_back(i);
        if (starts.empty() || starts.back() != i) starts.push_back(i);
      }
      tags.push_back(logs_[i].tag);
    }
    const uint64_t end = logs_.size() - 1;
    is_end[end] = true;
    for (auto j = starts.rbegin(); j != starts.rend(); ++j) {
      const uint64_t length = end - *j + 1;
      if (!FastCheck(tags, *j, length)) continue;
      const auto last = std::ranges::upper_bound(inputs, *j);
      const auto first = std::ranges::lower_bound(inputs, *j < length ? 0 : *j - length);
      for (auto k = last; k != first;) {
        if (FullCheck(*--k, length, is_end) && *k == *j) return length;
      }
    }
    return 0;
  }

  bool FastCheck(const std::vector<uint64_t>& tags, uint64_t start, uint64_t length) const {
    const auto candidate = tags.begin() + static_cast<ptrdiff_t>(start);
    uint64_t count = 0;
    for (auto position = static_cast<ptrdiff_t>(start); position >= 0; position -= static_cast<ptrdiff_t>(length)) {
      if (!std::equal(candidate, candidate + static_cast<ptrdiff_t>(length), tags.begin() + position)) break;
      ++count;
    }
    return count >= options_.repeats;
  }

  bool FullCheck(uint64_t start, uint64_t length, const std::vector<bool>& is_end) {
    if (!is_end[start + length - 1] || !CheckDataDependency(start, length)) return false;
    uint64_t count = 0;
    for (uint64_t position = start;; position -= length) {
      for (uint64_t t = 0; t < length; ++t) {
        if (logs_[start + t].key != logs_[position + t].key) return count >= options_.repeats;
      }
      ++count;
      if (position < length) return count >= options_.repeats;
    }
  }

  bool CheckDataDependency(uint64_t start, uint64_t length) {
    written_.clear();
    read_first_.clear();
    for (uint64_t i = start; i < start + length; ++i) {
      const Entry& entry = logs_[i];
      for (uint64_t a = entry.reads_begin; a < entry.reads_end; ++a) {
        if (!written_.contains(addresses_[a])) read_first_.insert(addresses_[a]);
      }
      for (uint64_t a = entry.reads_end; a < entry.writes_end; ++a) {
        if (read_first_.contains(addresses_[a])) return false;
        written_.insert(addresses_[a]);
      }
    }
    return true;
  }

  const SearchOptions options_;
  OperatorLog keys_;
  Boundary boundary_;
  KnownSequences known_;
  std::vector<Entry> logs_;
  std::vector<uint64_t> addresses_;
  absl::flat_hash_set<uint64_t> written_, read_first_;  // within a candidate
};

}  // namespace

std::unique_ptr<LaneSearch> MakePublishedSearch(const SearchOptions& options, uint64_t* next_id) {
  return std::make_unique<PublishedSearch>(options, next_id);
}

}  // namespace wharf::offload
