#include "wharf/split/runtime/own_profile.h"

#include <cstring>

#include "wharf/base/stored/stored_files.h"
#include "wharf/exec/torch_engine.h"

namespace wharf::split {
namespace {

constexpr Nanoseconds kEnough = std::chrono::seconds(15);  // of measuring: what is slower is measured less often

// Whoever wants a profile that somebody is measuring does better to wait for it. Taken for as long as this lives, or
// given up on: whoever holds it may be a session that somebody else has got hold of. A lock for each model, so that a
// model that takes long holds up none but those who use it.
class MeasuringTurn {
 public:
  MeasuringTurn(const std::string& directory, const Sha256& hash) : lock_(directory, NumberOf(hash)) {}

  // Fails as `go_on`.
  absl::Status Take(const GoOn& go_on) {
    constexpr Nanoseconds kLongest = std::chrono::seconds(20), kPause = std::chrono::milliseconds(50);
    Clock& clock = Clock::Real();
    const TimePoint end = clock.Now() + kLongest;
    while (!lock_.TryTake() && clock.Now() < end) {
      if (go_on) WHARF_RETURN_IF_ERROR(go_on());
      clock.SleepUntil(clock.Now() + kPause);
    }
    return absl::OkStatus();
  }

 private:
  static uint64_t NumberOf(const Sha256& hash) {
    uint64_t number = 0;
    std::memcpy(&number, hash.data(), sizeof(number));
    return number;
  }
  StoredLock lock_;
};

}  // namespace

absl::StatusOr<MachineProfile> OwnProfile(const Model& model, const Sha256& hash, const std::string& cache_directory,
                                          const Clock& clock, const GoOn& go_on) {
  const std::string digits = wire::HexOf(hash),
                    directory = cache_directory.empty() ? "" : cache_directory + "/profiles";
  const ProfileCache cache(directory);
  const Machine machine = ThisMachine(model.Engine().Name(), exec::TorchThreads());
  auto found = cache.Find(digits, machine);
  const bool calm = found && !found->Doubtful();  // FindOrMeasure decides how long a doubtful one is used
  if (calm && CheckFits(model.Operators(), *found, "cache").ok()) return *std::move(found);
  MeasuringTurn turn(directory, hash);
  WHARF_RETURN_IF_ERROR(turn.Take(go_on));
  const Subject subject{model.Engine(), model.Program(), model.Operators(), digits.substr(0, 12), digits};
  ProfilerOptions options;
  options.enough = kEnough;
  options.go_on = go_on;
  return FindOrMeasure(subject, machine, cache, clock, options);  // others may have measured it meanwhile
}

std::string CautionOf(const MachineProfile& profile, const std::string& whose) {
  constexpr double kMuch = 0.1;
  if (profile.waited <= kMuch && !profile.Doubtful()) return "";
  const std::string had = profile.waited > 0
                              ? fmt::format(", and others had the processor {:.0f} % of the time", 100 * profile.waited)
                              : "";
  const double taken_ms = profile.SumMs();
  return fmt::format(
      "{} was busy while it measured {}: its operators take {:.3g} ms, and took {:.3g} ms at best{}, so plans may be "
      "off; `wharf profile MODEL --again` on that machine measures anew",
      whose, profile.model, taken_ms, taken_ms / (1 + profile.noise), had);
}

std::vector<std::string> CautionsOf(MachineProfile device, MachineProfile server, const std::string& model) {
  device.model = server.model = model;
  std::vector<std::string> cautions = {CautionOf(device, "this machine")};
  if (server != device) cautions.push_back(CautionOf(server, "the server"));  // else it is the same stored profile
  std::erase(cautions, "");
  return cautions;
}

ProfileOf MeasuredProfile(const std::string& name, const Sha256& hash, const std::string& cache_directory,
                          std::function<void(const std::string&)> caution) {
  return [name, hash, cache_directory, caution = std::move(caution)](
             const Model& model, const std::string& server_machine) -> absl::StatusOr<Profile> {
    WHARF_ASSIGN_OR_RETURN(const MachineProfile server, ParseMachineProfile(server_machine));
    WHARF_ASSIGN_OR_RETURN(const MachineProfile device, OwnProfile(model, hash, cache_directory));
    if (caution != nullptr) {
      for (const std::string& line : CautionsOf(device, server, name)) caution(line);
    }
    return MakeProfile(model.Operators(), device, server);
  };
}

}  // namespace wharf::split
