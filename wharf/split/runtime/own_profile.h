// A model's profile on this machine, for those who run it: a device that plans, a server that is asked.
#pragma once

#include <functional>
#include <string>

#include "wharf/split/profiler/profiler.h"
#include "wharf/split/runtime/client.h"

namespace wharf::split {

// Its operators' times as they were measured before, or measured now and kept under `cache_directory` ("" = nowhere),
// as `wharf profile --cache-dir` has it. Of the processes that share the directory one measures a model at a
// time; others that want the same model wait for it, but not for ever, and those with another model do not wait. What
// kept the processor from those who measured stands in the result (MachineProfile::waited). `clock`: by which operators
// are timed. `go_on`: asked while it waits and between operators. Fails as FindOrMeasure and as `go_on`.
absl::StatusOr<MachineProfile> OwnProfile(const Model& model, const Sha256& hash, const std::string& cache_directory,
                                          const Clock& clock = Clock::Real(), const GoOn& go_on = nullptr);

// What a user should know about a profile that was measured while others used the machine; "" if it was not.
std::string CautionOf(const MachineProfile& profile, const std::string& whose);

// What a session plans with: this machine's OwnProfile and what the server says of itself. `caution`, if there is one,
// hears CautionOf both, where there is something to say.
ProfileOf MeasuredProfile(const Sha256& hash, const std::string& cache_directory,
                          std::function<void(const std::string&)> caution);

}  // namespace wharf::split
