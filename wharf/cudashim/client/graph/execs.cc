#include "wharf/cudashim/client/graph/execs.h"

#include <memory>
#include <mutex>
#include <utility>
#include <variant>

#include "wharf/cudashim/client/graph/owned.h"
#include "wharf/cudashim/client/stream_work.h"

namespace wharf::client {
namespace {

using cudagraph::Exec;
using cudagraph::Params;

// Carries out one step on a stream.
class StepRunner {
 public:
  StepRunner(Connection& connection, device::StreamId stream) : connection_(connection), stream_(stream) {}

  CudaError operator()(const cudagraph::KernelParams& kernel) const { return LaunchOn(connection_, stream_, kernel); }
  CudaError operator()(const cudagraph::GemmParams& gemm) const { return GemmOn(connection_, {stream_, gemm.gemm}); }
  CudaError operator()(const cudagraph::PrimitiveParams& params) const {
    return PrimitiveOn(connection_, stream_, params.primitive);
  }
  CudaError operator()(const cudagraph::CopyParams& copy) const {
    return CopyOn(connection_, stream_, copy, Landing::kLater);
  }
  CudaError operator()(const cudagraph::FillParams& fill) const { return FillOn(connection_, stream_, fill); }
  CudaError operator()(const cudagraph::HostParams& call) const { return HostFunctionOn(connection_, stream_, call); }
  CudaError operator()(const cudagraph::ChildParams&) const { return CudaError::kSuccess; }  // its steps are others
  CudaError operator()(const cudagraph::ConditionalParams&) const { return CudaError::kSuccess; }
  CudaError operator()(const cudagraph::EmptyParams&) const { return CudaError::kSuccess; }
  CudaError operator()(const cudagraph::RecordParams& record) const {
    return RecordOn(connection_, stream_, record.event);
  }
  CudaError operator()(const cudagraph::WaitParams& wait) const {
    return connection_.session->Post(offload::WaitEvent{stream_, wait.event});
  }
  CudaError operator()(const cudagraph::AllocationParams& allocation) const {
    allocation.memory->allocated = true;
    return CudaError::kSuccess;
  }
  CudaError operator()(const cudagraph::FreeParams& freed) const { return FreeOn(connection_, freed.address); }

 private:
  Connection& connection_;
  const device::StreamId stream_;
};

// Launches of one instance follow each other, whatever their streams.
CudaError FollowLast(Connection& connection, device::StreamId stream, const Exec& exec) {
  if (exec.session != connection.generation || exec.stream == stream) return CudaError::kSuccess;
  bool there = exec.stream == device::kDefaultStream;
  if (!there) {
    absl::MutexLock lock(&connection.mutex);
    there = connection.streams.contains(exec.stream);
  }
  // A stream that was destroyed since may still be at work.
  if (!there) return connection.session->Ask(offload::SynchronizeDevice{});
  constexpr uint32_t kDisableTiming = 2;
  offload::ClientSession& session = *connection.session;
  const uint64_t event = Process::Get().NewId();
  CudaError error = session.Post(offload::CreateEvent{event, kDisableTiming});
  if (error == CudaError::kSuccess) error = session.Post(offload::RecordEvent{event, exec.stream});
  if (error == CudaError::kSuccess) error = session.Post(offload::WaitEvent{stream, event});
  return error == CudaError::kSuccess ? session.Post(offload::DestroyEvent{event}) : error;
}

// Memory that the launch before allocated must be free again, or be freed by this one.
CudaError FreeLast(Exec& exec) {
  for (const cudagraph::Step& step : exec.steps()) {
    const auto* const allocation = std::get_if<cudagraph::AllocationParams>(&step.node->params);
    if (allocation == nullptr || !allocation->memory->allocated) continue;
    if ((exec.flags() & Exec::kAutoFree) == 0) return CudaError::kInvalidValue;
    allocation->memory->allocated = false;
  }
  return CudaError::kSuccess;
}

device::Region RegionOf(const cudagraph::Condition& condition) {
  device::Region region;
  region.address = condition.word->address;
  return region;
}

// The steps of a launch.
class LaunchRunner {
 public:
  LaunchRunner(Connection& connection, device::StreamId stream, const std::vector<cudagraph::Step>& steps)
      : connection_(connection), stream_(stream), steps_(steps), run_(connection, stream) {}

