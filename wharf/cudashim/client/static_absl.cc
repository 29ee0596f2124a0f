// Debian's archives of Abseil are compiled for executables: three of their objects use a thread-local model that a
// shared object cannot link. What they define is defined here instead, so the archives' objects are not pulled in.
#include <absl/base/internal/sysinfo.h>
#include <absl/container/internal/raw_hash_set.h>
#include <absl/strings/internal/cordz_functions.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <thread>

namespace absl {
ABSL_NAMESPACE_BEGIN

// Sampling of cords is off.
namespace cord_internal {
ABSL_CONST_INIT thread_local int64_t cordz_next_sample = INT64_MAX;

int32_t get_cordz_mean_interval() { return 0; }
void set_cordz_mean_interval(int32_t) {}
void cordz_set_next_sample_for_testing(int64_t) {}
bool cordz_should_profile_slow() {
  cordz_next_sample = INT64_MAX;
  return false;
}
}  // namespace cord_internal

namespace base_internal {
// Only scales lock contention profiles, which nobody takes here.
double NominalCPUFrequency() { return 1e9; }
int NumCPUs() { return static_cast<int>(std::thread::hardware_concurrency()); }
pid_t GetTID() { return static_cast<pid_t>(syscall(SYS_gettid)); }
// Not cached: a cached number would be wrong after fork.
pid_t GetCachedTID() { return GetTID(); }
}  // namespace base_internal

// What the hash tables' header leaves to its source file. Order of insertion is not shuffled here.
namespace container_internal {
ABSL_CONST_INIT const ctrl_t kEmptyGroup[16] = {ctrl_t::kSentinel, ctrl_t::kEmpty, ctrl_t::kEmpty, ctrl_t::kEmpty,
                                                ctrl_t::kEmpty,    ctrl_t::kEmpty, ctrl_t::kEmpty, ctrl_t::kEmpty,
                                                ctrl_t::kEmpty,    ctrl_t::kEmpty, ctrl_t::kEmpty, ctrl_t::kEmpty,
                                                ctrl_t::kEmpty,    ctrl_t::kEmpty, ctrl_t::kEmpty, ctrl_t::kEmpty};

bool ShouldInsertBackwards(size_t, const ctrl_t*) { return false; }

void ConvertDeletedToEmptyAndFullToDeleted(ctrl_t* ctrl, size_t capacity) {
  for (size_t i = 0; i < capacity; i += Group::kWidth) Group(ctrl + i).ConvertSpecialToEmptyAndFullToDeleted(ctrl + i);
  std::memcpy(ctrl + capacity + 1, ctrl, NumClonedBytes());
  ctrl[capacity] = ctrl_t::kSentinel;
}

void HashTableSizeOverflow() { std::abort(); }
}  // namespace container_internal

ABSL_NAMESPACE_END
}  // namespace absl
