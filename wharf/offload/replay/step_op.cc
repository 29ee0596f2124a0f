#include "wharf/offload/replay/step_op.h"

#include <utility>

#include "wharf/offload/copy_extent.h"
#include "wharf/offload/wire_codec.h"

namespace wharf::offload {
namespace {

template <typename... Ops>
bool IsAny(OpList<Ops...>, uint16_t number) {
  return ((Ops::kNumber == number) || ...);
}

template <typename... Ops>
absl::StatusOr<StepOp> DecodeAny(OpList<Ops...>, uint16_t number, std::span<const std::byte> head) {
  absl::StatusOr<StepOp> result = DataLoss("operation {} is no step", number);
  const auto decode = [&]<typename Op>(std::in_place_type_t<Op>) {
    if (Op::kNumber != number) return;
    absl::StatusOr<Op> op = Decode<Op>(head);
    if (op.ok()) {
      result = *std::move(op);
    } else {
      result = DataLoss("a malformed {}: {}", Op::kName, Message(op.status()));
    }
  };
  (decode(std::in_place_type<Ops>), ...);
  return result;
}

}  // namespace

bool IsStep(uint16_t number) { return IsAny(StepOps{}, number); }

absl::StatusOr<StepOp> DecodeStep(uint16_t number, std::span<const std::byte> head) {
  return DecodeAny(StepOps{}, number, head);
}

bool IsAnswered(const StepOp& op) {
  return std::visit([]<typename Op>(const Op&) { return Op::kAnswer == Answer::kBlocking; }, op);
}

uint64_t AnswerBytes(const StepOp& op) {
  const auto* const copy = std::get_if<CopyToHost>(&op);
  return copy == nullptr ? 0 : CopyBytes(copy->extent).value_or(0);
}

std::optional<device::StreamId> StreamOf(const StepOp& op) {
  return std::visit([](const auto& step) { return StreamOf(step); }, op);
}

bool ChangesState(uint16_t number) {
  return IsAny(OpList<MapMemory, UnmapMemory, LoadModule, UnloadModule, DefineFunction, SetMaxDynamicShared,
                      CreateStream, DestroyStream>{},
               number);
}

bool TakesAway(uint16_t number) {
  return IsAny(OpList<UnmapMemory, UnloadModule, SetMaxDynamicShared, DestroyStream>{}, number);
}

}  // namespace wharf::offload
