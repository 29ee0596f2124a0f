// What a worker lives on between running out of memory and its end, so that its client learns why.
#pragma once

namespace wharf::server {

// Sets some memory aside, and from then on gives it back to the process when an allocation fails. The descriptor
// becomes readable then: the session is to be ended. An allocation that fails even so, or once more, waits, on its
// thread, for that end, and ends the process with code 4 if it does not come: nothing sees std::bad_alloc. Call it
// once, before there are other threads. -1: no descriptor can be had.
int ReserveMemoryForTheEnd();

}  // namespace wharf::server
