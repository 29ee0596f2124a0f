// PreparedBatches: neighbours in what both ends predict that are work for the device alone, prepared as lists
// (Device::PrepareWork). A replay then hands over many operations at once: as a CUDA graph on a GPU, as one entry of
// the queue on the software device. docs/replay.md, "Prepared work".
//
// Lists are made of what was executed in order, from one operation that is no such work to the next:
//
//   Note(id, op)          // after each operation that was executed by itself
//   Find(next, limit)     // before: what of the predicted operations is prepared
//   Advance(count)        // after these were submitted
//
// An operation that comes in another's place with other arguments takes that place in the list, too.
// Not thread-safe: used where the device is used.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "wharf/device/device.h"
#include "wharf/offload/replay/operation_history.h"
#include "wharf/offload/replay/step_op.h"

namespace wharf::offload {

// The device's work that an operation is; nullopt if it needs data or gives any, or is about something else.
std::optional<device::Work> WorkOf(const StepOp& op);

class PreparedBatches {
 public:
  // `device` outlives the batches.
  explicit PreparedBatches(device::Device* device) : device_(device) {}

  void Note(OperationId id, const StepOp& op);
  // What comes next follows nothing.
  void Interrupt();

  // The first `ids.size()` elements from `first` on; none if `list` is null. Valid until the next call.
  struct Match {
    device::WorkList* list = nullptr;
    size_t first = 0;
    std::span<const OperationId> ids;
  };
  // As many of next(0), next(1), … as are prepared, at most `limit`.
  Match Find(const std::function<OperationId(size_t)>& next, size_t limit);
  void Advance(size_t count) { place_ += count; }

  void Clear();

 private:
  struct Batch {
    std::vector<OperationId> ids;
    std::vector<device::FunctionId> functions;  // kNoFunction: not a launch
    std::unique_ptr<device::WorkList> list;
    size_t bytes = 0;  // of memory, roughly
  };
  static constexpr device::FunctionId kNoFunction = UINT64_MAX;
  static device::FunctionId FunctionOf(const device::Work& work);
  bool IsInside() const { return current_ != nullptr && place_ < current_->ids.size(); }
  bool Replace(OperationId id, const device::Work& work);
  void Finish();
  void Forget();

  device::Device* const device_;
  std::unordered_map<OperationId, Batch> by_first_;
  size_t bytes_ = 0;          // of all batches
  Batch* current_ = nullptr;  // where the program is
  size_t place_ = 0;
  // What was executed since the last operation that is no work.
  Batch growing_;
  std::vector<device::Work> work_;
};

}  // namespace wharf::offload
