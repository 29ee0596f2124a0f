// MachineProfile: how long each operator of a model takes on one machine, as a function of its rows. Made by the
// profiler (profiler.h), kept as JSON, sent by the server; two of them and the model's operators make a profile to plan
// with.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wharf/split/costs/model_operators.h"
#include "wharf/split/costs/profile.h"

namespace wharf::split {

// What times depend on besides the model.
struct Machine {
  std::string cpu, engine;  // "AMD EPYC 7B13", "LibTorch 1.13.0"
  int threads = 1;
  friend bool operator==(const Machine&, const Machine&) = default;
};

struct MeasuredOperator {
  std::string name;  // as ModelOperators has it
  int rows = 1;
  double full_ms = 0;  // all rows
  SliceTime slice;     // least squares of relative errors over all row counts measured
  // The largest of |time by the fit / time measured - 1| over the slices measured.
  double fit_error = 0;
  friend bool operator==(const MeasuredOperator&, const MeasuredOperator&) = default;
};

inline constexpr double kMuchNoise = 0.25;

struct MachineProfile {
  std::string model, model_hash;  // for people; SHA-256 of the model's file, 64 hexadecimal digits
  Machine machine;
  double time_scale = 1;    // by which all times were multiplied after they were measured
  double whole_ms = 0;      // one inference, whole
  double noise = 0;         // how far above the shortest times seen those are that are given, by time: 0.1 is 10 %
  int64_t measured_at = 0;  // seconds since 1970; 0: not known
  double waited = 0;        // of the time that measuring wanted a processor, the part in which others had it
  std::vector<MeasuredOperator> operators;  // in the order of ModelOperators, with input and output, which take no time
  friend bool operator==(const MachineProfile&, const MachineProfile&) = default;

  double SumMs() const;
  // Of the fits, weighted by the operators' time.
  double MeanFitError() const;
  // Times that a quiet machine would hardly give: not to be kept for long.
  bool Doubtful() const { return noise > kMuchNoise; }
  // As a machine that takes `factor` times as long. REQUIRES: factor > 0 and finite.
  MachineProfile Scaled(double factor) const;
};

std::string ToJson(const MachineProfile& profile);
// What ToJson writes, and nothing else. kInvalidArgument says what is wrong. Safe on hostile text: it takes a small
// multiple of the text's memory, and the text is at most 4 MiB.
absl::StatusOr<MachineProfile> ParseMachineProfile(std::string_view json);

// kInvalidArgument: it was measured of other operators, perhaps of the same model as another version reads it. `who`:
// for the message.
absl::Status CheckFits(const ModelOperators& operators, const MachineProfile& measured, std::string_view who);

// kInvalidArgument: the machines measured different models, or another one than `operators` are of.
absl::StatusOr<Profile> MakeProfile(const ModelOperators& operators, const MachineProfile& device,
                                    const MachineProfile& server);

}  // namespace wharf::split
