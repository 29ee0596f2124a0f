// Placement: which side the program's next operation runs on.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "wharf/offload/partition/access.h"
#include "wharf/offload/partition/side.h"
#include "wharf/offload/replay/step_op.h"

namespace wharf::offload {

// What an operation took on a device.
struct MeasuredTime {
  size_t token = 0;  // Placement::Timed's
  Side side = Side::kLocal;
  double seconds = 0;
};

// Not thread-safe.
class Placement {
 public:
  virtual ~Placement() = default;
  // Called for every operation on memory, in the program's order, before it runs. Only speed depends on the answer:
  // what can only run on the server does, and results are copied to the host from where they are.
  virtual Side Next(const StepOp& op, const Access& access) = 0;

  // --- what it wants to know ---
  // Set: the operation that Next was asked about last is to be timed.
  virtual std::optional<size_t> Timed() const { return std::nullopt; }
  // Times are wanted now, of all operations since the last time; asked before Next.
  virtual bool WantsTimes() const { return false; }
  // Those that are known.
  virtual void NoteTimes(std::span<const MeasuredTime> /*times*/) {}
  // Whether the link's rate is to be looked at now: once.
  virtual bool TakeProbe() { return false; }

  // What it did, as a JSON object.
  virtual std::string Report() const { return "null"; }
};

// What can run on the client's device does.
class AllLocal final : public Placement {
 public:
  Side Next(const StepOp&, const Access&) override { return Side::kLocal; }
};

}  // namespace wharf::offload
