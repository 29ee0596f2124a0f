// Abstract syntax of a PTX module: what the parser makes and the compiler reads. Source: NVIDIA's PTX ISA 9.0.
//
// Function bodies are parsed on demand (Parse scans the module's directives only; ParseBody parses one body), because a
// module of a framework carries thousands of kernels of which a program uses a few.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace wharf::device::ptx {

// kReg: a function parameter declared in registers (`.func f(.reg .b32 x)`).
enum class Space : uint8_t { kNone, kGlobal, kShared, kLocal, kConst, kParam, kGeneric, kReg };

// Fundamental types; packed types (f16x2) are kept by name where an instruction names them.
enum class Type : uint8_t {
  kNone,
  kPred,
  kB8,
  kB16,
  kB32,
  kB64,
  kB128,
  kU8,
  kU16,
  kU32,
  kU64,
  kS8,
  kS16,
  kS32,
  kS64,
  kF16,
  kF16x2,
  kBF16,
  kBF16x2,
  kF32,
  kF64,
  kTF32,
  kE4M3x2,
  kE5M2x2,
  kU16x2,
  kS16x2,
  kF32x2
};

// Size of a type in bytes (kPred: 1, packed types: their whole), 0 for kNone.
uint32_t SizeOf(Type type);
// "s32" -> kS32; kNone if it is no type.
Type TypeFromName(std::string_view name);
std::string_view TypeName(Type type);

// A word of an initialiser: a literal (little-endian bytes of the element) or the address of another variable plus an
// offset.
struct Initializer {
  uint64_t bits = 0;
  std::string symbol;    // not empty: address of this variable or function + bits
  bool generic = false;  // generic(symbol): the generic address
  uint64_t mask = 0;     // e.g. 0xFF(symbol): one byte of the address; 0 = all
};

// A variable declaration in any space: module scope, function scope, parameter or register-like .param.
struct Variable {
  std::string name;
  Space space = Space::kNone;
  Type type = Type::kNone;  // element type
  uint32_t alignment = 0;   // bytes; natural if not given
  uint32_t vector = 1;      // .v2/.v4
  uint64_t elements = 1;    // product of the array's dimensions; 0 = extern unsized array
  bool is_array = false;
  bool is_extern = false, is_visible = false;
  bool is_weak = false, is_managed = false;
  std::string opaque;  // "texref", "samplerref" or "surfref" (then type is kB64); "" for data
  // By scalar in memory order (a .v4 element has four), nested braces flattened; shorter than elements * vector: the
  // rest is zero.
  std::vector<Initializer> initializer;
  uint64_t Bytes() const { return uint64_t{SizeOf(type)} * vector * elements; }
};

struct Operand;

// Register by name; resolved to an index into Body::registers. A vector register (`.reg .v4 .f32 v`) is parsed into
// one register per component: `v` becomes a VectorOperand of them, `v.x` the first.
struct RegisterOperand {
  uint32_t index = 0;
};
struct IntegerOperand {
  int64_t value = 0;
  bool is_unsigned = false;
};  // as written; unsigned if it had a U suffix or exceeds int64
struct FloatOperand {
  double value = 0;
  uint64_t bits = 0;
  bool is_single = false;
  bool is_exact = false;
};  // 0f…/0d… exact bits
struct SpecialOperand {
  std::string name;
};  // "tid.x", "laneid", "clock64", …: without the percent sign
struct SymbolOperand {
  std::string name;
  int64_t offset = 0;
};  // variable, function, label or param by name (+ offset)
// [base + offset]; base is a register or a symbol (whose own offset is then 0). The bracketed lists of texture and
// tensor instructions, [a, {x, y}], are a VectorOperand whose first element is the AddressOperand.
struct AddressOperand {
  std::variant<std::monostate, RegisterOperand, SymbolOperand> base;
  int64_t offset = 0;
};
// `{a}` is parsed as a itself.
struct VectorOperand {
  std::vector<Operand> elements;
};
struct SinkOperand {};  // '_'

