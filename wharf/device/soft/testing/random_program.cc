#include "wharf/device/soft/testing/random_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace wharf::device::soft::random_program {
namespace {

constexpr const char* kPrefix[kClasses] = {"%p", "%h", "%r", "%d"};
constexpr int kWidth[kClasses] = {1, 16, 32, 64};

uint64_t MaskOf(Class type) {
  const int width = kWidth[static_cast<int>(type)];
  return width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
}

int PoolOf(Class type) { return kPool[static_cast<int>(type)]; }

// --- generator ---

class Generator {
 public:
  explicit Generator(MersenneRandom& random, bool for_gpu = false) : random_(random), for_gpu_(for_gpu) {}

  Block MakeBlock(int& budget, int depth) {
    Block block;
    const int length = 2 + random_.Below(6);
    for (int i = 0; i < length && budget > 0; ++i) block.push_back(MakeStatement(budget, depth));
    return block;
  }

  std::shared_ptr<const Statement> MakeInstruction(const InstructionSpec& spec) {
    auto statement = std::make_shared<Statement>();
    statement->spec = &spec;
    for (const Class type : spec.destinations) statement->destinations.push_back(Destination(*statement, type));
    for (const Source& source : spec.sources) statement->arguments.push_back(MakeArgument(source));
    if (spec.Guardable() && OneIn(6)) SetPredicate(*statement);
    return statement;
  }

 private:
  bool OneIn(int n) { return random_.Below(n) == 0; }
  std::shared_ptr<const Statement> MakeStatement(int& budget, int depth) {
    --budget;
    if (depth < 4 && OneIn(5)) {
      switch (random_.Below(4)) {
        case 0:
          return MakeLoop(budget, depth);
        case 1:
          return MakeSwitch(budget, depth);
        default:
          return MakeIf(budget, depth);
      }
    }
    if (loops_ > 0 && OneIn(12)) return MakeLeave();
    for (;;) {
      const Family& family = Families()[random_.Below(static_cast<int>(Families().size()))];
      const InstructionSpec& spec = family.specs[random_.Below(static_cast<int>(family.specs.size()))];
      if (!for_gpu_ || !DiffersOnGpus(spec)) return MakeInstruction(spec);
    }
  }

  // Two destinations of an instruction are different registers.
  int Destination(const Statement& statement, Class type) {
    for (;;) {
      const int index = random_.Below(PoolOf(type));
      bool taken = false;
      for (size_t i = 0; i < statement.destinations.size(); ++i) {
        taken |= statement.spec->destinations[i] == type && statement.destinations[i] == index;
      }
      if (!taken) return index;
    }
  }

  Argument MakeArgument(const Source& source) {
    Argument argument;
    argument.is_literal = source.literal != Literal::kNone && OneIn(5);
    argument.index = random_.Below(PoolOf(source.type));
    argument.bits = Interesting(random_, source.type);
    if (source.literal == Literal::kByte) argument.bits &= 0xFF;
    return argument;
  }

  void SetPredicate(Statement& statement) {
    statement.predicate = random_.Below(PoolOf(Class::kPredicate));
    statement.negated = OneIn(2);
  }

  std::shared_ptr<const Statement> MakeIf(int& budget, int depth) {
    auto statement = std::make_shared<Statement>();
    statement->kind = Statement::Kind::kIf;
    SetPredicate(*statement);
    statement->blocks.push_back(MakeBlock(budget, depth + 1));
    if (OneIn(2)) statement->blocks.push_back(MakeBlock(budget, depth + 1));
    return statement;
  }

  std::shared_ptr<const Statement> MakeLoop(int& budget, int depth) {
    auto statement = std::make_shared<Statement>();
    statement->kind = Statement::Kind::kLoop;
    statement->count = 1 + random_.Below(5);
    ++loops_;
    statement->blocks.push_back(MakeBlock(budget, depth + 1));
    --loops_;
    return statement;
  }

