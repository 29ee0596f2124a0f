// A session's part of a device that several share: who decides about it sees the device's work through this.
#pragma once

#include "wharf/base/clock.h"

namespace wharf::device {

// Called by a device about its own work, by one thread at a time. Begin and End are on the way of every launch: they
// take nanoseconds while nobody else wants the device.
class Share {
 public:
  virtual ~Share() = default;
  // Before a piece of work. Waits while the session has had more than its part and others want theirs.
  virtual void Begin() = 0;
  // After it: the time it took, by the fraction of the device's cores it held.
  virtual void End(Nanoseconds used) = 0;
  // Nothing is left to do: until the next Begin the session takes no part.
  virtual void Idle() = 0;
};

}  // namespace wharf::device
