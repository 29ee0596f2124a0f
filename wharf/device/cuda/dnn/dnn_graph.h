// DnnGraphs: graphs of cuDNN's graph API. From a description the vendor's descriptors are made again and a plan is
// built, by the engine that cuDNN's heuristics put first among those that may be taken; plans are kept, for a program
// runs the same graphs again and again and building one takes longer than running it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "wharf/device/cuda/dnn/dnn_types.h"
#include "wharf/device/cuda/driver/gpu.h"
#include "wharf/device/dnn_graph.h"

namespace wharf::device::cuda {

// cudnnBackendNumericalNote_t: what an engine does that not everyone wants.
enum class DnnNote : int { kTensorCores = 0, kRoundsInputs = 1, kNotDeterministic = 4 };

// Not thread-safe.
class DnnGraphs {
 public:
  // Memory of the stream's own, at least so much.
  using WorkspaceOf = std::function<absl::StatusOr<DevicePointer>(uint64_t bytes)>;
  static constexpr size_t kMostPlans = 1024;
  // An engine that wants more is passed over.
  static constexpr uint64_t kMostWorkspace = uint64_t{1} << 30;

  // What was made for a graph, by one engine. It is no one tensor's.
  struct Plan {
    std::vector<DnnDescriptor> parts;  // what it was made from, which cuDNN may look at
    DnnDescriptor plan;
    uint64_t workspace = 0;
  };

  // kNotSupported if `library` has no graph API.
  static absl::StatusOr<std::unique_ptr<DnnGraphs>> Create(void* library);
  ~DnnGraphs();
  // Queues it on the stream that is `handle`'s. kNotSupported, with what cuDNN says of it, if no engine can run it.
  // REQUIRES: CheckPrimitive accepts it.
  absl::Status Run(const DnnGraph& graph, void* handle, const WorkspaceOf& workspace_of);
  size_t plans() const { return plans_.size(); }

  // For who keeps plans of their own: that of a graph, as it is described (DnnGraph::description), by the first engine
  // with none of the notes. kNotSupported likewise.
  absl::StatusOr<Plan> MakePlan(std::span<const std::byte> description, std::span<const DnnNote> refused,
                                void* handle) const;
  // Queues it, with where the tensors are by their numbers.
  absl::Status Execute(const Plan& plan, std::span<const int64_t> numbers, std::span<void* const> pointers,
                       void* handle, const WorkspaceOf& workspace_of) const;

 private:
  struct Functions;
  struct Kept {
    Plan plan;
    uint64_t last_used = 0;
  };
  DnnGraphs();
  absl::StatusOr<DnnDescriptor> Create(int type) const;
  absl::Status Set(const DnnDescriptor& of, int name, int type, int64_t count, const void* elements) const;
  absl::Status Finalize(const DnnDescriptor& descriptor, int type) const;
  // What cuDNN said of what, for which there are words only if they are needed, and what it says about it.
  template <typename... Args>
  absl::Status Check(int status, fmt::format_string<const Args&...> what, const Args&... args) const {
    return status == 0 ? absl::OkStatus() : Explain(status, fmt::format(what, args...));
  }
  absl::Status Explain(int status, const std::string& what) const;
  absl::Status SetAll(const DnnDescriptor& descriptor, const DnnDescriptorForm& form, const Plan& plan) const;
  absl::Status MakeParts(std::span<const std::byte> description, void* handle, Plan& plan) const;
  absl::StatusOr<std::vector<DnnDescriptor>> AskHeuristics(const DnnDescriptor& graph, int mode) const;
  absl::StatusOr<bool> MayTake(const DnnDescriptor& configuration, std::span<const DnnNote> refused) const;
  absl::Status Build(const DnnDescriptor& configuration, void* handle, Plan& plan) const;
  absl::StatusOr<const Plan*> PlanOf(const DnnGraph& graph, void* handle);

  std::unique_ptr<Functions> functions_;
  std::unordered_map<std::string, Kept> plans_;  // by the graph, without its tensors
  uint64_t uses_ = 0;
};

}  // namespace wharf::device::cuda