  std::shared_ptr<const Statement> MakeSwitch(int& budget, int depth) {
    auto statement = std::make_shared<Statement>();
    statement->kind = Statement::Kind::kSwitch;
    statement->selector = random_.Below(PoolOf(Class::kWord));
    const int cases = 1 << (1 + random_.Below(2));
    for (int i = 0; i < cases; ++i) statement->blocks.push_back(MakeBlock(budget, depth + 1));
    return statement;
  }

  std::shared_ptr<const Statement> MakeLeave() {
    auto statement = std::make_shared<Statement>();
    statement->kind = Statement::Kind::kLeave;
    SetPredicate(*statement);
    statement->levels = 1 + random_.Below(loops_);
    return statement;
  }

  MersenneRandom& random_;
  const bool for_gpu_;
  int loops_ = 0;
};

// --- printer ---

std::string LiteralText(const Source& source, uint64_t bits) {
  const int width = kWidth[static_cast<int>(source.type)];
  if (source.literal == Literal::kFloat) {
    return width == 64 ? fmt::format("0d{:016X}", bits) : fmt::format("0f{:08X}", bits);
  }
  if (source.literal != Literal::kSigned) return fmt::format("{}", bits);
  const auto value = static_cast<int64_t>(bits << (64 - width)) >> (64 - width);
  if (value == INT64_MIN) return "0x8000000000000000";
  return fmt::format("{}", value);
}

class Printer {
 public:
  std::string Print(const Program& program) {
    Prologue();
    PrintBlock(program.body);
    Epilogue();
    return std::move(text_);
  }

 private:
  void Line(std::string_view line) { text_.append("\t").append(line).append("\n"); }

  void Prologue() {
    text_ = ".version 9.0\n.target sm_90\n.address_size 64\n\n";
    text_ += DeviceFunctions();
    text_ += ".visible .entry kernel(\n\t.param .u64 in,\n\t.param .u64 out\n)\n{\n";
    Line(".reg .pred %p<16>, %q, %leave;");
    Line(".reg .b16 %h<16>, %lo, %hi;");
    Line(".reg .b32 %r<16>, %w, %thread, %count<1000>;");
    Line(".reg .b64 %d<16>, %in, %out, %offset;");
    Line("ld.param.u64 %in, [in];");
    Line("ld.param.u64 %out, [out];");
    Line("mov.u32 %w, %ctaid.x;");
    Line("mov.u32 %thread, %ntid.x;");
    Line("mul.lo.u32 %w, %w, %thread;");
    Line("mov.u32 %thread, %tid.x;");
    Line("add.u32 %thread, %thread, %w;");
    Line("mul.wide.u32 %offset, %thread, 8;");
    Line("add.u64 %in, %in, %offset;");
    Line("add.u64 %out, %out, %offset;");
    Transfer(true);
  }

  void Epilogue() {
    Transfer(false);
    Line("ret;");
    text_ += "}\n";
  }

  // Loads or stores all registers.
  void Transfer(bool load) {
    static constexpr const char* kType[kClasses] = {"u32", "u16", "u32", "u64"};
    int word = 0;
    for (int type = 0; type < kClasses; ++type) {
      for (int i = 0; i < kPool[type]; ++i, ++word) {
        const std::string name = type == 0 ? "%w" : fmt::format("{}{}", kPrefix[type], i);
        if (load) Line(fmt::format("ld.global.{} {}, [%in+{}];", kType[type], name, 8 * kThreads * word));
        if (load && type == 0) Line(fmt::format("setp.ne.u32 %p{}, %w, 0;", i));
        if (!load && type == 0) Line(fmt::format("selp.u32 %w, 1, 0, %p{};", i));
        if (!load) Line(fmt::format("st.global.{} [%out+{}], {};", kType[type], 8 * kThreads * word, name));
      }
    }
  }

  void PrintBlock(const Block& block) {
    for (const auto& statement : block) PrintStatement(*statement);
  }

