// Profiler: measures how long a model's operators take on this machine, all rows and slices.
#pragma once

#include "wharf/base/clock.h"
#include "wharf/exec/engine.h"
#include "wharf/split/machine_profile.h"
#include "wharf/split/profile_cache.h"

namespace wharf::split {

struct ProfilerOptions {
  int rounds = 9;      // every time is the median of as many; one more comes first and is not counted
  bool again = false;  // FindOrMeasure: even if the cache has a profile
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
// does.
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
// fails, which is logged.
absl::StatusOr<MachineProfile> FindOrMeasure(const Subject& subject, const Machine& machine, const ProfileCache& cache,
                                             const Clock& clock, const ProfilerOptions& options);

}  // namespace wharf::split
