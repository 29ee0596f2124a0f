#include "wharf/split/costs/machine_profile.h"

namespace wharf::split {

absl::Status CheckFits(const ModelOperators& operators, const MachineProfile& measured, std::string_view who) {
  if (measured.operators.size() != operators.operators.size()) {
    return InvalidArgument("the {}'s profile is of a model of {} operators, this one has {}", who,
                           measured.operators.size(), operators.operators.size());
  }
  for (size_t i = 0; i < operators.operators.size(); ++i) {
    const graph::Operator& op = operators.operators[i];
    const MeasuredOperator& one = measured.operators[i];
    if (one.name != op.name || one.rows != op.rows) {
      return InvalidArgument("the {}'s profile is of another model: its operator {} is {} with {} rows, not {} with {}",
                             who, i, one.name, one.rows, op.name, op.rows);
    }
  }
  return absl::OkStatus();
}

double MachineProfile::SumMs() const {
  double sum = 0;
  for (const MeasuredOperator& one : operators) sum += one.full_ms;
  return sum;
}

double MachineProfile::MeanFitError() const {
  double sum = 0;
  for (const MeasuredOperator& one : operators) sum += one.fit_error * one.full_ms;
  return sum > 0 ? sum / SumMs() : 0;
}

MachineProfile MachineProfile::Scaled(double factor) const {
  MachineProfile scaled = *this;
  scaled.time_scale *= factor;
  scaled.whole_ms *= factor;
  for (MeasuredOperator& one : scaled.operators) {
    one.full_ms *= factor;
    one.slice.fixed_ms *= factor;
    one.slice.row_ms *= factor;
  }
  return scaled;
}

absl::StatusOr<Profile> MakeProfile(const ModelOperators& operators, const MachineProfile& device,
                                    const MachineProfile& server) {
  WHARF_RETURN_IF_ERROR(CheckFits(operators, device, "device"));
  WHARF_RETURN_IF_ERROR(CheckFits(operators, server, "server"));
  if (device.model_hash != server.model_hash) {
    return InvalidArgument("device and server measured different versions of {}", device.model);
  }
  Profile profile;
  profile.model = device.model;
  profile.model_hash = device.model_hash;
  for (size_t i = 0; i < operators.operators.size(); ++i) {
    const MeasuredOperator &on_device = device.operators[i], &on_server = server.operators[i];
    profile.operators.push_back(
        {operators.operators[i], {on_device.full_ms, on_server.full_ms}, {on_device.slice, on_server.slice}});
  }
  WHARF_RETURN_IF_ERROR(Validate(profile));
  return profile;
}

}  // namespace wharf::split
