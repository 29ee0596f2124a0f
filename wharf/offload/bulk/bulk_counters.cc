#include "wharf/offload/bulk/bulk_counters.h"

#include <time.h>

namespace wharf::offload {

uint64_t ThreadNanoseconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

}  // namespace wharf::offload
