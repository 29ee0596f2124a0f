#include "wharf/device/soft/runtime/child_launches.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "wharf/device/occupancy.h"

namespace wharf::device::soft {
namespace {

// A kernel without parameters has an address for them nevertheless.
constexpr uint64_t kLeastBytes = 16;
constexpr size_t kMostTexts = 1000;  // more than CUDA has errors

void MoveReversed(std::vector<ChildWork>& from, std::vector<ChildWork>& to) {
  to.insert(to.end(), std::move_iterator(from.rbegin()), std::move_iterator(from.rend()));
  from.clear();
}

}  // namespace

ChildLaunches::~ChildLaunches() {
  for (const auto& [address, launch] : prepared_) heap_.Free(address);
  for (const auto& [error, address] : texts_) heap_.Free(address);
}

uint64_t ChildLaunches::Cost(const ChildWork& work) {
  const auto* const launch = std::get_if<ChildLaunch>(&work);
  return sizeof(ChildWork) + (launch == nullptr ? 0 : launch->parameters.size());
}

DeviceAddress ChildLaunches::Prepare(uint64_t kernel, const LaunchConfig& config) {
  const auto known = kernels_.find(kernel);
  absl::MutexLock lock(&mutex_);
  if (known == kernels_.end()) return error_ = CudaError::kInvalidDeviceFunction, 0;
  if (!IsInRange(config.grid, config.block, properties_)) return error_ = CudaError::kInvalidConfiguration, 0;
  const ChildKernel& child = known->second;
  ChildLaunch launch{&child, config, {}};
  if (Cost(launch) + child.parameter_bytes > kMostBytes - bytes_) {
    return error_ = CudaError::kLaunchPendingCountExceeded, 0;
  }
  launch.parameters.resize(child.parameter_bytes);
  const DeviceAddress address = heap_.Allocate(std::max<uint64_t>(child.parameter_bytes, kLeastBytes));
  if (address == 0) return error_ = CudaError::kOutOfMemory, 0;
  // The kernel may have freed a buffer that it had prepared: then this is the same one.
  const auto [place, is_new] = prepared_.try_emplace(address);
  if (!is_new) bytes_ -= Cost(place->second);
  bytes_ += Cost(launch);
  place->second = std::move(launch);
  return address;
}

CudaError ChildLaunches::Launch(DeviceAddress prepared, uint64_t stream) {
  absl::MutexLock lock(&mutex_);
  const auto found = prepared_.find(prepared);
  if (found == prepared_.end()) return error_ = CudaError::kInvalidValue;
  ChildLaunch launch = std::move(found->second);
  prepared_.erase(found);
  // The heap's memory stays, whether the kernel has freed the buffer or not.
  if (!launch.parameters.empty()) {
    std::memcpy(launch.parameters.data(), reinterpret_cast<const void*>(prepared), launch.parameters.size());
  }
  heap_.Free(prepared);
  Enqueue(std::move(launch), stream);
  return CudaError::kSuccess;
}

CudaError ChildLaunches::Add(const ChildWork& work, uint64_t stream) {
  absl::MutexLock lock(&mutex_);
  if (Cost(work) > kMostBytes - bytes_) return error_ = CudaError::kLaunchPendingCountExceeded;
  bytes_ += Cost(work);
  Enqueue(work, stream);
  return CudaError::kSuccess;
}

void ChildLaunches::Enqueue(ChildWork work, uint64_t stream) {
  (stream == kTailLaunch ? tails_ : launched_).push_back(std::move(work));
}

CudaError ChildLaunches::LastError(bool take) {
  absl::MutexLock lock(&mutex_);
  return take ? std::exchange(error_, CudaError::kSuccess) : error_;
}

DeviceAddress ChildLaunches::TextOf(uint32_t error) {
  absl::MutexLock lock(&mutex_);
  if (const auto known = texts_.find(error); known != texts_.end()) return known->second;
  if (texts_.size() >= kMostTexts) return 0;
  const std::string text = error == 0 ? "no error" : fmt::format("CUDA error {}", error);
  const DeviceAddress address = heap_.Allocate(text.size() + 1);
  if (address == 0) return 0;
  std::memcpy(reinterpret_cast<void*>(address), text.c_str(), text.size() + 1);
  return texts_[error] = address;
}

std::optional<ChildWork> ChildLaunches::Next() {
  absl::MutexLock lock(&mutex_);
  MoveReversed(tails_, waiting_);
  MoveReversed(launched_, waiting_);
  error_ = CudaError::kSuccess;
  if (waiting_.empty()) return std::nullopt;
  ChildWork next = std::move(waiting_.back());
  waiting_.pop_back();
  bytes_ -= Cost(next);
  return next;
}

}  // namespace wharf::device::soft
