#include "wharf/offload/search/sequence_finder.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "wharf/offload/search/lane_search.h"

namespace wharf::offload {
namespace {

std::unique_ptr<LaneSearch> MakeLaneSearch(SearchAlgorithm algorithm, const SearchOptions& options, uint64_t* next_id) {
  switch (algorithm) {
    case SearchAlgorithm::kIncremental:
      return MakeIncrementalSearch(options, next_id);
    case SearchAlgorithm::kPublished:
      return MakePublishedSearch(options, next_id);
    case SearchAlgorithm::kDataDependency:
      return MakeDataDependencySearch(options, next_id);
  }
  return nullptr;
}

class LanesFinder : public SequenceFinder {
 public:
  LanesFinder(SearchAlgorithm algorithm, const SearchOptions& options) : algorithm_(algorithm), options_(options) {
    options_.repeats = std::max(options_.repeats, 2u);
    options_.max_sequences = std::max(options_.max_sequences, 1u);
  }

  SearchEvent Add(const OperatorRecord& record) override {
    LaneSearch* lane = Find(record.lane);
    if (lane == nullptr) {
      if (lanes_.size() >= options_.max_lanes) return SearchEvent::kNone;
      lanes_.emplace_back(record.lane, MakeLaneSearch(algorithm_, options_, &next_id_));
      lane = lanes_.back().second.get();
    }
    return lane->Add(record);
  }

  const std::optional<FoundSequence>& Current(uint32_t lane) const override {
    static const std::optional<FoundSequence> none;
    const LaneSearch* search = Find(lane);
    return search != nullptr ? search->Current() : none;
  }

 private:
  LaneSearch* Find(uint32_t lane) const {
    for (const auto& [number, search] : lanes_) {
      if (number == lane) return search.get();
    }
    return nullptr;
  }

  const SearchAlgorithm algorithm_;
  SearchOptions options_;
  uint64_t next_id_ = 1;
  std::vector<std::pair<uint32_t, std::unique_ptr<LaneSearch>>> lanes_;
};

}  // namespace

std::unique_ptr<SequenceFinder> MakeSequenceFinder(SearchAlgorithm algorithm, const SearchOptions& options) {
  return std::make_unique<LanesFinder>(algorithm, options);
}

}  // namespace wharf::offload
