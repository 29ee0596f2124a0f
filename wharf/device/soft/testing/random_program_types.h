// What the tables of random_program_*.cc share: PTX types as C++ types, and specs made from functions on them.
#pragma once

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "wharf/device/soft/testing/random_program.h"

namespace wharf::device::soft::random_program {

template <typename T>
constexpr Class ClassOf() {
  if constexpr (std::is_same_v<T, bool>) return Class::kPredicate;
  if constexpr (sizeof(T) <= 2) return Class::kHalf;
  return sizeof(T) == 4 ? Class::kWord : Class::kDouble;
}

template <typename T>
constexpr Literal LiteralOf() {
  if constexpr (std::is_same_v<T, bool>) return Literal::kNone;
  if constexpr (std::is_floating_point_v<T>) return Literal::kFloat;
  return std::is_signed_v<T> ? Literal::kSigned : Literal::kUnsigned;
}

template <typename T>
T FromWord(uint64_t word) {
  if constexpr (std::is_same_v<T, float>) return std::bit_cast<float>(static_cast<uint32_t>(word));
  if constexpr (std::is_same_v<T, double>) return std::bit_cast<double>(word);
  if constexpr (std::is_integral_v<T>) return static_cast<T>(word);
}

template <typename T>
uint64_t ToWord(T value) {
  if constexpr (std::is_same_v<T, float>) return std::bit_cast<uint32_t>(value);
  if constexpr (std::is_same_v<T, double>) return std::bit_cast<uint64_t>(value);
  if constexpr (std::is_integral_v<T>)
    return static_cast<std::make_unsigned_t<std::conditional_t<std::is_same_v<T, bool>, char, T>>>(value);
}

// "s32", "u16", "f64".
template <typename T>
std::string NameOf() {
  const char kind = std::is_floating_point_v<T> ? 'f' : std::is_signed_v<T> ? 's' : 'u';
  return fmt::format("{}{}", kind, 8 * sizeof(T));
}

// "$0, $1, $2;" for `count` operands.
inline std::string OperandList(size_t count) {
  std::string list;
  for (size_t i = 0; i < count; ++i) list += fmt::format("{}${}", i == 0 ? " " : ", ", i);
  return list + ";";
}

// A spec with one destination of type R computed by `function` from sources of types S….
template <typename R, typename... S, typename F>
InstructionSpec MakeSpec(const std::string& name, F function, NanIn nan = NanIn::kNothing) {
  InstructionSpec spec;
  spec.text = name + OperandList(1 + sizeof...(S));
  spec.destinations = {ClassOf<R>()};
  spec.sources = {Source{ClassOf<S>(), LiteralOf<S>()}...};
  spec.nan = nan;
  spec.semantics = [function]<size_t... I>(std::index_sequence<I...>) {
    return [function](const uint64_t* sources, uint64_t* destinations) {
      destinations[0] = ToWord<R>(static_cast<R>(function(FromWord<S>(sources[I])...)));
    };
  }
  (std::index_sequence_for<S...>());
  return spec;
}

// Makes the literal forms of a spec's source unavailable.
inline InstructionSpec WithoutLiterals(InstructionSpec spec) {
  for (Source& source : spec.sources) source.literal = Literal::kNone;
  return spec;
}

// Sources that must be literals or registers of another kind than MakeSpec chooses are set afterwards.
inline InstructionSpec WithText(InstructionSpec spec, std::string text) {
  spec.text = std::move(text);
  return spec;
}

// 128-bit integers: products of 64-bit ones.
__extension__ using Int128 = __int128;
__extension__ using Uint128 = unsigned __int128;
template <typename T>
using Wide = std::conditional_t<sizeof(T) == 8, std::conditional_t<std::is_signed_v<T>, Int128, Uint128>,
                                std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;

template <typename T>
T Clamp(Int128 value) {
  if (value < static_cast<Int128>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  if (value > static_cast<Int128>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  return static_cast<T>(value);
}

}  // namespace wharf::device::soft::random_program
