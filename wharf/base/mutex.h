// What all of Wharf's processes want of absl::Mutex.
#pragma once

namespace wharf {

// Debian builds Abseil with its deadlock detector on: each lock of a second mutex is looked up in a graph under one
// lock of the whole process, which triples the cost of a lock. Release builds go without; builds with assertions keep
// it. To be called when a process, or the part of one that is Wharf, starts. Thread-safe.
void TrustLockOrder();

}  // namespace wharf
