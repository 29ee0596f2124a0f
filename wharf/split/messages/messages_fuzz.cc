// Arbitrary bytes as every message of a split session: decoding must not crash or take more memory than the input
// justifies; what decodes encodes again to the same; and a plan that decodes is carried out only if Check lets it.
//
// The first byte picks the message, the rest is its encoding.
#include <cstdlib>

#include "wharf/split/messages/messages.h"

namespace wharf::split {
namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

template <typename T>
void DecodeOne(std::span<const std::byte> bytes) {
  const auto decoded = wire::Decode<T>(bytes);
  if (!decoded.ok()) return;
  const auto encoded = wire::Encode(*decoded);
  Require(encoded.size() == bytes.size());
  const auto again = wire::Decode<T>(encoded);
  Require(again.ok() && wire::Encode(*again) == encoded);
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

// The first byte says how many bands there are.
void TryPlan(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  constexpr size_t kBandBytes = 3 * sizeof(int32_t);
  const size_t bands = std::min(static_cast<size_t>(bytes[0]) / 2 * kBandBytes, bytes.size() - 1);
  PlanMessage message;
  message.gathered = static_cast<int>(bytes[0]) % 2 == 1;
  message.bands.assign(bytes.begin() + 1, bytes.begin() + 1 + bands);
  message.rows.assign(bytes.begin() + 1 + bands, bytes.end());
  const auto plan = DecodePlan(message);
  if (!plan.ok()) return;
  Require(EncodePlan(1, *plan).rows == message.rows && EncodePlan(1, *plan).bands == message.bands);
  if (!CheckPlan(SmallGraph(), *plan).ok()) return;
  const RowGraph graph = WithLayout(SmallGraph(), plan->layout);
  for (const Transfer& transfer : Transfers(graph, *plan)) {
    Require(transfer.rows > 0 && transfer.rows <= graph.Rows(transfer.op));
  }
}

void SayGoodbye(std::span<const std::byte> bytes) {
  const auto goodbye = wire::Decode<Goodbye>(bytes);
  if (goodbye.ok()) Require(!StatusOf(*goodbye).ok());
}

constexpr void (*kDecoders[])(std::span<const std::byte>) = {DecodeOne<Hello>,
                                                             DecodeOne<Welcome>,
                                                             DecodeOne<Goodbye>,
                                                             DecodeOne<OpenModel>,
                                                             DecodeOne<PlanMessage>,
                                                             DecodeOne<Begin>,
                                                             DecodeOne<RowsHead>,
                                                             DecodeOne<Done>,
                                                             DecodeMany<PlanRows>,
                                                             DecodeMany<Arrival>,
                                                             DecodeMany<Computed>,
                                                             DecodeMany<PlanBand>,
                                                             TryPlan,
                                                             SayGoodbye};

}  // namespace
}  // namespace wharf::split

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto bytes = std::as_bytes(std::span(data, size));
  wharf::split::kDecoders[data[0] % std::size(wharf::split::kDecoders)](bytes.subspan(1));
  return 0;
}
