// cuGetProcAddress: our functions by the vendor's names and versions.
#include <cstring>

#include "wharf/cudashim/cuda/driver.h"
#include "wharf/cudashim/cuda/entry_points.h"

namespace wharf::cudashim {
namespace {

// The newest entry point of `name` that `version` may see, the per-thread one if wanted and there.
const EntryPoint* Find(const char* name, int version, bool per_thread, bool* name_known) {
  const EntryPoint* best = nullptr;
  for (unsigned i = 0; i < kEntryPointCount; ++i) {
    const EntryPoint& entry = kEntryPoints[i];
    if (std::strcmp(entry.name, name) != 0 || (entry.per_thread && !per_thread)) continue;
    *name_known = true;
    if (entry.version > version) continue;
    const bool newer = best == nullptr || entry.version > best->version;
    const bool preferred = best != nullptr && entry.version == best->version && entry.per_thread;
    if (newer || preferred) best = &entry;
  }
  return best;
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" CUresult cuGetProcAddress(const char* symbol, void** function, int version, cuuint64_t flags,
                                     CUdriverProcAddressQueryResult* status) {
  return DriverLocal(Call::k_cuGetProcAddress_v2, [&] {
    if (symbol == nullptr || function == nullptr) return CudaError::kInvalidValue;
    bool name_known = false;
    const bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
    const EntryPoint* const found = Find(symbol, version, per_thread, &name_known);
    *function = found == nullptr ? nullptr : reinterpret_cast<void*>(found->function);
    if (status != nullptr) {
      *status = found != nullptr
                    ? CU_GET_PROC_ADDRESS_SUCCESS
                    : (name_known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
      return CudaError::kSuccess;
    }
    return found == nullptr ? CudaError::kNotFound : CudaError::kSuccess;
  });
}
