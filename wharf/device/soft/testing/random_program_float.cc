// Arithmetic on f32 and f64.
#include "wharf/device/soft/testing/random_program_rounding.h"
#include "wharf/device/soft/testing/random_program_types.h"

namespace wharf::device::soft::random_program {
namespace {

template <typename T>
constexpr NanIn kNanOf = std::is_same_v<T, float> ? NanIn::kF32 : NanIn::kF64;

template <typename T>
T Flush(T value, bool flush) {
  if (flush && std::fpclassify(value) == FP_SUBNORMAL) return std::copysign(T{0}, value);
  return value;
}

// .sat: to [0, 1], NaN to zero.
template <typename T>
T Saturate(T value, bool saturate) {
  if (!saturate) return value;
  if (!(value > 0)) return 0;
  return value > 1 ? 1 : value;
}

// Adds `opcode` in every rounding mode, for f32 also with .ftz and .sat.
template <typename T, typename... S, typename F>
void AddRounded(Family& family, const std::string& opcode, bool can_saturate, F function) {
  for (const Rounding& rounding : kRoundings) {
    for (int variant = 0; variant < (std::is_same_v<T, float> ? 4 : 1); ++variant) {
      const bool flush = (variant & 1) != 0;
      const bool saturate = (variant & 2) != 0;
      if (saturate && !can_saturate) continue;
      const std::string name =
          fmt::format("{}.{}{}{}.{}", opcode, rounding.name, flush ? ".ftz" : "", saturate ? ".sat" : "", NameOf<T>());
      family.specs.push_back(MakeSpec<T, S...>(
          name,
          [=, mode = rounding.mode](S... sources) {
            return Saturate(Flush(InMode<T>(mode, function, Flush(sources, flush)...), flush), saturate);
          },
          kNanOf<T>));
    }
  }
}

// The smaller: a number beats NaN (unless `propagate`), and -0 is smaller than +0.
template <typename T>
T Smaller(T a, T b, bool propagate) {
  if (std::isnan(a) || std::isnan(b)) return propagate || std::isnan(a) == std::isnan(b) ? NAN : std::isnan(a) ? b : a;
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

template <typename T>
void AddExtremes(Family& family, bool flush, bool propagate) {
  const std::string suffix = fmt::format("{}{}.{}", flush ? ".ftz" : "", propagate ? ".NaN" : "", NameOf<T>());
  family.specs.push_back(MakeSpec<T, T, T>(
      "min" + suffix, [=](T a, T b) { return Smaller(Flush(a, flush), Flush(b, flush), propagate); }, kNanOf<T>));
  family.specs.push_back(MakeSpec<T, T, T>(
      "max" + suffix, [=](T a, T b) { return -Smaller(-Flush(a, flush), -Flush(b, flush), propagate); }, kNanOf<T>));
}

template <typename T>
void AddSigns(Family& family, bool flush) {
  const std::string suffix = fmt::format("{}.{}", flush ? ".ftz" : "", NameOf<T>());
  family.specs.push_back(MakeSpec<T, T>(
      "neg" + suffix, [=](T a) { return -Flush(a, flush); }, kNanOf<T>));
  family.specs.push_back(MakeSpec<T, T>(
      "abs" + suffix, [=](T a) { return std::fabs(Flush(a, flush)); }, kNanOf<T>));
}

template <typename T>
void AddAll(Family& family) {
  AddRounded<T, T, T>(family, "add", true, [](T a, T b) { return a + b; });
  AddRounded<T, T, T>(family, "sub", true, [](T a, T b) { return a - b; });
  AddRounded<T, T, T>(family, "mul", true, [](T a, T b) { return a * b; });
  AddRounded<T, T, T, T>(family, "fma", true, [](T a, T b, T c) { return std::fma(a, b, c); });
  AddRounded<T, T, T, T>(family, "mad", true, [](T a, T b, T c) { return std::fma(a, b, c); });
  AddRounded<T, T, T>(family, "div", false, [](T a, T b) { return a / b; });
  AddRounded<T, T>(family, "rcp", false, [](T a) { return T{1} / a; });
  AddRounded<T, T>(family, "sqrt", false, [](T a) { return std::sqrt(a); });
  AddExtremes<T>(family, false, false);
  AddSigns<T>(family, false);
  family.specs.push_back(MakeSpec<T, T, T>(
      "copysign." + NameOf<T>(), [](T a, T b) { return std::copysign(b, a); }, kNanOf<T>));
}

}  // namespace

void AddFloatSpecs(std::vector<Family>& families) {
  Family single{"f32", {}};
  AddAll<float>(single);
  AddExtremes<float>(single, true, false);
  AddExtremes<float>(single, false, true);
  AddExtremes<float>(single, true, true);
  AddSigns<float>(single, true);
  Family twice{"f64", {}};
  AddAll<double>(twice);
  families.push_back(single);
  families.push_back(std::move(twice));
  single.name = "f32 again";  // twice as likely as others: it is what kernels are made of
  families.push_back(std::move(single));
}

}  // namespace wharf::device::soft::random_program
