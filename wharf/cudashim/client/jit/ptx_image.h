// PTX in the place of machine code.
#pragma once

#include <cstddef>

#include "wharf/cudashim/client/jit/exported.h"

namespace wharf::client {

// Whether the session's device runs no machine code. Opens the session if it is not open yet; the first answer stays,
// false if there is no server.
WHARF_CLIENT_API bool DeviceNeedsPtx();

// Writes to `to`, unless that is null, an image of PTX that says how long it is and that the module functions load, and
// returns its size.
WHARF_CLIENT_API size_t WriteImageOfPtx(const char* ptx, size_t length, void* to);

// Once each: one line for the user on standard error.
WHARF_CLIENT_API void TellOnce(const char* line);

}  // namespace wharf::client
