#include "wharf/offload/search/sequence_finder.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "wharf/offload/search/lane_search.h"

namespace wharf::offload {
namespace {

class LanesFinder : public SequenceFinder {
 public:
  LanesFinder(const SearchOptions& options, LaneSearchFactory search) : search_(search), options_(options) {
    options_.repeats = std::max(options_.repeats, 2u);
    options_.max_sequences = std::max(options_.max_sequences, 1u);
  }

  SearchEvent Add(const OperatorRecord& record) override {
    LaneSearch* lane = Find(record.lane);
    if (lane == nullptr) {
      if (lanes_.size() >= options_.max_lanes) return SearchEvent::kNone;
      lanes_.emplace_back(record.lane, search_(options_, &next_id_));
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

  const LaneSearchFactory search_;
  SearchOptions options_;
  uint64_t next_id_ = 1;
  std::vector<std::pair<uint32_t, std::unique_ptr<LaneSearch>>> lanes_;
};

}  // namespace

std::unique_ptr<SequenceFinder> MakeSequenceFinder(const SearchOptions& options, LaneSearchFactory search) {
  return std::make_unique<LanesFinder>(options, search);
}

}  // namespace wharf::offload
