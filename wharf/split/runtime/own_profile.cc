#include "wharf/split/runtime/own_profile.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>

#include "wharf/base/log.h"
#include "wharf/exec/torch_engine.h"

namespace wharf::split {
namespace {

// Processes that measured at the same time would measure each other. Taken for as long as this lives, or given up on:
// whoever holds it may be a session that somebody else has got hold of.
class MeasuringTurn {
 public:
  explicit MeasuringTurn(const std::string& directory) {
    if (directory.empty()) return;
    std::error_code ignored;
    std::filesystem::create_directories(directory, ignored);
    file_ = open((directory + "/measuring").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file_ < 0) return;
    constexpr Nanoseconds kLongest = std::chrono::seconds(20), kPause = std::chrono::milliseconds(50);
    Clock& clock = Clock::Real();
    const TimePoint end = clock.Now() + kLongest;
    while (flock(file_, LOCK_EX | LOCK_NB) != 0 && clock.Now() < end) clock.SleepUntil(clock.Now() + kPause);
  }
  ~MeasuringTurn() {
    if (file_ >= 0) close(file_);
  }
  MeasuringTurn(const MeasuringTurn&) = delete;
  MeasuringTurn& operator=(const MeasuringTurn&) = delete;

 private:
  int file_ = -1;
};

}  // namespace

absl::StatusOr<MachineProfile> OwnProfile(const Model& model, const Sha256& hash, const std::string& cache_directory,
                                          const Clock& clock) {
  const std::string digits = HexOf(hash), directory = cache_directory.empty() ? "" : cache_directory + "/profiles";
  const ProfileCache cache(directory);
  const Machine machine = ThisMachine(model.Engine().Name(), exec::TorchThreads());
  auto found = cache.Find(digits, machine);
  if (found && CheckFits(model.Operators(), *found, "cache").ok()) return *std::move(found);
  const MeasuringTurn turn(directory);
  const Subject subject{model.Engine(), model.Program(), model.Operators(), digits.substr(0, 12), digits};
  return FindOrMeasure(subject, machine, cache, clock, {});  // others may have measured it meanwhile
}

std::string CautionOf(const MachineProfile& profile, const std::string& whose) {
  constexpr double kMuch = 0.1;
  if (profile.waited <= kMuch) return "";
  return fmt::format(
      "{} was busy while it measured {}: {:.0f} % of the time others had the processor, so plans may be off; "
      "`wharf profile MODEL --again` there measures anew",
      whose, profile.model, 100 * profile.waited);
}

ProfileOf MeasuredProfile(const Sha256& hash, const std::string& cache_directory,
                          std::function<void(const std::string&)> caution) {
  return [hash, cache_directory, caution = std::move(caution)](
             const Model& model, const std::string& server_machine) -> absl::StatusOr<Profile> {
    WHARF_ASSIGN_OR_RETURN(const MachineProfile server, ParseMachineProfile(server_machine));
    WHARF_ASSIGN_OR_RETURN(const MachineProfile device, OwnProfile(model, hash, cache_directory));
    for (const std::string& line : {CautionOf(device, "this machine"), CautionOf(server, "the server")}) {
      if (caution != nullptr && !line.empty()) caution(line);
    }
    return MakeProfile(model.Operators(), device, server);
  };
}

}  // namespace wharf::split
