// Comparisons and selections.
#include <cmath>

#include "wharf/device/soft/testing/random_program_types.h"

namespace wharf::device::soft::random_program {
namespace {

template <typename T>
T FlushIf(T value, bool flush) {
  if constexpr (std::is_same_v<T, float>) {
    if (flush && std::fpclassify(value) == FP_SUBNORMAL) return std::copysign(0.0F, value);
  }
  return value;
}

template <typename T>
bool Unordered(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(a) || std::isnan(b);
  return false;
}

// The comparison `name` of two numbers; floats' names that end in u hold if either is NaN.
template <typename T>
bool Compare(const std::string& name, T a, T b) {
  const bool unordered = Unordered(a, b);
  if (name == "num") return !unordered;
  if (name == "nan") return unordered;
  if (std::is_floating_point_v<T> && unordered) return name.size() == 3;  // equ, neu, ltu …
  const std::string base = name.substr(0, 2);
  if (base == "eq") return a == b;
  if (base == "ne") return a != b;
  if (base == "lt" || base == "lo") return a < b;
  if (base == "le" || base == "ls") return a <= b;
  if (base == "gt" || base == "hi") return a > b;
  return a >= b;  // ge, hs
}

template <typename T>
std::vector<std::string> Comparisons() {
  if (std::is_floating_point_v<T>) {
    return {"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
  }
  if (std::is_signed_v<T>) return {"eq", "ne", "lt", "le", "gt", "ge"};
  return {"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"};
}

bool Combine(const std::string& name, bool a, bool b) {
  return name == "and" ? a && b : name == "or" ? a || b : a != b;
}

template <typename T>
void AddSetPredicate(Family& family, bool flush) {
  const std::string type = (flush ? "ftz." : "") + NameOf<T>();
  int turn = 0;
  for (const std::string& name : Comparisons<T>()) {
    family.specs.push_back(MakeSpec<bool, T, T>(fmt::format("setp.{}.{}", name, type), [=](T a, T b) {
      return Compare(name, FlushIf(a, flush), FlushIf(b, flush));
    }));
    const std::string combine = turn % 3 == 0 ? "and" : turn % 3 == 1 ? "or" : "xor";
    const bool negate = turn++ % 2 == 0;
    InstructionSpec both;
    both.text = fmt::format("setp.{}.{}.{} $0|$1, $2, $3, {}$4;", name, combine, type, negate ? "!" : "");
    both.destinations = {Class::kPredicate, Class::kPredicate};
    both.sources = {{ClassOf<T>(), LiteralOf<T>()}, {ClassOf<T>(), LiteralOf<T>()}, {Class::kPredicate}};
    both.semantics = [=](const uint64_t* s, uint64_t* d) {
      const bool holds = Compare(name, FlushIf(FromWord<T>(s[0]), flush), FlushIf(FromWord<T>(s[1]), flush));
      d[0] = Combine(combine, holds, (s[2] != 0) != negate) ? 1 : 0;
      d[1] = Combine(combine, !holds, (s[2] != 0) != negate) ? 1 : 0;
    };
    family.specs.push_back(std::move(both));
  }
}

template <typename T>
void AddSet(Family& family, bool flush) {
  const std::string type = NameOf<T>();
  const char* ftz = flush ? ".ftz" : "";
  int turn = 0;
  for (const std::string& name : Comparisons<T>()) {
    const auto holds = [=](T a, T b) { return Compare(name, FlushIf(a, flush), FlushIf(b, flush)); };
    switch (turn++ % 4) {
      case 0:
        family.specs.push_back(MakeSpec<uint32_t, T, T>(fmt::format("set.{}{}.u32.{}", name, ftz, type),
                                                        [=](T a, T b) { return holds(a, b) ? 0xFFFFFFFFU : 0U; }));
        break;
      case 1:
        family.specs.push_back(MakeSpec<int32_t, T, T>(fmt::format("set.{}{}.s32.{}", name, ftz, type),
                                                       [=](T a, T b) { return holds(a, b) ? -1 : 0; }));
        break;
      case 2:
        family.specs.push_back(MakeSpec<float, T, T>(fmt::format("set.{}{}.f32.{}", name, ftz, type),
                                                     [=](T a, T b) { return holds(a, b) ? 1.0F : 0.0F; }));
        break;
      default:
        family.specs.push_back(
            MakeSpec<uint32_t, T, T, bool>(fmt::format("set.{}.xor{}.u32.{}", name, ftz, type),
                                           [=](T a, T b, bool p) { return holds(a, b) != p ? 0xFFFFFFFFU : 0U; }));
    }
  }
}

template <typename T>
void AddSelect(Family& family) {
  const std::string type = fmt::format("b{}", 8 * sizeof(T));
  family.specs.push_back(
      MakeSpec<T, T, T, int32_t>(fmt::format("slct.{}.s32", type), [](T a, T b, int32_t c) { return c >= 0 ? a : b; }));
  family.specs.push_back(
      MakeSpec<T, T, T, float>(fmt::format("slct.{}.f32", type), [](T a, T b, float c) { return c >= 0 ? a : b; }));
  family.specs.push_back(MakeSpec<T, T, T, float>(fmt::format("slct.ftz.{}.f32", type),
                                                  [](T a, T b, float c) { return FlushIf(c, true) >= 0 ? a : b; }));
}

template <typename T>
void AddTests(Family& family) {
  const auto add = [&family](const char* name, auto function) {
    family.specs.push_back(MakeSpec<bool, T>(fmt::format("testp.{}.{}", name, NameOf<T>()), function));
  };
  add("finite", [](T a) { return std::isfinite(a); });
  add("infinite", [](T a) { return std::isinf(a); });
  add("number", [](T a) { return !std::isnan(a); });
  add("notanumber", [](T a) { return std::isnan(a); });
  add("normal", [](T a) { return a == 0 || std::isnormal(a); });
  add("subnormal", [](T a) { return std::fpclassify(a) == FP_SUBNORMAL; });
}

}  // namespace

void AddCompareSpecs(std::vector<Family>& families) {
  Family predicates{"setp", {}};
  AddSetPredicate<int16_t>(predicates, false);
  AddSetPredicate<uint16_t>(predicates, false);
  AddSetPredicate<int32_t>(predicates, false);
  AddSetPredicate<uint32_t>(predicates, false);
  AddSetPredicate<int64_t>(predicates, false);
  AddSetPredicate<uint64_t>(predicates, false);
  AddSetPredicate<float>(predicates, false);
  AddSetPredicate<float>(predicates, true);
  AddSetPredicate<double>(predicates, false);
  AddTests<float>(predicates);
  AddTests<double>(predicates);
  Family sets{"set", {}};
  AddSet<int16_t>(sets, false);
  AddSet<uint16_t>(sets, false);
  AddSet<int32_t>(sets, false);
  AddSet<uint32_t>(sets, false);
  AddSet<int64_t>(sets, false);
  AddSet<uint64_t>(sets, false);
  AddSet<float>(sets, false);
  AddSet<float>(sets, true);
  AddSet<double>(sets, false);
  AddSelect<uint16_t>(sets);
  AddSelect<uint32_t>(sets);
  AddSelect<uint64_t>(sets);
  families.push_back(std::move(predicates));
  families.push_back(std::move(sets));
}

}  // namespace wharf::device::soft::random_program
