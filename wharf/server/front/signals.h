// The signals that ask a server to end: SIGINT, SIGTERM and SIGHUP. The first one ends it in order, the second one at
// once.
#pragma once

#include <signal.h>

namespace wharf::server {

sigset_t EndingSignals();

// In the calling thread and those it starts: for a process's first thread, before there are others.
void BlockEndingSignals();

// Waits for one of them and returns it; the next one ends the process at once, whatever is still being ended in order.
// REQUIRES: BlockEndingSignals was called.
int AwaitEndingSignal();

}  // namespace wharf::server
