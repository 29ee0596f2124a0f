// The one context there is (context.cc).
#pragma once

#include <cuda.h>

namespace wharf::cudashim {

// The device's primary context. Handing it out makes it neither current nor active.
CUcontext PrimaryContext();
// The thread's current context; null if there is none.
CUcontext CurrentContext();

}  // namespace wharf::cudashim
