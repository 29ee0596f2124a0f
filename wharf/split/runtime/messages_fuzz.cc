// Arbitrary bytes as every message of a split session: decoding must not crash or take more memory than the input
// justifies; what decodes encodes again to the same; and a plan that decodes is carried out only if Check lets it.
//
// The first byte picks the message, the rest is its encoding.
#include <cstdlib>

#include "wharf/split/runtime/messages.h"

namespace wharf::split {
namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

template <typename T>
void DecodeOne(std::span<const std::byte> bytes) {
  const auto decoded = offload::Decode<T>(bytes);
  if (!decoded.ok()) return;
  const auto encoded = offload::Encode(*decoded);
  Require(encoded.size() == bytes.size());
  const auto again = offload::Decode<T>(encoded);
  Require(again.ok() && offload::Encode(*again) == encoded);
}

template <typename T>
void DecodeMany(std::span<const std::byte> bytes) {
  const auto decoded = DecodeList<T>(bytes);
  if (decoded.ok()) Require(EncodeList(*decoded).size() == bytes.size());
}

// Input of 8 rows, a 3-row window, a stride, everything, the output.
const RowGraph& SmallGraph() {
  static const RowGraph kGraph([] {
    Profile profile;
    const std::vector<std::pair<graph::RowRule, int>> operators = {{{graph::RowKind::kRow}, 8},
                                                                   {{graph::RowKind::kWindow, 3, 1, 1, 1}, 8},
                                                                   {{graph::RowKind::kWindow, 2, 2, 0, 1}, 4},
                                                                   {{graph::RowKind::kGlobal}, 1},
                                                                   {{graph::RowKind::kGlobal}, 1}};
    for (const auto& [rule, rows] : operators) {
      graph::Operator op;
      if (!profile.operators.empty()) {
        op.inputs = {profile.Size() - 1};
        op.rules = {rule};
      }
      op.rows = rows;
      op.output_bytes = 4 * rows;
      profile.operators.emplace_back().op = op;
    }
    return profile;
  }());
  return kGraph;
}

void CheckPlan(std::span<const std::byte> bytes) {
  const auto plan = DecodePlan({1, 0, 0, 0, {bytes.begin(), bytes.end()}});
  if (!plan.ok()) return;
  Require(EncodePlan(1, *plan).rows.size() == bytes.size());
  if (!Check(SmallGraph(), *plan).ok()) return;
  for (const Transfer& transfer : Transfers(SmallGraph(), *plan)) {
    Require(transfer.rows > 0 && transfer.rows <= SmallGraph().Rows(transfer.op));
  }
}

void SayGoodbye(std::span<const std::byte> bytes) {
  const auto goodbye = offload::Decode<Goodbye>(bytes);
  if (goodbye.ok()) Require(!StatusOf(*goodbye).ok());
}

constexpr void (*kDecoders[])(std::span<const std::byte>) = {
    DecodeOne<Hello>,     DecodeOne<Welcome>,  DecodeOne<Goodbye>, DecodeOne<OpenModel>, DecodeOne<PlanMessage>,
    DecodeOne<Begin>,     DecodeOne<RowsHead>, DecodeOne<Done>,    DecodeMany<PlanRows>, DecodeMany<Arrival>,
    DecodeMany<Computed>, CheckPlan,           SayGoodbye};

}  // namespace
}  // namespace wharf::split

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto bytes = std::as_bytes(std::span(data, size));
  wharf::split::kDecoders[data[0] % std::size(wharf::split::kDecoders)](bytes.subspan(1));
  return 0;
}
