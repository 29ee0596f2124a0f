#include "wharf/device/soft/codegen/spin.h"

#include <algorithm>
#include <optional>

#include "wharf/device/soft/codegen/program.h"

namespace wharf::device::soft {
namespace {

bool IsTestOfMbarrier(const ptx::Instruction& instruction) {
  return instruction.opcode == "mbarrier" && (instruction.Has("test_wait") || instruction.Has("try_wait"));
}

bool IsSynchronizingLoad(const ptx::Instruction& instruction) {
  if (IsTestOfMbarrier(instruction)) return true;
  return instruction.opcode == "ld" && (instruction.Has("volatile") || instruction.Has("relaxed") ||
                                        instruction.Has("acquire") || instruction.Has("mmio"));
}

bool IsAtomic(const ptx::Instruction& instruction) { return instruction.opcode == "atom"; }

template <typename Visit>
void VisitRegisters(const ptx::Operand& operand, const Visit& visit) {
  if (auto* reg = std::get_if<ptx::RegisterOperand>(&operand.value)) {
    visit(reg->index);
  } else if (auto* vector = std::get_if<ptx::VectorOperand>(&operand.value)) {
    for (const ptx::Operand& element : vector->elements) VisitRegisters(element, visit);
  } else if (auto* address = std::get_if<ptx::AddressOperand>(&operand.value)) {
    if (auto* base = std::get_if<ptx::RegisterOperand>(&address->base)) visit(base->index);
  }
}

// Registers that depend on what synchronizing reads of a loop returned, ignoring the order of instructions. Local and
// parameter memory is one pseudo register.
class Taint {
 public:
  Taint(const ptx::Body& body, uint32_t first, uint32_t last)
      : body_(body), first_(first), last_(last), tainted_(body.registers.size() + 1) {}

  // `reads`: plain loads taint too.
  void Spread(bool reads) {
    for (bool changed = true; changed;) {
      changed = false;
      for (uint32_t i = first_; i <= last_; ++i) changed |= Step(body_.instructions[i], reads);
    }
  }

  bool operator[](uint32_t index) const { return tainted_[index]; }

  bool Reads(const ptx::Operand& operand) const {
    bool found = false;
    VisitRegisters(operand, [&](uint32_t index) { found |= tainted_[index]; });
    return found;
  }

 private:
  uint32_t Memory() const { return static_cast<uint32_t>(tainted_.size() - 1); }

  static bool IsThreadMemory(const ptx::Instruction& i) {
    return i.Has("local") || i.Has("param") || i.Has("param::func");
  }

  bool Step(const ptx::Instruction& instruction, bool reads) {
    const bool store = instruction.opcode == "st";
    bool source = IsSynchronizingLoad(instruction) || IsAtomic(instruction);
    if (instruction.opcode == "ld" && (reads || (IsThreadMemory(instruction) && tainted_[Memory()]))) source = true;
    for (size_t i = store ? 0 : 1; i < instruction.operands.size() && !source; ++i) {
      source = Reads(instruction.operands[i]);
    }
    if (!source) return false;
    if (store) return IsThreadMemory(instruction) && Mark(Memory());
    bool changed = false;
    for (size_t i = 0; i < instruction.operands.size(); ++i) {
      if (i == 0 || instruction.operands[i].after_bar) {
        VisitRegisters(instruction.operands[i], [&](uint32_t index) { changed |= Mark(index); });
      }
    }
    return changed;
  }

  bool Mark(uint32_t index) {
    if (tainted_[index]) return false;
    return tainted_[index] = true;
  }

