// Finds the operator sequence of an inference in the stream of operators a program issues, with no hint from it.
//
//   auto finder = MakeSequenceFinder({});
//   switch (finder->Add(record)) {
//     case SearchEvent::kFound: ...          // finder->Current(record.lane) describes the sequence that ended just now
//
// What counts as an inference, and why, is docs/replay.md, "Finding the sequence". The problem is RRTO's; the
// algorithms that it publishes are in search/baselines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace wharf::offload {

enum class OperatorClass : uint8_t { kHostToDevice, kDeviceToHost, kDeviceToDevice, kSynchronize, kCompute, kOther };

// One operator as the program issued it.
struct OperatorRecord {
  OperatorClass operator_class = OperatorClass::kOther;
  uint64_t tag = 0;       // which function: the kernel, the kind of copy
  uint64_t identity = 0;  // a 64-bit hash of the function and of all arguments that are equal when an inference repeats
  // Base addresses of the allocations it may read and write. What could be either stands in both. They serve to tell
  // where an inference begins, not to order execution: too coarse lists cost findings, never a program's results.
  std::span<const uint64_t> reads = {}, writes = {};
  // The program's thread or stream. Lanes are searched independently of each other, so an operator of one may stand
  // anywhere between those of another; a buffer that another lane writes counts as an input.
  uint32_t lane = 0;
};

enum class SearchEvent : uint8_t {
  kNone,
  kFound,         // a sequence was found; the operator just added is the last of its latest repeat
  kInferenceEnd,  // the operator just added completes one more repeat of a sequence found earlier
  kLeft,          // the operator just added continues no sequence found; the search goes on
};

struct FoundSequence {
  uint64_t id = 0;       // the same for every repeat of the same sequence; from 1, never used twice by one finder
  uint64_t first = 0;    // where the latest whole repeat begins: index, from 0, among the records of its lane
  uint64_t length = 0;   // operators
  uint64_t repeats = 0;  // seen since it was found, those that it was found by included
};

struct SearchOptions {
  // How often a sequence must have occurred, one after the other, to be found: three, so that it is known when the
  // third steady inference ends, and a loop of two turns is not taken for an inference. At least 2.
  uint32_t repeats = 3;
  uint32_t min_length = 3;                    // operators: an input, a kernel, an output
  uint64_t log_capacity = uint64_t{1} << 20;  // records kept of each lane; the sequence times `repeats` must fit
  uint32_t max_lanes = 16;                    // records of further lanes are ignored
  uint32_t max_sequences = 16;                // remembered of each lane; the one not seen for longest is forgotten
};

// Not thread-safe: the caller's lock orders the records.
class SequenceFinder {
 public:
  virtual ~SequenceFinder() = default;

  // Records one operator. The record's spans are read during the call only. Ours: amortised O(1) in the length
  // of the log (a hash lookup a buffer, and at an input copy O(log capacity)), no allocation while nothing new is
  // found.
  virtual SearchEvent Add(const OperatorRecord& record) = 0;

  // The sequence that the lane's program is in: since kFound or kInferenceEnd, until kLeft.
  virtual const std::optional<FoundSequence>& Current(uint32_t lane = 0) const = 0;
};

// Makes the search of one lane (lane_search.h). `next_id` is shared by the lanes of a finder and outlives them.
class LaneSearch;
using LaneSearchFactory = std::unique_ptr<LaneSearch> (*)(const SearchOptions& options, uint64_t* next_id);

// Ours: constant work a record, sequences that alternate, loops.
std::unique_ptr<LaneSearch> MakeIncrementalSearch(const SearchOptions& options, uint64_t* next_id);

std::unique_ptr<SequenceFinder> MakeSequenceFinder(const SearchOptions& options,
                                                   LaneSearchFactory search = MakeIncrementalSearch);

}  // namespace wharf::offload
