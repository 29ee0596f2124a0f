#include "wharf/device/ptx/guard_rules.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "wharf/device/device.h"

namespace wharf::device::ptx {
namespace {

// Bound of the text that is written; real kernels stay an order below. A check is one range or variable that one access
// is compared with.
constexpr size_t kMaxChecks = size_t{1} << 14;
constexpr size_t kMaxVariables = 256;  // of each space
constexpr std::string_view kWaitsOnData = "whether it is reached by all it waits for depends on loaded data";
constexpr std::string_view kMalformed = "it is not understood";

bool IsAddress(const Operand& operand) { return std::holds_alternative<AddressOperand>(operand.value); }

// Where the address of a memory instruction stands among its operands.
size_t AddressOperandOf(const Instruction& i) { return EffectOf(i) == Effect::kLoad || EffectOf(i) == Effect::kAtomic; }

uint32_t VectorWidth(const Instruction& i) { return i.Has("v8") ? 8 : i.Has("v4") ? 4 : i.Has("v2") ? 2 : 1; }

class GuardRules {
 public:
  GuardRules(const Module& module, const Flow& flow)
      : module_(module), flow_(flow), kernel_(flow.functions().front()), body_(kernel_.body) {}

  absl::StatusOr<GuardPlan> Apply() {
    if (const std::string why = CheckVariables(); !why.empty()) return Refused(why);
    for (const Instruction& i : body_.instructions) {
      if (const std::string_view broken = CheckSymbols(i); !broken.empty()) return Refused(AtInstruction(i, broken));
    }
    control_tainted_ = std::any_of(body_.instructions.begin(), body_.instructions.end(), [&](const Instruction& i) {
      return EffectOf(i) == Effect::kControl && flow_.GuardTainted(kernel_, i);
    });
    for (uint32_t at = 0; at < body_.instructions.size(); ++at) {
      const Instruction& i = body_.instructions[at];
      if (const std::string_view broken = Check(i, at); !broken.empty()) return Refused(AtInstruction(i, broken));
    }
    if (Checks() > kMaxChecks) return Refused("it has too many accesses to check");
    return std::move(plan_);
  }

 private:
  size_t Checks() const {
    size_t checks = 0;
    for (const auto& [at, access] : plan_.accesses) {
      checks += access.space == Space::kGlobal   ? access.parameters.size()
                : access.space == Space::kShared ? plan_.shared.size()
                                                 : plan_.local.size();
    }
    return checks;
  }

  static absl::Status Refused(const std::string& why) { return CudaStatus(CudaError::kNotSupported, "{}", why); }

  // Fills in the variables that accesses are checked against.
  std::string CheckVariables() {
    for (const Variable& parameter : kernel_.function->parameters) {
      if (!parameter.opaque.empty()) return fmt::format("its parameter {} is a {}", parameter.name, parameter.opaque);
    }
    for (const Variable& variable : body_.variables) {
      if (variable.space == Space::kGlobal || variable.space == Space::kConst) {
        return fmt::format("its variable {} outlives a launch", variable.name);
      }
      if (variable.space != Space::kShared && variable.space != Space::kLocal) continue;
      const size_t dot = variable.name.find('.');  // see Body::variables
      if (dot != std::string::npos) return fmt::format("it declares {} twice", variable.name.substr(0, dot));
      (variable.space == Space::kShared ? plan_.shared : plan_.local).push_back(variable);
    }
    if (std::max(plan_.shared.size(), plan_.local.size()) > kMaxVariables) return "it has too many variables";
    return "";
  }

  // The module's shared variables are taken along, its other names are not.
  std::string_view CheckSymbols(const Instruction& i) {
    std::string_view broken;
    for (const Operand& operand : i.operands) {
      VisitSymbols(operand, [&](const SymbolOperand& symbol) {
        const std::string& name = symbol.name;
        if (module_.FindFunction(name) != nullptr) broken = "it names a function";
        const Variable* variable = module_.FindVariable(name);
        if (variable == nullptr) return;
        if (variable->space != Space::kShared) {
          broken = "it names a variable of the module";
        } else if (plan_.shared.size() > kMaxVariables) {
          broken = "it has too many variables";
        } else if (FindVariable(plan_.shared, name) == nullptr) {
          plan_.shared.push_back(*variable);
        }
      });
    }
    return broken;
  }

