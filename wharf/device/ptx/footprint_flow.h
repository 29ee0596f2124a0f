// The data flow behind footprint.h: what each virtual register may hold, over all threads and all the time. Values are
// sets: whether the register may depend on memory's contents ("tainted"), and which pointers it may be computed from.
//
// Insensitive to order: a register's set is the union over everything assigned to it, found as the least fixed point.
// Insensitive to the caller: a function's parameters hold the union over its calls.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "wharf/base/status.h"
#include "wharf/device/ptx/ast.h"
#include "wharf/device/ptx/parser.h"

namespace wharf::device::ptx {

// What an instruction is to the analysis.
enum class Effect : uint8_t {
  kPure,     // operands to result, destination first
  kWarp,     // the same across the warp's lanes; the last operand names them
  kBarrier,  // waits for other threads
  kLoad,
  kStore,
  kAtomic,        // atom: load, store and result
  kReduction,     // red: load and store
  kCopyToShared,  // cp.async
  kControl,       // branches, returns, traps
  kCall,
  kNone,  // nothing that matters here: fences, hints
  kUnknown
};
Effect EffectOf(const Instruction& instruction);
// The state space a memory instruction names, kGeneric if none.
Space SpaceOf(const Instruction& instruction);
// The symbol an operand is, or its address is based on; null if none.
const SymbolOperand* SymbolOf(const Operand& operand);
// Calls `visit` for every symbol that an operand names, a vector's elements included.
void VisitSymbols(const Operand& operand, absl::FunctionRef<void(const SymbolOperand&)> visit);
// "line 7: `ld.global ...`: why", for messages.
std::string AtInstruction(const Instruction& instruction, std::string_view why);

// What an address may be based on.
struct Base {
  enum class Kind : uint8_t {
    kParameterWord,     // the 64 bits at `offset` in the parameter buffer
    kParameterAddress,  // the place of the kernel's parameter number `offset`, not its value
    kVariable           // the module's variable `name`
  };
  Kind kind = Kind::kParameterWord;
  uint32_t offset = 0;
  std::string name;
  friend auto operator<=>(const Base&, const Base&) = default;
};

// Bits of a value; bit kFirstBase + i stands for bases()[i].
enum ValueBit : uint32_t {
  kTainted,    // may depend on memory's contents or on time and place of execution
  kNarrow,     // computed from a parameter of less than 64 bits
  kAssembled,  // 64 bits put together from such: may be a pointer nobody can name
  kPieces,     // of a .param variable: such parts were stored to it
  kShared,     // an address of shared memory
  kLocal,      // an address of the thread's own memory
  kFirstBase
};

class Value {
 public:
  explicit Value(size_t bits = kFirstBase) : words_((bits + 63) / 64) {}
  bool Has(uint32_t bit) const { return (words_[bit / 64] >> bit % 64 & 1) != 0; }
  void Set(uint32_t bit) { words_[bit / 64] |= uint64_t{1} << bit % 64; }
  void Clear(uint32_t bit) { words_[bit / 64] &= ~(uint64_t{1} << bit % 64); }
  // Union; true if this changed. REQUIRES: the same number of bits.
  bool Join(const Value& other);
  // Forgets everything but the taint.
  void DropBases();

 private:
  std::vector<uint64_t> words_;
};

class Flow {
 public:
  struct Reached {
    const Function* function = nullptr;
    Body body;
    uint32_t first = 0;                                  // node of register 0; the carry flag's follows the last one's
    std::map<std::string, uint32_t, std::less<>> cells;  // .param variables -> node
    std::map<std::string, uint32_t, std::less<>> registers;  // of a function: by name, for its .reg parameters
  };

  explicit Flow(const Module& module) : module_(module) {}
  Flow(const Flow&) = delete;
  Flow& operator=(const Flow&) = delete;

  // kNotFound: no such kernel; kInvalidArgument: malformed PTX. What cannot be analysed is said by obstacle().
  absl::Status Solve(std::string_view kernel);
  // Why there is no solution; "" if there is: "line N: `call …`: …".
  const std::string& obstacle() const { return obstacle_; }

  // The kernel first, then what it calls, directly or not.
  const std::deque<Reached>& functions() const { return functions_; }
  const std::vector<Base>& bases() const { return bases_; }
  // What an operand may hold; of an address in brackets: the address.
  Value Of(const Reached& function, const Operand& operand) const;
  bool GuardTainted(const Reached& function, const Instruction& instruction) const;
  // How many of the instruction's first operands are its results.
  static size_t Results(const Instruction& instruction);

 private:
  absl::Status Reach(const Function& function);
  absl::Status ReachCallees(size_t index);
  const Function* Callee(const Instruction& call) const;
  void NumberNodes();
  void NumberBases();
  void TaintUnwritten();
  // False if there was no end to it.
  bool Iterate();

  Value None() const { return Value(bits_); }
  Value Tainted() const;
  Value AddressOf(const Reached& function, const std::string& symbol) const;
  // Everything the instruction reads, its guard included.
  Value Sources(const Reached& function, const Instruction& instruction) const;
  Value Computed(const Reached& function, const Instruction& instruction) const;
  Value Loaded(const Reached& function, const Instruction& instruction, uint32_t element) const;
  Value ParameterWords(uint32_t offset, uint64_t size) const;
  Value AnyParameterWord(const Value& address) const;

  void Step(const Reached& function, const Instruction& instruction);
  void StepLoad(const Reached& function, const Instruction& instruction);
  void StepStoreParameter(const Reached& function, const Instruction& instruction);
  void StepCall(const Reached& function, const Instruction& instruction);
  void TaintEscapedCells(const Reached& function, const Instruction& instruction);
  void Assign(const Reached& function, const Operand& to, const Value& value);
  void JoinNode(uint32_t node, const Value& value);
  uint32_t Carry(const Reached& function) const;
  // The node of a .param variable; of one, or a parameter declared as a register.
  std::optional<uint32_t> FindParameter(const Reached& function, const std::string& name) const;
  const uint32_t* FindCell(const Reached& function, const std::string& name) const;

  const Module& module_;
  std::string obstacle_;
  std::deque<Reached> functions_;
  std::map<std::string, uint32_t, std::less<>> index_;  // function name -> functions_[]
  std::vector<ParameterLayout> layout_;                 // of the kernel
  std::vector<Base> bases_;
  std::map<Base, uint32_t> base_bits_;
  size_t bits_ = kFirstBase;
  std::vector<Value> nodes_;
  bool changed_ = false;
};

}  // namespace wharf::device::ptx
