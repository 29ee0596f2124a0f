// Threads inside foreign programs: no signal is ever delivered to them, and a forked child knows that they are gone.
// Internal to the room.
#pragma once

#include <cstdint>
#include <functional>
#include <thread>

namespace wharf::link {

// Starts a thread with all signals blocked, called `name` (at most 15 characters) in ps and debuggers.
std::thread StartThread(const char* name, std::function<void()> body);

// Tells a process from its forked children. Cheap: no system call.
class ForkGuard {
 public:
  ForkGuard();
  // True in a child forked after this object was made.
  bool InChild() const;

 private:
  uint64_t generation_;
};

}  // namespace wharf::link