  static const Variable* FindVariable(const std::vector<Variable>& list, const std::string& name) {
    const auto found =
        std::find_if(list.begin(), list.end(), [&](const Variable& variable) { return variable.name == name; });
    return found == list.end() ? nullptr : &*found;
  }

  // The rule the instruction breaks, "" if none.
  std::string_view Check(const Instruction& i, uint32_t at) {
    switch (EffectOf(i)) {
      case Effect::kPure:
      case Effect::kNone:
        return "";
      case Effect::kWarp:
        return i.Has("sync") ? CheckWait(i, WarpOperands(i)) : "";
      case Effect::kBarrier:
        return CheckWait(i, BarrierOperands(i));
      case Effect::kControl:
        return CheckControl(i, at);
      case Effect::kLoad:
      case Effect::kStore:
      case Effect::kAtomic:
      case Effect::kReduction:
        return CheckAccess(i, at);
      case Effect::kCall:
        return "calls are not guarded";
      default:
        return "this instruction is not guarded";
    }
  }

  // The number of the barrier and of the threads it waits for, without what is reduced.
  static std::span<const Operand> BarrierOperands(const Instruction& i) {
    const std::span<const Operand> operands = std::span(i.operands).subspan(Flow::Results(i));
    return i.Has("red") && !operands.empty() ? operands.first(operands.size() - 1) : operands;
  }

  // The lanes.
  static std::span<const Operand> WarpOperands(const Instruction& i) {
    return std::span(i.operands).last(i.opcode == "mma" || i.operands.empty() ? 0 : 1);
  }

  // `awaited`: the operands that say who is waited for.
  std::string_view CheckWait(const Instruction& i, std::span<const Operand> awaited) const {
    const bool tainted = std::any_of(awaited.begin(), awaited.end(),
                                     [&](const Operand& operand) { return flow_.Of(kernel_, operand).Has(kTainted); });
    return control_tainted_ || tainted || flow_.GuardTainted(kernel_, i) ? kWaitsOnData : "";
  }

  std::string_view CheckControl(const Instruction& i, uint32_t at) {
    if (i.opcode == "ret" || i.opcode == "exit") return "";
    if (i.opcode != "bra") return "this instruction is not guarded";
    const auto* target = i.operands.empty() ? nullptr : std::get_if<SymbolOperand>(&i.operands[0].value);
    const auto label = target == nullptr ? body_.labels.end() : body_.labels.find(target->name);
    if (label == body_.labels.end()) return kMalformed;
    if (control_tainted_ && label->second <= at) plan_.burning.insert(at);
    return "";
  }

  std::string_view CheckAccess(const Instruction& i, uint32_t at) {
    GuardedAccess access{.space = SpaceOf(i), .bytes = SizeOf(i.TypeAt()) * VectorWidth(i)};
    access.address = AddressOperandOf(i);
    const auto addresses = std::count_if(i.operands.begin(), i.operands.end(), IsAddress);
    if (addresses != 1 || access.address >= i.operands.size() || !IsAddress(i.operands[access.address])) {
      return kMalformed;
    }
    const auto& address = std::get<AddressOperand>(i.operands[access.address].value);
    if (access.space == Space::kParam) {
      const bool is_named = std::holds_alternative<SymbolOperand>(address.base);
      return is_named ? "" : "which parameter it reads is decided at run time";
    }
    if (access.bytes == 0) return kMalformed;
    if (const std::string_view broken = CheckResults(i); !broken.empty()) return broken;
    if (access.space == Space::kShared || access.space == Space::kLocal) return CheckOwn(address, access, at);
    if (access.space == Space::kConst) return "it reads constant memory";
    return CheckGlobal(i, access, at);
  }

