// The state of the client process: the session, and what belongs to it. Internal to libwharf_client.so.
//
// After fork the child has no session: it gets kNotInitialized if the parent had one, else it may open its own. At exit
// the session ends and counters are written; later calls return kUnloading. Nothing here is ever destroyed, because
// programs call CUDA from static destructors and threads that outlive them.
#pragma once

#include <unistd.h>

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "wharf/cudashim/client/memory.h"
#include "wharf/cudashim/client/stream.h"
#include "wharf/cudashim/graph/capture.h"
#include "wharf/offload/client/address_allocator.h"
#include "wharf/offload/client/client_session.h"
#include "wharf/offload/client/managed/managed_memory.h"
#include "wharf/offload/client/virtual_memory/virtual_memory.h"

namespace wharf::client {

// One session and the objects on its device. Kept (closed) after a reset: other threads may still hold it.
struct Connection {
  Connection(std::unique_ptr<offload::ClientSession> opened, uint64_t generation);

  const std::unique_ptr<offload::ClientSession> session;
  const uint64_t generation;
  absl::Mutex mutex;
  offload::AddressAllocator allocator ABSL_GUARDED_BY(mutex);
  offload::VirtualMemory virtual_memory ABSL_GUARDED_BY(mutex);
  std::unordered_map<StreamHandle, StreamInfo> streams ABSL_GUARDED_BY(mutex);
  std::map<EventHandle, bool> events ABSL_GUARDED_BY(mutex);  // whether it was ever recorded
  std::map<uint64_t, std::weak_ptr<cudagraph::GraphMemory>> graph_memory ABSL_GUARDED_BY(mutex);  // by address
  std::map<uint64_t, uint64_t> variables ABSL_GUARDED_BY(mutex);  // module variables: address -> size
  // By kernel: memory of the program's that was among the parameters of its last launch with any: where, and the
  // address.
  std::map<std::string, std::pair<size_t, uint64_t>> host_pointers ABSL_GUARDED_BY(mutex);
  // What kernels share with the program. Its lock is taken with no other of ours held, but for the session's.
  offload::ManagedMemory managed;
  // Streams that are being captured, by the server's numbers.
  cudagraph::Captures captures;

  bool IsDeviceAddress(uint64_t address);
  // The live range (allocation, mapping or variable) that holds `address`.
  std::optional<offload::AddressAllocator::Range> FindRange(uint64_t address);
  // The server's number of a stream. kInvalidHandle.
  CudaError Resolve(StreamHandle stream, device::StreamId* id);
  // Whether the legacy stream and this one wait for each other.
  bool IsBlocking(device::StreamId id);
  // Has streams that do not wait for the legacy stream, those that are still to be made too, wait for what is on it
  // now.
  CudaError OrderBehindLegacy();

  device::EventId on_legacy ABSL_GUARDED_BY(mutex) = 0;  // what they wait for; 0: nothing yet
};

class Process {
 public:
  static Process& Get();

  // Opens the session if there is none. nullptr with `error` set on failure.
  Connection* Connect(CudaError* error);
  // nullptr if there is none.
  Connection* Current() const { return connection_.load(std::memory_order_acquire); }
  void Reset();
  // Numbers for streams, events, modules and functions: never used twice in a process.
  uint64_t NewId() { return next_id_.fetch_add(1, std::memory_order_relaxed); }

  void Count(Call call, offload::CallClass call_class);
  // What a call of the program, which is over, waited for the server.
  void CountWait(const offload::CallScope& scope);
  // Writes the trace and the counters, if they are asked for, and ends the session. The second caller waits for the
  // first and does nothing.
  void AtExit() ABSL_LOCKS_EXCLUDED(exit_mutex_);
  // The same for a process that a signal is about to end: no CUDA call returns any more, so that the program does not
  // get to see (and tell of) the end of its session.
  void Interrupt();
  // Does not return once the process is interrupted.
  void StayIfInterrupted() const {
    while (interrupted_.load(std::memory_order_relaxed)) pause();
  }
  void LockForFork() ABSL_NO_THREAD_SAFETY_ANALYSIS;
  void UnlockAfterFork() ABSL_NO_THREAD_SAFETY_ANALYSIS;
  void InForkedChild();

 private:
  Process();
  CudaError Open(Connection** opened) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WriteStats(Connection* connection);
  // Of each function that was called; that waited.
  std::string CountsAsJson() const;
  std::string WaitsAsJson() const;

  absl::Mutex exit_mutex_;  // before mutex_
  absl::Mutex mutex_;
  std::atomic<Connection*> connection_{nullptr};
  std::atomic<uint64_t> next_id_{16};
  std::atomic<bool> ended_{false}, orphan_{false}, interrupted_{false};
  uint64_t generation_ ABSL_GUARDED_BY(mutex_) = 0;
  bool gave_up_ ABSL_GUARDED_BY(mutex_) = false;
  offload::ClientSessionCounters retired_ ABSL_GUARDED_BY(mutex_);  // of sessions that were reset
  absl::Time started_;
  std::array<std::atomic<uint64_t>, static_cast<size_t>(Call::kCount)> counts_{};
  struct Waits {
    std::atomic<uint64_t> round_trips = 0, nanoseconds = 0;
  };
  std::array<Waits, static_cast<size_t>(Call::kCount)> waits_;
  std::array<std::atomic<uint64_t>, 4> class_counts_{};
};

// Host memory that the driver allocated is for kernels too: where its address stands among a launch's parameters, it is
// shared with the device, and the device's address put there.
void ShareHostPointers(Connection& connection, std::span<std::byte> parameters);

// Once: says which memory of the program's a kernel was given that faulted, if that is why.
void ExplainFault(Connection& connection);

// How managed memory moves.
offload::ManagedMemory::Mover MoverOf(Connection& connection);

// How virtual memory is mapped and moves, and in what units.
offload::VirtualMemory::Server VirtualMemoryServer(offload::ClientSession& session);
uint64_t VirtualGranularityOf(const device::Arena& arena);

// While it lives, this thread runs a function of the program's that holds the device up: it cannot wait for the device.
class HostFunctionScope {
 public:
  HostFunctionScope();
  ~HostFunctionScope();
  HostFunctionScope(const HostFunctionScope&) = delete;
  HostFunctionScope& operator=(const HostFunctionScope&) = delete;
  static bool IsInside();
};

struct CallInfo {
  const char* library;
  const char* name;
  offload::CallClass call_class;
  const char* operations;
};
const CallInfo& Info(Call call);

// Prints one line for the user on standard error: "wharf: …".
void TellUser(const std::string& line);

}  // namespace wharf::client
