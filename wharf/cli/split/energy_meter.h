// EnergyMeter: the joules this machine has used, from a sensor it has: the INA3221 of a Jetson (the whole board) or
// RAPL of an x86 processor (its packages; neither memory nor anything else).
//
//   const auto meter = EnergyMeter::Open();
//   const double before = (*meter)->Joules();
#pragma once

#include <memory>
#include <string>

#include "wharf/base/clock.h"
#include "wharf/base/status.h"

namespace wharf::power {

// Thread-safe.
class EnergyMeter {
 public:
  // The first sensor below `sysfs`. kNotFound: there is none that can be read (RAPL's are root's alone on most
  // systems).
  static absl::StatusOr<std::unique_ptr<EnergyMeter>> Open(const std::string& sysfs = "/sys",
                                                           Clock& clock = Clock::Real());
  virtual ~EnergyMeter() = default;
  // Since Open. A sensor of power is read here and integrated (trapezoids): read it more often than power changes. One
  // of energy must be read before it wraps around, which takes minutes. A sensor that vanishes adds nothing.
  virtual double Joules() = 0;
  // What is measured: "RAPL, 2 packages".
  virtual std::string Name() const = 0;
};

}  // namespace wharf::power