  CudaError Run() {
    for (const cudagraph::Step& step : steps_) {
      const auto* const conditional = std::get_if<cudagraph::ConditionalParams>(&step.node->params);
      if (conditional == nullptr || !conditional->condition->assigns) continue;
      const cudagraph::Condition& condition = *conditional->condition;
      const CudaError error = FillOn(connection_, stream_, {RegionOf(condition), kWord, condition.initial, kWordBytes});
      if (error != CudaError::kSuccess) return error;
    }
    return Run(0, steps_.size());
  }

 private:
  static constexpr uint32_t kWordBytes = sizeof(uint32_t);
  static constexpr device::Extent kWord{kWordBytes, 1, 1};

  CudaError Run(size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const cudagraph::Step& step = steps_[i];
      CudaError error = step.settle ? SynchronizeOn(connection_, stream_) : CudaError::kSuccess;
      if (error == CudaError::kSuccess) error = std::visit(run_, step.node->params);
      if (error == CudaError::kSuccess && !step.ends.empty()) {
        error = Branch(std::get<cudagraph::ConditionalParams>(step.node->params), i);
        i = step.ends.back() - 1;
      }
      if (error != CudaError::kSuccess) return error;
    }
    return CudaError::kSuccess;
  }

  CudaError Branch(const cudagraph::ConditionalParams& conditional, size_t at) {
    const std::vector<size_t>& ends = steps_[at].ends;
    do {
      uint32_t value = 0;
      CudaError error = Read(*conditional.condition, &value);
      const size_t body = conditional.Choose(value);
      if (error != CudaError::kSuccess || body >= ends.size()) return error;
      error = Run(body == 0 ? at + 1 : ends[body - 1], ends[body]);
      if (error != CudaError::kSuccess) return error;
    } while (conditional.branching == cudagraph::Branching::kWhile);
    return CudaError::kSuccess;
  }

  CudaError Read(const cudagraph::Condition& condition, uint32_t* value) {
    cudagraph::CopyParams copy;
    copy.to.box.address = reinterpret_cast<uint64_t>(value);
    copy.from.box = RegionOf(condition);
    copy.extent = kWord;
    return CopyOn(connection_, stream_, copy, Landing::kBeforeReturn);
  }

  Connection& connection_;
  const device::StreamId stream_;
  const std::vector<cudagraph::Step>& steps_;
  const StepRunner run_;
};

CudaError LaunchOn(Connection& connection, device::StreamId stream, Exec& exec) {
  CudaError error = FreeLast(exec);
  if (error == CudaError::kSuccess) error = FollowLast(connection, stream, exec);
  const bool settle = exec.settles_first() && exec.session == connection.generation;
  if (settle && error == CudaError::kSuccess) error = SynchronizeOn(connection, stream);
  if (error != CudaError::kSuccess) return error;
  exec.session = connection.generation;
  exec.stream = stream;
  return LaunchRunner(connection, stream, exec.steps()).Run();
}

}  // namespace

CudaError Instantiate(GraphHandle graph, uint64_t flags, ExecHandle* handle) {
  constexpr uint64_t kKnown = Exec::kAutoFree | Exec::kUpload | Exec::kDeviceLaunch | Exec::kNodePriority;
  if (handle == nullptr || !cudagraph::Graph::Contains(graph) || (flags & ~kKnown) != 0) {
    return CudaError::kInvalidValue;
  }
  if ((flags & Exec::kDeviceLaunch) != 0) {
    ReportUnsupported("launches of CUDA graphs by kernels (cudaGraphInstantiateFlagDeviceLaunch)");
    return CudaError::kNotSupported;
  }
  if (Connection* const connection = Process::Get().Current()) {
    if (const CudaError error = ForbidUnsafe(*connection); error != CudaError::kSuccess) return error;
  }
  std::shared_ptr<Exec> exec;
  const CudaError error = Exec::Instantiate(*graph, flags, &exec);
  if (error == CudaError::kSuccess) *handle = OwnedExecs::Get().Add(std::move(exec));
  return error;
}

