// The rules: which instructions keep a kernel from being oblivious, and what it reads and writes if none does.
#include "wharf/device/ptx/footprint.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "wharf/device/ptx/footprint_flow.h"
#include "wharf/device/ptx/guard.h"

namespace wharf::device::ptx {
namespace {

constexpr std::string_view kDataAddress = "its address depends on loaded data";
constexpr std::string_view kDataCondition = "whether it runs depends on loaded data";
constexpr std::string_view kDataOperand = "what it does depends on loaded data";
constexpr std::string_view kUnknownAddress = "its address comes from no parameter or variable";

struct Accesses {
  std::set<uint32_t> parameters;
  std::set<std::string> variables;
};

class FootprintRules {
 public:
  explicit FootprintRules(const Flow& flow) : flow_(flow) {}

  KernelFootprint Apply() {
    KernelFootprint footprint;
    for (const Flow::Reached& function : flow_.functions()) {
      for (const Instruction& instruction : function.body.instructions) {
        const std::string_view broken = Check(function, instruction);
        if (broken.empty()) continue;
        footprint.reason = fmt::format("line {}: `{}`: {}", instruction.line, instruction.text, broken);
        return footprint;
      }
    }
    footprint.oblivious = true;
    footprint.written_parameters.assign(written_.parameters.begin(), written_.parameters.end());
    footprint.read_parameters.assign(read_.parameters.begin(), read_.parameters.end());
    footprint.written_variables.assign(written_.variables.begin(), written_.variables.end());
    footprint.read_variables.assign(read_.variables.begin(), read_.variables.end());
    return footprint;
  }

 private:
  // The rule the instruction breaks, "" if none.
  std::string_view Check(const Flow::Reached& function, const Instruction& i) {
    const Effect effect = EffectOf(i);
    if (effect == Effect::kPure || effect == Effect::kNone) return "";
    if (effect == Effect::kUnknown) return "this instruction is not analysed";
    const bool is_parameter = (effect == Effect::kLoad || effect == Effect::kStore) && SpaceOf(i) == Space::kParam;
    if (flow_.GuardTainted(function, i) && !is_parameter) return kDataCondition;
    switch (effect) {
      case Effect::kWarp:
        return CheckWarp(function, i);
      case Effect::kBarrier:
        return CheckBarrier(function, i);
      case Effect::kControl:
        return AnyTainted(function, i.operands) ? kDataOperand : "";
      case Effect::kLoad:
        return CheckAccess(function, i, 1, &read_, nullptr);
      case Effect::kStore:
        return CheckAccess(function, i, 0, nullptr, &written_);
      case Effect::kAtomic:
        return CheckAccess(function, i, 1, &read_, &written_);
      case Effect::kReduction:
        return CheckAccess(function, i, 0, &read_, &written_);
      case Effect::kCopyToShared:
        return CheckCopyToShared(function, i);
      default:
        return "";  // a call: what it calls is checked by itself
    }
  }

  bool AnyTainted(const Flow::Reached& function, std::span<const Operand> operands) const {
    return std::any_of(operands.begin(), operands.end(),
                       [&](const Operand& operand) { return flow_.Of(function, operand).Has(kTainted); });
  }

  // Lanes wait for those that the last operand names.
  std::string_view CheckWarp(const Flow::Reached& function, const Instruction& i) const {
    if (i.opcode == "mma" || !i.Has("sync") || i.operands.empty()) return "";
    return AnyTainted(function, std::span(i.operands).last(1)) ? kDataOperand : "";
  }

  // The number of the barrier and of the threads it waits for; the operand that is reduced may be anything.
  std::string_view CheckBarrier(const Flow::Reached& function, const Instruction& i) const {
    std::span<const Operand> operands = std::span(i.operands).subspan(Flow::Results(i));
    if (i.Has("red") && !operands.empty()) operands = operands.first(operands.size() - 1);
    return AnyTainted(function, operands) ? kDataOperand : "";
  }

  std::string_view CheckCopyToShared(const Flow::Reached& function, const Instruction& i) {
    if (AnyTainted(function, i.operands)) return kDataOperand;
    return AddBases(flow_.Of(function, i.operands[1]), Space::kGlobal, &read_, nullptr);
  }

  // `at`: which operand is the address.
  std::string_view CheckAccess(const Flow::Reached& function, const Instruction& i, size_t at, Accesses* read,
                               Accesses* written) {
    if (at >= i.operands.size()) return "it has no address";
    const Value address = flow_.Of(function, i.operands[at]);
    if (address.Has(kTainted)) return kDataAddress;
    return AddBases(address, SpaceOf(i), read, written);
  }

  std::string_view AddBases(const Value& address, Space space, Accesses* read, Accesses* written) {
    if (space == Space::kParam || space == Space::kShared || space == Space::kLocal) return "";
    if (address.Has(kAssembled)) return "its address is put together from pieces";
    bool known = space == Space::kGeneric && (address.Has(kShared) || address.Has(kLocal));
    for (size_t i = 0; i < flow_.bases().size(); ++i) {
      if (!address.Has(kFirstBase + static_cast<uint32_t>(i))) continue;
      const Base& base = flow_.bases()[i];
      known |= base.kind != Base::Kind::kParameterAddress || written == nullptr;
      for (Accesses* accesses : {read, written}) {
        if (accesses == nullptr) continue;
        if (base.kind == Base::Kind::kParameterWord) accesses->parameters.insert(base.offset);
        if (base.kind == Base::Kind::kVariable) accesses->variables.insert(base.name);
      }
    }
    return known ? "" : kUnknownAddress;
  }

  const Flow& flow_;
  Accesses read_, written_;
};

// What can be said of a kernel that is not oblivious.
void AddGuard(absl::StatusOr<GuardedKernel> guarded, KernelFootprint* footprint) {
  if (!guarded.ok()) {
    footprint->reason += fmt::format("; not guardable: {}", Message(guarded.status()));
    return;
  }
  footprint->guardable = true;
  footprint->written_parameters = std::move(guarded->written_parameters);
  footprint->read_parameters = std::move(guarded->read_parameters);
}

}  // namespace

Footprint Resolve(KernelFootprint footprint, const std::function<absl::StatusOr<Symbol>(const std::string&)>& find) {
  Footprint resolved{
      .oblivious = footprint.oblivious, .reason = std::move(footprint.reason), .guardable = footprint.guardable};
  resolved.written_parameters = std::move(footprint.written_parameters);
  resolved.read_parameters = std::move(footprint.read_parameters);
  for (const auto& [names, symbols] : {std::pair(&footprint.written_variables, &resolved.written_variables),
                                       std::pair(&footprint.read_variables, &resolved.read_variables)}) {
    for (const std::string& name : *names) {
      const absl::StatusOr<Symbol> symbol = find(name);
      if (!symbol.ok()) return {.reason = std::string(Message(symbol.status()))};
      symbols->push_back(*symbol);
    }
  }
  return resolved;
}

absl::StatusOr<KernelFootprint> FootprintOf(const Module& module, std::string_view kernel) {
  Flow flow(module);
  WHARF_RETURN_IF_ERROR(flow.Solve(kernel));
  KernelFootprint footprint;
  if (!flow.obstacle().empty()) {
    footprint.reason = flow.obstacle();
    return footprint;
  }
  footprint = FootprintRules(flow).Apply();
  if (!footprint.oblivious) AddGuard(GuardKernel(module, flow), &footprint);
  return footprint;
}

}  // namespace wharf::device::ptx