  void PrintStatement(const Statement& statement) {
    switch (statement.kind) {
      case Statement::Kind::kInstruction:
        return PrintInstruction(statement);
      case Statement::Kind::kIf:
        return PrintIf(statement);
      case Statement::Kind::kLoop:
        return PrintLoop(statement);
      case Statement::Kind::kSwitch:
        return PrintSwitch(statement);
      case Statement::Kind::kLeave:
        Line(fmt::format("{}bra L{};", Guard(statement, false), ends_[ends_.size() - statement.levels]));
    }
  }

  static std::string Guard(const Statement& statement, bool inverted) {
    if (statement.predicate < 0) return "";
    return fmt::format("@{}%p{} ", statement.negated != inverted ? "!" : "", statement.predicate);
  }

  static std::string OperandText(const Statement& statement, size_t index) {
    const InstructionSpec& spec = *statement.spec;
    if (index < spec.destinations.size()) {
      return fmt::format("{}{}", kPrefix[static_cast<int>(spec.destinations[index])], statement.destinations[index]);
    }
    const size_t source = index - spec.destinations.size();
    const Argument& argument = statement.arguments[source];
    if (argument.is_literal) return LiteralText(spec.sources[source], argument.bits);
    return fmt::format("{}{}", kPrefix[static_cast<int>(spec.sources[source].type)], argument.index);
  }

  void PrintInstruction(const Statement& statement) {
    std::string line = Guard(statement, false);
    const std::string& text = statement.spec->text;
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '$') {
        line += OperandText(statement, static_cast<size_t>(text[++i] - '0'));
      } else {
        line += text[i];
      }
    }
    Line(line);
    PrintNan(statement);
  }

  // Replaces a NaN result by the one pattern.
  void PrintNan(const Statement& statement) {
    const NanIn nan = statement.spec->nan;
    if (nan == NanIn::kNothing) return;
    const std::string name = OperandText(statement, 0);
    const auto replace = [this](std::string_view type, std::string_view bits, std::string_view pattern,
                                std::string_view value) {
      Line(fmt::format("setp.nan.{} %q, {}, {};", type, value, value));
      Line(fmt::format("selp.{} {}, {}, {}, %q;", bits, value, pattern, value));
    };
    if (nan == NanIn::kF32) return replace("f32", "b32", "0x7FFFFFFF", name);
    if (nan == NanIn::kF64) return replace("f64", "b64", "0x7FFFFFFFFFFFFFFF", name);
    if (nan == NanIn::kF16) return replace("f16", "b16", "0x7FFF", name);
    if (nan == NanIn::kBF16) return replace("bf16", "b16", "0x7FFF", name);
    Line(fmt::format("mov.b32 {{%lo, %hi}}, {};", name));
    for (const char* half : {"%lo", "%hi"}) replace(nan == NanIn::kF16x2 ? "f16" : "bf16", "b16", "0x7FFF", half);
    Line(fmt::format("mov.b32 {}, {{%lo, %hi}};", name));
  }

  void PrintIf(const Statement& statement) {
    const int otherwise = labels_++;
    const int end = labels_++;
    Line(fmt::format("{}bra L{};", Guard(statement, true), otherwise));
    PrintBlock(statement.blocks[0]);
    if (statement.blocks.size() > 1) Line(fmt::format("bra L{};", end));
    text_ += fmt::format("L{}:\n", otherwise);
    if (statement.blocks.size() > 1) PrintBlock(statement.blocks[1]);
    text_ += fmt::format("L{}:\n", end);
  }

  void PrintLoop(const Statement& statement) {
    const int begin = labels_++;
    const int end = labels_++;
    const int counter = counters_++;
    Line(fmt::format("mov.u32 %count{}, 0;", counter));
    text_ += fmt::format("L{}:\n", begin);
    ends_.push_back(end);
    PrintBlock(statement.blocks[0]);
    ends_.pop_back();
    Line(fmt::format("add.u32 %count{}, %count{}, 1;", counter, counter));
    Line(fmt::format("setp.lt.u32 %leave, %count{}, {};", counter, statement.count));
    Line(fmt::format("@%leave bra L{};", begin));
    text_ += fmt::format("L{}:\n", end);
  }

  void PrintSwitch(const Statement& statement) {
    const int table = labels_++;
    const int end = labels_++;
    std::vector<std::string> names;
    for (size_t i = 0; i < statement.blocks.size(); ++i) names.push_back(fmt::format("L{}", labels_++));
    Line(fmt::format("and.b32 %w, %r{}, {};", statement.selector, statement.blocks.size() - 1));
    Line(fmt::format("L{}: .branchtargets {};", table, fmt::join(names, ", ")));
    Line(fmt::format("brx.idx %w, L{};", table));
    for (size_t i = 0; i < statement.blocks.size(); ++i) {
      text_ += names[i] + ":\n";
      PrintBlock(statement.blocks[i]);
      Line(fmt::format("bra L{};", end));
    }
    text_ += fmt::format("L{}:\n", end);
  }

  std::string text_;
  std::vector<int> ends_;  // labels behind the enclosing loops
  int labels_ = 0;
  int counters_ = 0;
};

