#include "wharf/offload/client/prediction/sequence_tracker.h"

#include <gtest/gtest.h>

#include <array>
#include <span>

#include "wharf/offload/search/baselines/baselines.h"
#include "wharf/offload/wire.h"
#include "wharf/offload/wire_codec.h"

namespace wharf::offload {
namespace {

constexpr uint64_t kInput = uint64_t{1} << 40, kOutput = kInput + 4096;

// Not inlined: g++ 12 would warn of an overflow in code that is never reached.
template <typename Op>
[[gnu::noinline]] void Note(SequenceTracker& tracker, OperationId id, const Op& op) {
  tracker.Note(0, id, Op::kNumber, Encode(op));
}

// Two models in turns: one of `kernels` kernels, one of one more.
SequenceCounters AfterTwoModels(OperationId kernels, LaneSearchFactory search) {
  SequenceTracker tracker(search);
  CopyToDevice in;
  in.to.address = kInput;
  in.extent.width = 64;
  CopyToHost out;
  out.from.address = kOutput;
  out.extent.width = 64;
  const std::array<uint64_t, 2> addresses{kInput, kOutput};
  const auto pointers = std::as_bytes(std::span(addresses));
  for (OperationId round = 0; round < 40; ++round) {
    const OperationId model = round % 2;
    Note(tracker, 0, in);
    for (OperationId kernel = 0; kernel < kernels + model; ++kernel) {
      Launch launch;
      launch.function = 1 + 100 * model + kernel;
      launch.parameters = {pointers.begin(), pointers.end()};
      Note(tracker, launch.function, launch);
    }
    Note(tracker, 300, out);
  }
  return tracker.Counters();
}

// On a log on which they differ: two models in turns are a sequence to all but the published search.
TEST(SequenceTrackerTest, UsesTheSearchItIsGiven) {
  EXPECT_EQ(AfterTwoModels(3, MakeIncrementalSearch).sequences, 1);
  EXPECT_EQ(AfterTwoModels(3, MakePublishedSearch).sequences, 0);
  EXPECT_EQ(AfterTwoModels(3, MakeDataDependencySearch).sequences, 1);
}

}  // namespace
}  // namespace wharf::offload
