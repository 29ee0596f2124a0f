// Accesses to memory that is not accessible yet, as signals: whoever serves them makes the memory accessible, and the
// program goes on as if nothing had been.
#pragma once

#include <cstdint>

namespace wharf::offload {

// On the thread that touched `address`, where it did: true if it can go on now. What the thread holds at that moment is
// the program's, or of a library that was handed the program's memory; so a server of accesses may lock and wait, as
// long as nothing of its own ever touches such memory under a lock.
using AccessServer = bool (*)(uint64_t address, bool write);

// From the first call on; others change nothing. Accesses that are not served go where they would have gone without: to
// the handler that was there before, or they end the program.
void ServeAccesses(AccessServer server);

}  // namespace wharf::offload
