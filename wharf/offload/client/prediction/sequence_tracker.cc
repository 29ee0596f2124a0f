#include "wharf/offload/client/prediction/sequence_tracker.h"

#include <cstring>

#include "wharf/base/trace.h"
#include "wharf/offload/replay/step_op.h"

namespace wharf::offload {
namespace {

constexpr uint64_t kSmallestAddress = uint64_t{1} << 32;

// The words of a kernel's parameters that may be addresses: what each is for is not known here.
std::vector<uint64_t> Pointers(const std::vector<std::byte>& parameters) {
  std::vector<uint64_t> pointers;
  for (size_t at = 0; at + sizeof(uint64_t) <= parameters.size(); at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, parameters.data() + at, sizeof(word));
    if (word >= kSmallestAddress && word >> 48 == 0) pointers.push_back(word);
  }
  return pointers;
}

struct Roles {
  OperatorClass operator_class = OperatorClass::kOther;
  std::vector<uint64_t> reads, writes;
};

struct RolesOf {
  Roles operator()(const CopyToDevice& op) const { return {OperatorClass::kHostToDevice, {}, {op.to.address}}; }
  Roles operator()(const CopyToHost& op) const { return {OperatorClass::kDeviceToHost, {op.from.address}, {}}; }
  Roles operator()(const CopyOnDevice& op) const {
    return {OperatorClass::kDeviceToDevice, {op.from.address}, {op.to.address}};
  }
  Roles operator()(const Fill& op) const { return {OperatorClass::kCompute, {}, {op.to.address}}; }
  Roles operator()(const Launch& op) const {
    const std::vector<uint64_t> pointers = Pointers(op.parameters);
    return {OperatorClass::kCompute, pointers, pointers};
  }
  Roles operator()(const RunGemm& op) const {
    return {OperatorClass::kCompute, {op.gemm.a, op.gemm.b}, {op.gemm.d != 0 ? op.gemm.d : op.gemm.c}};
  }
  template <RunsPrimitive Op>
  Roles operator()(const Op& op) const {
    Roles roles{OperatorClass::kCompute, {}, {}};
    const auto anywhere = [](device::DeviceAddress, uint64_t) { return true; };
    if (!device::CheckPrimitive(op.primitive, anywhere).ok()) return roles;
    for (const device::PrimitiveOperand& operand : device::OperandsOf(op.primitive)) {
      if (operand.read) roles.reads.push_back(operand.address);
      if (operand.written) roles.writes.push_back(operand.address);
    }
    return roles;
  }
  Roles operator()(const SynchronizeStream&) const { return {OperatorClass::kSynchronize, {}, {}}; }
  Roles operator()(const SynchronizeDevice&) const { return {OperatorClass::kSynchronize, {}, {}}; }
  Roles operator()(const SynchronizeEvent&) const { return {OperatorClass::kSynchronize, {}, {}}; }
  template <typename Op>
  Roles operator()(const Op&) const {
    return {};
  }
};

}  // namespace

SequenceTracker::SequenceTracker(LaneSearchFactory search) : finder_(MakeSequenceFinder({}, search)) {}

SequenceTracker::Facts SequenceTracker::FactsOf(uint16_t number, std::span<const std::byte> head) {
  Facts facts;
  facts.known = true;
  facts.identity = HashOperation(number, head);
  facts.tag = number;
  const absl::StatusOr<StepOp> op = DecodeStep(number, head);
  if (!op.ok()) return facts;
  Roles roles = std::visit(RolesOf(), *op);
  facts.operator_class = roles.operator_class;
  facts.reads = std::move(roles.reads);
  facts.writes = std::move(roles.writes);
  if (const auto* const launch = std::get_if<Launch>(&*op)) facts.tag |= launch->function << 16;
  return facts;
}

void SequenceTracker::Note(uint64_t lane, OperationId id, uint16_t number, std::span<const std::byte> head) {
  if (id >= facts_.size()) facts_.resize(id + 1);
  Facts& facts = facts_[id];
  if (!facts.known) facts = FactsOf(number, head);
  OperatorRecord record;
  record.operator_class = facts.operator_class;
  record.tag = facts.tag;
  record.identity = facts.identity;
  record.reads = facts.reads;
  record.writes = facts.writes;
  record.lane = static_cast<uint32_t>(lane);
  const SearchEvent event = finder_->Add(record);
  if (event != SearchEvent::kNone) Report(event, record.lane);
}

void SequenceTracker::Report(SearchEvent event, uint32_t lane) {
  Trace* const trace = Trace::Get();
  if (event == SearchEvent::kLeft) {
    if (trace != nullptr) trace->Instant("sequence left", "offload");
    return;
  }
  const std::optional<FoundSequence>& sequence = finder_->Current(lane);
  if (!sequence) return;
  counters_.sequence_length = sequence->length;
  counters_.inferences += event == SearchEvent::kFound ? sequence->repeats : 1;
  found_.insert(sequence->id);
  counters_.sequences = found_.size();
  if (trace == nullptr) return;
  trace->Instant(event == SearchEvent::kFound ? "sequence found" : "inference", "offload",
                 TraceArgs().Add("sequence", sequence->id).Add("operations", sequence->length));
}

}  // namespace wharf::offload
