// Random PTX programs and an independent evaluator of them, for random_program_test.cc.
//
// An instruction is described once (InstructionSpec): its PTX text, the classes of its operands and a function that
// computes what the PTX ISA says it does, in plain C++ on 64-bit words. A program is a tree of statements over four
// pools of registers; it is printed as PTX for the compiler under test and walked by Evaluate.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "wharf/base/mersenne_random.h"

namespace wharf::device::soft::random_program {

// Register classes. Registers are untyped (.b16, .b32, .b64), as PTX allows for any instruction of the same width.
enum class Class : uint8_t { kPredicate, kHalf, kWord, kDouble };
inline constexpr int kClasses = 4;
// Registers of each class in a program.
inline constexpr int kPool[kClasses] = {5, 6, 8, 6};

// How a source operand may be written as a literal: not at all, as a signed or unsigned integer, as one of 0 to 255, as
// a float's bits.
enum class Literal : uint8_t { kNone, kSigned, kUnsigned, kByte, kFloat };

struct Source {
  Class type;
  Literal literal = Literal::kNone;
};

// Results that are NaN have unspecified bits; programs and the evaluator replace them by one pattern at once.
enum class NanIn : uint8_t { kNothing, kF16, kBF16, kF16x2, kBF16x2, kF32, kF64 };

// Reads the sources, writes the destinations; words are zero-extended.
using Semantics = std::function<void(const uint64_t* sources, uint64_t* destinations)>;

struct InstructionSpec {
  std::string text;  // "add.s32 $0, $1, $2;": destinations, then sources; several instructions cannot be guarded
  std::vector<Class> destinations;
  std::vector<Source> sources;
  NanIn nan = NanIn::kNothing;
  Semantics semantics;

  bool Guardable() const { return text.find(';') == text.size() - 1; }
};

// Every instruction, by family: "add.s32", "add.f32" and so on belong to one.
struct Family {
  std::string name;
  std::vector<InstructionSpec> specs;
};
const std::vector<Family>& Families();

// The parts of Families().
void AddIntegerSpecs(std::vector<Family>& families);
void AddBitSpecs(std::vector<Family>& families);
void AddCompareSpecs(std::vector<Family>& families);
void AddFloatSpecs(std::vector<Family>& families);
void AddHalfSpecs(std::vector<Family>& families);
void AddConvertSpecs(std::vector<Family>& families);
void AddCallSpecs(std::vector<Family>& families);

// PTX of the functions that the instructions of AddCallSpecs call.
const char* DeviceFunctions();

// A word of this class; often one of the values at which arithmetic changes its mind.
uint64_t Interesting(MersenneRandom& random, Class type);

struct Argument {
  bool is_literal = false;
  int index = 0;      // of a register of the source's class
  uint64_t bits = 0;  // of a literal
};

struct Statement;
using Block = std::vector<std::shared_ptr<const Statement>>;

struct Statement {
  enum class Kind : uint8_t { kInstruction, kIf, kLoop, kSwitch, kLeave };
  Kind kind = Kind::kInstruction;
  // kInstruction
  const InstructionSpec* spec = nullptr;
  std::vector<int> destinations;
  std::vector<Argument> arguments;
  // The guard of an instruction, the condition of kIf and kLeave: a predicate, perhaps negated. -1: none.
  int predicate = -1;
  bool negated = false;
  // kIf: then, else. kLoop: one. kSwitch: one for each case.
  std::vector<Block> blocks;
  int count = 0;     // kLoop: iterations, at least one
  int selector = 0;  // kSwitch: the word register whose value modulo the number of cases selects
  int levels = 0;    // kLeave: how many enclosing loops to leave, at least one
};

struct Program {
  Block body;
};

// A program of about `size` instructions. `for_gpu`: of those for which NVIDIA's compiler does what PTX says.
Program Generate(MersenneRandom& random, int size, bool for_gpu = false);
// Whether NVIDIA's compiler (ptxas 13.0 and the driver's, for an H200) does something else than PTX says.
bool DiffersOnGpus(const InstructionSpec& spec);
// One that runs exactly these instructions.
Program StraightLine(MersenneRandom& random, const std::vector<const InstructionSpec*>& specs);

// Registers of one thread, by class.
struct State {
  std::vector<uint64_t> registers[kClasses];
  friend bool operator==(const State&, const State&) = default;
};
// In memory each register is a word; word `index` of all threads lie side by side, classes in their order.
inline constexpr int kStateWords = kPool[0] + kPool[1] + kPool[2] + kPool[3];
inline constexpr int kThreads = 40;
State RandomState(MersenneRandom& random);
// Stores a thread's registers; `words` has kStateWords * kThreads.
void StoreState(const State& state, int thread, uint64_t* words);
// "%r3" and so on of word `index` of a stored state.
std::string RegisterName(int index);

// A kernel `kernel(in, out)` for kThreads threads: each loads its registers from `in`, runs the program and stores them
// to `out`.
std::string PrintPtx(const Program& program);

// What the registers hold after the program.
State Evaluate(const Program& program, State state);

// Programs with one statement removed or replaced by its content, for finding the smallest that still fails.
std::vector<Program> Smaller(const Program& program);

}  // namespace wharf::device::soft::random_program
