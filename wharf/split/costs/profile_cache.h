// ProfileCache: machine profiles on disk, by the model's content and the machine, so that a model is measured once.
#pragma once

#include <optional>
#include <string>

#include "wharf/split/costs/machine_profile.h"

namespace wharf::split {

// This computer's processor and what else is said.
Machine ThisMachine(std::string engine, int threads);

// Thread-safe, also between processes: files appear whole (written aside, then renamed). What is damaged, of another
// version, model or machine is as good as not there. Profiles are kept as they were measured, with a time scale of 1.
class ProfileCache {
 public:
  // "": keeps nothing and finds nothing.
  explicit ProfileCache(std::string directory) : directory_(std::move(directory)) {}

  std::optional<MachineProfile> Find(const std::string& model_hash, const Machine& machine) const;
  // Fails with errno's code if it cannot be written. REQUIRES: time_scale == 1.
  absl::Status Put(const MachineProfile& profile) const;
  // Where the profile is, or would be.
  std::string PathOf(const std::string& model_hash, const Machine& machine) const;

 private:
  const std::string directory_;
};

}  // namespace wharf::split
