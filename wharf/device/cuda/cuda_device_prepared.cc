// CudaDevice's prepared work. Neighbours on one stream become a CUDA graph: launches, copies, fills, and what cuBLAS
// and cuDNN do for products and primitives, captured. What a graph does not take stands between two. A submission that
// holds all of a graph's elements launches it; elements of a graph that is not submitted whole are called one by one.
#include <algorithm>
#include <span>
#include <utility>

#include "wharf/device/cuda/box.h"
#include "wharf/device/cuda/cuda_device.h"
#include "wharf/device/cuda/work_graph.h"

namespace wharf::device::cuda {

class CudaDevice::PreparedWork final : public WorkList {
 public:
  PreparedWork(CudaDevice& device, std::vector<Work> work) : device_(device) {
    for (Work& element : work) elements_.push_back({.work = std::move(element)});
  }
  ~PreparedWork() override { device_.gpu_->Enter().IgnoreError(); }  // for the graphs' sake

  size_t size() const override { return elements_.size(); }

  void Update(size_t index, Work work) override {
    elements_[index].work = std::move(work);
    elements_[index].names_version = 0;
    elements_[index].refused = false;
  }

  Submission Submit(size_t first, size_t count) override {
    size_t ready = 0;
    absl::Status status;
    while (ready < count && status.ok()) {
      status = Resolve(elements_[first + ready]);
      if (status.ok()) ++ready;
    }
    if (std::exchange(chains_stale_, false)) FindChains();
    for (size_t queued = 0; queued < ready;) {
      const absl::StatusOr<size_t> more = Queue(first + queued, first + ready);
      if (!more.ok()) return {queued, more.status()};
      queued += *more;
    }
    return {ready, std::move(status)};
  }

 private:
  // Programs hand over what they have made so far, so few submissions hold a whole list. A launch of so many nodes
  // costs each of them little.
  static constexpr size_t kMostNodes = 16;
  // Neighbours [first, first + count) that one graph does.
  struct Chain {
    size_t first = 0, count = 0;
    std::unique_ptr<WorkGraph> graph;  // null until needed
    bool refused = false;              // by the driver: plain calls from now on
    bool ran = false;                  // once, by plain calls
  };
  struct Element {
    Work work;
    // When it was last found to be right; names_version is 0 if it has changed since.
    uint64_t names_version = 0, memory_version = 0;
    StreamId stream = kDefaultStream;
    FunctionHandle function = nullptr;  // of a launch
    bool is_node = false;               // a graph can do it
    bool refused = false;               // what a library does for it cannot be captured
    bool changed = false;               // since its chain's graph was last brought up to date
    bool remapped = false;              // likewise, the memory that it names
  };

  // That the element is what a call made now would queue.
  absl::Status Resolve(Element& element) {
    const bool launch = std::holds_alternative<LaunchWork>(element.work.what);
    const bool same_memory = launch || element.memory_version == device_.memory_version_;
    if (element.names_version == device_.names_version_ && same_memory) return absl::OkStatus();
    WHARF_RETURN_IF_ERROR(device_.Use(element.work.stream).status());
    WHARF_ASSIGN_OR_RETURN(const bool is_node,
                           std::visit([&](const auto& what) { return Check(what, element); }, element.work.what));
    chains_stale_ |= is_node != element.is_node || element.stream != element.work.stream;
    element.stream = element.work.stream;
    element.is_node = is_node;
    element.changed = true;
    element.remapped |= !same_memory;
    element.names_version = device_.names_version_;
    element.memory_version = device_.memory_version_;
    return absl::OkStatus();
  }
  // Whether a graph can do it; the call's own error if it cannot be called.
  absl::StatusOr<bool> Check(const LaunchWork& launch, Element& element) const {
    WHARF_ASSIGN_OR_RETURN(const Function* function, device_.FindFunction(launch.function));
    WHARF_RETURN_IF_ERROR(device_.CheckLaunch(*function, launch.config, launch.parameters.size()));
    element.function = function->handle;
    return !launch.config.cooperative && !device_.arrays_->ShareMemory();
  }
  absl::StatusOr<bool> Check(const CopyWork& copy, const Element&) const {
    WHARF_RETURN_IF_ERROR(device_.CheckBox(copy.to, copy.extent));
    WHARF_RETURN_IF_ERROR(device_.CheckBox(copy.from, copy.extent));
    if (device_.IsArray(copy.to, copy.extent) || device_.IsArray(copy.from, copy.extent)) return false;
    return AsOneCopy(copy.to, copy.from, copy.extent).has_value();
  }
  absl::StatusOr<bool> Check(const FillWork& fill, const Element&) const {
    WHARF_RETURN_IF_ERROR(device_.CheckBox(fill.to, fill.extent));
    WHARF_RETURN_IF_ERROR(CheckElements(fill.to, fill.extent, fill.element_bytes));
    if (device_.IsArray(fill.to, fill.extent)) return false;
    return AsOneFill(fill.to, fill.extent, fill.value, fill.element_bytes).has_value();
  }
  absl::StatusOr<bool> Check(const Gemm& gemm, const Element& element) const {
    WHARF_RETURN_IF_ERROR(device_.CheckOperands(gemm));
    const bool is_empty = gemm.m == 0 || gemm.n == 0 || gemm.batch == 0;
    return !is_empty && !element.refused;
  }
  absl::StatusOr<bool> Check(const Primitive& primitive, const Element& element) const {
    WHARF_RETURN_IF_ERROR(device_.CheckOperands(primitive));
    // Others work in memory that they may give back, or wait for the GPU.
    const bool is_plain = std::holds_alternative<Convolution>(primitive) ||
                          std::holds_alternative<Pooling>(primitive) || std::holds_alternative<BatchNorm>(primitive) ||
                          std::holds_alternative<Softmax>(primitive) || std::holds_alternative<Pointwise>(primitive);
    return is_plain && !element.refused;
  }

