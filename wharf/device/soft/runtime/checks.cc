// Checks of kernels while they run: who meets where, as the scheduler knows it.
#include <array>
#include <bit>

#include "wharf/device/soft/runtime/block_scheduler.h"
#include "wharf/device/soft/runtime/worker.h"

namespace wharf::device::soft {

void BlockScheduler::PrepareChecks() {
  KernelServices& services = block_->owner->services;
  if (services.findings == nullptr || run_->launch.kernel->sites == nullptr) {
    checks_ = nullptr;
    return;
  }
  if (checks_ == nullptr) checks_ = std::make_unique<BlockChecks>(services);
  checks_->Prepare(*run_, *block_);
}

// Of threads that have ended nobody asks more than of those that meet.
void BlockScheduler::CheckBarrier(const BarrierState& barrier) {
  check::BlockClocks* const clocks = checks_->clocks();
  if (clocks == nullptr) return;
  std::array<uint32_t, kMaxWarps> meeting{};
  uint32_t waiting = 0;
  for (uint32_t w = 0; w < warp_count_; ++w) {
    waiting += static_cast<uint32_t>(std::popcount(barrier.waiting[w]));
    if (barrier.waiting[w] != 0) meeting[w] = barrier.waiting[w] | exited_[w];
  }
  if (waiting == alive_) return clocks->MeetAll();
  clocks->MeetAt(static_cast<uint32_t>(&barrier - barriers_.data()), std::span(meeting).first(warp_count_));
}

// The thread goes on, and others will have waited for it.
void BlockScheduler::CheckArrival(const ThreadState& thread, uint32_t barrier) {
  if (check::BlockClocks* const clocks = checks_->clocks(); clocks != nullptr) clocks->Arrive(barrier, thread.linear);
}

// Shuffles, votes and the like exchange values, but order no accesses.
void BlockScheduler::CheckMeeting(uint32_t warp, const Meeting& meeting) {
  check::BlockClocks* const clocks = checks_->clocks();
  if (clocks == nullptr || meeting.key != MeetingKey(WarpOperation::kSync)) return;
  clocks->MeetInWarp(warp, meeting.arrived | (meeting.mask & exited_[warp]));
}

extern "C" void wharf_check_access(ThreadContext* thread, uint64_t address, uint32_t access, uint32_t site,
                                   uint64_t low, uint64_t high) {
  BlockChecks* const checks = static_cast<ThreadState*>(thread)->scheduler->checks();
  if (checks != nullptr) checks->Access(*thread, address, std::bit_cast<check::Access>(access), site, low, high);
}

}  // namespace wharf::device::soft
