// Which processor cores a measurement gives to whom. Client and server are two machines in life; where one machine
// plays both, each gets cores of its own, or a client's own work would be taken from the device.
#pragma once

#include <sched.h>

namespace wharf::cli {

struct CoreShares {
  // The upper half of this process's cores, and the others: client, link and whoever measures. Both are all cores if
  // there is but one.
  cpu_set_t device, client;
  int device_cores = 0;
  bool separate = false;
};
CoreShares HalveCores();
// All for everybody.
CoreShares ShareCores();

// While it lives, the calling thread runs on these cores only; processes and threads started meanwhile keep to them.
class OnCores {
 public:
  explicit OnCores(const cpu_set_t& cores);
  ~OnCores();
  OnCores(const OnCores&) = delete;
  OnCores& operator=(const OnCores&) = delete;

 private:
  cpu_set_t before_;
};

}  // namespace wharf::cli