  const ptx::Body& body_;
  uint32_t first_, last_;
  std::vector<bool> tainted_;
};

// The earliest instruction a branch goes back to, if it goes back at all.
std::optional<uint32_t> BackwardTarget(const ptx::Body& body, uint32_t at) {
  const ptx::Instruction& instruction = body.instructions[at];
  if (instruction.opcode != "bra" && instruction.opcode != "brx") return std::nullopt;
  std::vector<std::string> labels;
  for (const ptx::Operand& operand : instruction.operands) {
    auto* symbol = std::get_if<ptx::SymbolOperand>(&operand.value);
    if (symbol == nullptr) continue;
    if (auto list = body.branch_targets.find(symbol->name); list != body.branch_targets.end()) {
      labels.insert(labels.end(), list->second.begin(), list->second.end());
    } else {
      labels.push_back(symbol->name);
    }
  }
  std::optional<uint32_t> earliest;
  for (const std::string& label : labels) {
    auto found = body.labels.find(label);
    if (found == body.labels.end() || found->second > at) continue;
    earliest = std::min(earliest.value_or(found->second), found->second);
  }
  return earliest;
}

// True if every atomic or synchronizing read of the loop is a compare-and-swap of a value read before.
bool IsLockFreeUpdate(const ptx::Body& body, uint32_t first, uint32_t last) {
  Taint read(body, first, last);
  read.Spread(true);
  for (uint32_t i = first; i <= last; ++i) {
    const ptx::Instruction& instruction = body.instructions[i];
    if (IsSynchronizingLoad(instruction)) return false;
    if (!IsAtomic(instruction)) continue;
    if (!instruction.Has("cas") || instruction.operands.size() < 3 || !read.Reads(instruction.operands[2]))
      return false;
  }
  return true;
}

class SpinFinder {
 public:
  explicit SpinFinder(Program* program) : program_(*program), synchronizes_(program->functions.size()) {}

  void Run() {
    FindSynchronizingFunctions();
    for (ReachedFunction& reached : program_.functions) {
      const std::vector<uint32_t> before = SynchronizingBefore(reached.body);
      for (uint32_t i = 0; i < reached.body.instructions.size(); ++i) {
        auto target = BackwardTarget(reached.body, i);
        if (!target || before[i + 1] == before[*target]) continue;
        if (MayWait(reached.body, *target, i)) reached.spin_edges.insert(i);
      }
    }
  }

 private:
  bool Synchronizes(const ptx::Instruction& instruction) const {
    return IsSynchronizingLoad(instruction) || IsAtomic(instruction) || CallsSynchronizing(instruction);
  }

  // How many instructions that synchronize there are before each, and before the end: code with many loops and none of
  // those is passed over in linear time.
  std::vector<uint32_t> SynchronizingBefore(const ptx::Body& body) const {
    std::vector<uint32_t> before{0};
    before.reserve(body.instructions.size() + 1);
    for (const ptx::Instruction& instruction : body.instructions) {
      before.push_back(before.back() + (Synchronizes(instruction) ? 1 : 0));
    }
    return before;
  }

  // Functions that read with synchronization, themselves or in what they call.
  void FindSynchronizingFunctions() {
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t f = 0; f < program_.functions.size(); ++f) {
        if (synchronizes_[f]) continue;
        const auto& instructions = program_.functions[f].body.instructions;
        if (std::any_of(instructions.begin(), instructions.end(),
                        [&](const ptx::Instruction& instruction) { return Synchronizes(instruction); })) {
          changed = synchronizes_[f] = true;
        }
      }
    }
  }

  bool CallsSynchronizing(const ptx::Instruction& instruction) const {
    if (instruction.opcode != "call" || instruction.operands.empty()) return false;
    auto* symbol = std::get_if<ptx::SymbolOperand>(&instruction.operands[0].value);
    if (symbol == nullptr) {
      for (size_t f = 0; f < program_.functions.size(); ++f) {
        if (program_.functions[f].address_taken && synchronizes_[f]) return true;
      }
      return false;
    }
    auto found = program_.index.find(ResolveAlias(*program_.module, symbol->name));
    return found != program_.index.end() && synchronizes_[found->second];
  }

  // Of a loop that synchronizes.
  bool MayWait(const ptx::Body& body, uint32_t first, uint32_t last) const {
    for (uint32_t i = first; i <= last; ++i) {
      if (CallsSynchronizing(body.instructions[i])) return true;
    }
    if (IsLockFreeUpdate(body, first, last)) return false;
    Taint taint(body, first, last);
    taint.Spread(false);
    for (uint32_t i = first; i <= last; ++i) {
      const ptx::Instruction& instruction = body.instructions[i];
      if (instruction.has_guard && taint[instruction.guard]) return true;
      if (instruction.opcode == "brx" && !instruction.operands.empty() && taint.Reads(instruction.operands[0]))
        return true;
    }
    return false;
  }

  Program& program_;
  std::vector<bool> synchronizes_;
};

}  // namespace

void FindSpinEdges(Program* program) { SpinFinder(program).Run(); }

}  // namespace wharf::device::soft