// --- evaluator ---

uint64_t CanonicalHalf(uint64_t bits, bool brain) {
  const uint64_t infinity = brain ? 0x7F80 : 0x7C00;
  return (bits & 0x7FFF) > infinity ? 0x7FFF : bits;
}

uint64_t Canonical(uint64_t bits, NanIn nan) {
  switch (nan) {
    case NanIn::kNothing:
      return bits;
    case NanIn::kF32:
      return (bits & 0x7FFFFFFF) > 0x7F800000 ? 0x7FFFFFFF : bits;
    case NanIn::kF64:
      return (bits & INT64_MAX) > 0x7FF0000000000000 ? INT64_MAX : bits;
    case NanIn::kF16:
    case NanIn::kBF16:
      return CanonicalHalf(bits, nan == NanIn::kBF16);
    case NanIn::kF16x2:
    case NanIn::kBF16x2:
      return CanonicalHalf(bits & 0xFFFF, nan == NanIn::kBF16x2) | CanonicalHalf(bits >> 16, nan == NanIn::kBF16x2)
                                                                       << 16;
  }
  return bits;
}

class Evaluator {
 public:
  explicit Evaluator(State& state) : state_(state) {}

  // How many loops are still to be left; 0: go on.
  int Run(const Block& block) {
    for (const auto& statement : block) {
      if (const int levels = Run(*statement); levels > 0) return levels;
    }
    return 0;
  }

 private:
  uint64_t& Register(Class type, int index) { return state_.registers[static_cast<int>(type)][index]; }

  bool Holds(const Statement& statement) {
    return statement.predicate < 0 || (Register(Class::kPredicate, statement.predicate) != 0) != statement.negated;
  }

  int Run(const Statement& statement) {
    switch (statement.kind) {
      case Statement::Kind::kInstruction:
        RunInstruction(statement);
        return 0;
      case Statement::Kind::kIf:
        if (Holds(statement)) return Run(statement.blocks[0]);
        return statement.blocks.size() > 1 ? Run(statement.blocks[1]) : 0;
      case Statement::Kind::kLoop:
        for (int i = 0; i < statement.count; ++i) {
          if (const int levels = Run(statement.blocks[0]); levels > 0) return levels - 1;
        }
        return 0;
      case Statement::Kind::kSwitch:
        return Run(statement.blocks[Register(Class::kWord, statement.selector) % statement.blocks.size()]);
      case Statement::Kind::kLeave:
        return Holds(statement) ? statement.levels : 0;
    }
    return 0;
  }