  // What a load gives if it is left out must be a register that can be cleared.
  std::string_view CheckResults(const Instruction& i) const {
    if (Flow::Results(i) == 0) return "";
    const auto* vector = std::get_if<VectorOperand>(&i.operands[0].value);
    for (const Operand& result : vector == nullptr ? std::span(i.operands).first(1) : std::span(vector->elements)) {
      if (std::holds_alternative<SinkOperand>(result.value)) continue;
      const auto* reg = std::get_if<RegisterOperand>(&result.value);
      if (reg == nullptr) return kMalformed;
      const Body::Register& named = body_.registers[reg->index];
      const uint32_t bytes = SizeOf(named.type);
      const bool is_component = named.name.find('.') != std::string::npos;
      if (bytes < 2 || bytes > 8 || is_component) return "registers like that of its result are not guarded";
    }
    return "";
  }

  // Shared and local memory.
  std::string_view CheckOwn(const AddressOperand& address, GuardedAccess& access, uint32_t at) {
    const auto* symbol = std::get_if<SymbolOperand>(&address.base);
    const std::vector<Variable>& own = access.space == Space::kShared ? plan_.shared : plan_.local;
    if (symbol != nullptr) {
      const Variable* variable = FindVariable(own, symbol->name);
      if (variable == nullptr) return kMalformed;
      if (variable->Bytes() != 0) {  // as opposed to the launch's dynamic shared memory
        const auto offset = static_cast<uint64_t>(address.offset);
        const bool inside = offset <= variable->Bytes() && access.bytes <= variable->Bytes() - offset;
        return inside && offset % access.bytes == 0 ? "" : "it does not lie in its variable";
      }
    } else if (!std::holds_alternative<RegisterOperand>(address.base) || own.empty()) {
      return "its address comes from no variable";
    }
    plan_.accesses.emplace(at, std::move(access));
    return "";
  }

  std::string_view CheckGlobal(const Instruction& i, GuardedAccess& access, uint32_t at) {
    const auto* reg = std::get_if<RegisterOperand>(&std::get<AddressOperand>(i.operands[access.address].value).base);
    if (reg == nullptr || SizeOf(body_.registers[reg->index].type) != 8) return kMalformed;
    const Value address = flow_.Of(kernel_, i.operands[access.address]);
    const bool is_generic = access.space == Space::kGeneric;
    if (is_generic && (address.Has(kShared) || address.Has(kLocal))) {
      return "it may be shared or local memory, and does not say so";
    }
    if (address.Has(kAssembled)) return "its address is put together from pieces";
    for (size_t base = 0; base < flow_.bases().size(); ++base) {
      if (!address.Has(kFirstBase + static_cast<uint32_t>(base))) continue;
      const Base& from = flow_.bases()[base];
      if (from.kind != Base::Kind::kParameterWord) return "its address may be that of a variable or a parameter";
      access.parameters.push_back(from.offset);
    }
    if (access.parameters.empty()) return "its address comes from no parameter";
    std::sort(access.parameters.begin(), access.parameters.end());
    if (EffectOf(i) != Effect::kStore) plan_.read.insert(access.parameters.begin(), access.parameters.end());
    if (EffectOf(i) != Effect::kLoad) plan_.written.insert(access.parameters.begin(), access.parameters.end());
    access.space = Space::kGlobal;
    plan_.accesses.emplace(at, std::move(access));
    return "";
  }

  const Module& module_;
  const Flow& flow_;
  const Flow::Reached& kernel_;
  const Body& body_;
  bool control_tainted_ = false;  // some branch depends on loaded data
  GuardPlan plan_;
};

}  // namespace

absl::StatusOr<GuardPlan> PlanGuard(const Module& module, const Flow& flow) { return GuardRules(module, flow).Apply(); }

}  // namespace wharf::device::ptx
