#include "wharf/cli/bench/common/cores.h"

namespace wharf::cli {
namespace {

cpu_set_t OwnCores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  sched_getaffinity(0, sizeof(cores), &cores);
  return cores;
}

}  // namespace

CoreShares ShareCores() {
  const cpu_set_t all = OwnCores();
  return {all, all, CPU_COUNT(&all), false};
}

CoreShares HalveCores() {
  CoreShares shares = ShareCores();
  const int total = shares.device_cores;
  if (total < 2) return shares;
  int seen = 0;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &shares.device)) continue;
    CPU_CLR(core, seen++ < total / 2 ? &shares.device : &shares.client);
  }
  shares.device_cores = CPU_COUNT(&shares.device);
  shares.separate = true;
  return shares;
}

OnCores::OnCores(const cpu_set_t& cores) : before_(OwnCores()) { sched_setaffinity(0, sizeof(cores), &cores); }

OnCores::~OnCores() { sched_setaffinity(0, sizeof(before_), &before_); }

}  // namespace wharf::cli
