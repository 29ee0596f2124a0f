#include <utility>

#include "wharf/device/device.h"

namespace wharf::device {
namespace {

template <typename... Calls>
struct Overloaded : Calls... {
  using Calls::operator()...;
};
template <typename... Calls>
Overloaded(Calls...) -> Overloaded<Calls...>;

class PlainCalls final : public WorkList {
 public:
  PlainCalls(Device& device, std::vector<Work> work) : device_(device), work_(std::move(work)) {}
  size_t size() const override { return work_.size(); }
  void Update(size_t index, Work work) override { work_[index] = std::move(work); }
  Submission Submit(size_t first, size_t count) override {
    for (size_t i = 0; i < count; ++i) {
      if (absl::Status status = device_.Run(work_[first + i]); !status.ok()) return {i, std::move(status)};
    }
    return {count, absl::OkStatus()};
  }

 private:
  Device& device_;
  std::vector<Work> work_;
};

}  // namespace

absl::Status Device::Run(const Work& work) {
  return std::visit(
      Overloaded{
          [&](const LaunchWork& launch) {
            return Launch(work.stream, launch.function, launch.config, launch.parameters);
          },
          [&](const CopyWork& copy) { return CopyOnDevice(work.stream, copy.to, copy.from, copy.extent); },
          [&](const FillWork& fill) { return Fill(work.stream, fill.to, fill.extent, fill.value, fill.element_bytes); },
          [&](const Gemm& gemm) { return RunGemm(work.stream, gemm); },
          [&](const Primitive& primitive) { return RunPrimitive(work.stream, primitive); }},
      work.what);
}

absl::Status Device::LaunchGuarded(StreamId, FunctionId, const LaunchConfig&, std::vector<std::byte>, const Guard&) {
  return CudaStatus(CudaError::kNotSupported, "this device launches no guarded kernels");
}

std::unique_ptr<WorkList> Device::PrepareWork(std::vector<Work> work) {
  return std::make_unique<PlainCalls>(*this, std::move(work));
}

}  // namespace wharf::device
