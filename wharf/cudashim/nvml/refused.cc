// What nobody here knows (temperatures, power, what others use) or may change: NVML's own answer is "not supported", as
// GPUs give it too, so programs go on. Not logged, for monitors ask again and again.
#include "wharf/cudashim/nvml/nvml.h"

// Arguments do not matter to the callee, in the calling conventions of the processors that there are.
#define WHARF_NVML_REFUSED(name)                                     \
  extern "C" WHARF_CLIENT_API nvmlReturn_t name() {                  \
    const nvmlReturn_t ready = wharf::cudashim::CheckInitialized();  \
    return ready == NVML_SUCCESS ? NVML_ERROR_NOT_SUPPORTED : ready; \
  }
#include "wharf/cudashim/nvml/refused.def"
#undef WHARF_NVML_REFUSED
