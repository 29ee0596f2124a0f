#include "wharf/exec/torch_device.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <charconv>
#include <new>

#include "wharf/exec/gpu.h"
#include "wharf/exec/torch_engine.h"

namespace wharf::exec {
namespace {

constexpr std::string_view kCuda = "cuda";

// N of "cuda:N", 0 of "cuda".
absl::StatusOr<int> GpuNumber(std::string_view device) {
  int number = 0;
  std::string_view rest = device;
  if (rest == kCuda) return number;
  rest.remove_prefix(std::min(rest.size(), kCuda.size() + 1));
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  const bool whole = error == std::errc() && end == rest.data() + rest.size() && number >= 0;
  if (!whole || !device.starts_with("cuda:")) {
    return InvalidArgument("models run on cpu, cuda, cuda:N or auto, not on \"{}\"", device);
  }
  return number;
}

// LibTorch's allocator on the CPU throws an error like any other; what it says of itself tells them apart.
bool IsOutOfMemory(const std::exception& error) {
  return dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
         FirstLine(error).find("DefaultCPUAllocator: ") != std::string::npos;
}

}  // namespace

absl::StatusOr<std::string> FindTorchDevice(const std::string& wanted) {
  if (wanted == "cpu") return wanted;
  if (wanted == "auto") return std::string(GpuNames().ok() ? "cuda:0" : "cpu");
  WHARF_ASSIGN_OR_RETURN(const int number, GpuNumber(wanted));
  WHARF_ASSIGN_OR_RETURN(const auto names, GpuNames());
  if (number < static_cast<int>(names.size())) return fmt::format("cuda:{}", number);
  return FailedPrecondition("there is no GPU {}: LibTorch finds {}, counted from 0", number, names.size());
}

absl::StatusOr<TorchDevice> TorchDevice::Open(const std::string& name, uint64_t memory) {
  TorchDevice opened;
  if (name == "cpu") return opened;
  WHARF_ASSIGN_OR_RETURN(const int number, GpuNumber(name));
  WHARF_ASSIGN_OR_RETURN(const auto names, GpuNames());
  opened.device_ = at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(number));
  opened.name_ = names.at(static_cast<size_t>(number));
  try {
    const c10::InferenceMode inference;
    at::zeros({1}, opened.device_);  // starts the GPU, and LibTorch's allocator on it
    if (memory > 0) LimitGpuMemory(number, memory);
    // Results are to be the CPU's: LibTorch would round what convolutions read to 10 bits.
    at::globalContext().setAllowTF32CuDNN(false);
    at::globalContext().setAllowTF32CuBLAS(false);
    opened.copies_ = c10::impl::VirtualGuardImpl(at::kCUDA).getStreamFromGlobalPool(opened.device_);
    opened.Wait();
  } catch (const std::exception& error) {
    return FailedPrecondition("{} ({}) does not start: {}", name, opened.name_, FirstLine(error));
  }
  return opened;
}

void TorchDevice::Wait() const {
  if (device_.is_cpu()) return;
  const c10::impl::VirtualGuardImpl gpu(device_.type());
  gpu.synchronizeStream(gpu.getStream(device_));
}

std::string FirstLine(const std::exception& error) {
  const std::string text = error.what();
  return text.substr(0, text.find('\n'));
}

absl::Status StatusOf(const std::exception& error, const std::string& what) {
  if (dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr) {
    return ResourceExhausted("{}: the GPU has no memory left for it: {}", what, FirstLine(error));
  }
  if (IsOutOfMemory(error)) return ResourceExhausted("{}: there is no memory left for it: {}", what, FirstLine(error));
  return Internal("{}: {}", what, FirstLine(error));
}

}  // namespace wharf::exec
