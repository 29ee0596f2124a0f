#include "wharf/device/cuda/dnn/dnn_graph.h"

#include <algorithm>
#include <cstring>

#include "wharf/device/cuda/library/library.h"
#include "wharf/device/cuda_error.h"

namespace wharf::device::cuda {
namespace {

// cudnnBackendDescriptorType_t
constexpr int kEngine = 2, kEngineConfiguration = 3, kEngineHeuristics = 4, kExecutionPlan = 5, kVariantPack = 16;
// cudnnBackendAttributeName_t
constexpr int kHeuristicsMode = 200, kHeuristicsGraph = 201, kHeuristicsResults = 202, kConfigurationEngine = 300;
constexpr int kPlanHandle = 400, kPlanConfiguration = 401, kPlanWorkspace = 402, kGraphHandle = 800;
constexpr int kPackNumbers = 1000, kPackPointers = 1001, kPackWorkspace = 1003, kEngineNotes = 1303;
// cudnnBackendAttributeType_t
constexpr int kHandleType = 0, kIntegerType = 3, kPointerType = 6, kModeType = 8, kNoteType = 11, kDescriptorType = 15;
// cudnnBackendHeurMode_t
constexpr int kFallbackMode = 2, kModeA = 3;

constexpr int64_t kMostConfigurations = 32, kMostNotes = 64;

// An attribute's elements as cuDNN takes them.
std::vector<std::byte> ElementsOf(const DnnAttribute& attribute) {
  const size_t size = attribute.type == kDnnFraction ? sizeof(int64_t) : DnnElementBytes(attribute.type);
  std::vector<std::byte> elements(attribute.numbers.size() * size);
  for (size_t i = 0; i < attribute.numbers.size(); ++i) {
    std::memcpy(elements.data() + i * size, &attribute.numbers[i], size);  // the low bytes, which are the first
  }
  return elements;
}

std::string KeyOf(const DnnGraph& graph) {
  std::string key(reinterpret_cast<const char*>(graph.description.data()), graph.description.size());
  key.push_back(graph.deterministic ? 'd' : '-');
  key.push_back(graph.tensor_cores ? 't' : '-');
  return key;
}

std::vector<DnnNote> RefusedBy(const DnnGraph& graph) {
  std::vector<DnnNote> refused;
  if (graph.deterministic) refused.push_back(DnnNote::kNotDeterministic);
  if (!graph.tensor_cores) refused.insert(refused.end(), {DnnNote::kTensorCores, DnnNote::kRoundsInputs});
  return refused;
}

}  // namespace

struct DnnGraphs::Functions {
  int (*create)(int, void**) = nullptr;
  int (*destroy)(void*) = nullptr;
  int (*set)(void*, int, int, int64_t, const void*) = nullptr;
  int (*get)(void*, int, int, int64_t, int64_t*, void*) = nullptr;
  int (*finalize)(void*) = nullptr;
  int (*execute)(void*, void*, void*) = nullptr;
  void (*last_error)(char*, size_t) = nullptr;
};

absl::StatusOr<std::unique_ptr<DnnGraphs>> DnnGraphs::Create(void* library) {
  std::unique_ptr<DnnGraphs> graphs(new DnnGraphs);
  Functions& f = *graphs->functions_;
  FunctionFinder find(library);
  find(f.create, "cudnnBackendCreateDescriptor");
  find(f.destroy, "cudnnBackendDestroyDescriptor");
  find(f.set, "cudnnBackendSetAttribute");
  find(f.get, "cudnnBackendGetAttribute");
  find(f.finalize, "cudnnBackendFinalize");
  find(f.execute, "cudnnBackendExecute");
  find(f.last_error, "cudnnGetLastErrorString");
  if (find.missing() != nullptr) {
    return CudaStatus(CudaError::kNotSupported, "this cuDNN has no {}", find.missing());
  }
  return graphs;
}

DnnGraphs::DnnGraphs() : functions_(std::make_unique<Functions>()) {}
DnnGraphs::~DnnGraphs() = default;

absl::Status DnnGraphs::Explain(int status, const std::string& what) const {
  char why[512] = {};
  functions_->last_error(why, sizeof(why) - 1);
  return CheckDnn(status, why[0] == 0 ? what.c_str() : fmt::format("{} ({})", what, why).c_str());
}

absl::StatusOr<DnnDescriptor> DnnGraphs::Create(int type) const {
  void* made = nullptr;
  WHARF_RETURN_IF_ERROR(Check(functions_->create(type, &made), "a descriptor of type {}", type));
  return DnnDescriptor(made, functions_->destroy);
}

absl::Status DnnGraphs::Set(const DnnDescriptor& of, int name, int type, int64_t count, const void* elements) const {
  return Check(functions_->set(of.get(), name, type, count, elements), "attribute {}", name);
}

absl::Status DnnGraphs::Finalize(const DnnDescriptor& descriptor, int type) const {
  return Check(functions_->finalize(descriptor.get()), "the end of a descriptor of type {}", type);
}

// --- the graph ---

absl::Status DnnGraphs::SetAll(const DnnDescriptor& descriptor, const DnnDescriptorForm& form, const Plan& plan) const {
  for (const DnnAttribute& attribute : form.attributes) {
    if (attribute.type == kDnnReference) {
      std::vector<void*> others;
      for (const int64_t other : attribute.numbers) others.push_back(plan.parts[static_cast<size_t>(other)].get());
      WHARF_RETURN_IF_ERROR(
          Set(descriptor, attribute.name, attribute.type, static_cast<int64_t>(others.size()), others.data()));
      continue;
    }
    const auto count = static_cast<int64_t>(attribute.numbers.size() / (attribute.type == kDnnFraction ? 2 : 1));
    WHARF_RETURN_IF_ERROR(Set(descriptor, attribute.name, attribute.type, count, ElementsOf(attribute).data()));
  }
  return absl::OkStatus();
}

absl::Status DnnGraphs::MakeParts(std::span<const std::byte> description, void* handle, Plan& plan) const {
  WHARF_ASSIGN_OR_RETURN(const DnnDescription parsed, DnnDescription::Parse(description));
  for (const DnnDescriptorForm& form : parsed.descriptors()) {
    WHARF_ASSIGN_OR_RETURN(DnnDescriptor descriptor, Create(form.type));
    WHARF_RETURN_IF_ERROR(SetAll(descriptor, form, plan));
    if (form.type == kDnnOperationGraph) {
      WHARF_RETURN_IF_ERROR(Set(descriptor, kGraphHandle, kHandleType, 1, &handle));
    }
    WHARF_RETURN_IF_ERROR(Finalize(descriptor, form.type));
    plan.parts.push_back(std::move(descriptor));
  }
  return absl::OkStatus();
}

// --- engines ---

// The best first.
absl::StatusOr<std::vector<DnnDescriptor>> DnnGraphs::AskHeuristics(const DnnDescriptor& graph, int mode) const {
  WHARF_ASSIGN_OR_RETURN(const DnnDescriptor heuristics, Create(kEngineHeuristics));
  void* const of = graph.get();
  WHARF_RETURN_IF_ERROR(Set(heuristics, kHeuristicsGraph, kDescriptorType, 1, &of));
  WHARF_RETURN_IF_ERROR(Set(heuristics, kHeuristicsMode, kModeType, 1, &mode));
  WHARF_RETURN_IF_ERROR(Finalize(heuristics, kEngineHeuristics));
  std::vector<DnnDescriptor> results;
  std::vector<void*> places;
  for (int64_t i = 0; i < kMostConfigurations; ++i) {
    WHARF_ASSIGN_OR_RETURN(DnnDescriptor configuration, Create(kEngineConfiguration));
    places.push_back(configuration.get());
    results.push_back(std::move(configuration));
  }
  int64_t count = 0;
  WHARF_RETURN_IF_ERROR(Check(functions_->get(heuristics.get(), kHeuristicsResults, kDescriptorType,
                                              kMostConfigurations, &count, places.data()),
                              "the heuristics' results"));
  results.erase(results.begin() + std::clamp<int64_t>(count, 0, kMostConfigurations), results.end());
  return results;
}

absl::StatusOr<bool> DnnGraphs::MayTake(const DnnDescriptor& configuration, std::span<const DnnNote> refused) const {
  if (refused.empty()) return true;
  WHARF_ASSIGN_OR_RETURN(const DnnDescriptor engine, Create(kEngine));
  void* place = engine.get();
  int64_t count = 0;
  WHARF_RETURN_IF_ERROR(
      Check(functions_->get(configuration.get(), kConfigurationEngine, kDescriptorType, 1, &count, &place),
            "a configuration's engine"));
  int notes[kMostNotes] = {};
  WHARF_RETURN_IF_ERROR(Check(functions_->get(engine.get(), kEngineNotes, kNoteType, kMostNotes, &count, notes),
                              "an engine's numerical notes"));
  return std::none_of(notes, notes + std::clamp<int64_t>(count, 0, kMostNotes), [&](int note) {
    return std::find(refused.begin(), refused.end(), static_cast<DnnNote>(note)) != refused.end();
  });
}

absl::Status DnnGraphs::Build(const DnnDescriptor& configuration, void* handle, Plan& plan) const {
  WHARF_ASSIGN_OR_RETURN(plan.plan, Create(kExecutionPlan));
  void* const with = configuration.get();
  WHARF_RETURN_IF_ERROR(Set(plan.plan, kPlanHandle, kHandleType, 1, &handle));
  WHARF_RETURN_IF_ERROR(Set(plan.plan, kPlanConfiguration, kDescriptorType, 1, &with));
  WHARF_RETURN_IF_ERROR(Finalize(plan.plan, kExecutionPlan));
  int64_t bytes = 0, count = 0;
  WHARF_RETURN_IF_ERROR(
      Check(functions_->get(plan.plan.get(), kPlanWorkspace, kIntegerType, 1, &count, &bytes), "a plan's workspace"));
  if (bytes < 0 || static_cast<uint64_t>(bytes) > kMostWorkspace) {
    return CudaStatus(CudaError::kNotSupported, "it needs {} bytes of workspace", bytes);
  }
  plan.workspace = static_cast<uint64_t>(bytes);
  return absl::OkStatus();
}

absl::StatusOr<DnnGraphs::Plan> DnnGraphs::MakePlan(std::span<const std::byte> description,
                                                    std::span<const DnnNote> refused, void* handle) const {
  Plan plan;
  WHARF_RETURN_IF_ERROR(MakeParts(description, handle, plan));
  absl::Status why = CudaStatus(CudaError::kNotSupported, "cuDNN has no engine for it");
  for (const int mode : {kModeA, kFallbackMode}) {
    absl::StatusOr<std::vector<DnnDescriptor>> configurations = AskHeuristics(plan.parts.back(), mode);
    if (!configurations.ok()) {
      why = configurations.status();
      continue;
    }
    for (DnnDescriptor& configuration : *configurations) {
      WHARF_ASSIGN_OR_RETURN(const bool may, MayTake(configuration, refused));
      if (!may) continue;
      why = Build(configuration, handle, plan);
      if (!why.ok()) continue;
      plan.parts.push_back(std::move(configuration));
      return plan;
    }
  }
  return why;
}

absl::StatusOr<const DnnGraphs::Plan*> DnnGraphs::PlanOf(const DnnGraph& graph, void* handle) {
  std::string key = KeyOf(graph);
  auto found = plans_.find(key);
  if (found == plans_.end()) {
    WHARF_ASSIGN_OR_RETURN(Plan plan, MakePlan(graph.description, RefusedBy(graph), handle));
    if (plans_.size() >= kMostPlans) {
      plans_.erase(std::min_element(plans_.begin(), plans_.end(), [](const auto& a, const auto& b) {
        return a.second.last_used < b.second.last_used;
      }));
    }
    found = plans_.emplace(std::move(key), Kept{std::move(plan)}).first;
  }
  found->second.last_used = ++uses_;
  return &found->second.plan;
}

absl::Status DnnGraphs::Run(const DnnGraph& graph, void* handle, const WorkspaceOf& workspace_of) {
  WHARF_ASSIGN_OR_RETURN(const Plan* plan, PlanOf(graph, handle));
  std::vector<int64_t> numbers;
  std::vector<void*> pointers;
  for (const DnnBinding& tensor : graph.tensors) {
    numbers.push_back(tensor.tensor);
    pointers.push_back(reinterpret_cast<void*>(tensor.value));
  }
  for (const DnnBinding& scalar : graph.scalars) {  // which cuDNN reads before it returns
    numbers.push_back(scalar.tensor);
    pointers.push_back(const_cast<uint64_t*>(&scalar.value));
  }
  return Execute(*plan, numbers, pointers, handle, workspace_of);
}

absl::Status DnnGraphs::Execute(const Plan& plan, std::span<const int64_t> numbers, std::span<void* const> pointers,
                                void* handle, const WorkspaceOf& workspace_of) const {
  WHARF_ASSIGN_OR_RETURN(const DevicePointer workspace, workspace_of(plan.workspace));
  const auto count = static_cast<int64_t>(numbers.size());
  auto* const scratch = reinterpret_cast<void*>(workspace);
  WHARF_ASSIGN_OR_RETURN(const DnnDescriptor pack, Create(kVariantPack));
  WHARF_RETURN_IF_ERROR(Set(pack, kPackNumbers, kIntegerType, count, numbers.data()));
  WHARF_RETURN_IF_ERROR(Set(pack, kPackPointers, kPointerType, count, pointers.data()));
  WHARF_RETURN_IF_ERROR(Set(pack, kPackWorkspace, kPointerType, 1, &scratch));
  WHARF_RETURN_IF_ERROR(Finalize(pack, kVariantPack));
  return Check(functions_->execute(handle, plan.plan.get(), pack.get()), "cudnnBackendExecute");
}

}  // namespace wharf::device::cuda
