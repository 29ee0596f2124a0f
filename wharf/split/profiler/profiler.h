// Profiler: measures how long a model's operators take on this machine, all rows and slices.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "wharf/base/clock.h"
#include "wharf/exec/engine.h"
#include "wharf/split/costs/machine_profile.h"
#include "wharf/split/costs/profile_cache.h"

namespace wharf::split {

// Asked between the steps of what may take long: anything but OK ends it, with that.
using GoOn = std::function<absl::Status()>;

struct ProfilerOptions {
  int rounds = 9;      // every time is the median of as many; one more comes first and is not counted. Where
                       // that is far above the shortest, the lower quartile of three times as many
  bool again = false;  // FindOrMeasure: even if the cache has a profile
  Nanoseconds enough{
      0};  // not 0: after so long, or twice that where it is noisy, no other round begins, if there is one that counts
  // Of what this process computes, where that is how long it takes on a quiet machine: one thread of a CPU.
  // FindOrMeasure measures by it where others disturb too much. Null: it never does.
  const Clock* cpu_clock = nullptr;
  GoOn go_on;  // asked before every operator; null: it goes on
};

// The row counts an operator of `rows` rows is measured at: all, 1/2, 1/4, 1/8, one; each once, falling.
std::vector<int> MeasuredRows(int rows);

// A slice's time as a line over rows, neither part negative, that makes the sum of squared relative errors least.
struct RowTime {
  int rows = 0;
  double ms = 0;
};
SliceTime FitSlices(const std::vector<RowTime>& times);

// What to run a model on: floats from 0 to 1, random bytes, zeros of other types; the same ones every time.
absl::StatusOr<exec::TensorPtr> SampleInput(const exec::Engine& engine, const graph::TensorType& type);

// Runs every operator alone, one after the other, on what the operators before it really made, and the whole. Slices
// lie in the middle, where windows have rows on both sides. Model, hash and machine are for the caller to fill in.
// Memory: all rows of every value that operators read. REQUIRES: `operators` are of `program`. Fails as Program::Run
// does, and as options.go_on says.
absl::StatusOr<MachineProfile> MeasureModel(const exec::Program& program, const ModelOperators& operators,
                                            const exec::TensorPtr& input, const Clock& clock,
                                            const ProfilerOptions& options);

// What a profile is of.
struct Subject {
  const exec::Engine& engine;
  const exec::Program& program;
  const ModelOperators& operators;
  std::string name, hash;  // as MachineProfile has them
};

// The model's profile on this machine: as it was measured before, or measured now and put into the cache, unless that
// fails, which is logged. Doubtful ones (MachineProfile::Doubtful) are used again for a minute.
absl::StatusOr<MachineProfile> FindOrMeasure(const Subject& subject, const Machine& machine, const ProfileCache& cache,
                                             const Clock& clock, const ProfilerOptions& options);

}  // namespace wharf::split
