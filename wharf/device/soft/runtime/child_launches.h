// Kernels that kernels launch: CUDA's dynamic parallelism as it is from CUDA 12 on (CUDA C++ Programming Guide, "CUDA
// Dynamic Parallelism"), where a kernel cannot wait for what it has launched.
//
// What a grid launches begins when the grid has ended: it may see all that the grid wrote, and a kernel that waits for
// more is wrong on a GPU, too. Then the launched grids run one after the other in the order of their launches, each
// with all that it launches itself, which is an order that any streams and events of the kernel allow; its tail
// launches come last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "wharf/device/cuda_error.h"
#include "wharf/device/device.h"
#include "wharf/device/soft/runtime/device_heap.h"

namespace wharf::device::soft {

struct ChildKernel {
  std::string name;
  uint32_t parameter_bytes = 0;
};
// What kernels of a module can launch, by FunctionAddress().
using ChildKernels = std::unordered_map<uint64_t, ChildKernel>;

struct ChildLaunch {
  const ChildKernel* kernel = nullptr;
  LaunchConfig config;
  std::vector<std::byte> parameters;
};
// Of device memory, whatever the addresses are: who carries it out looks whether there is memory.
struct ChildCopy {
  DeviceAddress to = 0, from = 0;
  uint64_t bytes = 0;
};
struct ChildFill {
  DeviceAddress to = 0;
  uint64_t bytes = 0;
  uint8_t value = 0;
};
using ChildWork = std::variant<ChildLaunch, ChildCopy, ChildFill>;

// What a launch from the host and its descendants have launched and did not run yet.
class ChildLaunches {
 public:
  // Of all launches that did not begin, with their parameters. CUDA's default is 2,048 launches of at most 4 KiB.
  static constexpr uint64_t kMostBytes = uint64_t{64} << 20;
  // The streams that cudaStreamTailLaunch and cudaStreamFireAndForget name.
  static constexpr uint64_t kTailLaunch = 3;

  // All must outlive it; of the properties the limits of launches count.
  ChildLaunches(const ChildKernels& kernels, const DeviceProperties& properties, DeviceHeap& heap)
      : kernels_(kernels), properties_(properties), heap_(heap) {}
  ~ChildLaunches();
  ChildLaunches(const ChildLaunches&) = delete;
  ChildLaunches& operator=(const ChildLaunches&) = delete;

  // Of running kernels, from any thread.
  // Where the parameters of such a launch go, 16-byte aligned; 0 if it cannot be, and why is the last error. What
  // memory holds these is the kernel's to spoil.
  DeviceAddress Prepare(uint64_t kernel, const LaunchConfig& config);
  // Launches what was prepared; kInvalidValue if nothing was prepared there. Tail launches are those of kTailLaunch.
  CudaError Launch(DeviceAddress prepared, uint64_t stream);
  // Copies and fills, in order with launches.
  CudaError Add(const ChildWork& work, uint64_t stream);
  // The last failure, of any thread of the grid, since it was taken.
  CudaError LastError(bool take);
  // Where it is written what the error is, ended by a zero; 0 if there is no room.
  DeviceAddress TextOf(uint32_t error);

  // What to run next, when a grid has ended; nothing when all have. Takes what that grid launched to be its children.
  std::optional<ChildWork> Next();

 private:
  static uint64_t Cost(const ChildWork& work);
  void Enqueue(ChildWork work, uint64_t stream) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ChildKernels& kernels_;
  const DeviceProperties& properties_;
  DeviceHeap& heap_;
  absl::Mutex mutex_;
  CudaError error_ ABSL_GUARDED_BY(mutex_) = CudaError::kSuccess;
  uint64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // Cost of all
  std::map<uint32_t, DeviceAddress> texts_ ABSL_GUARDED_BY(mutex_);
  std::map<DeviceAddress, ChildLaunch> prepared_ ABSL_GUARDED_BY(mutex_);
  std::vector<ChildWork> launched_ ABSL_GUARDED_BY(mutex_), tails_ ABSL_GUARDED_BY(mutex_);  // of the running grid
  std::vector<ChildWork> waiting_ ABSL_GUARDED_BY(mutex_);                                   // the next one last
};

}  // namespace wharf::device::soft
