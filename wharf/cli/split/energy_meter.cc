#include "wharf/cli/split/energy_meter.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"

namespace wharf::power {
namespace {

namespace fs = std::filesystem;

template <typename T>
std::optional<T> Read(const fs::path& path) {
  std::ifstream file(path);
  T value{};
  if (!(file >> value)) return std::nullopt;
  return value;
}

// Below a directory, sorted: what comes first does not depend on the file system.
std::vector<fs::path> Entries(const fs::path& directory) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) entries.push_back(entry.path());
  std::sort(entries.begin(), entries.end());
  return entries;
}

// Counters of microjoules, one a processor package, that wrap around.
class RaplMeter final : public EnergyMeter {
 public:
  explicit RaplMeter(const std::vector<fs::path>& packages) {
    for (const fs::path& path : packages) {
      const auto now = Read<double>(path / "energy_uj");
      const auto range = Read<double>(path / "max_energy_range_uj");
      if (now && range) packages_.push_back({path / "energy_uj", *range, *now});
    }
  }
  bool Empty() const { return packages_.empty(); }

  double Joules() override {
    absl::MutexLock lock(&mutex_);
    for (Package& package : packages_) {
      const auto now = Read<double>(package.path);
      if (!now) continue;
      used_uj_ += *now >= package.last_uj ? *now - package.last_uj : *now + package.range_uj - package.last_uj;
      package.last_uj = *now;
    }
    return used_uj_ / 1e6;
  }
  std::string Name() const override {
    return fmt::format("RAPL, {} package{}", packages_.size(), packages_.size() == 1 ? "" : "s");
  }

 private:
  struct Package {
    fs::path path;
    double range_uj, last_uj;
  };
  absl::Mutex mutex_;
  std::vector<Package> packages_;  // last_uj is guarded by mutex_
  double used_uj_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Volts and amperes of one channel.
class Ina3221Meter final : public EnergyMeter {
 public:
  Ina3221Meter(fs::path millivolts, fs::path milliamperes, std::string label, Clock& clock)
      : millivolts_(std::move(millivolts)),
        milliamperes_(std::move(milliamperes)),
        label_(std::move(label)),
        clock_(clock),
        last_(clock.Now()),
        watts_(Watts()) {}
  bool Works() const { return Watts().has_value(); }

  double Joules() override {
    absl::MutexLock lock(&mutex_);
    const TimePoint now = clock_.Now();
    const std::optional<double> watts = Watts();
    if (watts && watts_) joules_ += (*watts + *watts_) / 2 * Seconds(now - last_);
    last_ = now;
    watts_ = watts;
    return joules_;
  }
  std::string Name() const override { return "INA3221, " + label_; }

 private:
  std::optional<double> Watts() const {
    const auto millivolts = Read<double>(millivolts_), milliamperes = Read<double>(milliamperes_);
    if (!millivolts || !milliamperes) return std::nullopt;
    return *millivolts * *milliamperes / 1e6;
  }

  const fs::path millivolts_, milliamperes_;
  const std::string label_;
  Clock& clock_;
  absl::Mutex mutex_;
  TimePoint last_ ABSL_GUARDED_BY(mutex_);
  std::optional<double> watts_ ABSL_GUARDED_BY(mutex_);
  double joules_ ABSL_GUARDED_BY(mutex_) = 0;
};

// The channel of the board's input, which NVIDIA calls VDD_IN or 5V_IN.
std::unique_ptr<EnergyMeter> OpenIna3221(const fs::path& sysfs, Clock& clock) {
  for (const fs::path& monitor : Entries(sysfs / "class/hwmon")) {
    if (Read<std::string>(monitor / "name") != "ina3221") continue;
    for (const int channel : {1, 2, 3}) {
      const std::string label = Read<std::string>(monitor / fmt::format("in{}_label", channel)).value_or("");
      if (label.find("_IN") == std::string::npos) continue;
      auto meter = std::make_unique<Ina3221Meter>(monitor / fmt::format("in{}_input", channel),
                                                  monitor / fmt::format("curr{}_input", channel), label, clock);
      if (meter->Works()) return meter;
    }
  }
  return nullptr;
}

std::unique_ptr<EnergyMeter> OpenRapl(const fs::path& sysfs) {
  std::vector<fs::path> packages;
  for (const fs::path& zone : Entries(sysfs / "class/powercap")) {
    if (Read<std::string>(zone / "name").value_or("").rfind("package-", 0) == 0) packages.push_back(zone);
  }
  auto meter = std::make_unique<RaplMeter>(packages);
  return meter->Empty() ? nullptr : std::move(meter);
}

}  // namespace

absl::StatusOr<std::unique_ptr<EnergyMeter>> EnergyMeter::Open(const std::string& sysfs, Clock& clock) {
  if (auto meter = OpenIna3221(sysfs, clock)) return meter;
  if (auto meter = OpenRapl(sysfs)) return meter;
  return NotFound("no sensor of energy below {} can be read", sysfs);
}

}  // namespace wharf::power
