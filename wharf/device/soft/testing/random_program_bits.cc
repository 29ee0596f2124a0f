// Bits: logic, shifts, fields, permutation, packing, and predicates' logic.
#include <algorithm>
#include <bit>

#include "wharf/device/soft/testing/random_program_types.h"

namespace wharf::device::soft::random_program {
namespace {

template <typename T>
void AddLogic(Family& family) {
  const std::string type = fmt::format("b{}", 8 * sizeof(T));
  auto& specs = family.specs;
  specs.push_back(MakeSpec<T, T, T>("and." + type, [](T a, T b) { return a & b; }));
  specs.push_back(MakeSpec<T, T, T>("or." + type, [](T a, T b) { return a | b; }));
  specs.push_back(MakeSpec<T, T, T>("xor." + type, [](T a, T b) { return a ^ b; }));
  specs.push_back(MakeSpec<T, T>("not." + type, [](T a) { return ~a; }));
  specs.push_back(MakeSpec<T, T>("cnot." + type, [](T a) { return a == 0 ? 1 : 0; }));
  specs.push_back(MakeSpec<T, T>("mov." + type, [](T a) { return a; }));
  specs.push_back(MakeSpec<T, T, T, bool>("selp." + type, [](T a, T b, bool p) { return p ? a : b; }));
}

// Shift amounts beyond the width give what shifting bit by bit would.
template <typename T>
void AddShifts(Family& family) {
  using S = std::make_signed_t<T>;
  constexpr uint32_t kBits = 8 * sizeof(T);
  family.specs.push_back(MakeSpec<T, T, uint32_t>(
      fmt::format("shl.b{}", kBits), [](T a, uint32_t n) { return n >= kBits ? T{0} : static_cast<T>(a << n); }));
  family.specs.push_back(MakeSpec<T, T, uint32_t>(
      fmt::format("shr.u{}", kBits), [](T a, uint32_t n) { return n >= kBits ? T{0} : static_cast<T>(a >> n); }));
  family.specs.push_back(MakeSpec<S, S, uint32_t>(
      fmt::format("shr.s{}", kBits), [](S a, uint32_t n) { return static_cast<S>(a >> std::min(n, kBits - 1)); }));
}

void AddFunnelShifts(Family& family) {
  using T = uint32_t;
  for (const bool clamp : {false, true}) {
    const char* mode = clamp ? "clamp" : "wrap";
    const auto amount = [clamp](T c) { return clamp ? std::min(c, T{32}) : c & 31; };
    family.specs.push_back(MakeSpec<T, T, T, T>(fmt::format("shf.l.{}.b32", mode), [amount](T a, T b, T c) {
      return static_cast<T>((((uint64_t{b} << 32) | a) << amount(c)) >> 32);
    }));
    family.specs.push_back(MakeSpec<T, T, T, T>(fmt::format("shf.r.{}.b32", mode), [amount](T a, T b, T c) {
      return static_cast<T>(((uint64_t{b} << 32) | a) >> amount(c));
    }));
  }
}

template <typename T>
void AddFields(Family& family) {
  using S = std::make_signed_t<T>;
  constexpr int kBits = 8 * sizeof(T);
  const auto extract = [](T a, uint32_t b, uint32_t c, bool is_signed) {
    const int position = static_cast<int>(b & 0xFF);
    const int length = static_cast<int>(c & 0xFF);
    const bool fill = is_signed && length > 0 && (a >> std::min(position + length - 1, kBits - 1) & 1) != 0;
    T field = 0;
    for (int i = 0; i < kBits; ++i) {
      const bool bit = i < length && position + i < kBits ? (a >> (position + i) & 1) != 0 : fill;
      field |= static_cast<T>(T{bit} << i);
    }
    return field;
  };
  // A literal position or length has to be a byte.
  const auto add = [&family](InstructionSpec spec) {
    for (size_t i = spec.sources.size() - 2; i < spec.sources.size(); ++i) spec.sources[i].literal = Literal::kByte;
    family.specs.push_back(std::move(spec));
  };
  add(MakeSpec<T, T, uint32_t, uint32_t>("bfe." + NameOf<T>(),
                                         [extract](T a, uint32_t b, uint32_t c) { return extract(a, b, c, false); }));
  add(MakeSpec<S, S, uint32_t, uint32_t>(
      "bfe." + NameOf<S>(), [extract](S a, uint32_t b, uint32_t c) { return extract(static_cast<T>(a), b, c, true); }));
  add(MakeSpec<T, T, T, uint32_t, uint32_t>(fmt::format("bfi.b{}", kBits), [](T a, T b, uint32_t c, uint32_t d) {
    const int position = static_cast<int>(c & 0xFF);
    const int length = static_cast<int>(d & 0xFF);
    for (int i = 0; i < length && position + i < kBits; ++i) {
      const T bit = T{1} << (position + i);
      b = (a >> i & 1) != 0 ? b | bit : b & ~bit;
    }
    return b;
  }));
}

template <typename T>
void AddCounts(Family& family) {
  using S = std::make_signed_t<T>;
  constexpr int kBits = 8 * sizeof(T);
  family.specs.push_back(MakeSpec<uint32_t, T>(fmt::format("popc.b{}", kBits),
                                               [](T a) { return static_cast<uint32_t>(std::popcount(a)); }));
  family.specs.push_back(MakeSpec<uint32_t, T>(fmt::format("clz.b{}", kBits),
                                               [](T a) { return static_cast<uint32_t>(std::countl_zero(a)); }));
  family.specs.push_back(MakeSpec<T, T>(fmt::format("brev.b{}", kBits), [](T a) {
    T reversed = 0;
    for (int i = 0; i < kBits; ++i) reversed = static_cast<T>(reversed << 1) | (a >> i & 1);
    return reversed;
  }));
  // The position of the most significant bit that is not a copy of the sign.
  const auto find = [](T a, bool shift_amount) {
    if (a == 0) return 0xFFFFFFFFU;
    const auto zeros = static_cast<uint32_t>(std::countl_zero(a));
    return shift_amount ? zeros : kBits - 1 - zeros;
  };
  for (const bool amount : {false, true}) {
    const std::string name = amount ? "bfind.shiftamt." : "bfind.";
    family.specs.push_back(MakeSpec<uint32_t, T>(name + NameOf<T>(), [=](T a) { return find(a, amount); }));
    family.specs.push_back(
        MakeSpec<uint32_t, S>(name + NameOf<S>(), [=](S a) { return find(static_cast<T>(a < 0 ? ~a : a), amount); }));
  }
}

void AddMasks(Family& family) {
  using T = uint32_t;
  for (const bool clamp : {false, true}) {
    const char* mode = clamp ? "clamp" : "wrap";
    family.specs.push_back(MakeSpec<T, T, T>(fmt::format("bmsk.{}.b32", mode), [clamp](T a, T b) {
      if (clamp && a >= 32) return T{0};
      const T first = a & 31;
      const T length = clamp ? std::min(b, T{32}) : b & 31;
      T mask = 0;
      for (T i = first; i < 32 && i < first + length; ++i) mask |= T{1} << i;
      return mask;
    }));
    family.specs.push_back(MakeSpec<T, T, T>(fmt::format("szext.{}.u32", mode), [clamp](T a, T b) {
      if (clamp && b >= 32) return a;
      return static_cast<T>(a & ((uint64_t{1} << (b & 31)) - 1));
    }));
    family.specs.push_back(MakeSpec<int32_t, int32_t, T>(fmt::format("szext.{}.s32", mode), [clamp](int32_t a, T b) {
      const T width = b & 31;
      if (clamp && b >= 32) return a;
      if (width == 0) return 0;
      return static_cast<int32_t>(static_cast<T>(a) << (32 - width)) >> (32 - width);
    }));
  }
  family.specs.push_back(
      WithText(MakeSpec<T, T, T, int32_t>("fns",
                                          [](T mask, T base, int32_t offset) {
                                            int position = static_cast<int>(base & 31);
                                            if (offset == 0)
                                              return (mask >> position & 1) != 0 ? static_cast<T>(position) : ~T{0};
                                            const int step = offset > 0 ? 1 : -1;
                                            int64_t left = std::abs(static_cast<int64_t>(offset)) - 1;
                                            for (; position >= 0 && position < 32; position += step) {
                                              if ((mask >> position & 1) != 0 && left-- == 0)
                                                return static_cast<T>(position);
                                            }
                                            return ~T{0};
                                          }),
               "and.b32 %w, $2, 31; fns.b32 $0, $1, %w, $3;"));
}

// Which of the eight bytes of {b, a} the selector's mode takes for byte `i`.
uint32_t PermuteIndex(const std::string& mode, uint32_t selector, uint32_t i) {
  const uint32_t s = selector & 3;
  if (mode == ".f4e") return s + i;
  if (mode == ".b4e") return (s - i) & 7;
  if (mode == ".rc8") return s;
  if (mode == ".ecl") return std::max(s, i);
  if (mode == ".ecr") return std::min(s, i);
  return (s & 1) * 2 + (i & 1);  // .rc16
}

void AddPermute(Family& family) {
  using T = uint32_t;
  family.specs.push_back(MakeSpec<T, T, T, T>("prmt.b32", [](T a, T b, T c) {
    const uint64_t bytes = (uint64_t{b} << 32) | a;
    T result = 0;
    for (int i = 0; i < 4; ++i) {
      const T nibble = c >> (4 * i) & 15;
      const T byte = static_cast<T>(bytes >> (8 * (nibble & 7))) & 0xFF;
      result |= ((nibble & 8) == 0 ? byte : (byte & 0x80) != 0 ? 0xFFU : 0U) << (8 * i);
    }
    return result;
  }));
  for (const std::string mode : {".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"}) {
    family.specs.push_back(MakeSpec<T, T, T, T>("prmt.b32" + mode, [mode](T a, T b, T c) {
      const uint64_t bytes = (uint64_t{b} << 32) | a;
      T result = 0;
      for (uint32_t i = 0; i < 4; ++i) {
        result |= (static_cast<T>(bytes >> (8 * PermuteIndex(mode, c, i))) & 0xFF) << (8 * i);
      }
      return result;
    }));
  }
}

void AddLop3(Family& family) {
  using T = uint32_t;
  for (const int table : {0x80, 0xFE, 0x96, 0xE8, 0xCA, 0x1B, 0x00, 0xFF, 0x6F}) {
    InstructionSpec spec = MakeSpec<T, T, T, T>("", [table](T a, T b, T c) {
      T result = 0;
      for (int i = 0; i < 32; ++i) {
        const T row = (a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1);
        result |= static_cast<T>(table >> row & 1) << i;
      }
      return result;
    });
    family.specs.push_back(WithText(spec, fmt::format("lop3.b32 $0, $1, $2, $3, {};", table)));
  }
}

// One register made of several, and the reverse.
void AddPacking(Family& family) {
  const auto add = [&family](std::string text, std::vector<Class> destinations, std::vector<Source> sources,
                             Semantics semantics) {
    family.specs.push_back(
        {std::move(text), std::move(destinations), std::move(sources), NanIn::kNothing, std::move(semantics)});
  };
  const Source half{Class::kHalf};
  const Source word{Class::kWord};
  const Source wide{Class::kDouble};
  add("mov.b32 $0, {$1, $2};", {Class::kWord}, {half, half},
      [](const uint64_t* s, uint64_t* d) { d[0] = s[0] | s[1] << 16; });
  add("mov.b32 {$0, $1}, $2;", {Class::kHalf, Class::kHalf}, {word}, [](const uint64_t* s, uint64_t* d) {
    d[0] = s[0];
    d[1] = s[0] >> 16;
  });
  add("mov.b64 $0, {$1, $2};", {Class::kDouble}, {word, word},
      [](const uint64_t* s, uint64_t* d) { d[0] = s[0] | s[1] << 32; });
  add("mov.b64 {$0, $1}, $2;", {Class::kWord, Class::kWord}, {wide}, [](const uint64_t* s, uint64_t* d) {
    d[0] = s[0];
    d[1] = s[0] >> 32;
  });
  add("mov.b64 {_, $0}, $1;", {Class::kWord}, {wide}, [](const uint64_t* s, uint64_t* d) { d[0] = s[0] >> 32; });
  add("mov.b64 $0, {$1, $2, $3, $4};", {Class::kDouble}, {half, half, half, half},
      [](const uint64_t* s, uint64_t* d) { d[0] = s[0] | s[1] << 16 | s[2] << 32 | s[3] << 48; });
  add("mov.b64 {$0, $1, $2, $3}, $4;", {Class::kHalf, Class::kHalf, Class::kHalf, Class::kHalf}, {wide},
      [](const uint64_t* s, uint64_t* d) {
        for (int i = 0; i < 4; ++i) d[i] = s[0] >> (16 * i);
      });
}

void AddPredicateLogic(Family& family) {
  family.specs.push_back(MakeSpec<bool, bool, bool>("and.pred", [](bool a, bool b) { return a && b; }));
  family.specs.push_back(MakeSpec<bool, bool, bool>("or.pred", [](bool a, bool b) { return a || b; }));
  family.specs.push_back(MakeSpec<bool, bool, bool>("xor.pred", [](bool a, bool b) { return a != b; }));
  family.specs.push_back(MakeSpec<bool, bool>("not.pred", [](bool a) { return !a; }));
  family.specs.push_back(MakeSpec<bool, bool>("mov.pred", [](bool a) { return a; }));
}

}  // namespace

void AddBitSpecs(std::vector<Family>& families) {
  Family logic{"logic", {}};
  AddLogic<uint16_t>(logic);
  AddLogic<uint32_t>(logic);
  AddLogic<uint64_t>(logic);
  AddLop3(logic);
  Family shift{"shift", {}};
  AddShifts<uint16_t>(shift);
  AddShifts<uint32_t>(shift);
  AddShifts<uint64_t>(shift);
  AddFunnelShifts(shift);
  Family field{"field", {}};
  AddFields<uint32_t>(field);
  AddFields<uint64_t>(field);
  AddCounts<uint32_t>(field);
  AddCounts<uint64_t>(field);
  AddMasks(field);
  Family permute{"permute", {}};
  AddPermute(permute);
  AddPacking(permute);
  Family predicate{"predicate", {}};
  AddPredicateLogic(predicate);
  for (Family* family : {&logic, &shift, &field, &permute, &predicate}) families.push_back(std::move(*family));
}

}  // namespace wharf::device::soft::random_program
