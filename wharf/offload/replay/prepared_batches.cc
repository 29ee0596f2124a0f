#include "wharf/offload/replay/prepared_batches.h"

#include <algorithm>
#include <utility>

namespace wharf::offload {
namespace {

// Fewer are not worth a list.
constexpr size_t kLeastElements = 4;
// What a peer may make us keep, in all and in one.
constexpr size_t kMaxBytes = size_t{32} << 20, kMaxBatchBytes = size_t{4} << 20;

size_t BytesOf(const device::Work& work) {
  const auto* const launch = std::get_if<device::LaunchWork>(&work.what);
  return sizeof(work) + (launch == nullptr ? 0 : launch->parameters.size());
}

struct ToWork {
  using Result = std::optional<device::Work>;
  Result operator()(const Launch& op) const {
    return device::Work{op.stream, device::LaunchWork{op.function, op.config, op.parameters}};
  }
  Result operator()(const CopyOnDevice& op) const {
    return device::Work{op.stream, device::CopyWork{op.to, op.from, op.extent}};
  }
  Result operator()(const Fill& op) const {
    return device::Work{op.stream, device::FillWork{op.to, op.extent, op.value, op.element_bytes}};
  }
  Result operator()(const RunGemm& op) const { return device::Work{op.stream, op.gemm}; }
  template <RunsPrimitive Op>
  Result operator()(const Op& op) const {
    return device::Work{op.stream, device::Primitive(op.primitive)};
  }
  template <typename Op>
  Result operator()(const Op&) const {
    return std::nullopt;
  }
};

}  // namespace

std::optional<device::Work> WorkOf(const StepOp& op) { return std::visit(ToWork{}, op); }

device::FunctionId PreparedBatches::FunctionOf(const device::Work& work) {
  const auto* const launch = std::get_if<device::LaunchWork>(&work.what);
  return launch == nullptr ? kNoFunction : launch->function;
}

void PreparedBatches::Note(OperationId id, const StepOp& op) {
  if (IsInside() && current_->ids[place_] == id) {
    ++place_;
    return;
  }
  std::optional<device::Work> work = WorkOf(op);
  if (!work) return Interrupt();
  if (IsInside() && Replace(id, *work)) return;
  current_ = nullptr;
  growing_.ids.push_back(id);
  growing_.functions.push_back(FunctionOf(*work));
  growing_.bytes += BytesOf(*work);
  work_.push_back(*std::move(work));
  if (growing_.bytes > kMaxBatchBytes) Finish();
}

// Another kernel belongs to another path: that gets a batch of its own.
bool PreparedBatches::Replace(OperationId id, const device::Work& work) {
  if (place_ == 0 || FunctionOf(work) != current_->functions[place_] || FunctionOf(work) == kNoFunction) return false;
  bytes_ += BytesOf(work);  // beside what it replaces: rather too much than too little
  if (bytes_ > kMaxBytes) {
    Forget();
    return false;
  }
  current_->list->Update(place_, work);
  current_->ids[place_++] = id;
  return true;
}

void PreparedBatches::Interrupt() {
  Finish();
  current_ = nullptr;
}

void PreparedBatches::Finish() {
  if (work_.size() >= kLeastElements) {
    if (growing_.bytes > kMaxBytes - bytes_) Forget();
    Batch& batch = by_first_[growing_.ids.front()];
    bytes_ += growing_.bytes - batch.bytes;
    growing_.list = device_->PrepareWork(std::move(work_));
    batch = std::move(growing_);
  }
  growing_ = {};
  work_.clear();
}

PreparedBatches::Match PreparedBatches::Find(const std::function<OperationId(size_t)>& next, size_t limit) {
  if (limit == 0) return {};
  const OperationId first = next(0);
  if (!IsInside() || current_->ids[place_] != first) {
    if (!by_first_.contains(first)) return {};
    Finish();
    const auto found = by_first_.find(first);
    if (found == by_first_.end()) return {};  // making room took it
    current_ = &found->second;
    place_ = 0;
  }
  const size_t most = std::min(limit, current_->ids.size() - place_);
  size_t count = 0;
  while (count < most && current_->ids[place_ + count] == next(count)) ++count;
  return {current_->list.get(), place_, std::span(current_->ids).subspan(place_, count)};
}

void PreparedBatches::Forget() {
  by_first_.clear();
  bytes_ = 0;
  current_ = nullptr;
}

void PreparedBatches::Clear() {
  Forget();
  growing_ = {};
  work_.clear();
}

}  // namespace wharf::offload
