// Fair shares of a device among sessions: each has an account of the device time it has used, and one that is ahead of
// the account that has used least waits. Start-time fair queueing (Goyal, Vin and Cheng, SIGCOMM 1996) with more than
// one in service: whoever may run does, at the same time as others; the operating system shares the cores between
// those.
//
// The accounts stand in a page of shared memory, one slot a session; each worker process writes its own. Only sessions
// that take part (that run or wait) count, so the device is never left idle while one wants it:
// - Whoever begins to take part starts no lower than the least of the others: having been idle is no credit.
// - A session that takes part is seen to have used at least its equal part of the time since it last settled, whether
//   it could or not. So nobody is held up by a kernel that never ends, by a session that can use only some of the
//   cores, or by a process that died.
// Of two sessions that always have work, neither is ahead by more than kShareLead and a stretch of work of each;
// the one that has used least never waits; nobody waits longer than the number of sessions times kShareLead and the
// longest stretch.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "wharf/base/clock.h"

namespace wharf::server {

inline constexpr uint32_t kShareSlots = 1024;

// Times in nanoseconds.
struct alignas(64) ShareSlot {
  std::atomic<int64_t> paid{0};    // device time, from where the account began
  std::atomic<int64_t> since{0};   // when it last settled, on the monotonic clock; 0: takes no part
  std::atomic<int64_t> used{0};    // device time in all, for people
  std::atomic<int64_t> waited{0};  // for its turn, in all, for people
};

struct SharePage {
  std::atomic<uint32_t> slots{0};    // those from here on were never used
  std::atomic<uint32_t> changes{0};  // grows when somebody who waits may go on: a futex
  std::atomic<uint32_t> waiting{0};
  std::atomic<int64_t> furthest{0};  // what the last sessions that stopped had paid
  std::array<ShareSlot, kShareSlots> slot;
};
static_assert(std::atomic<int64_t>::is_always_lock_free && std::atomic<uint32_t>::is_always_lock_free);

// How far a session may be ahead of the last.
inline constexpr Nanoseconds kShareLead = std::chrono::milliseconds(2);

// One session's account. One thread at a time; the others' accounts may change meanwhile.
class ShareAccount {
 public:
  ShareAccount(SharePage& page, uint32_t slot) : page_(page), slot_(page.slot[slot]) {}

  bool TakesPart() const { return slot_.since.load(std::memory_order_relaxed) != 0; }
  void Join(TimePoint now);
  // Pays for what was used since the last time. REQUIRES: takes part.
  void Settle(TimePoint now, Nanoseconds used);
  void Leave();
  // How long to wait at least, zero if the session may go on. O(slots).
  Nanoseconds Wait(TimePoint now) const;
  // That the session has waited until now, for which it pays nothing.
  void Waited(TimePoint now);

 private:
  struct Others {
    int64_t count = 0, least = 0;  // least: only if count is not 0
  };
  Others SeeOthers(TimePoint now) const;

  SharePage& page_;
  ShareSlot& slot_;
};

}  // namespace wharf::server
