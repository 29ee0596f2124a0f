// Arithmetic and comparison on f16, bf16 and pairs of them.
#include "wharf/device/soft/testing/random_program_rounding.h"
#include "wharf/device/soft/testing/random_program_types.h"

namespace wharf::device::soft::random_program {
namespace {

struct HalfType {
  const char* name;
  Format format;
  NanIn nan, nan_in_pair;
};
constexpr HalfType kHalfTypes[] = {{"f16", kF16, NanIn::kF16, NanIn::kF16x2},
                                   {"bf16", kBF16, NanIn::kBF16, NanIn::kBF16x2}};

struct Modifiers {
  bool flush = false, saturate = false, relu = false;
  std::string Text() const {
    return fmt::format("{}{}{}", flush ? ".ftz" : "", saturate ? ".sat" : "", relu ? ".relu" : "");
  }
};

uint64_t FlushBits(const Format& format, uint64_t bits, bool flush) {
  const uint64_t magnitude = bits & (format.Sign() - 1);
  return flush && magnitude < uint64_t{1} << format.mantissa_bits ? bits & format.Sign() : bits;
}

// Encodes a result, rounded to nearest, and applies the modifiers.
uint64_t Finish(const Format& format, double value, const Modifiers& modifiers) {
  if (modifiers.saturate) value = !(value > 0) ? 0 : value > 1 ? 1 : value;
  if (modifiers.relu && value <= 0) value = 0;
  return FlushBits(format, Encode(format, value, FE_TONEAREST), modifiers.flush);
}

// One function of up to three halves, also for each half of a pair.
using Scalar = std::function<uint64_t(const uint64_t* sources)>;

void AddScalarAndPair(Family& family, const HalfType& type, const std::string& name, int sources,
                      const Scalar& function, bool can_be_nan = true) {
  InstructionSpec scalar;
  scalar.text = fmt::format("{}.{}{}", name, type.name, OperandList(sources + 1));
  scalar.destinations = {Class::kHalf};
  scalar.sources.assign(sources, Source{Class::kHalf});
  scalar.nan = can_be_nan ? type.nan : NanIn::kNothing;
  scalar.semantics = [function](const uint64_t* s, uint64_t* d) { d[0] = function(s); };
  family.specs.push_back(std::move(scalar));
  InstructionSpec pair;
  pair.text = fmt::format("{}.{}x2{}", name, type.name, OperandList(sources + 1));
  pair.destinations = {Class::kWord};
  pair.sources.assign(sources, Source{Class::kWord});
  pair.nan = can_be_nan ? type.nan_in_pair : NanIn::kNothing;
  pair.semantics = [function, sources](const uint64_t* s, uint64_t* d) {
    d[0] = 0;
    for (int half = 0; half < 2; ++half) {
      uint64_t part[3] = {};
      for (int i = 0; i < sources; ++i) part[i] = s[i] >> (16 * half) & 0xFFFF;
      d[0] |= function(part) << (16 * half);
    }
  };
  family.specs.push_back(std::move(pair));
}

void AddArithmetic(Family& family, const HalfType& type, const Modifiers& modifiers) {
  const Format format = type.format;
  const auto value = [format, modifiers](uint64_t bits) {
    return Decode(format, FlushBits(format, bits, modifiers.flush));
  };
  const auto finish = [format, modifiers](double result) { return Finish(format, result, modifiers); };
  const std::string suffix = ".rn" + modifiers.Text();
  if (!modifiers.relu) {
    AddScalarAndPair(family, type, "add" + suffix, 2,
                     [=](const uint64_t* s) { return finish(AddToOdd(value(s[0]), value(s[1]))); });
    AddScalarAndPair(family, type, "sub" + suffix, 2,
                     [=](const uint64_t* s) { return finish(AddToOdd(value(s[0]), -value(s[1]))); });
    AddScalarAndPair(family, type, "mul" + suffix, 2,
                     [=](const uint64_t* s) { return finish(value(s[0]) * value(s[1])); });
  }
  AddScalarAndPair(family, type, "fma" + suffix, 3,
                   [=](const uint64_t* s) { return finish(AddToOdd(value(s[0]) * value(s[1]), value(s[2]))); });
}

void AddSigns(Family& family, const HalfType& type, bool flush) {
  const Format format = type.format;
  const std::string suffix = flush ? ".ftz" : "";
  AddScalarAndPair(family, type, "neg" + suffix, 1,
                   [=](const uint64_t* s) { return FlushBits(format, s[0], flush) ^ format.Sign(); });
  AddScalarAndPair(family, type, "abs" + suffix, 1,
                   [=](const uint64_t* s) { return FlushBits(format, s[0], flush) & ~format.Sign(); });
}

void AddExtremes(Family& family, const HalfType& type, bool flush, bool propagate) {
  const Format format = type.format;
  const std::string suffix = fmt::format("{}{}", flush ? ".ftz" : "", propagate ? ".NaN" : "");
  for (const bool largest : {false, true}) {
    AddScalarAndPair(family, type, (largest ? "max" : "min") + suffix, 2, [=](const uint64_t* s) -> uint64_t {
      const uint64_t a = FlushBits(format, s[0], flush);
      const uint64_t b = FlushBits(format, s[1], flush);
      const double x = Decode(format, a);
      const double y = Decode(format, b);
      if (std::isnan(x) || std::isnan(y)) {
        return propagate || std::isnan(x) == std::isnan(y) ? format.Sign() - 1 : std::isnan(x) ? b : a;
      }
      if (x == y) return std::signbit(x) == largest ? b : a;
      return (x < y) != largest ? a : b;
    });
  }
}

bool Holds(const std::string& name, double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return name == "neu" || name == "ltu" || name == "nan";
  if (name == "eq") return a == b;
  if (name == "ne" || name == "neu") return a != b;
  if (name == "lt" || name == "ltu") return a < b;
  if (name == "ge") return a >= b;
  return name == "num";
}

void AddComparisons(Family& family, const HalfType& type, bool flush) {
  const Format format = type.format;
  const auto value = [=](uint64_t bits) { return Decode(format, FlushBits(format, bits, flush)); };
  const std::string ftz = flush ? ".ftz" : "";
  for (const std::string name : {"eq", "ne", "lt", "ge", "neu", "ltu", "num", "nan"}) {
    InstructionSpec scalar;
    scalar.text = fmt::format("setp.{}{}.{} $0, $1, $2;", name, ftz, type.name);
    scalar.destinations = {Class::kPredicate};
    scalar.sources.assign(2, Source{Class::kHalf});
    scalar.semantics = [=](const uint64_t* s, uint64_t* d) { d[0] = Holds(name, value(s[0]), value(s[1])) ? 1 : 0; };
    family.specs.push_back(std::move(scalar));
    InstructionSpec pair;
    pair.text = fmt::format("setp.{}{}.{}x2 $0|$1, $2, $3;", name, ftz, type.name);
    pair.destinations = {Class::kPredicate, Class::kPredicate};
    pair.sources.assign(2, Source{Class::kWord});
    pair.semantics = [=](const uint64_t* s, uint64_t* d) {
      d[0] = Holds(name, value(s[0] & 0xFFFF), value(s[1] & 0xFFFF)) ? 1 : 0;
      d[1] = Holds(name, value(s[0] >> 16), value(s[1] >> 16)) ? 1 : 0;
    };
    family.specs.push_back(std::move(pair));
  }
}

// set.…: ones or 1.0 where the comparison holds.
void AddSets(Family& family, const HalfType& type, bool flush) {
  const Format format = type.format;
  const uint64_t one = Encode(format, 1, FE_TONEAREST);
  const auto value = [=](uint64_t bits) { return Decode(format, FlushBits(format, bits, flush)); };
  const std::string ftz = flush ? ".ftz" : "";
  for (const std::string name : {"eq", "lt", "neu", "nan"}) {
    AddScalarAndPair(
        family, type, fmt::format("set.{}{}.{}", name, ftz, type.name), 2,
        [=](const uint64_t* s) { return Holds(name, value(s[0]), value(s[1])) ? one : 0; }, false);
    InstructionSpec& pair = family.specs.back();  // its result type is the pair, too
    pair.text = fmt::format("set.{}{}.{}x2.{}x2 $0, $1, $2;", name, ftz, type.name, type.name);
    InstructionSpec word;
    word.text = fmt::format("set.{}{}.u32.{} $0, $1, $2;", name, ftz, type.name);
    word.destinations = {Class::kWord};
    word.sources.assign(2, Source{Class::kHalf});
    word.semantics = [=](const uint64_t* s, uint64_t* d) {
      d[0] = Holds(name, value(s[0]), value(s[1])) ? 0xFFFFFFFF : 0;
    };
    family.specs.push_back(std::move(word));
  }
}

}  // namespace

void AddHalfSpecs(std::vector<Family>& families) {
  for (const HalfType& type : kHalfTypes) {
    const bool is_f16 = type.nan == NanIn::kF16;  // bf16 has no .ftz and no .sat
    Family family{type.name, {}};
    for (const bool flush : {false, true}) {
      if (flush && !is_f16) continue;
      AddArithmetic(family, type, {.flush = flush});
      if (is_f16) AddArithmetic(family, type, {.flush = flush, .saturate = true});
      AddArithmetic(family, type, {.flush = flush, .relu = true});
      AddSigns(family, type, flush);
      AddExtremes(family, type, flush, false);
      AddExtremes(family, type, flush, true);
      AddComparisons(family, type, flush);
      AddSets(family, type, flush);
    }
    families.push_back(std::move(family));
  }
}

}  // namespace wharf::device::soft::random_program
