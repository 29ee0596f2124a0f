// nvJitLink's functions where the device runs PTX only, with plain types (exported.h): handles are JitLinkers. What
// they return is an nvJitLinkResult.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wharf/cudashim/client/jit/exported.h"

namespace wharf::client {

using JitLinkHandle = uintptr_t;

// Whether nvJitLinkCreate made it here. Any number may be asked for. Thread-safe, as are making and destroying.
WHARF_CLIENT_API bool IsJitLink(JitLinkHandle handle);
// `vendors`: NVIDIA's library, if it is here.
WHARF_CLIENT_API int CreateJitLink(JitLinkHandle* handle, uint32_t count, const char* const* options, void* vendors);
WHARF_CLIENT_API void DestroyJitLink(JitLinkHandle handle);

// REQUIRES of all: IsJitLink(handle).
WHARF_CLIENT_API int AddToJitLink(JitLinkHandle handle, int type, const void* data, size_t size, const char* name);
WHARF_CLIENT_API int AddFileToJitLink(JitLinkHandle handle, int type, const char* path);
WHARF_CLIENT_API int CompleteJitLink(JitLinkHandle handle);
// Each gives the size if `size` is not null, the bytes if `to` is not.
WHARF_CLIENT_API int GetJitLinkLinkedCubin(JitLinkHandle handle, size_t* size, void* to);
WHARF_CLIENT_API int GetJitLinkLinkedPtx(JitLinkHandle handle, size_t* size, void* to);
WHARF_CLIENT_API int GetJitLinkLinkedLTOIR(JitLinkHandle handle, size_t* size, void* to);
WHARF_CLIENT_API int GetJitLinkErrorLog(JitLinkHandle handle, size_t* size, void* to);
WHARF_CLIENT_API int GetJitLinkInfoLog(JitLinkHandle handle, size_t* size, void* to);

}  // namespace wharf::client
