// Integer arithmetic.
#include <algorithm>

#include "wharf/device/soft/testing/random_program_types.h"

namespace wharf::device::soft::random_program {
namespace {

// Arithmetic modulo 2^n without overflow in the sense of C++.
template <typename T>
T Wrap(Wide<T> value) {
  return static_cast<T>(value);
}
template <typename T>
T Add(T a, T b) {
  return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
template <typename T>
T Subtract(T a, T b) {
  return static_cast<T>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
template <typename T>
Wide<T> Product(T a, T b) {
  return static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b);
}
template <typename T>
T High(T a, T b) {
  return static_cast<T>(Product(a, b) >> (8 * sizeof(T)));
}

template <typename T>
void AddBasic(Family& family) {
  const std::string type = NameOf<T>();
  auto& specs = family.specs;
  specs.push_back(MakeSpec<T, T, T>("add." + type, Add<T>));
  specs.push_back(MakeSpec<T, T, T>("sub." + type, Subtract<T>));
  specs.push_back(MakeSpec<T, T, T>("min." + type, [](T a, T b) { return std::min(a, b); }));
  specs.push_back(MakeSpec<T, T, T>("max." + type, [](T a, T b) { return std::max(a, b); }));
  specs.push_back(MakeSpec<T, T, T, T>("sad." + type,
                                       [](T a, T b, T c) { return Add(c, a < b ? Subtract(b, a) : Subtract(a, b)); }));
  if constexpr (std::is_signed_v<T>) {
    specs.push_back(MakeSpec<T, T>("neg." + type, [](T a) { return Subtract<T>(0, a); }));
    specs.push_back(MakeSpec<T, T>("abs." + type, [](T a) { return a < 0 ? Subtract<T>(0, a) : a; }));
  }
}

template <typename T>
void AddMultiply(Family& family) {
  const std::string type = NameOf<T>();
  auto& specs = family.specs;
  specs.push_back(MakeSpec<T, T, T>("mul.lo." + type, [](T a, T b) { return Wrap<T>(Product(a, b)); }));
  specs.push_back(MakeSpec<T, T, T>("mul.hi." + type, High<T>));
  specs.push_back(MakeSpec<T, T, T, T>("mad.lo." + type, [](T a, T b, T c) { return Add(Wrap<T>(Product(a, b)), c); }));
  specs.push_back(MakeSpec<T, T, T, T>("mad.hi." + type, [](T a, T b, T c) { return Add(High(a, b), c); }));
}

template <typename T, typename W>
void AddWide(Family& family) {
  const std::string type = NameOf<T>();
  family.specs.push_back(MakeSpec<W, T, T>("mul.wide." + type, [](T a, T b) { return static_cast<W>(Product(a, b)); }));
  family.specs.push_back(
      MakeSpec<W, T, T, W>("mad.wide." + type, [](T a, T b, W c) { return Add<W>(static_cast<W>(Product(a, b)), c); }));
}

// A division by zero has no defined result: the divisor is made odd first. The smallest number by -1 wraps.
template <typename T>
void AddDivide(Family& family) {
  const std::string type = NameOf<T>();
  const int bits = 8 * sizeof(T);
  const auto odd = [](T b) { return static_cast<T>(b | 1); };
  const char* scratch = bits == 16 ? "%lo" : bits == 32 ? "%w" : "%offset";
  const auto text = [&](const char* opcode) {
    return fmt::format("or.b{} {}, $2, 1; {}.{} $0, $1, {};", bits, scratch, opcode, type, scratch);
  };
  family.specs.push_back(WithText(MakeSpec<T, T, T>("div",
                                                    [odd](T a, T b) {
                                                      return odd(b) == static_cast<T>(-1) && std::is_signed_v<T>
                                                                 ? Subtract<T>(0, a)
                                                                 : static_cast<T>(a / odd(b));
                                                    }),
                                  text("div")));
  family.specs.push_back(WithText(MakeSpec<T, T, T>("rem",
                                                    [odd](T a, T b) {
                                                      return odd(b) == static_cast<T>(-1) && std::is_signed_v<T>
                                                                 ? T{0}
                                                                 : static_cast<T>(a % odd(b));
                                                    }),
                                  text("rem")));
}

template <typename T>
T Extend24(T value) {
  return static_cast<T>(value << 8) >> 8;
}

template <typename T>
void AddMultiply24(Family& family) {
  const std::string type = NameOf<T>();
  const auto low = [](T a, T b) { return static_cast<T>(Product(Extend24(a), Extend24(b))); };
  const auto high = [](T a, T b) { return static_cast<T>(Product(Extend24(a), Extend24(b)) >> 16); };
  family.specs.push_back(MakeSpec<T, T, T>("mul24.lo." + type, low));
  family.specs.push_back(MakeSpec<T, T, T>("mul24.hi." + type, high));
  family.specs.push_back(MakeSpec<T, T, T, T>("mad24.lo." + type, [low](T a, T b, T c) { return Add(low(a, b), c); }));
  family.specs.push_back(
      MakeSpec<T, T, T, T>("mad24.hi." + type, [high](T a, T b, T c) { return Add(high(a, b), c); }));
}

void AddSaturating(Family& family) {
  using T = int32_t;
  family.specs.push_back(
      MakeSpec<T, T, T>("add.sat.s32", [](T a, T b) { return Clamp<T>(static_cast<Int128>(a) + b); }));
  family.specs.push_back(
      MakeSpec<T, T, T>("sub.sat.s32", [](T a, T b) { return Clamp<T>(static_cast<Int128>(a) - b); }));
  family.specs.push_back(MakeSpec<T, T, T, T>(
      "mad.hi.sat.s32", [](T a, T b, T c) { return Clamp<T>(static_cast<Int128>(High(a, b)) + c); }));
  family.specs.push_back(MakeSpec<T, T, T, T>("mad24.hi.sat.s32", [](T a, T b, T c) {
    return Clamp<T>(static_cast<Int128>(static_cast<T>(Product(Extend24(a), Extend24(b)) >> 16)) + c);
  }));
}

// Carry chains: the low words set the carry flag, the high words take it.
template <typename T>
void AddCarry(Family& family) {
  const std::string type = NameOf<T>();
  const Class word = ClassOf<T>();
  static constexpr int kBits = 8 * sizeof(T);
  const auto chain = [&](const char* low, const char* high, auto function) {
    InstructionSpec spec;
    spec.text = fmt::format("{}.{} %{}, $2, $4; {}.{} $1, $3, $5; mov.b{} $0, %{};", low, type,
                            kBits == 32 ? "w" : "offset", high, type, kBits, kBits == 32 ? "w" : "offset");
    spec.destinations = {word, word};
    spec.sources.assign(4, Source{word, Literal::kUnsigned});
    spec.semantics = [function](const uint64_t* s, uint64_t* d) {
      const Uint128 a = (Uint128{s[1]} << kBits) | s[0];
      const Uint128 b = (Uint128{s[3]} << kBits) | s[2];
      const Uint128 result = function(a, b);
      d[0] = static_cast<T>(result);
      d[1] = static_cast<T>(result >> kBits);
    };
    family.specs.push_back(std::move(spec));
  };
  chain("add.cc", "addc", [](Uint128 a, Uint128 b) { return a + b; });
  chain("sub.cc", "subc", [](Uint128 a, Uint128 b) { return a - b; });
}

// mad.lo.cc and madc.hi: a 64-bit sum of a product of 32-bit words.
void AddCarryMultiply(Family& family) {
  InstructionSpec spec;
  spec.text = "mad.lo.cc.u32 %w, $2, $3, $4; madc.hi.u32 $1, $2, $3, $5; mov.b32 $0, %w;";
  spec.destinations = {Class::kWord, Class::kWord};
  spec.sources.assign(4, Source{Class::kWord, Literal::kUnsigned});
  spec.semantics = [](const uint64_t* s, uint64_t* d) {
    const uint64_t sum = s[0] * s[1] + (s[2] | s[3] << 32);
    d[0] = sum & 0xFFFFFFFF;
    d[1] = sum >> 32;
  };
  family.specs.push_back(spec);
}

// Sums of products of bytes, and of halves by bytes.
template <typename A, typename B>
void AddDotProduct(Family& family) {
  using Result = std::conditional_t<std::is_signed_v<A> || std::is_signed_v<B>, int32_t, uint32_t>;
  using Byte1 = std::conditional_t<std::is_signed_v<A>, int8_t, uint8_t>;
  using Byte2 = std::conditional_t<std::is_signed_v<B>, int8_t, uint8_t>;
  using Half1 = std::conditional_t<std::is_signed_v<A>, int16_t, uint16_t>;
  const std::string types = NameOf<A>() + "." + NameOf<B>();
  family.specs.push_back(MakeSpec<Result, A, B, Result>("dp4a." + types, [](A a, B b, Result c) {
    for (int i = 0; i < 4; ++i) {
      c = Add(c, static_cast<Result>(static_cast<Byte1>(a >> (8 * i)) * static_cast<Byte2>(b >> (8 * i))));
    }
    return c;
  }));
  for (const int from : {0, 2}) {
    family.specs.push_back(MakeSpec<Result, A, B, Result>(
        fmt::format("dp2a.{}.{}", from == 0 ? "lo" : "hi", types), [from](A a, B b, Result c) {
          for (int i = 0; i < 2; ++i) {
            c = Add(c,
                    static_cast<Result>(static_cast<Half1>(a >> (16 * i)) * static_cast<Byte2>(b >> (8 * (i + from)))));
          }
          return c;
        }));
  }
}

}  // namespace

void AddIntegerSpecs(std::vector<Family>& families) {
  Family basic{"integer", {}};
  AddBasic<int16_t>(basic);
  AddBasic<uint16_t>(basic);
  AddBasic<int32_t>(basic);
  AddBasic<uint32_t>(basic);
  AddBasic<int64_t>(basic);
  AddBasic<uint64_t>(basic);
  AddSaturating(basic);
  Family multiply{"multiply", {}};
  AddMultiply<int16_t>(multiply);
  AddMultiply<uint16_t>(multiply);
  AddMultiply<int32_t>(multiply);
  AddMultiply<uint32_t>(multiply);
  AddMultiply<int64_t>(multiply);
  AddMultiply<uint64_t>(multiply);
  AddWide<int16_t, int32_t>(multiply);
  AddWide<uint16_t, uint32_t>(multiply);
  AddWide<int32_t, int64_t>(multiply);
  AddWide<uint32_t, uint64_t>(multiply);
  AddMultiply24<int32_t>(multiply);
  AddMultiply24<uint32_t>(multiply);
  Family divide{"divide", {}};
  AddDivide<int16_t>(divide);
  AddDivide<uint16_t>(divide);
  AddDivide<int32_t>(divide);
  AddDivide<uint32_t>(divide);
  AddDivide<int64_t>(divide);
  AddDivide<uint64_t>(divide);
  Family carry{"carry", {}};
  AddCarry<uint32_t>(carry);
  AddCarry<uint64_t>(carry);
  AddCarryMultiply(carry);
  Family dot{"dot product", {}};
  AddDotProduct<int32_t, int32_t>(dot);
  AddDotProduct<int32_t, uint32_t>(dot);
  AddDotProduct<uint32_t, int32_t>(dot);
  AddDotProduct<uint32_t, uint32_t>(dot);
  for (Family* family : {&basic, &multiply, &divide, &carry, &dot}) families.push_back(std::move(*family));
}

}  // namespace wharf::device::soft::random_program