  void RunInstruction(const Statement& statement) {
    const InstructionSpec& spec = *statement.spec;
    if (Holds(statement)) {
      uint64_t sources[8] = {};
      uint64_t results[4] = {};
      for (size_t i = 0; i < spec.sources.size(); ++i) {
        const Argument& argument = statement.arguments[i];
        sources[i] = argument.is_literal ? argument.bits : Register(spec.sources[i].type, argument.index);
      }
      spec.semantics(sources, results);
      for (size_t i = 0; i < spec.destinations.size(); ++i) {
        Register(spec.destinations[i], statement.destinations[i]) = results[i] & MaskOf(spec.destinations[i]);
      }
    }
    if (spec.nan != NanIn::kNothing) {
      uint64_t& result = Register(spec.destinations[0], statement.destinations[0]);
      result = Canonical(result, spec.nan);
    }
  }

  State& state_;
};

// --- shrinking ---

// Every block with one statement removed, or replaced by a block inside it.
std::vector<Block> SmallerBlocks(const Block& block) {
  std::vector<Block> smaller;
  for (size_t half = block.size() / 2; half > 1; half /= 2) {
    for (size_t begin = 0; begin + half <= block.size(); begin += half) {
      Block copy = block;
      copy.erase(copy.begin() + static_cast<ptrdiff_t>(begin), copy.begin() + static_cast<ptrdiff_t>(begin + half));
      smaller.push_back(std::move(copy));
    }
  }
  for (size_t i = 0; i < block.size(); ++i) {
    Block copy = block;
    copy.erase(copy.begin() + static_cast<ptrdiff_t>(i));
    smaller.push_back(copy);
    const Statement& statement = *block[i];
    for (size_t inner = 0; inner < statement.blocks.size(); ++inner) {
      if (statement.kind != Statement::Kind::kLoop) {
        Block flat = copy;
        flat.insert(flat.begin() + static_cast<ptrdiff_t>(i), statement.blocks[inner].begin(),
                    statement.blocks[inner].end());
        smaller.push_back(std::move(flat));
      }
      for (Block& replacement : SmallerBlocks(statement.blocks[inner])) {
        auto changed = std::make_shared<Statement>(statement);
        changed->blocks[inner] = std::move(replacement);
        Block outer = block;
        outer[i] = std::move(changed);
        smaller.push_back(std::move(outer));
      }
    }
  }
  return smaller;
}

}  // namespace

const std::vector<Family>& Families() {
  static const std::vector<Family> families = [] {
    std::vector<Family> all;
    AddIntegerSpecs(all);
    AddBitSpecs(all);
    AddCompareSpecs(all);
    AddFloatSpecs(all);
    AddHalfSpecs(all);
    AddConvertSpecs(all);
    AddCallSpecs(all);
    return all;
  }();
  return families;
}

