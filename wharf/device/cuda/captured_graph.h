// CapturedGraph: what a library of the vendor's queues for one call, recorded as a graph instead of run.
#pragma once

#include <functional>
#include <utility>

#include "wharf/device/cuda/driver/gpu.h"

namespace wharf::device::cuda {

// A graph of kernels, fills and copies on the device. Movable; methods need the context to be current, destruction too.
class CapturedGraph {
 public:
  // `queue` queues work on `stream`, which is not the default one and has nothing to do besides. Its own error if it
  // fails; kNotSupported if what it queues may not be repeated: nodes that take memory, call the host or touch its
  // memory.
  static absl::StatusOr<CapturedGraph> Capture(Gpu* gpu, StreamHandle stream,
                                               const std::function<absl::Status()>& queue);
  CapturedGraph(CapturedGraph&& other) noexcept : gpu_(other.gpu_), handle_(std::exchange(other.handle_, nullptr)) {}
  CapturedGraph& operator=(CapturedGraph&& other) noexcept {
    std::swap(gpu_, other.gpu_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~CapturedGraph();

  GraphHandle handle() const { return handle_; }

 private:
  CapturedGraph(Gpu* gpu, GraphHandle handle) : gpu_(gpu), handle_(handle) {}
  absl::Status CheckNodes() const;
  absl::Status CheckNode(GraphNodeHandle node) const;

  Gpu* gpu_;
  GraphHandle handle_;
};

}  // namespace wharf::device::cuda