struct Operand {
  std::variant<RegisterOperand, IntegerOperand, FloatOperand, SpecialOperand, SymbolOperand, AddressOperand,
               VectorOperand, SinkOperand>
      value;
  bool negated = false;  // !p or -x as a predicate/register prefix
  // Second destination of setp/shfl/…: "d|p" is stored as two operands, the second with this flag.
  bool after_bar = false;
  // Byte or half selector on a register (.b0 … .b3, .h0, .h1, .x …) for the video instructions and vector registers; ""
  // if none.
  std::string selector;
};

struct Instruction {
  std::string opcode;                  // "add", "ld", "mad", "bar", …
  std::vector<std::string> modifiers;  // in order, without dots: {"rn", "ftz", "f32"}; "shared::cta" kept whole
  std::vector<Operand> operands;       // in source order, destination first
  bool has_guard = false, guard_negated = false;
  uint32_t guard = 0;  // register index
  uint32_t line = 0;   // in the module's text, for messages
  std::string text;    // the instruction as written, for messages (at most 200 bytes)
  // The statement in Module::text, from its guard to its semicolon, and where in it the opcode stands.
  std::string_view source;
  uint32_t opcode_at = 0;

  // `call`: return and argument lists (names of .param variables or registers), callee (symbol or register operand in
  // operands[0]), and the prototype label for indirect calls.
  std::vector<Operand> call_returns, call_arguments;
  std::string call_prototype;

  bool Has(std::string_view modifier) const;
  // The last modifier that is a type, kNone if none; TypeAt(1) the one before it (cvt.d.s has d before s).
  Type TypeAt(int from_end = 0) const;
};

// A function body: straight list of instructions with labels in between.
struct Body {
  struct Register {
    std::string name;
    Type type;
  };
  std::vector<Register> registers;
  // .local, .shared, .param (and .global, .const) declared inside. Names of variables and labels are unique in the body
  // and differ from the function's parameters and everything in the module: where scopes repeat or shadow a name, the
  // later ones are called "name.1", "name.2", … and operands refer to those.
  std::vector<Variable> variables;
  std::vector<Instruction> instructions;
  std::vector<std::string_view> locations;                         // .loc and .file in Module::text, to the next word
  std::map<std::string, uint32_t> labels;                          // label -> index of the instruction it precedes
  std::map<std::string, std::vector<std::string>> branch_targets;  // name: .branchtargets L0, L1, …
  std::map<std::string, std::vector<std::string>> call_targets;    // name: .calltargets f0, f1, …
  struct Prototype {
    std::vector<Variable> returns, parameters;
    bool noreturn = false;
  };
  std::map<std::string, Prototype> prototypes;  // name: .callprototype …
};

struct Function {
  std::string name;
  bool is_entry = false, is_extern = false, is_weak = false, is_noreturn = false;
  std::vector<Variable> returns, parameters;
  // Directives: .maxntid, .reqntid, .minnctapersm, .maxnreg and so on.
  std::map<std::string, std::vector<uint64_t>> directives;
  std::string_view body_text;  // between the braces; empty for a declaration. Points into Module::text.
  uint32_t body_line = 0;
  // False for a declaration; a body may be empty text.
  bool HasBody() const { return body_text.data() != nullptr; }
};

struct Module {
  std::shared_ptr<const std::string> text;  // keeps the views alive
  int version_major = 0, version_minor = 0;
  std::string target;               // "sm_75"
  uint32_t target_sm = 0;           // 75
  std::vector<Variable> variables;  // module scope, all spaces
  std::vector<Function> functions;
  std::map<std::string, uint32_t, std::less<>> function_index;  // a definition wins over its declaration
  std::map<std::string, uint32_t, std::less<>> variable_index;
  std::map<std::string, std::string, std::less<>> aliases;  // .alias a, b

  const Function* FindFunction(std::string_view name) const;
  const Variable* FindVariable(std::string_view name) const;
};

// Follows .alias directives from a function's name.
std::string_view ResolveAlias(const Module& module, std::string_view name);

}  // namespace wharf::device::ptx
