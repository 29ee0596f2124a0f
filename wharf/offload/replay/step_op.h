// StepOp: a decoded operation of StepOps, and what the server's replay needs to know about it.
#pragma once

#include <optional>
#include <span>
#include <variant>

#include "wharf/base/status.h"
#include "wharf/offload/wire.h"

namespace wharf::offload {

template <typename List>
struct VariantOfList;
template <typename... Ops>
struct VariantOfList<OpList<Ops...>> {
  using type = std::variant<Ops...>;
};
using StepOp = VariantOfList<StepOps>::type;

// True for the numbers of StepOps.
bool IsStep(uint16_t number);
// kDataLoss if `head` is not such an operation. REQUIRES: IsStep(number).
absl::StatusOr<StepOp> DecodeStep(uint16_t number, std::span<const std::byte> head);
// Whether the operation is answered.
bool IsAnswered(const StepOp& op);
// Of data that an operation's answer brings.
uint64_t AnswerBytes(const StepOp& op);
// The stream whose work an operation joins; nullopt for what concerns the device or an event.
template <typename Op>
std::optional<device::StreamId> StreamOf(const Op& op) {
  if constexpr (requires { op.stream; }) {
    return op.stream;
  } else {
    return std::nullopt;
  }
}
std::optional<device::StreamId> StreamOf(const StepOp& op);
// Whether it changes what is there: memory, code, streams.
bool ChangesState(uint16_t number);
// Whether it takes away what a step that ran before without a fault may rely on.
bool TakesAway(uint16_t number);

}  // namespace wharf::offload
