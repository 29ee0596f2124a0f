// cvt between all types.
#include <utility>

#include "wharf/device/soft/testing/random_program_rounding.h"
#include "wharf/device/soft/testing/random_program_types.h"

namespace wharf::device::soft::random_program {
namespace {

struct FloatType {
  const char* name;
  Format format;
  NanIn nan;
  Class type;
  bool IsSingle() const { return type == Class::kWord; }
};
constexpr FloatType kFloatTypes[] = {{"f16", kF16, NanIn::kF16, Class::kHalf},
                                     {"bf16", kBF16, NanIn::kBF16, Class::kHalf},
                                     {"f32", kF32, NanIn::kF32, Class::kWord},
                                     {"f64", kF64, NanIn::kF64, Class::kDouble}};

InstructionSpec MakeConversion(std::string name, Class to, Class from, NanIn nan, Semantics semantics) {
  return {std::move(name) + " $0, $1;", {to}, {Source{from}}, nan, std::move(semantics)};
}

double DecodeFlushed(const FloatType& type, uint64_t bits, bool flush) {
  const double value = Decode(type.format, bits);
  if (flush && type.IsSingle() && std::fabs(value) < 0x1p-126) return std::copysign(0.0, value);
  return value;
}

uint64_t FlushSingle(const FloatType& type, uint64_t bits, bool flush) {
  return flush && type.IsSingle() && (bits & 0x7F800000) == 0 ? bits & 0x80000000 : bits;
}

double RoundToInteger(double value, int mode) {
  switch (mode) {
    case FE_TOWARDZERO:
      return std::trunc(value);
    case FE_DOWNWARD:
      return std::floor(value);
    case FE_UPWARD:
      return std::ceil(value);
    default:
      return std::nearbyint(value);
  }
}

// --- integer to integer ---

template <typename T, typename S>
void AddIntegerToInteger(Family& family) {
  const std::string types = NameOf<T>() + "." + NameOf<S>();
  // A register wider than the type is filled with the sign, or with zeroes.
  const auto extend = [](T value) {
    return std::is_signed_v<T> ? static_cast<uint64_t>(static_cast<int64_t>(value)) : static_cast<uint64_t>(value);
  };
  family.specs.push_back(MakeConversion(
      "cvt." + types, ClassOf<T>(), ClassOf<S>(), NanIn::kNothing,
      [extend](const uint64_t* s, uint64_t* d) { d[0] = extend(static_cast<T>(static_cast<S>(s[0]))); }));
  // Only where something can be out of range.
  if (std::in_range<T>(std::numeric_limits<S>::max()) && std::in_range<T>(std::numeric_limits<S>::min())) return;
  family.specs.push_back(
      MakeConversion("cvt.sat." + types, ClassOf<T>(), ClassOf<S>(), NanIn::kNothing,
                     [extend](const uint64_t* s, uint64_t* d) { d[0] = extend(Clamp<T>(static_cast<S>(s[0]))); }));
}

template <typename T>
void AddFromIntegers(Family& family) {
  AddIntegerToInteger<T, int8_t>(family);
  AddIntegerToInteger<T, uint8_t>(family);
  AddIntegerToInteger<T, int16_t>(family);
  AddIntegerToInteger<T, uint16_t>(family);
  AddIntegerToInteger<T, int32_t>(family);
  AddIntegerToInteger<T, uint32_t>(family);
  AddIntegerToInteger<T, int64_t>(family);
  AddIntegerToInteger<T, uint64_t>(family);
}

// --- float to integer ---

template <typename T>
uint64_t ToInteger(double value, int mode, bool from_double) {
  const auto extend = [](T result) {
    return std::is_signed_v<T> ? static_cast<uint64_t>(static_cast<int64_t>(result)) : static_cast<uint64_t>(result);
  };
  if (std::isnan(value)) {
    // Zero, unless a 64-bit type is involved: then the sign bit of the result's type alone.
    if (!from_double && sizeof(T) < 8) return 0;
    return extend(static_cast<T>(uint64_t{1} << (8 * sizeof(T) - 1)));
  }
  const double whole = RoundToInteger(value, mode);
  if (whole >= 0x1p100) return extend(std::numeric_limits<T>::max());
  if (whole <= -0x1p100) return extend(std::numeric_limits<T>::min());
  return extend(Clamp<T>(static_cast<Int128>(whole)));
}

template <typename T>
void AddFloatToInteger(Family& family) {
  for (const FloatType& from : kFloatTypes) {
    if (from.nan == NanIn::kBF16 && sizeof(T) == 1) continue;
    for (const Rounding& rounding : kRoundings) {
      for (const bool flush : {false, true}) {
        if (flush && !from.IsSingle()) continue;
        family.specs.push_back(MakeConversion(
            fmt::format("cvt.{}i{}.{}.{}", rounding.name, flush ? ".ftz" : "", NameOf<T>(), from.name), ClassOf<T>(),
            from.type, NanIn::kNothing, [=, mode = rounding.mode](const uint64_t* s, uint64_t* d) {
              d[0] = ToInteger<T>(DecodeFlushed(from, s[0], flush), mode, from.type == Class::kDouble);
            }));
      }
    }
  }
}

// --- integer to float ---

template <typename T>
uint64_t FromInteger(const Format& format, T value, int mode) {
  if (format.mantissa_bits == kF64.mantissa_bits) {
    return std::bit_cast<uint64_t>(InMode<double>(
        mode, [](T v) { return static_cast<double>(v); }, value));
  }
  const bool negative = value < 0;
  uint64_t magnitude = negative ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  int exponent = 0;
  bool sticky = false;
  for (; magnitude >> 52 != 0; ++exponent, magnitude >>= 1) sticky |= (magnitude & 1) != 0;
  const double rounded = std::ldexp(static_cast<double>(magnitude), exponent);
  return Encode(format, negative ? -rounded : rounded, mode, sticky);
}

template <typename T>
void AddIntegerToFloat(Family& family) {
  for (const FloatType& to : kFloatTypes) {
    if (to.nan == NanIn::kBF16 && sizeof(T) == 1) continue;
    for (const Rounding& rounding : kRoundings) {
      family.specs.push_back(MakeConversion(fmt::format("cvt.{}.{}.{}", rounding.name, to.name, NameOf<T>()), to.type,
                                            ClassOf<T>(), NanIn::kNothing,
                                            [=, mode = rounding.mode](const uint64_t* s, uint64_t* d) {
                                              d[0] = FromInteger(to.format, static_cast<T>(s[0]), mode);
                                            }));
    }
  }
}

template <typename T>
void AddOneInteger(Family& integers, Family& floats) {
  AddFromIntegers<T>(integers);
  AddFloatToInteger<T>(floats);
  AddIntegerToFloat<T>(floats);
}

// --- float to float ---

double SaturateToUnit(double value) { return !(value > 0) ? 0 : value > 1 ? 1 : value; }

void AddNarrowing(Family& family, const FloatType& to, const FloatType& from, const Rounding& rounding) {
  for (int variant = 0; variant < 4; ++variant) {
    const bool flush = (variant & 1) != 0;
    const bool saturate = (variant & 2) != 0;
    if (flush && !to.IsSingle() && !from.IsSingle()) continue;
    if ((saturate || flush) && to.nan == NanIn::kBF16) continue;
    family.specs.push_back(MakeConversion(
        fmt::format("cvt.{}{}{}.{}.{}", rounding.name, flush ? ".ftz" : "", saturate ? ".sat" : "", to.name, from.name),
        to.type, from.type, to.nan, [=, mode = rounding.mode](const uint64_t* s, uint64_t* d) {
          // A GPU flushes no float on its way to a half, whatever is asked for.
          double value = DecodeFlushed(from, s[0], flush && to.nan != NanIn::kF16);
          if (saturate) value = SaturateToUnit(value);
          d[0] = FlushSingle(to, Encode(to.format, value, mode), flush);
        }));
  }
}

void AddWidening(Family& family, const FloatType& to, const FloatType& from) {
  for (int variant = 0; variant < 4; ++variant) {
    const bool flush = (variant & 1) != 0;
    const bool saturate = (variant & 2) != 0;
    if (flush && !to.IsSingle() && !from.IsSingle()) continue;
    if ((saturate || flush) && from.nan == NanIn::kBF16) continue;
    family.specs.push_back(
        MakeConversion(fmt::format("cvt{}{}.{}.{}", flush ? ".ftz" : "", saturate ? ".sat" : "", to.name, from.name),
                       to.type, from.type, to.nan, [=](const uint64_t* s, uint64_t* d) {
                         double value = DecodeFlushed(from, s[0], flush);
                         if (saturate) value = SaturateToUnit(value);
                         d[0] = Encode(to.format, value, FE_TONEAREST);
                       }));
  }
}

void AddIntegral(Family& family, const FloatType& type, const Rounding& rounding) {
  for (const bool flush : {false, true}) {
    if (flush && !type.IsSingle()) continue;
    family.specs.push_back(
        MakeConversion(fmt::format("cvt.{}i{}.{}.{}", rounding.name, flush ? ".ftz" : "", type.name, type.name),
                       type.type, type.type, type.nan, [=, mode = rounding.mode](const uint64_t* s, uint64_t* d) {
                         const double value = DecodeFlushed(type, s[0], flush);
                         d[0] = Encode(type.format, std::copysign(RoundToInteger(value, mode), value), FE_TONEAREST);
                       }));
  }
}

// cvt.rn.f16x2.f32 d, a, b: a above b.
void AddPairs(Family& family, const FloatType& to, const Rounding& rounding, bool relu) {
  const auto convert = [=, mode = rounding.mode](uint64_t bits) {
    const double value = Decode(kF32, bits);
    return Encode(to.format, relu && value <= 0 ? 0 : value, mode);
  };
  const NanIn nan = to.nan == NanIn::kF16 ? NanIn::kF16x2 : NanIn::kBF16x2;
  const std::string suffix = fmt::format("{}{}.{}", rounding.name, relu ? ".relu" : "", to.name);
  family.specs.push_back({fmt::format("cvt.{}x2.f32 $0, $1, $2;", suffix),
                          {Class::kWord},
                          {Source{Class::kWord}, Source{Class::kWord}},
                          nan,
                          [=](const uint64_t* s, uint64_t* d) { d[0] = convert(s[0]) << 16 | convert(s[1]); }});
  if (relu) {
    family.specs.push_back(MakeConversion(fmt::format("cvt.{}.f32", suffix), Class::kHalf, Class::kWord, to.nan,
                                          [=](const uint64_t* s, uint64_t* d) { d[0] = convert(s[0]); }));
  }
}

void AddFloatToFloat(Family& family) {
  const auto& [f16, bf16, f32, f64] = kFloatTypes;
  for (const Rounding& rounding : kRoundings) {
    AddNarrowing(family, f16, f32, rounding);
    AddNarrowing(family, f16, f64, rounding);
    AddNarrowing(family, f32, f64, rounding);
    AddIntegral(family, f16, rounding);
    AddIntegral(family, f32, rounding);
    AddIntegral(family, f64, rounding);
    if (rounding.mode != FE_TONEAREST && rounding.mode != FE_TOWARDZERO) continue;
    AddNarrowing(family, bf16, f32, rounding);
    for (const bool relu : {false, true}) {
      AddPairs(family, f16, rounding, relu);
      AddPairs(family, bf16, rounding, relu);
    }
  }
  AddWidening(family, f32, f16);
  AddWidening(family, f64, f16);
  AddWidening(family, f64, f32);
  AddWidening(family, f32, bf16);
}

// cvt.pack.sat.T.s32 d, a, b and, for bytes, d, a, b, c: c moves up.
template <typename T>
void AddPack(Family& family) {
  using Unsigned = std::make_unsigned_t<T>;
  const auto clamp = [](uint64_t bits) -> uint64_t {
    return static_cast<Unsigned>(Clamp<T>(static_cast<int32_t>(bits)));
  };
  InstructionSpec spec;
  spec.destinations = {Class::kWord};
  spec.sources.assign(sizeof(T) == 2 ? 2 : 3, Source{Class::kWord});
  if (sizeof(T) == 2) {
    spec.text = fmt::format("cvt.pack.sat.{}.s32 $0, $1, $2;", NameOf<T>());
    spec.semantics = [clamp](const uint64_t* s, uint64_t* d) { d[0] = clamp(s[0]) << 16 | clamp(s[1]); };
  } else {
    spec.text = fmt::format("cvt.pack.sat.{}.s32.b32 $0, $1, $2, $3;", NameOf<T>());
    spec.semantics = [clamp](const uint64_t* s, uint64_t* d) { d[0] = s[2] << 16 | clamp(s[0]) << 8 | clamp(s[1]); };
  }
  family.specs.push_back(std::move(spec));
}

}  // namespace

void AddConvertSpecs(std::vector<Family>& families) {
  Family integers{"integer conversions", {}};
  Family floats{"float conversions", {}};
  AddOneInteger<int8_t>(integers, floats);
  AddOneInteger<uint8_t>(integers, floats);
  AddOneInteger<int16_t>(integers, floats);
  AddOneInteger<uint16_t>(integers, floats);
  AddOneInteger<int32_t>(integers, floats);
  AddOneInteger<uint32_t>(integers, floats);
  AddOneInteger<int64_t>(integers, floats);
  AddOneInteger<uint64_t>(integers, floats);
  AddPack<int16_t>(integers);
  AddPack<uint16_t>(integers);
  AddPack<int8_t>(integers);
  AddPack<uint8_t>(integers);
  Family formats{"formats", {}};
  AddFloatToFloat(formats);
  families.push_back(std::move(integers));
  families.push_back(std::move(floats));
  families.push_back(std::move(formats));
}

}  // namespace wharf::device::soft::random_program
