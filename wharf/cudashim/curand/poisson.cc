#include "wharf/cudashim/curand/poisson.h"

#include <algorithm>
#include <cmath>

namespace wharf::rng {
namespace {

template <typename T>
T Chance(uint32_t k, T mean) {
  int sign = 0;
  if constexpr (sizeof(T) == sizeof(double)) {
    return std::exp(k * std::log(mean) - mean - lgamma_r(k + T{1}, &sign));
  } else {
    return std::exp(k * std::log(mean) - mean - lgammal_r(k + T{1}, &sign));
  }
}

}  // namespace

PoissonForm MakeAlias(double mean) {
  PoissonForm form;
  form.kind = PoissonForm::Kind::kAlias;
  while (Chance(form.first, mean) == 0) ++form.first;
  std::vector<double> chances;
  for (uint32_t k = form.first; k <= mean || Chance(k, mean) > 0; ++k) chances.push_back(Chance(k, mean));
  const auto count = static_cast<uint32_t>(chances.size());
  const double share = 1.0 / count;  // of a bin
  form.limits.resize(count);
  form.others.resize(count);
  enum class State : char { kPoor, kRich, kFull };
  std::vector<State> states(count, State::kPoor);
  std::vector<uint32_t> rich;
  for (uint32_t i = 0; i < count; ++i) {
    form.limits[i] = (i + 1) * share;
    form.others[i] = i;
    if (chances[i] < share) continue;
    rich.push_back(i);
    states[i] = State::kRich;
  }
  // The last of those with more than their share fills what the first with less lacks, and so on from there to the end;
  // then again from the beginning, for who has become poor.
  for (bool again = true; again && !rich.empty();) {
    again = false;
    for (uint32_t i = 0; i < count && !rich.empty(); ++i) {
      if (states[i] != State::kPoor) continue;
      again = true;
      const uint32_t giver = rich.back();
      form.limits[i] = chances[i] + i * share;
      form.others[i] = giver;
      states[i] = State::kFull;
      chances[giver] -= share - chances[i];
      if (chances[giver] < share) {
        rich.pop_back();
        states[giver] = State::kPoor;
      }
    }
  }
  return form;
}

PoissonForm MakeCumulative(double mean) {
  constexpr double kFar = 20;  // standard deviations
  PoissonForm form;
  form.kind = PoissonForm::Kind::kCumulative;
  const double width = kFar * std::sqrt(mean) + kFar;
  form.first = static_cast<uint32_t>(std::max(0.0, mean - width));
  long double sum = 0;
  for (uint32_t k = form.first; k <= mean + 2 * width; ++k) {
    sum += Chance<long double>(k, mean);
    form.limits.push_back(static_cast<double>(sum));
  }
  return form;
}

}  // namespace wharf::rng
