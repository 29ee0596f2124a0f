#include "wharf/device/ptx/footprint_flow.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <unordered_map>

namespace wharf::device::ptx {
namespace {

// Bounds of the work done for one kernel; real kernels stay two orders below.
constexpr uint64_t kMaxWords = uint64_t{1} << 22;
constexpr int kMaxRounds = 64;
constexpr uint32_t kPointerBytes = 8;

const std::unordered_map<std::string_view, Effect>& Effects() {
  static const auto* effects = [] {
    auto* all = new std::unordered_map<std::string_view, Effect>;
    const auto add = [all](Effect effect, std::initializer_list<std::string_view> opcodes) {
      for (const std::string_view opcode : opcodes) (*all)[opcode] = effect;
    };
    add(Effect::kPure,
        {"abs",       "add",      "addc",  "and",   "bfe",   "bfi",   "bfind", "bmsk",     "brev",     "clz",
         "cnot",      "copysign", "cos",   "cvt",   "cvta",  "div",   "dp2a",  "dp4a",     "ex2",      "fma",
         "fns",       "isspacep", "lg2",   "lop3",  "mad",   "mad24", "madc",  "max",      "min",      "mov",
         "mul",       "mul24",    "neg",   "not",   "or",    "popc",  "prmt",  "rcp",      "rem",      "rsqrt",
         "sad",       "selp",     "set",   "setp",  "shf",   "shl",   "shr",   "sin",      "slct",     "sqrt",
         "sub",       "subc",     "szext", "tanh",  "testp", "vadd",  "vsub",  "vabsdiff", "vmin",     "vmax",
         "vshl",      "vshr",     "vmad",  "vset",  "vadd2", "vsub2", "vadd4", "vsub4",    "vavrg2",   "vavrg4",
         "vabsdiff2", "vmin2",    "vmax2", "vset2", "vmin4", "vmax4", "vset4", "xor",      "vabsdiff4"});
    add(Effect::kWarp, {"shfl", "vote", "match", "redux", "activemask", "elect", "mma"});
    add(Effect::kBarrier, {"bar", "barrier"});
    add(Effect::kLoad, {"ld", "ldu"});
    add(Effect::kStore, {"st"});
    add(Effect::kAtomic, {"atom"});
    add(Effect::kReduction, {"red"});
    add(Effect::kControl, {"bra", "brx", "ret", "exit", "trap", "brkpt"});
    add(Effect::kCall, {"call"});
    add(Effect::kNone, {"membar", "fence", "nanosleep", "prefetch", "prefetchu", "pmevent"});
    return all;
  }();
  return *effects;
}

// Special registers that are the same whenever a kernel is launched in the same shape. Others tell the time or the
// place of execution.
bool IsFixedByShape(std::string_view special) {
  static constexpr std::string_view kFixed[] = {"tid",
                                                "ntid",
                                                "laneid",
                                                "nwarpid",
                                                "ctaid",
                                                "nctaid",
                                                "nsmid",
                                                "lanemask_eq",
                                                "lanemask_le",
                                                "lanemask_lt",
                                                "lanemask_ge",
                                                "lanemask_gt",
                                                "clusterid",
                                                "nclusterid",
                                                "cluster_ctaid",
                                                "cluster_nctaid",
                                                "cluster_ctarank",
                                                "cluster_nctarank",
                                                "is_explicit_cluster",
                                                "total_smem_size",
                                                "dynamic_smem_size"};
  special = special.substr(0, special.find('.'));
  return std::find(std::begin(kFixed), std::end(kFixed), special) != std::end(kFixed);
}

// Which lanes take part in these is not written in the program.
bool IsAskedOfTheScheduler(const Instruction& i) {
  if (i.opcode == "activemask" || i.opcode == "elect") return true;
  return EffectOf(i) == Effect::kWarp && i.opcode != "mma" && !i.Has("sync");
}

bool IsComparison(const Instruction& i) {
  return i.opcode == "set" || i.opcode == "setp" || i.opcode == "testp" || i.opcode == "isspacep";
}

// 64 bits made of two registers' parts: a way to write a pointer that was loaded in pieces.
bool Assembles(const Instruction& i) {
  if (SizeOf(i.TypeAt()) < kPointerBytes) return false;
  if (i.opcode == "mov") return i.operands.size() == 2 && std::holds_alternative<VectorOperand>(i.operands[1].value);
  return i.opcode == "or" && i.operands.size() == 3 && std::holds_alternative<RegisterOperand>(i.operands[2].value);
}

bool IsParameterSpace(const Variable& variable) { return variable.space == Space::kParam; }

}  // namespace

const SymbolOperand* SymbolOf(const Operand& operand) {
  if (const auto* symbol = std::get_if<SymbolOperand>(&operand.value)) return symbol;
  const auto* address = std::get_if<AddressOperand>(&operand.value);
  return address == nullptr ? nullptr : std::get_if<SymbolOperand>(&address->base);
}

void VisitSymbols(const Operand& operand, absl::FunctionRef<void(const SymbolOperand&)> visit) {
  if (const SymbolOperand* symbol = SymbolOf(operand)) visit(*symbol);
  if (const auto* vector = std::get_if<VectorOperand>(&operand.value)) {
    for (const Operand& element : vector->elements) VisitSymbols(element, visit);
  }
}

std::string AtInstruction(const Instruction& instruction, std::string_view why) {
  return fmt::format("line {}: `{}`: {}", instruction.line, instruction.text, why);
}

Effect EffectOf(const Instruction& i) {
  if (i.opcode == "cp" && i.Has("async") && !i.Has("bulk") && !i.Has("mbarrier") && !i.Has("reduce")) {
    return i.operands.size() < 2 ? Effect::kNone : Effect::kCopyToShared;  // commit_group and wait_group name no memory
  }
  if ((i.opcode == "bar" || i.opcode == "barrier") && i.Has("cluster")) return Effect::kUnknown;
  const auto found = Effects().find(i.opcode);
  return found == Effects().end() ? Effect::kUnknown : found->second;
}

Space SpaceOf(const Instruction& instruction) {
  for (const std::string& modifier : instruction.modifiers) {
    const std::string_view name = std::string_view(modifier).substr(0, modifier.find("::"));
    if (name == "global") return Space::kGlobal;
    if (name == "shared") return modifier == "shared::cluster" ? Space::kGeneric : Space::kShared;
    if (name == "local") return Space::kLocal;
    if (name == "const") return Space::kConst;
    if (name == "param") return Space::kParam;
  }
  return Space::kGeneric;
}

bool Value::Join(const Value& other) {
  uint64_t fresh = 0;
  for (size_t i = 0; i < words_.size(); ++i) {
    fresh |= other.words_[i] & ~words_[i];
    words_[i] |= other.words_[i];
  }
  return fresh != 0;
}

void Value::DropBases() {
  const bool tainted = Has(kTainted);
  std::fill(words_.begin(), words_.end(), 0);
  if (tainted) Set(kTainted);
}

// --- what the kernel reaches ---

absl::Status Flow::Solve(std::string_view kernel) {
  const Function* entry = module_.FindFunction(ResolveAlias(module_, kernel));
  if (entry == nullptr || !entry->is_entry || !entry->HasBody()) {
    return NotFound("there is no kernel {} in this module", kernel);
  }
  layout_ = LayoutParameters(*entry);
  WHARF_RETURN_IF_ERROR(Reach(*entry));
  for (size_t i = 0; i < functions_.size() && obstacle_.empty(); ++i) WHARF_RETURN_IF_ERROR(ReachCallees(i));
  if (!obstacle_.empty()) return absl::OkStatus();
  NumberBases();
  NumberNodes();
  if (obstacle_.empty() && !Iterate()) obstacle_ = "its data flow is too deep to analyse";
  return absl::OkStatus();
}

absl::Status Flow::Reach(const Function& function) {
  if (!index_.emplace(function.name, functions_.size()).second) return absl::OkStatus();
  WHARF_ASSIGN_OR_RETURN(Body body, ParseBody(module_, function));
  functions_.push_back({.function = &function, .body = std::move(body)});
  return absl::OkStatus();
}

const Function* Flow::Callee(const Instruction& call) const {
  const auto* symbol = call.operands.empty() ? nullptr : std::get_if<SymbolOperand>(&call.operands[0].value);
  return symbol == nullptr ? nullptr : module_.FindFunction(ResolveAlias(module_, symbol->name));
}

absl::Status Flow::ReachCallees(size_t index) {
  for (const Instruction& instruction : functions_[index].body.instructions) {
    if (instruction.opcode != "call") continue;
    const Function* callee = Callee(instruction);
    if (callee == nullptr || !callee->HasBody() || callee->is_entry) {
      obstacle_ = AtInstruction(instruction, "calls what is not in the module");
      return absl::OkStatus();
    }
    if (callee->parameters.size() != instruction.call_arguments.size() ||
        callee->returns.size() != instruction.call_returns.size()) {
      return CudaStatus(CudaError::kInvalidPtx, "line {}: `{}` does not fit {}", instruction.line, instruction.text,
                        callee->name);
    }
    WHARF_RETURN_IF_ERROR(Reach(*callee));
  }
  return absl::OkStatus();
}

void Flow::NumberBases() {
  const auto number = [this](Base base) {
    if (!base_bits_.emplace(base, kFirstBase + bases_.size()).second) return;
    bases_.push_back(std::move(base));
  };
  for (uint32_t i = 0; i < layout_.size(); ++i) {
    number({Base::Kind::kParameterAddress, i, {}});
    const uint32_t end = layout_[i].offset + layout_[i].size;
    for (uint32_t at = (layout_[i].offset + 7) / kPointerBytes * kPointerBytes; at + kPointerBytes <= end;) {
      number({Base::Kind::kParameterWord, at, {}});
      at += kPointerBytes;
    }
  }
  const auto number_variable = [&](const SymbolOperand& symbol) {
    if (module_.FindVariable(symbol.name) != nullptr) number({Base::Kind::kVariable, 0, symbol.name});
  };
  for (const Reached& reached : functions_) {
    for (const Variable& variable : reached.body.variables) {
      const bool in_memory = variable.space == Space::kGlobal || variable.space == Space::kConst;
      if (in_memory) number({Base::Kind::kVariable, 0, variable.name});
    }
    for (const Instruction& instruction : reached.body.instructions) {
      for (const Operand& operand : instruction.operands) VisitSymbols(operand, number_variable);
      for (const Operand& operand : instruction.call_arguments) VisitSymbols(operand, number_variable);
    }
  }
  bits_ = kFirstBase + bases_.size();
}

void Flow::NumberNodes() {
  uint64_t count = 0;
  for (Reached& reached : functions_) {
    reached.first = static_cast<uint32_t>(count);
    count += reached.body.registers.size() + 1;
    const auto add_cell = [&](const Variable& variable) {
      if (IsParameterSpace(variable)) reached.cells[variable.name] = static_cast<uint32_t>(count++);
    };
    for (const Variable& variable : reached.body.variables) add_cell(variable);
    if (reached.function->is_entry) continue;
    for (const auto* list : {&reached.function->parameters, &reached.function->returns}) {
      for (const Variable& variable : *list) add_cell(variable);
    }
    for (uint32_t i = 0; i < reached.body.registers.size(); ++i) reached.registers[reached.body.registers[i].name] = i;
  }
  if (count * ((bits_ + 63) / 64) > kMaxWords) {
    obstacle_ = "it is too large to analyse";
    return;
  }
  nodes_.assign(count, None());
}

// --- values ---

Value Flow::Tainted() const {
  Value value = None();
  value.Set(kTainted);
  return value;
}

uint32_t Flow::Carry(const Reached& function) const {
  return function.first + static_cast<uint32_t>(function.body.registers.size());
}

const uint32_t* Flow::FindCell(const Reached& function, const std::string& name) const {
  const auto cell = function.cells.find(name);
  return cell == function.cells.end() ? nullptr : &cell->second;
}

std::optional<uint32_t> Flow::FindParameter(const Reached& function, const std::string& name) const {
  if (const uint32_t* cell = FindCell(function, name)) return *cell;
  const auto reg = function.registers.find(name);
  if (reg == function.registers.end()) return std::nullopt;
  return function.first + reg->second;
}

Value Flow::AddressOf(const Reached& function, const std::string& symbol) const {
  Value value = None();
  const auto set_base = [&](const Base& base) {
    if (const auto bit = base_bits_.find(base); bit != base_bits_.end()) value.Set(bit->second);
  };
  const auto has_name = [&](const Variable& variable) { return variable.name == symbol; };
  if (FindCell(function, symbol) != nullptr) {
    value.Set(kLocal);
    return value;
  }
  const auto& parameters = function.function->parameters;
  if (const auto found = std::find_if(parameters.begin(), parameters.end(), has_name); found != parameters.end()) {
    set_base({Base::Kind::kParameterAddress, static_cast<uint32_t>(found - parameters.begin()), {}});
    return value;
  }
  const auto& variables = function.body.variables;
  const auto local = std::find_if(variables.begin(), variables.end(), has_name);
  const Variable* variable = local != variables.end() ? &*local : module_.FindVariable(symbol);
  if (variable == nullptr) return value;  // a function or a label
  if (variable->space == Space::kShared) {
    value.Set(kShared);
  } else if (variable->space == Space::kLocal) {
    value.Set(kLocal);
  } else {
    set_base({Base::Kind::kVariable, 0, symbol});
  }
  return value;
}

Value Flow::Of(const Reached& function, const Operand& operand) const {
  if (const auto* reg = std::get_if<RegisterOperand>(&operand.value)) return nodes_[function.first + reg->index];
  if (const SymbolOperand* symbol = SymbolOf(operand)) return AddressOf(function, symbol->name);
  if (const auto* special = std::get_if<SpecialOperand>(&operand.value)) {
    return IsFixedByShape(special->name) ? None() : Tainted();
  }
  Value value = None();
  if (const auto* address = std::get_if<AddressOperand>(&operand.value)) {
    const auto* reg = std::get_if<RegisterOperand>(&address->base);
    if (reg != nullptr) value.Join(nodes_[function.first + reg->index]);
  } else if (const auto* vector = std::get_if<VectorOperand>(&operand.value)) {
    for (const Operand& element : vector->elements) value.Join(Of(function, element));
  }
  return value;
}

bool Flow::GuardTainted(const Reached& function, const Instruction& instruction) const {
  return instruction.has_guard && nodes_[function.first + instruction.guard].Has(kTainted);
}

size_t Flow::Results(const Instruction& instruction) {
  const Effect effect = EffectOf(instruction);
  if (effect == Effect::kBarrier && !instruction.Has("red")) return 0;
  const bool has_result = effect == Effect::kPure || effect == Effect::kWarp || effect == Effect::kBarrier ||
                          effect == Effect::kLoad || effect == Effect::kAtomic;
  if (!has_result || instruction.operands.empty()) return 0;
  return instruction.operands.size() > 1 && instruction.operands[1].after_bar ? 2 : 1;
}

Value Flow::Sources(const Reached& function, const Instruction& instruction) const {
  Value value = None();
  for (size_t i = Results(instruction); i < instruction.operands.size(); ++i) {
    value.Join(Of(function, instruction.operands[i]));
  }
  const bool reads_carry = instruction.opcode == "addc" || instruction.opcode == "subc" || instruction.opcode == "madc";
  if (reads_carry) value.Join(nodes_[Carry(function)]);
  return value;
}

Value Flow::Computed(const Reached& function, const Instruction& instruction) const {
  Value value = Sources(function, instruction);
  if (IsComparison(instruction)) value.DropBases();
  if (Assembles(instruction) && value.Has(kNarrow)) value.Set(kAssembled);
  const bool to_generic = instruction.opcode == "cvta" && !instruction.Has("to");
  if (to_generic && SpaceOf(instruction) == Space::kShared) value.Set(kShared);
  if (to_generic && SpaceOf(instruction) == Space::kLocal) value.Set(kLocal);
  if (IsAskedOfTheScheduler(instruction)) value.Set(kTainted);
  return value;
}

Value Flow::ParameterWords(uint32_t offset, uint64_t size) const {
  Value value = None();
  if (size < kPointerBytes) value.Set(kNarrow);
  for (uint64_t at = 0; at + kPointerBytes <= size; at += kPointerBytes) {
    const auto bit = base_bits_.find({Base::Kind::kParameterWord, static_cast<uint32_t>(offset + at), {}});
    value.Set(bit == base_bits_.end() ? uint32_t{kTainted} : bit->second);  // misaligned or outside
  }
  return value;
}

// Any word of the parameters whose place `address` may be.
Value Flow::AnyParameterWord(const Value& address) const {
  Value value = None();
  bool found = false;
  for (uint32_t i = 0; i < layout_.size(); ++i) {
    const auto place = base_bits_.find({Base::Kind::kParameterAddress, i, {}});
    if (!address.Has(place->second)) continue;
    found = true;
    const uint32_t begin = (layout_[i].offset + 7) / kPointerBytes * kPointerBytes;
    const uint32_t end = layout_[i].offset + layout_[i].size;
    if (end > begin) value.Join(ParameterWords(begin, (end - begin) / kPointerBytes * kPointerBytes));
  }
  if (!found || address.Has(kTainted)) value.Set(kTainted);
  return value;
}

// What the `element`th register of a load gets.
Value Flow::Loaded(const Reached& function, const Instruction& load, uint32_t element) const {
  const auto* address = load.operands.size() < 2 ? nullptr : std::get_if<AddressOperand>(&load.operands[1].value);
  if (SpaceOf(load) != Space::kParam || address == nullptr) return Tainted();
  const uint32_t size = SizeOf(load.TypeAt());
  const auto* symbol = std::get_if<SymbolOperand>(&address->base);
  if (symbol == nullptr) {
    Value value = AnyParameterWord(Of(function, load.operands[1]));
    if (size >= kPointerBytes) return value;
    value.DropBases();
    value.Set(kNarrow);
    return value;
  }
  if (const uint32_t* cell = FindCell(function, symbol->name)) {
    Value value = nodes_[*cell];
    if (value.Has(kPieces) && size >= kPointerBytes) value.Set(kAssembled);
    value.Clear(kPieces);
    return value;
  }
  const auto& parameters = function.function->parameters;
  for (size_t i = 0; i < parameters.size() && function.function->is_entry; ++i) {
    if (parameters[i].name != symbol->name) continue;
    const uint64_t at = static_cast<uint64_t>(address->offset) + uint64_t{element} * size;
    if (at >= layout_[i].size || size > layout_[i].size - at) return Tainted();
    return ParameterWords(layout_[i].offset + static_cast<uint32_t>(at), size);
  }
  return Tainted();
}

// --- the fixed point ---

// What was never assigned may hold anything.
void Flow::TaintUnwritten() {
  std::vector<bool> written(nodes_.size());
  for (const Reached& reached : functions_) {
    const std::function<void(const Operand&)> mark = [&](const Operand& operand) {
      if (const auto* reg = std::get_if<RegisterOperand>(&operand.value)) written[reached.first + reg->index] = true;
      if (const auto* vector = std::get_if<VectorOperand>(&operand.value)) {
        std::for_each(vector->elements.begin(), vector->elements.end(), mark);
      }
    };
    for (const Instruction& i : reached.body.instructions) {
      std::for_each(i.operands.begin(), i.operands.begin() + static_cast<std::ptrdiff_t>(Results(i)), mark);
      std::for_each(i.call_returns.begin(), i.call_returns.end(), mark);
    }
    for (const Variable& parameter : reached.function->parameters) {
      const auto reg = reached.registers.find(parameter.name);
      if (reg != reached.registers.end()) written[reached.first + reg->second] = true;
    }
    for (uint32_t i = 0; i < reached.body.registers.size(); ++i) {
      if (!written[reached.first + i]) nodes_[reached.first + i].Set(kTainted);
    }
  }
}

bool Flow::Iterate() {
  TaintUnwritten();
  for (int round = 0; round < kMaxRounds; ++round) {
    changed_ = false;
    for (const Reached& reached : functions_) {
      for (const Instruction& instruction : reached.body.instructions) Step(reached, instruction);
    }
    if (!changed_) return true;
  }
  return false;
}

void Flow::JoinNode(uint32_t node, const Value& value) {
  if (nodes_[node].Join(value)) changed_ = true;
}

void Flow::Assign(const Reached& function, const Operand& to, const Value& value) {
  if (const auto* reg = std::get_if<RegisterOperand>(&to.value)) {
    JoinNode(function.first + reg->index, value);
  } else if (const auto* vector = std::get_if<VectorOperand>(&to.value)) {
    for (const Operand& element : vector->elements) Assign(function, element, value);
  }
}

void Flow::Step(const Reached& function, const Instruction& instruction) {
  TaintEscapedCells(function, instruction);
  switch (EffectOf(instruction)) {
    case Effect::kLoad:
      return StepLoad(function, instruction);
    case Effect::kStore:
      return StepStoreParameter(function, instruction);
    case Effect::kCall:
      return StepCall(function, instruction);
    case Effect::kPure:
    case Effect::kWarp:
    case Effect::kBarrier:
    case Effect::kAtomic:
      break;
    default:
      return;
  }
  Value value = EffectOf(instruction) == Effect::kAtomic ? Tainted() : Computed(function, instruction);
  if (GuardTainted(function, instruction)) value.Set(kTainted);
  for (size_t i = 0; i < Results(instruction); ++i) Assign(function, instruction.operands[i], value);
  if (instruction.Has("cc")) JoinNode(Carry(function), value);
}

void Flow::StepLoad(const Reached& function, const Instruction& load) {
  if (load.operands.empty()) return;
  const auto* vector = std::get_if<VectorOperand>(&load.operands[0].value);
  const size_t count = vector == nullptr ? 1 : vector->elements.size();
  for (uint32_t i = 0; i < count; ++i) {
    Value value = Loaded(function, load, i);
    if (GuardTainted(function, load)) value.Set(kTainted);
    Assign(function, vector == nullptr ? load.operands[0] : vector->elements[i], value);
  }
}

// Only parameters are followed through memory: what is loaded from elsewhere is tainted anyway.
void Flow::StepStoreParameter(const Reached& function, const Instruction& store) {
  if (SpaceOf(store) != Space::kParam || store.operands.size() < 2) return;
  const SymbolOperand* symbol = SymbolOf(store.operands[0]);
  const uint32_t* cell = symbol == nullptr ? nullptr : FindCell(function, symbol->name);
  if (cell == nullptr) return;
  Value value = Of(function, store.operands[1]);
  if (GuardTainted(function, store)) value.Set(kTainted);
  if (value.Has(kNarrow) && SizeOf(store.TypeAt()) < kPointerBytes) value.Set(kPieces);
  JoinNode(*cell, value);
}

void Flow::StepCall(const Reached& function, const Instruction& call) {
  const Reached& callee = functions_[index_.find(Callee(call)->name)->second];
  for (size_t i = 0; i < call.call_arguments.size(); ++i) {
    const SymbolOperand* symbol = SymbolOf(call.call_arguments[i]);
    const std::optional<uint32_t> from = symbol == nullptr ? std::nullopt : FindParameter(function, symbol->name);
    const std::optional<uint32_t> to = FindParameter(callee, callee.function->parameters[i].name);
    if (to) JoinNode(*to, from ? nodes_[*from] : Of(function, call.call_arguments[i]));
  }
  for (size_t i = 0; i < call.call_returns.size(); ++i) {
    const std::optional<uint32_t> from = FindParameter(callee, callee.function->returns[i].name);
    const Value value = from ? nodes_[*from] : Tainted();
    const SymbolOperand* symbol = SymbolOf(call.call_returns[i]);
    const std::optional<uint32_t> to = symbol == nullptr ? std::nullopt : FindParameter(function, symbol->name);
    if (to) JoinNode(*to, value);
    Assign(function, call.call_returns[i], value);
  }
}

// A .param variable whose address is taken may be changed behind the analysis' back.
void Flow::TaintEscapedCells(const Reached& function, const Instruction& instruction) {
  for (const Operand& operand : instruction.operands) {
    const auto* symbol = std::get_if<SymbolOperand>(&operand.value);
    const uint32_t* cell = symbol == nullptr ? nullptr : FindCell(function, symbol->name);
    if (cell != nullptr) JoinNode(*cell, Tainted());
  }
}

}  // namespace wharf::device::ptx
