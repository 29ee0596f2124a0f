#include "wharf/cudashim/graph/capture.h"

#include <algorithm>
#include <unordered_set>

namespace wharf::cudagraph {
namespace {

uint64_t NextCaptureId() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

// The nodes and all that they depend on.
std::unordered_set<const Node*> Reached(std::span<Node* const> nodes) {
  std::unordered_set<const Node*> reached;
  std::vector<const Node*> waiting(nodes.begin(), nodes.end());
  while (!waiting.empty()) {
    const Node* const node = waiting.back();
    waiting.pop_back();
    if (!reached.insert(node).second) continue;
    for (const Edge& edge : node->dependencies()) waiting.push_back(edge.from);
  }
  return reached;
}

bool AreReached(std::span<Node* const> nodes, const std::unordered_set<const Node*>& reached) {
  return std::all_of(nodes.begin(), nodes.end(), [&](const Node* node) { return reached.contains(node); });
}

bool AreOf(const Graph& graph, std::span<Node* const> nodes) {
  return std::all_of(nodes.begin(), nodes.end(), [&](const Node* node) { return graph.Owns(node); });
}

}  // namespace

void Captures::Append(Front& front, std::span<Node* const> nodes, std::span<const EdgeData> data) {
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (std::find(front.nodes.begin(), front.nodes.end(), nodes[i]) != front.nodes.end()) continue;
    front.nodes.push_back(nodes[i]);
    front.data.push_back(data.empty() ? EdgeData{} : data[i]);
  }
}

CudaError Captures::Begin(StreamId stream, bool blocking, CaptureMode mode, ThreadId thread,
                          std::shared_ptr<Graph> graph, std::span<Node* const> nodes, std::span<const EdgeData> data) {
  if (mode < CaptureMode::kGlobal || mode > CaptureMode::kRelaxed) return CudaError::kInvalidValue;
  if (stream == device::kDefaultStream) return kCaptureUnsupported;
  const std::lock_guard lock(mutex_);
  if (streams_.contains(stream)) return kIllegalState;
  if (!AreOf(*graph, nodes)) return CudaError::kInvalidValue;
  auto capture = std::make_shared<Capture>();
  capture->id = NextCaptureId();
  capture->origin = stream;
  capture->mode = mode;
  capture->thread = thread;
  capture->graph = std::move(graph);
  ++capture->graph->captures;
  Front& front = streams_[stream];
  front.capture = std::move(capture);
  front.blocking = blocking;
  Append(front, nodes, data);
  active_.fetch_add(1, std::memory_order_relaxed);
  return CudaError::kSuccess;
}

bool Captures::IsJoined(const Capture& capture, const Front& origin) const {
  const auto reached = Reached(origin.nodes);
  return std::all_of(streams_.begin(), streams_.end(), [&](const auto& entry) {
    return entry.second.capture.get() != &capture || AreReached(entry.second.nodes, reached);
  });
}

void Captures::Leave(const CapturePtr& capture) {
  std::erase_if(streams_, [&](const auto& entry) { return entry.second.capture == capture; });
  capture->ended = true;
  --capture->graph->captures;
  capture->graph = nullptr;
  active_.fetch_sub(1, std::memory_order_relaxed);
}

CudaError Captures::End(StreamId stream, ThreadId thread, std::shared_ptr<Graph>* graph) {
  *graph = nullptr;
  const std::lock_guard lock(mutex_);
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return kIllegalState;
  const CapturePtr capture = found->second.capture;
  if (capture->origin != stream) {
    capture->invalidated = true;
    return kCaptureUnmatched;
  }
  CudaError error = CudaError::kSuccess;
  if (capture->mode != CaptureMode::kRelaxed && capture->thread != thread) {
    error = kCaptureWrongThread;  // and it is over all the same
  } else if (capture->invalidated) {
    error = kCaptureInvalidated;
  } else if (!IsJoined(*capture, found->second)) {
    error = kCaptureUnjoined;
  } else {
    *graph = capture->graph;
  }
  Leave(capture);
  return error;
}

CudaError Captures::Info(StreamId stream, CaptureInfo* info) {
  *info = {};
  if (IsIdle()) return CudaError::kSuccess;
  const std::lock_guard lock(mutex_);
  if (stream == device::kDefaultStream) return ForbidLegacy(/*invalidate=*/false);
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return CudaError::kSuccess;
  const Front& front = found->second;
  if (front.capture->invalidated) {
    info->status = CaptureStatus::kInvalidated;
  } else {
    *info = {CaptureStatus::kActive, front.capture->id, front.capture->graph.get(), &front.nodes, &front.data};
  }
  return CudaError::kSuccess;
}

CudaError Captures::UpdateDependencies(StreamId stream, std::span<Node* const> nodes, std::span<const EdgeData> data,
                                       bool replace) {
  const std::lock_guard lock(mutex_);
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return kIllegalState;
  Front& front = found->second;
  if (front.capture->invalidated) return kCaptureInvalidated;
  if (!AreOf(*front.capture->graph, nodes)) return CudaError::kInvalidValue;
  if (replace) {
    front.nodes.clear();
    front.data.clear();
  }
  Append(front, nodes, data);
  return CudaError::kSuccess;
}

CudaError Captures::ForbidLegacy(bool invalidate) {
  CudaError error = CudaError::kSuccess;
  for (auto& [stream, front] : streams_) {
    if (!front.blocking) continue;
    error = kCaptureImplicit;
    if (invalidate) front.capture->invalidated = true;
  }
  return error;
}

CudaError Captures::EnterLocked(StreamId stream, Front** front) {
  *front = nullptr;
  if (stream == device::kDefaultStream) return ForbidLegacy(/*invalidate=*/true);
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return CudaError::kSuccess;
  if (found->second.capture->invalidated) return kCaptureInvalidated;
  *front = &found->second;
  return CudaError::kSuccess;
}

