// A model's profile on this machine, for those who run it: a device that plans, a server that is asked.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "wharf/split/profiler/profiler.h"
#include "wharf/split/runtime/client.h"

namespace wharf::split {

// Its operators' times as they were measured before, or measured now and kept under `cache_directory` ("" = nowhere),
// as `wharf profile --cache-dir` has it; doubtful times are measured again as FindOrMeasure says. Of the processes that
// share the directory one measures a model at a time; others that want the same model wait for it, but not for ever,
// and those with another model do not wait. What kept the processor from those who measured stands in the result
// (MachineProfile::waited). `clock`: by which operators are timed. `go_on`: asked while it waits and between operators.
// Fails as FindOrMeasure and as `go_on`.
absl::StatusOr<MachineProfile> OwnProfile(const Model& model, const Sha256& hash, const std::string& cache_directory,
                                          const Clock& clock = Clock::Real(), const GoOn& go_on = nullptr);

// What a user should know about a profile that was measured while others used the machine; "" if it was not.
std::string CautionOf(const MachineProfile& profile, const std::string& whose);

// CautionOf both, where there is something to say: one line where both are one profile, of one machine that is both.
// `model`: what its user calls it.
std::vector<std::string> CautionsOf(MachineProfile device, MachineProfile server, const std::string& model);

// What a session plans with: this machine's OwnProfile and what the server says of itself. `caution`, if there is one,
// hears CautionsOf them; `name` is what they call the model.
ProfileOf MeasuredProfile(const std::string& name, const Sha256& hash, const std::string& cache_directory,
                          std::function<void(const std::string&)> caution);

}  // namespace wharf::split
