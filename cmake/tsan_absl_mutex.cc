// ThreadSanitizer builds only. Debian's libabsl is not instrumented, so ThreadSanitizer cannot see what absl::Mutex,
// absl::CondVar, absl::Notification and absl::BlockingCounter order, and calls every use of them a race. The linker
// routes the calls through these wrappers (--wrap, in WharfCompiler.cmake), which tell it.
#include <sanitizer/tsan_interface.h>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

extern "C" {
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
}

namespace {
// Who gives a mutex up evaluates the conditions others wait for, still holding it but after it told ThreadSanitizer.
struct IgnoreReads {
  IgnoreReads() { AnnotateIgnoreReadsBegin(__FILE__, __LINE__); }
  ~IgnoreReads() { AnnotateIgnoreReadsEnd(__FILE__, __LINE__); }
};
}  // namespace

#define WHARF_REAL(name) __real_##name
#define WHARF_WRAP(name) __wrap_##name

#define WHARF_ACQUIRES(name)           \
  void WHARF_REAL(name)(void* mutex);  \
  void WHARF_WRAP(name)(void* mutex) { \
    WHARF_REAL(name)(mutex);           \
    __tsan_acquire(mutex);             \
  }
// Returns holding the mutex and with the condition true; evaluates it before it could tell ThreadSanitizer.
#define WHARF_ACQUIRES_WHEN(name)                             \
  void WHARF_REAL(name)(void* mutex, const void* condition);  \
  void WHARF_WRAP(name)(void* mutex, const void* condition) { \
    {                                                         \
      IgnoreReads ignore;                                     \
      WHARF_REAL(name)(mutex, condition);                     \
    }                                                         \
    __tsan_acquire(mutex);                                    \
  }
#define WHARF_TRIES(name)                        \
  bool WHARF_REAL(name)(void* mutex);            \
  bool WHARF_WRAP(name)(void* mutex) {           \
    const bool locked = WHARF_REAL(name)(mutex); \
    if (locked) __tsan_acquire(mutex);           \
    return locked;                               \
  }
#define WHARF_RELEASES(name)           \
  void WHARF_REAL(name)(void* mutex);  \
  void WHARF_WRAP(name)(void* mutex) { \
    __tsan_release(mutex);             \
    IgnoreReads ignore;                \
    WHARF_REAL(name)(mutex);           \
  }
#define WHARF_RELEASES_AND_TELLS(name)   \
  bool WHARF_REAL(name)(void* counter);  \
  bool WHARF_WRAP(name)(void* counter) { \
    __tsan_release(counter);             \
    IgnoreReads ignore;                  \
    return WHARF_REAL(name)(counter);    \
  }
#define WHARF_AWAITS(name)                                                  \
  bool WHARF_REAL(name)(const void* notification, absl::Duration timeout);  \
  bool WHARF_WRAP(name)(const void* notification, absl::Duration timeout) { \
    const bool notified = WHARF_REAL(name)(notification, timeout);          \
    if (notified) __tsan_acquire(const_cast<void*>(notification));          \
    return notified;                                                        \
  }
// Gives the mutex up for a while.
#define WHARF_WAITS(type, name, parameters, arguments, mutex) \
  type WHARF_REAL(name) parameters;                           \
  type WHARF_WRAP(name) parameters {                          \
    __tsan_release(mutex);                                    \
    struct Acquire {                                          \
      void* m;                                                \
      ~Acquire() { __tsan_acquire(m); }                       \
    } acquire{mutex};                                         \
    IgnoreReads ignore;                                       \
    return WHARF_REAL(name) arguments;                        \
  }

#pragma GCC visibility push(default)  // the linker insists, since libabsl itself refers to what is wrapped
extern "C" {

WHARF_ACQUIRES(_ZN4absl7debian35Mutex4LockEv)
WHARF_ACQUIRES(_ZN4absl7debian35Mutex10ReaderLockEv)
WHARF_ACQUIRES_WHEN(_ZN4absl7debian35Mutex8LockWhenERKNS0_9ConditionE)
WHARF_TRIES(_ZN4absl7debian35Mutex7TryLockEv)
WHARF_TRIES(_ZN4absl7debian35Mutex13ReaderTryLockEv)
WHARF_RELEASES(_ZN4absl7debian35Mutex6UnlockEv)
WHARF_RELEASES(_ZN4absl7debian35Mutex12ReaderUnlockEv)

WHARF_WAITS(void, _ZN4absl7debian35Mutex5AwaitERKNS0_9ConditionE, (void* mutex, const void* condition),
            (mutex, condition), mutex)
WHARF_WAITS(bool, _ZN4absl7debian35Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE,
            (void* mutex, const void* condition, absl::Duration timeout), (mutex, condition, timeout), mutex)
WHARF_WAITS(bool, _ZN4absl7debian35Mutex17AwaitWithDeadlineERKNS0_9ConditionENS0_4TimeE,
            (void* mutex, const void* condition, absl::Time deadline), (mutex, condition, deadline), mutex)

WHARF_WAITS(void, _ZN4absl7debian37CondVar4WaitEPNS0_5MutexE, (void* condition, void* mutex), (condition, mutex), mutex)
WHARF_WAITS(bool, _ZN4absl7debian37CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE,
            (void* condition, void* mutex, absl::Duration timeout), (condition, mutex, timeout), mutex)
WHARF_WAITS(bool, _ZN4absl7debian37CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE,
            (void* condition, void* mutex, absl::Time deadline), (condition, mutex, deadline), mutex)

WHARF_RELEASES(_ZN4absl7debian312Notification6NotifyEv)
WHARF_ACQUIRES(_ZNK4absl7debian312Notification19WaitForNotificationEv)
WHARF_AWAITS(_ZNK4absl7debian312Notification30WaitForNotificationWithTimeoutENS0_8DurationE)

WHARF_RELEASES_AND_TELLS(_ZN4absl7debian315BlockingCounter14DecrementCountEv)
WHARF_ACQUIRES(_ZN4absl7debian315BlockingCounter4WaitEv)

}  // extern "C"
#pragma GCC visibility pop
