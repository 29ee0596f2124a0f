#include "wharf/split/objective.h"

namespace wharf::split {

double Objective::Score(const Outcome& outcome) const {
  constexpr double kLate = 1e12, kTie = 1e-5;  // ms; ms/J
  if (!energy) return outcome.latency_ms + kTie * outcome.Joules();
  return outcome.latency_ms <= deadline_ms ? outcome.Joules() : kLate + outcome.latency_ms;
}

}  // namespace wharf::split
