// NVIDIA's own library behind a drop-in one of the same name, on this machine.
#pragma once

#include "wharf/cudashim/client/jit/exported.h"

namespace wharf::client {

// Opens NVIDIA's library `name` ("libnvrtc.so.13"). `ours`: an address in the drop-in library, which has the same name.
// `caller`: one in the code that calls it. Looked for is, in this order: one that is in the process already; where the
// caller's file would be given it by the dynamic linker (its RUNPATH, LD_LIBRARY_PATH), then the same of every other
// file in the process; NVIDIA's Python packages beside any of these; the CUDA toolkit (CUDA_HOME, CUDA_PATH, where it
// is installed usually). nullptr if it is nowhere. Looked for once.
WHARF_CLIENT_API void* OpenVendorLibrary(const char* name, const void* ours, const void* caller);

}  // namespace wharf::client