uint64_t Interesting(MersenneRandom& random, Class type) {
  static constexpr uint64_t kHalves[] = {0,      0x8000, 0x3C00, 0xBC00, 0x7C00, 0xFC00, 0x7E00,
                                         1,      0x7FFF, 0x7BFF, 0x0400, 0x03FF, 0x3F80, 0x4200,
                                         0x3800, 0x3C01, 0xFFFF, 31,     0x7F80, 0x7F7F, 0x0080};
  static constexpr uint64_t kWords[] = {0,          0x80000000, 0x3F800000, 0xBF800000, 0x7F800000, 0xFF800000,
                                        0x7FC00000, 1,          0x7FFFFFFF, 0x7F7FFFFF, 0x00800000, 0x007FFFFF,
                                        0x3F000000, 0x4F000000, 0xFFFFFFFF, 31,         32,         0xCF000001,
                                        0x477FE000, 0x477FF000, 0x4B000001, 0x33000000, 0x40490FDB, 8};
  static constexpr uint64_t kDoubles[] = {0,
                                          0x8000000000000000,
                                          0x3FF0000000000000,
                                          0xBFF0000000000000,
                                          0x7FF0000000000000,
                                          0xFFF0000000000000,
                                          0x7FF8000000000000,
                                          1,
                                          0x7FFFFFFFFFFFFFFF,
                                          0x7FEFFFFFFFFFFFFF,
                                          0x0010000000000000,
                                          0x000FFFFFFFFFFFFF,
                                          0x3FE0000000000000,
                                          0x43E0000000000000,
                                          0xFFFFFFFFFFFFFFFF,
                                          63,
                                          64,
                                          0x41EFFFFFFFE00000,
                                          0x47EFFFFFF0000000,
                                          0x36A0000000000001,
                                          0x4340000000000001,
                                          0x400921FB54442D18};
  const auto pick = [&random](const auto& list) { return list[random.Below(static_cast<int>(std::size(list)))]; };
  const int way = random.Below(8);
  if (type == Class::kPredicate) return random.Next() & 1;
  if (way < 2) return random.Next() & MaskOf(type);
  if (way == 2)
    return random.Next() >> (64 - kWidth[static_cast<int>(type)] + random.Below(kWidth[static_cast<int>(type)]));
  if (way == 3) return (uint64_t{0} - (random.Next() % 100)) & MaskOf(type);
  if (type == Class::kHalf)
    return way < 6 ? pick(kHalves) : (0x3000 + random.Next() % 0x1800) | (random.Next() & 0x8000);
  if (type == Class::kWord)
    return way < 6 ? pick(kWords) : (0x3D000000 + random.Next() % 0x05000000) | (random.Next() & 0x80000000);
  return way < 6 ? pick(kDoubles)
                 : (0x3FA0000000000000 + random.Next() % 0x00A0000000000000) | (random.Next() & (uint64_t{1} << 63));
}

bool DiffersOnGpus(const InstructionSpec& spec) {
  static constexpr std::string_view kDiffering[] = {
      "set.",
      "testp.",  // guarded ones change their destination although the guard does not hold
      "bfe.",
      "bfi.",  // positions and lengths from 256 on count in full
      "shl.b16",
      "shr.u16",
      "shr.s16",                   // of a literal distance, the lower half counts
      "and.b32 %w, $2, 31; fns.",  // a distance of INT_MIN
      "fibonacci"};                // the compiler crashes on some programs with recursive functions
  return std::any_of(std::begin(kDiffering), std::end(kDiffering),
                     [&](std::string_view part) { return spec.text.find(part) != std::string::npos; });
}

Program Generate(MersenneRandom& random, int size, bool for_gpu) {
  Program program;
  Generator generator(random, for_gpu);
  while (size > 0) {
    const Block block = generator.MakeBlock(size, 0);
    program.body.insert(program.body.end(), block.begin(), block.end());
  }
  return program;
}

Program StraightLine(MersenneRandom& random, const std::vector<const InstructionSpec*>& specs) {
  Program program;
  Generator generator(random);
  for (const InstructionSpec* spec : specs) program.body.push_back(generator.MakeInstruction(*spec));
  return program;
}

State RandomState(MersenneRandom& random) {
  State state;
  for (int type = 0; type < kClasses; ++type) {
    for (int i = 0; i < kPool[type]; ++i) {
      state.registers[type].push_back(Interesting(random, static_cast<Class>(type)));
    }
  }
  return state;
}

void StoreState(const State& state, int thread, uint64_t* words) {
  words += thread;
  for (const auto& list : state.registers) {
    for (const uint64_t value : list) {
      *words = value;
      words += kThreads;
    }
  }
}

std::string RegisterName(int index) {
  int type = 0;
  while (index >= kPool[type]) index -= kPool[type++];
  return fmt::format("{}{}", kPrefix[type], index);
}

std::string PrintPtx(const Program& program) { return Printer().Print(program); }

State Evaluate(const Program& program, State state) {
  Evaluator(state).Run(program.body);
  return state;
}

std::vector<Program> Smaller(const Program& program) {
  std::vector<Program> smaller;
  for (Block& block : SmallerBlocks(program.body)) smaller.push_back({std::move(block)});
  return smaller;
}

}  // namespace wharf::device::soft::random_program
