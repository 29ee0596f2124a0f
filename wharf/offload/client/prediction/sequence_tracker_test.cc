#include "wharf/offload/client/prediction/sequence_tracker.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <span>

#include "wharf/offload/wire.h"
#include "wharf/offload/wire_codec.h"

namespace wharf::offload {
namespace {

class SearchFromEnvironmentTest : public ::testing::Test {
 protected:
  ~SearchFromEnvironmentTest() override { unsetenv("WHARF_SEARCH"); }
  static absl::StatusOr<SearchAlgorithm> With(const char* name) {
    setenv("WHARF_SEARCH", name, 1);
    return SearchFromEnvironment();
  }
};

TEST_F(SearchFromEnvironmentTest, KnowsEveryAlgorithmByItsName) {
  unsetenv("WHARF_SEARCH");
  EXPECT_EQ(*SearchFromEnvironment(), SearchAlgorithm::kIncremental);
  EXPECT_EQ(*With("incremental"), SearchAlgorithm::kIncremental);
  EXPECT_EQ(*With("published"), SearchAlgorithm::kPublished);
  EXPECT_EQ(*With("data-dependency"), SearchAlgorithm::kDataDependency);
}

TEST_F(SearchFromEnvironmentTest, AnythingElseIsAMistake) {
  EXPECT_EQ(With("fastest").status().code(), absl::StatusCode::kInvalidArgument);
}

constexpr uint64_t kInput = uint64_t{1} << 40, kOutput = kInput + 4096;

// Not inlined: g++ 12 would warn of an overflow in code that is never reached.
template <typename Op>
[[gnu::noinline]] void Note(SequenceTracker& tracker, OperationId id, const Op& op) {
  tracker.Note(0, id, Op::kNumber, Encode(op));
}

// Two models in turns: one of `kernels` kernels, one of one more. The tracker is the one WHARF_SEARCH asks for.
SequenceCounters AfterTwoModels(OperationId kernels) {
  SequenceTracker tracker;
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
TEST_F(SearchFromEnvironmentTest, TheTrackerUsesIt) {
  EXPECT_EQ(AfterTwoModels(3).sequences, 1);
  ASSERT_TRUE(With("published").ok());
  EXPECT_EQ(AfterTwoModels(3).sequences, 0);
  ASSERT_TRUE(With("data-dependency").ok());
  EXPECT_EQ(AfterTwoModels(3).sequences, 1);
}

}  // namespace
}  // namespace wharf::offload
