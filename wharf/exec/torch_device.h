// Where the engine's tensors lie and its kernels run: this machine's CPU, or one GPU. Heavy header, for this room's
// sources only.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Stream.h>
#include <c10/core/StreamGuard.h>

#include <exception>
#include <optional>
#include <string>

#include "wharf/base/status.h"

namespace wharf::exec {

// On a GPU, kernels are done in their order by the GPU's default stream, some time after they were called; who hands
// tensors on waits first, so that a tensor that others see is finished, and may go without being waited for.
class TorchDevice {
 public:
  TorchDevice() = default;  // the CPU
  // `name`: as FindTorchDevice has it. `memory`: as TorchOptions. kFailedPrecondition: the GPU does not start.
  static absl::StatusOr<TorchDevice> Open(const std::string& name, uint64_t memory);

  const at::Device& Torch() const { return device_; }
  // Of the GPU, "" of the CPU.
  const std::string& Name() const { return name_; }
  // Until what this thread has called is done. Throws what went wrong with it.
  void Wait() const;

  // While it lives, what this thread calls passes kernels that are queued by: rows go up and down while others are
  // computed. Copies that LibTorch does are done when it returns.
  class Copying {
   public:
    explicit Copying(const TorchDevice& device) {
      if (device.copies_) stream_.reset_stream(*device.copies_);
    }

   private:
    c10::OptionalStreamGuard stream_;
  };

 private:
  at::Device device_ = at::kCPU;
  std::string name_;
  std::optional<c10::Stream> copies_;  // none of the CPU
};

// LibTorch's exceptions carry a backtrace from the second line on.
std::string FirstLine(const std::exception& error);

// What LibTorch threw while it did `what`. kResourceExhausted: the GPU's memory is used up, or the machine's.
// kInternal: anything else.
absl::Status StatusOf(const std::exception& error, const std::string& what);

}  // namespace wharf::exec
