// Stream capture: which streams are being captured, into which graphs, and what CUDA forbids meanwhile. Pure; one of it
// belongs to a session.
//
// Capture begins on one stream and spreads by events: a stream that waits for an event recorded in a captured stream is
// captured with it until the capture ends, which is when all of them must have been joined again. A forbidden call
// invalidates the capture: every later use of its streams is an error until it is ended, which gives no graph.
//
// Thread-safe, but for the graphs.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "wharf/cudashim/graph/graph.h"

namespace wharf::cudagraph {

// The numbers of both APIs.
enum class CaptureMode : int { kGlobal = 0, kThreadLocal = 1, kRelaxed = 2 };
enum class CaptureStatus : int { kNone = 0, kActive = 1, kInvalidated = 2 };

using ThreadId = uint64_t;

struct CaptureInfo {
  CaptureStatus status = CaptureStatus::kNone;
  // Only if it is active. Pointers stay valid until the next call that uses the stream.
  uint64_t id = 0;
  Graph* graph = nullptr;
  const std::vector<Node*>* nodes = nullptr;    // what the next node will depend on
  const std::vector<EdgeData>* data = nullptr;  // an element for each
};

class Captures {
 public:
  // Begins the capture of `stream`, which is not the legacy stream, by `thread`; its nodes go into `graph`, behind
  // `nodes`. `blocking`: the stream and the legacy stream wait for each other.
  CudaError Begin(StreamId stream, bool blocking, CaptureMode mode, ThreadId thread, std::shared_ptr<Graph> graph,
                  std::span<Node* const> nodes, std::span<const EdgeData> data);
  CudaError End(StreamId stream, ThreadId thread, std::shared_ptr<Graph>* graph);
  // kCaptureImplicit for the legacy stream while a blocking stream is captured, which this does not invalidate.
  CudaError Info(StreamId stream, CaptureInfo* info);
  CudaError UpdateDependencies(StreamId stream, std::span<Node* const> nodes, std::span<const EdgeData> data,
                               bool replace);

  // Before work is put on `stream`: whether it is captured. Then it becomes a node, by Add.
  CudaError Enter(StreamId stream, bool* captured);
  CudaError Add(StreamId stream, Params params, Node** node = nullptr);
  // An event is recorded on `stream`: what was captured there so far, or, if it is not captured, what is to be done as
  // always.
  CudaError Record(StreamId stream, EventId event, bool* captured);
  // `stream` waits for `event`. `recorded`: outside of captures the event has been recorded, not only made.
  CudaError Wait(StreamId stream, bool blocking, EventId event, bool recorded, bool* captured);
  void Forget(EventId event);
  // The stream is destroyed, captured or not.
  void Drop(StreamId stream);

  // Calls that the captures in question do not survive.
  CudaError ForbidOn(StreamId stream);  // a call that waits for the stream or asks how far it is
  CudaError ForbidEvent(EventId event);
  CudaError ForbidAll();                                     // the same for the device
  CudaError ForbidUnsafe(CaptureMode own, ThreadId thread);  // what a thread with that mode must not do meanwhile

 private:
  struct Capture {
    uint64_t id = 0;
    StreamId origin = 0;
    CaptureMode mode = CaptureMode::kGlobal;
    ThreadId thread = 0;
    std::shared_ptr<Graph> graph;
    bool invalidated = false, ended = false;
  };
  using CapturePtr = std::shared_ptr<Capture>;
  // What is next in a stream, or behind an event, depends on these.
  struct Front {
    CapturePtr capture;
    std::vector<Node*> nodes;
    std::vector<EdgeData> data;
    bool blocking = false;  // of a stream
  };

  bool IsIdle() const { return active_.load(std::memory_order_relaxed) == 0; }
  CudaError EnterLocked(StreamId stream, Front** front);
  CudaError ForbidLegacy(bool invalidate);
  bool IsJoined(const Capture& capture, const Front& origin) const;
  void Leave(const CapturePtr& capture);
  static void Append(Front& front, std::span<Node* const> nodes, std::span<const EdgeData> data);

  std::mutex mutex_;
  std::unordered_map<StreamId, Front> streams_;
  std::unordered_map<EventId, Front> events_;
  std::atomic<int> active_{0};        // captures
  std::atomic<int> known_events_{0};  // in events_
};

}  // namespace wharf::cudagraph
