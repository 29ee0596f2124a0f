#include "wharf/device/soft/check/clocks.h"

#include <algorithm>
#include <bit>

namespace wharf::device::soft::check {

void BlockClocks::Start(uint32_t threads) {
  const uint32_t whole_warps = (threads + kLanes - 1) / kLanes * kLanes;
  if (whole_warps != threads_) known_.clear();  // its rows have another length
  threads_ = whole_warps;
  if (clocks_.size() < threads_) {
    clocks_.resize(threads_, 0);
    known_in_warp_.resize(threads_, {});
  }
  arrived_.clear();
  MeetAll();
}

void BlockClocks::MeetAll() {
  ++interval_;
  partial_ = false;
  for (uint32_t thread = 0; thread < threads_; ++thread) ++clocks_[thread];
}

void BlockClocks::MeetInWarp(uint32_t warp, uint32_t lanes) {
  const uint32_t first = warp * kLanes;
  if (partial_) {
    std::vector<uint32_t> threads;
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
      threads.push_back(first + static_cast<uint32_t>(std::countr_zero(rest)));
    }
    return Join(threads, nullptr);
  }
  std::array<uint32_t, kLanes> joined{};
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
    const auto& known = known_in_warp_[first + lane];
    for (uint32_t i = 0; i < kLanes; ++i) joined[i] = std::max(joined[i], known[i]);
    joined[lane] = std::max(joined[lane], clocks_[first + lane]);
  }
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const uint32_t thread = first + static_cast<uint32_t>(std::countr_zero(rest));
    known_in_warp_[thread] = joined;
    ++clocks_[thread];
  }
}

void BlockClocks::BecomePartial() {
  if (partial_) return;
  partial_ = true;
  known_.resize(size_t{threads_} * threads_, 0);
  for (uint32_t thread = 0; thread < threads_; ++thread) {
    const auto& known = known_in_warp_[thread];
    std::copy(known.begin(), known.end(), known_.begin() + size_t{thread} * threads_ + thread / kLanes * kLanes);
  }
}

void BlockClocks::Arrive(uint32_t barrier, uint32_t thread) {
  BecomePartial();
  std::vector<uint32_t>& all = arrived_[barrier];
  all.resize(threads_, 0);
  const uint32_t* known = known_.data() + size_t{thread} * threads_;
  for (uint32_t i = 0; i < threads_; ++i) all[i] = std::max(all[i], known[i]);
  all[thread] = std::max(all[thread], clocks_[thread]++);
}

void BlockClocks::MeetAt(uint32_t barrier, std::span<const uint32_t> lanes) {
  BecomePartial();
  std::vector<uint32_t> threads;
  for (uint32_t warp = 0; warp < lanes.size(); ++warp) {
    for (uint32_t rest = lanes[warp]; rest != 0; rest &= rest - 1) {
      threads.push_back(warp * kLanes + static_cast<uint32_t>(std::countr_zero(rest)));
    }
  }
  const auto arrived = arrived_.find(barrier);
  Join(threads, arrived == arrived_.end() ? nullptr : &arrived->second);
  if (arrived != arrived_.end()) arrived_.erase(arrived);
}

void BlockClocks::Join(const std::vector<uint32_t>& threads, const std::vector<uint32_t>* others) {
  std::vector<uint32_t> joined(threads_, 0);
  if (others != nullptr) joined = *others;
  for (const uint32_t thread : threads) {
    const uint32_t* known = known_.data() + size_t{thread} * threads_;
    for (uint32_t i = 0; i < threads_; ++i) joined[i] = std::max(joined[i], known[i]);
    joined[thread] = std::max(joined[thread], clocks_[thread]);
  }
  for (const uint32_t thread : threads) {
    std::copy(joined.begin(), joined.end(), known_.begin() + size_t{thread} * threads_);
    ++clocks_[thread];
  }
}

}  // namespace wharf::device::soft::check
