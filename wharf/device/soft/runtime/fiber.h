// Suspendable threads of execution: stacks with guard pages, and the switch between them.
//
// A Context is either a stack that is running or one that was left by Switch. Switching saves the callee-saved
// registers only; floating-point control words are shared by all contexts of an OS thread. Contexts never move between
// OS threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/device/soft/processor/stack_switch.h"

#if defined(__SANITIZE_ADDRESS__)
#define WHARF_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WHARF_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define WHARF_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WHARF_TSAN 1
#endif
#endif

#ifdef WHARF_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef WHARF_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace wharf::device::soft {

// Where a suspended stack goes on.
struct Context {
  void* stack_pointer = nullptr;
#ifdef WHARF_ASAN
  void* fake_stack = nullptr;
  const void* bottom = nullptr;
  size_t size = 0;
#endif
#ifdef WHARF_TSAN
  void* fiber = nullptr;
  uint32_t uses = 0;
#endif
};

// Makes `context` the one of the calling OS thread, so that others can switch back to it.
void InitialiseThreadContext(Context& context);
// Prepares `context` to call `entry(argument)` on [bottom, top) at the first switch to it. `entry` must not return.
void InitialiseContext(Context& context, std::byte* bottom, std::byte* top, void (*entry)(void*), void* argument);
// Forgets what runs in `context` (a suspended or abandoned stack) so that it can be initialised again.
void ResetContext(Context& context, std::byte* bottom, std::byte* top);
// To be called right after a Switch that may have returned because a fault handler restored `restored`.
void AfterRestore(Context& restored);
// To be called by a fault handler that is about to restore `restored`.
void BeforeRestore(Context& restored);

// To be called first by a context's `entry`.
inline void OnContextEntry() {
#ifdef WHARF_ASAN
  __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
}

// Leaves the calling context for ever and goes on in `to`.
[[noreturn]] inline void SwitchForever(Context& to) {
#ifdef WHARF_ASAN
  __sanitizer_start_switch_fiber(nullptr, to.bottom, to.size);
#endif
#ifdef WHARF_TSAN
  __tsan_switch_to_fiber(to.fiber, 0);
#endif
  wharf_restore_stack(to.stack_pointer);
}

// Leaves `from` and goes on in `to`; returns when something switches back to `from`.
inline void Switch(Context& from, Context& to) {
#ifdef WHARF_ASAN
  __sanitizer_start_switch_fiber(&from.fake_stack, to.bottom, to.size);
#endif
#ifdef WHARF_TSAN
  __tsan_switch_to_fiber(to.fiber, 0);
#endif
  wharf_switch_stack(&from.stack_pointer, to.stack_pointer);
#ifdef WHARF_ASAN
  __sanitizer_finish_switch_fiber(from.fake_stack, nullptr, nullptr);
#endif
}

// A set of equally sized stacks in one reservation, each with an inaccessible page below. Pages are backed when
// touched.
class StackPool {
 public:
  StackPool() = default;
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;
  ~StackPool();

  // Makes the pool hold `count` stacks of at least `bytes` each. REQUIRES: none is in use.
  absl::Status Prepare(size_t count, size_t bytes);
  size_t count() const { return count_; }
  size_t bytes() const { return stack_bytes_; }
  // Bounds of stack `index`. The top is staggered by cache lines: equal tops would map every thread's frame to the same
  // cache sets.
  std::byte* Bottom(size_t index) const { return base_ + index * (stack_bytes_ + kGuardBytes) + kGuardBytes; }
  std::byte* Top(size_t index) const { return Bottom(index) + stack_bytes_ - (index * 7 % 64) * 64; }
  Context& ContextOf(size_t index) { return contexts_[index]; }
  // Whether `address` is in one of the guard pages.
  bool InGuard(uintptr_t address) const;

  // More than a function may leave untouched below its caller's frame: compiled kernels touch every page (probe-stack),
  // the runtime's functions and the C library's have small frames.
  static constexpr size_t kGuardBytes = 64 << 10;  // and no page is larger
  static constexpr size_t kStaggerBytes = 64 * 64;

 private:
  void Release();

  std::byte* base_ = nullptr;
  size_t reserved_ = 0, count_ = 0, stack_bytes_ = 0;
  std::vector<Context> contexts_;
};

// How many stacks with guard pages this process may hold: each takes two of the kernel's limited mappings.
size_t MaxStacks();

}  // namespace wharf::device::soft