CudaError Captures::Enter(StreamId stream, bool* captured) {
  *captured = false;
  if (IsIdle()) return CudaError::kSuccess;
  const std::lock_guard lock(mutex_);
  Front* front = nullptr;
  const CudaError error = EnterLocked(stream, &front);
  *captured = front != nullptr;
  return error;
}

CudaError Captures::Add(StreamId stream, Params params, Node** node) {
  const std::lock_guard lock(mutex_);
  Front* front = nullptr;
  CudaError error = EnterLocked(stream, &front);
  if (error != CudaError::kSuccess) return error;
  if (front == nullptr) return kIllegalState;
  Node* made = nullptr;
  error = front->capture->graph->Add(std::move(params), front->nodes, front->data, &made);
  if (error != CudaError::kSuccess) return error;
  front->nodes = {made};
  front->data = {EdgeData{}};
  if (node != nullptr) *node = made;
  return CudaError::kSuccess;
}

CudaError Captures::Record(StreamId stream, EventId event, bool* captured) {
  *captured = false;
  if (IsIdle() && known_events_.load(std::memory_order_relaxed) == 0) return CudaError::kSuccess;
  const std::lock_guard lock(mutex_);
  Front* front = nullptr;
  const CudaError error = EnterLocked(stream, &front);
  if (error != CudaError::kSuccess) return error;
  if (front != nullptr) {
    events_[event] = *front;
    *captured = true;
  } else {
    events_.erase(event);
  }
  known_events_.store(static_cast<int>(events_.size()), std::memory_order_relaxed);
  return CudaError::kSuccess;
}

CudaError Captures::Wait(StreamId stream, bool blocking, EventId event, bool recorded, bool* captured) {
  *captured = false;
  if (IsIdle() && known_events_.load(std::memory_order_relaxed) == 0) return CudaError::kSuccess;
  const std::lock_guard lock(mutex_);
  Front* front = nullptr;
  const CudaError error = EnterLocked(stream, &front);
  if (error != CudaError::kSuccess) return error;
  const auto found = events_.find(event);
  if (found == events_.end()) {
    *captured = front != nullptr;
    if (front == nullptr || !recorded) return CudaError::kSuccess;
    front->capture->invalidated = true;
    return kCaptureIsolation;
  }
  const Front& behind = found->second;
  if (behind.capture->ended) {
    if (front != nullptr) front->capture->invalidated = true;
    return kCapturedEvent;
  }
  if (behind.capture->invalidated) return kCaptureInvalidated;
  if (front != nullptr && front->capture != behind.capture) {
    front->capture->invalidated = behind.capture->invalidated = true;
    return kCaptureMerge;
  }
  if (stream == device::kDefaultStream) {
    behind.capture->invalidated = true;
    return kCaptureImplicit;
  }
  *captured = true;
  if (front == nullptr) {
    front = &streams_[stream];
    front->capture = behind.capture;
    front->blocking = blocking;
  }
  Append(*front, behind.nodes, behind.data);
  return CudaError::kSuccess;
}

void Captures::Forget(EventId event) {
  if (known_events_.load(std::memory_order_relaxed) == 0) return;
  const std::lock_guard lock(mutex_);
  events_.erase(event);
  known_events_.store(static_cast<int>(events_.size()), std::memory_order_relaxed);
}

void Captures::Drop(StreamId stream) {
  if (IsIdle()) return;
  const std::lock_guard lock(mutex_);
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return;
  const CapturePtr capture = found->second.capture;
  const bool is_origin = capture->origin == stream;
  // A branch that was joined is no longer needed; the nodes of any other would be left behind.
  const bool joined = !is_origin && AreReached(found->second.nodes, Reached(streams_.at(capture->origin).nodes));
  if (!joined) capture->invalidated = true;
  streams_.erase(found);
  if (is_origin) Leave(capture);
}

CudaError Captures::ForbidOn(StreamId stream) {
  if (IsIdle()) return CudaError::kSuccess;
  const std::lock_guard lock(mutex_);
  Front* front = nullptr;
  const CudaError error = EnterLocked(stream, &front);
  if (front == nullptr) return error;
  front->capture->invalidated = true;
  return kCaptureUnsupported;
}

CudaError Captures::ForbidEvent(EventId event) {
  if (known_events_.load(std::memory_order_relaxed) == 0) return CudaError::kSuccess;
  const std::lock_guard lock(mutex_);
  const auto found = events_.find(event);
  if (found == events_.end()) return CudaError::kSuccess;
  if (!found->second.capture->ended) found->second.capture->invalidated = true;
  return kCapturedEvent;
}

CudaError Captures::ForbidAll() {
  if (IsIdle()) return CudaError::kSuccess;
  const std::lock_guard lock(mutex_);
  for (auto& [stream, front] : streams_) front.capture->invalidated = true;
  return streams_.empty() ? CudaError::kSuccess : kCaptureUnsupported;
}

CudaError Captures::ForbidUnsafe(CaptureMode own, ThreadId thread) {
  if (IsIdle() || own == CaptureMode::kRelaxed) return CudaError::kSuccess;
  const std::lock_guard lock(mutex_);
  CudaError error = CudaError::kSuccess;
  for (auto& [stream, front] : streams_) {
    Capture& capture = *front.capture;
    const bool mine = capture.thread == thread && capture.mode != CaptureMode::kRelaxed;
    const bool anyones = own == CaptureMode::kGlobal && capture.mode == CaptureMode::kGlobal;
    if (!mine && !anyones) continue;
    capture.invalidated = true;
    error = kCaptureUnsupported;
  }
  return error;
}

}  // namespace wharf::cudagraph
