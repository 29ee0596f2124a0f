#include "wharf/base/mutex.h"

#include "absl/synchronization/mutex.h"

namespace wharf {

void TrustLockOrder() {
#ifdef NDEBUG
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
#endif
}

}  // namespace wharf
