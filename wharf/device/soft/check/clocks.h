// Which accesses of a block's threads are ordered before which, as barriers order them: vector clocks.
//
// Each thread has a clock, which goes on whenever something orders what it did before other threads' doings. An access
// is known by thread and clock. A thread knows of each other one up to which clock its doings are ordered before its
// own; they are ordered before them all when the whole block meets, so that what threads know is only kept for the
// interval since then, and within it only of threads of the same warp unless part of the block has met at a barrier.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace wharf::device::soft::check {

class BlockClocks {
 public:
  static constexpr uint32_t kLanes = 32;

  // A block of so many threads begins. Nothing orders its threads, and all are after those of the block before.
  void Start(uint32_t threads);

  // Grows when the whole block meets: all that was before is ordered before all that follows.
  uint32_t interval() const { return interval_; }
  uint32_t Now(uint32_t thread) const { return clocks_[thread]; }
  // Whether what `earlier` did in this interval, when its clock was `clock`, is ordered before what `thread` does now.
  bool IsOrdered(uint32_t earlier, uint32_t clock, uint32_t thread) const {
    return earlier == thread || Known(thread, earlier) >= clock;
  }

  // All threads meet; those that have ended count.
  void MeetAll();
  void MeetInWarp(uint32_t warp, uint32_t lanes);
  // The thread goes on, but what it did is before what those do that meet at this barrier.
  void Arrive(uint32_t barrier, uint32_t thread);
  // Some threads, lanes by warp, meet at a barrier that no less than these wait for.
  void MeetAt(uint32_t barrier, std::span<const uint32_t> lanes);

 private:
  uint32_t Known(uint32_t thread, uint32_t of) const {
    if (partial_) return known_[size_t{thread} * threads_ + of];
    return thread / kLanes == of / kLanes ? known_in_warp_[thread][of % kLanes] : 0;
  }
  // From here on, until the block meets, known_ counts.
  void BecomePartial();
  // Rows of known_; `others`: what is ordered before them, too.
  void Join(const std::vector<uint32_t>& threads, const std::vector<uint32_t>* others);

  uint32_t interval_ = 0, threads_ = 0;  // whole warps
  bool partial_ = false;
  std::vector<uint32_t> clocks_;
  // By thread, of each lane of its warp. What is left of former intervals is less than any clock of this one.
  std::vector<std::array<uint32_t, kLanes>> known_in_warp_;
  std::vector<uint32_t> known_;                        // by thread, of each thread; likewise
  std::map<uint32_t, std::vector<uint32_t>> arrived_;  // barrier -> clock by thread
};

}  // namespace wharf::device::soft::check