CudaError DestroyExec(ExecHandle handle) {
  return OwnedExecs::Get().Remove(handle) == nullptr ? CudaError::kInvalidValue : CudaError::kSuccess;
}

CudaError FlagsOfExec(ExecHandle handle, uint64_t* flags) {
  const auto exec = OwnedExecs::Get().Find(handle);
  if (exec == nullptr || flags == nullptr) return CudaError::kInvalidValue;
  *flags = exec->flags();
  return CudaError::kSuccess;
}

CudaError LaunchGraph(ExecHandle handle, StreamHandle stream) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  if (connection == nullptr) return error;
  const auto exec = OwnedExecs::Get().Find(handle);
  if (exec == nullptr) return CudaError::kInvalidValue;
  device::StreamId id = 0;
  error = connection->Resolve(stream, &id);
  // No capture survives a launch of a graph, of whatever mode it is.
  if (error == CudaError::kSuccess) error = connection->captures.ForbidOn(id);
  if (error != CudaError::kSuccess) return error;
  const std::lock_guard lock(exec->mutex);
  return LaunchOn(*connection, id, *exec);
}

CudaError UploadGraph(ExecHandle handle, StreamHandle stream) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  if (connection == nullptr) return error;
  device::StreamId id = 0;
  error = connection->Resolve(stream, &id);
  if (error == CudaError::kSuccess) error = connection->captures.ForbidOn(id);
  if (error != CudaError::kSuccess) return error;
  return OwnedExecs::Get().Find(handle) == nullptr ? CudaError::kInvalidValue : CudaError::kSuccess;
}

CudaError SetExecNode(ExecHandle handle, NodeHandle node, Params params) {
  const auto exec = OwnedExecs::Get().Find(handle);
  if (exec == nullptr) return CudaError::kInvalidValue;
  const CudaError error = CompleteParams(&params);
  if (error != CudaError::kSuccess) return error;
  const std::lock_guard lock(exec->mutex);
  return exec->Set(node, std::move(params));
}

CudaError SetNodeEnabled(ExecHandle handle, NodeHandle node, bool enabled) {
  const auto exec = OwnedExecs::Get().Find(handle);
  if (exec == nullptr) return CudaError::kInvalidValue;
  const std::lock_guard lock(exec->mutex);
  return exec->SetEnabled(node, enabled);
}

CudaError GetNodeEnabled(ExecHandle handle, NodeHandle node, unsigned* enabled) {
  const auto exec = OwnedExecs::Get().Find(handle);
  if (exec == nullptr || enabled == nullptr) return CudaError::kInvalidValue;
  const std::lock_guard lock(exec->mutex);
  const cudagraph::Node* const own = exec->Find(node);
  if (own == nullptr) return CudaError::kInvalidValue;
  *enabled = own->enabled ? 1 : 0;
  return CudaError::kSuccess;
}

CudaError UpdateExec(ExecHandle handle, GraphHandle graph, cudagraph::UpdateOutcome* outcome) {
  const auto exec = OwnedExecs::Get().Find(handle);
  if (exec == nullptr || !cudagraph::Graph::Contains(graph)) return CudaError::kInvalidValue;
  const std::lock_guard lock(exec->mutex);
  *outcome = exec->Update(*graph);
  return outcome->result == cudagraph::UpdateResult::kSuccess ? CudaError::kSuccess : cudagraph::kUpdateFailure;
}

}  // namespace wharf::client
