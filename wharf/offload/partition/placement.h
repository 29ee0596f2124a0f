// Placement: which side the program's next operation runs on.
#pragma once

#include "wharf/offload/partition/access.h"
#include "wharf/offload/partition/side.h"
#include "wharf/offload/step_op.h"

namespace wharf::offload {

// Not thread-safe.
class Placement {
 public:
  virtual ~Placement() = default;
  // Called for every operation on memory, in the program's order, before it runs. Only speed depends on the answer:
  // what can only run on the server does, and results are copied to the host from where they are.
  virtual Side Next(const StepOp& op, const Access& access) = 0;
};

// What can run on the client's device does.
class AllHere final : public Placement {
 public:
  Side Next(const StepOp&, const Access&) override { return Side::kHere; }
};

}  // namespace wharf::offload
