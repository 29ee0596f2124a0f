// SoftDevice's prepared work: names are looked up and arguments checked once, a submission is one entry of the queue.
#include <algorithm>
#include <atomic>
#include <span>
#include <utility>

#include "wharf/device/soft/driver/box.h"
#include "wharf/device/soft/driver/gemm.h"
#include "wharf/device/soft/driver/soft_device.h"

namespace wharf::device::soft {

class SoftDevice::PreparedWork final : public WorkList {
 public:
  PreparedWork(SoftDevice& device, std::vector<Work> work) : device_(device), batch_(std::make_shared<Batch>()) {
    for (Work& element : work) batch_->elements.push_back(Unresolved(std::move(element)));
  }

  size_t size() const override { return batch_->elements.size(); }

  void Update(size_t index, Work work) override { Replace(index, Unresolved(std::move(work))); }

  Submission Submit(size_t first, size_t count) override {
    Submission submission;
    while (submission.queued < count) {
      submission.status = Resolve(first + submission.queued);
      if (!submission.status.ok()) break;
      ++submission.queued;
    }
    if (submission.queued > 0) Queue(first, submission.queued);
    return submission;
  }

 private:
  struct Element {
    Work work;
    // As they were when the element was resolved; never if 0.
    uint64_t names_version = 0, memory_version = 0;
    std::shared_ptr<Timeline> stream;
    std::shared_ptr<const CompiledKernel> kernel;  // of a launch
    std::shared_ptr<const std::string> name;       // its name
    std::shared_ptr<LoadedModule> parent;          // of one that launches kernels
  };
  using ElementPointer = std::shared_ptr<const Element>;
  // What submissions that are still queued read: then it is left as it is and changes go to a copy.
  struct Batch {
    std::vector<ElementPointer> elements;
    std::atomic<int> queued{0};
  };

  static ElementPointer Unresolved(Work work) {
    auto element = std::make_shared<Element>();
    element->work = std::move(work);
    return element;
  }

  void Replace(size_t index, ElementPointer element) {
    if (batch_->queued.load(std::memory_order_acquire) != 0) {
      auto copy = std::make_shared<Batch>();
      copy->elements = batch_->elements;
      batch_ = std::move(copy);
    }
    batch_->elements[index] = std::move(element);
  }

  // That the element is what a call made now would queue.
  absl::Status Resolve(size_t index) {
    const Element& old = *batch_->elements[index];
    const bool launch = std::holds_alternative<LaunchWork>(old.work.what);
    if (old.names_version == device_.names_version_ && (launch || old.memory_version == device_.memory_version_)) {
      return absl::OkStatus();
    }
    auto element = std::make_shared<Element>(old);
    WHARF_ASSIGN_OR_RETURN(element->stream, device_.FindStream(old.work.stream));
    WHARF_RETURN_IF_ERROR(std::visit([&](const auto& what) { return ResolveWhat(what, *element); }, old.work.what));
    element->names_version = device_.names_version_;
    element->memory_version = device_.memory_version_;
    Replace(index, std::move(element));
    return absl::OkStatus();
  }
  absl::Status ResolveWhat(const LaunchWork& launch, Element& element) const {
    WHARF_ASSIGN_OR_RETURN(Function * function, device_.FindFunction(launch.function));
    WHARF_RETURN_IF_ERROR(device_.CheckLaunch(*function, launch.config, launch.parameters.size()));
    WHARF_ASSIGN_OR_RETURN(element.kernel, device_.CodeFor(*function, launch.config));
    WHARF_ASSIGN_OR_RETURN(element.parent, device_.ParentModule(*function));
    element.name = function->name;
    return absl::OkStatus();
  }
  absl::Status ResolveWhat(const CopyWork& copy, Element&) const {
    WHARF_RETURN_IF_ERROR(CheckBox(*device_.memory_, copy.to, copy.extent));
    return CheckBox(*device_.memory_, copy.from, copy.extent);
  }
  absl::Status ResolveWhat(const FillWork& fill, Element&) const { return device_.CheckFill(fill); }
  absl::Status ResolveWhat(const Gemm& gemm, Element&) const { return CheckGemm(gemm, *device_.memory_); }
  absl::Status ResolveWhat(const Primitive& primitive, Element&) const { return device_.CheckOperands(primitive); }

  using Streams = std::vector<std::shared_ptr<Timeline>>;
  Streams StreamsOf(size_t first, size_t count) const {
    Streams streams;
    for (size_t i = first; i < first + count; ++i) {
      const std::shared_ptr<Timeline>& stream = batch_->elements[i]->stream;
      if (std::find(streams.begin(), streams.end(), stream) == streams.end()) streams.push_back(stream);
    }
    return streams;
  }

  // To the streams the submission is one item.
  void Queue(size_t first, size_t count) {
    Streams streams = StreamsOf(first, count);
    for (const auto& stream : streams) stream->Issue();
    device_.all_.Issue();
    batch_->queued.fetch_add(1, std::memory_order_relaxed);
    device_.queue_->Push([device = &device_, batch = batch_, first, count, streams = std::move(streams)] {
      device->AwaitTurn();
      device->DoWork([&] { return Run(*device, std::span(batch->elements).subspan(first, count)); });
      batch->queued.fetch_sub(1, std::memory_order_release);
      for (const auto& stream : streams) device->RunDue(stream->Complete());
      device->RunDue(device->all_.Complete());
    });
  }

  static absl::Status Run(SoftDevice& device, std::span<const ElementPointer> elements) {
    for (const ElementPointer& element : elements) {
      if (device.failed_.load(std::memory_order_acquire)) return absl::OkStatus();  // the device is going away
      WHARF_RETURN_IF_ERROR(
          std::visit([&](const auto& what) { return RunWhat(device, what, *element); }, element->work.what));
    }
    return absl::OkStatus();
  }
  static absl::Status RunWhat(SoftDevice& device, const LaunchWork& launch, const Element& element) {
    return device.RunLaunch({.kernel = element.kernel.get(),
                             .name = *element.name,
                             .config = launch.config,
                             .parameters = launch.parameters.data()},
                            element.parent.get());
  }
  static absl::Status RunWhat(SoftDevice& device, const CopyWork& copy, const Element&) {
    NoteCopied(*device.memory_, copy.to, copy.from, copy.extent);
    CopyBox(copy.to, copy.from, copy.extent);
    return absl::OkStatus();
  }
  static absl::Status RunWhat(SoftDevice& device, const FillWork& fill, const Element&) {
    NoteWritten(*device.memory_, fill.to, fill.extent);
    FillBox(fill.to, fill.extent, fill.value, fill.element_bytes);
    return absl::OkStatus();
  }
  static absl::Status RunWhat(SoftDevice& device, const Gemm& gemm, const Element&) {
    return device.RunGemmOnAllCores(gemm);
  }
  static absl::Status RunWhat(SoftDevice& device, const Primitive& primitive, const Element&) {
    return device.RunOnAllCores(primitive);
  }

  SoftDevice& device_;
  std::shared_ptr<Batch> batch_;
};

std::unique_ptr<WorkList> SoftDevice::PrepareWork(std::vector<Work> work) {
  return std::make_unique<PreparedWork>(*this, std::move(work));
}

}  // namespace wharf::device::soft