  // Runs of nodes on one stream. Those that were there keep their graphs.
  void FindChains() {
    std::vector<Chain> old = std::exchange(chains_, {});
    for (size_t first = 0; first < elements_.size();) {
      size_t end = first;
      while (end < elements_.size() && end - first < kMostNodes && elements_[end].is_node &&
             elements_[end].stream == elements_[first].stream) {
        ++end;
      }
      if (end - first > 1) {
        const auto known = std::find_if(old.begin(), old.end(), [&](const Chain& chain) {
          return chain.first == first && chain.count == end - first;
        });
        chains_.push_back(known != old.end() ? std::move(*known) : Chain{.first = first, .count = end - first});
      }
      first = std::max(end, first + 1);
    }
  }

  // Queues what starts at `first` and ends by `end`; how many elements that was.
  absl::StatusOr<size_t> Queue(size_t first, size_t end) {
    const auto chain = std::lower_bound(chains_.begin(), chains_.end(), first,
                                        [](const Chain& c, size_t index) { return c.first < index; });
    if (chain != chains_.end() && chain->first == first && chain->count <= end - first && !chain->refused) {
      // Libraries are called once before they are captured: they make themselves ready at first use.
      if (!std::exchange(chain->ran, true) && CallsLibraries(*chain)) return RunPlainly(first, chain->count);
      if (Launch(*chain).ok()) return chain->count;
      chain->refused = true;
      chain->graph.reset();
    }
    return RunPlainly(first, 1);
  }

  // As many as are asked for, or the error of the first that fails if it is the first.
  absl::StatusOr<size_t> RunPlainly(size_t first, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      const absl::Status status = device_.Run(elements_[first + i].work);
      if (!status.ok() && i > 0) return i;
      WHARF_RETURN_IF_ERROR(status);
    }
    return count;
  }

  absl::Status Launch(Chain& chain) {
    WHARF_ASSIGN_OR_RETURN(const Stream* stream, device_.Use(elements_[chain.first].stream));
    if (chain.graph == nullptr || !BringUpToDate(chain)) {
      std::vector<GraphNode> nodes;
      for (Element& element : ElementsOf(chain)) {
        WHARF_ASSIGN_OR_RETURN(GraphNode node, NodeOf(element));
        nodes.push_back(std::move(node));
      }
      WHARF_ASSIGN_OR_RETURN(chain.graph, WorkGraph::Build(device_.gpu_.get(), nodes));
    }
    for (Element& element : ElementsOf(chain)) element.changed = element.remapped = false;
    return device_.busy_->Measure(stream->handle, [&] { return chain.graph->Launch(stream->handle); });
  }

  // False if the graph has to be built anew. A graph keeps the mapping of the memory that its copies and fills name.
  bool BringUpToDate(Chain& chain) {
    const std::span<Element> elements = ElementsOf(chain);
    for (const Element& element : elements) {
      if (element.remapped) return false;
    }
    for (size_t i = 0; i < elements.size(); ++i) {
      if (!elements[i].changed) continue;
      const absl::StatusOr<GraphNode> node = NodeOf(elements[i]);
      if (!node.ok() || !chain.graph->Set(i, *node).ok()) return false;
    }
    return true;
  }

  std::span<Element> ElementsOf(const Chain& chain) { return std::span(elements_).subspan(chain.first, chain.count); }

  static bool IsOfLibrary(const Element& element) {
    return std::holds_alternative<Gemm>(element.work.what) || std::holds_alternative<Primitive>(element.work.what);
  }
  bool CallsLibraries(const Chain& chain) { return std::ranges::any_of(ElementsOf(chain), IsOfLibrary); }

  // REQUIRES: it is one. If what a library does cannot be captured, the element is none from the next submission on.
  absl::StatusOr<GraphNode> NodeOf(Element& element) {
    if (IsOfLibrary(element)) {
      WHARF_ASSIGN_OR_RETURN(Stream * stream, device_.Use(element.stream));
      absl::StatusOr<CapturedGraph> captured = device_.Capture(element.work, *stream);
      if (captured.ok()) return *std::move(captured);
      element.refused = true;
      element.names_version = 0;
      return captured.status();
    }
    if (const auto* launch = std::get_if<LaunchWork>(&element.work.what)) {
      return KernelNode{element.function, launch->config, launch->parameters};
    }
    if (const auto* copy = std::get_if<CopyWork>(&element.work.what)) {
      return *AsOneCopy(copy->to, copy->from, copy->extent);
    }
    const auto& fill = std::get<FillWork>(element.work.what);
    return *AsOneFill(fill.to, fill.extent, fill.value, fill.element_bytes);
  }

  CudaDevice& device_;
  std::vector<Element> elements_;
  std::vector<Chain> chains_;  // ascending
  bool chains_stale_ = false;
};

std::unique_ptr<WorkList> CudaDevice::PrepareWork(std::vector<Work> work) {
  return std::make_unique<PreparedWork>(*this, std::move(work));
}

}  // namespace wharf::device::cuda
