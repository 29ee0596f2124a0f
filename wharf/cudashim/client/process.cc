#include "wharf/cudashim/client/process.h"

#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <utility>

#include "wharf/base/log.h"
#include "wharf/base/mutex.h"
#include "wharf/base/trace.h"
#include "wharf/cudashim/client/baselines.h"
#include "wharf/cudashim/client/host_ranges.h"
#include "wharf/cudashim/client/interruption.h"
#include "wharf/cudashim/client/module_state.h"
#include "wharf/offload/client/session_environment.h"

namespace wharf::client {
namespace {

std::string ProgramName() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
  if (length <= 0) return "unknown";
  const std::string full(path, static_cast<size_t>(length));
  return full.substr(full.rfind('/') + 1);
}

void Print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

absl::StatusOr<std::unique_ptr<offload::ClientSession>> OpenSession() {
  TrustLockOrder();
  offload::ClientSessionOptions options;
  WHARF_RETURN_IF_ERROR(ChooseBaselines(options));
  options.program = ProgramName();
  options.output = Print;
  return offload::OpenSession(offload::kProgramVariables, std::move(options), TellUser);
}

bool WritesStats() { return !offload::EnvironmentVariable(offload::kProgramVariables, "STATS").empty(); }
bool WritesFiles() { return WritesStats() || Trace::Get() != nullptr; }

void LockProcess();
void UnlockProcess();
void UnlockInChild();

}  // namespace

void TellUser(const std::string& line) {
  const std::string text = "wharf: " + line + "\n";
  std::fwrite(text.data(), 1, text.size(), stderr);
}

Connection::Connection(std::unique_ptr<offload::ClientSession> opened, uint64_t number)
    : session(std::move(opened)),
      generation(number),
      allocator(session->welcome().arena, session->welcome().memory_quota),
      virtual_memory(&allocator, VirtualGranularityOf(session->welcome().arena), VirtualMemoryServer(*session)),
      managed(MoverOf(*this)) {
  const device::Arena& arena = session->welcome().arena;
  managed.Reserve(arena.base, arena.size);
}

bool Connection::IsDeviceAddress(uint64_t address) {
  const device::Arena& arena = session->welcome().arena;
  if (address >= arena.base && address - arena.base < arena.size) return true;
  absl::MutexLock lock(&mutex);
  const auto it = variables.upper_bound(address);
  return it != variables.begin() && address - std::prev(it)->first < std::prev(it)->second;
}

std::optional<offload::AddressAllocator::Range> Connection::FindRange(uint64_t address) {
  absl::MutexLock lock(&mutex);
  if (const auto range = allocator.Find(address)) return range;
  if (const auto range = virtual_memory.Find(address)) return range;
  const auto it = variables.upper_bound(address);
  if (it == variables.begin()) return std::nullopt;
  const auto& [start, size] = *std::prev(it);
  if (address - start >= size) return std::nullopt;
  return offload::AddressAllocator::Range{start, size};
}

Process& Process::Get() {
  static Process* const process = new Process();
  return *process;
}

Process::Process() : started_(absl::Now()) { pthread_atfork(LockProcess, UnlockProcess, UnlockInChild); }

Connection* Process::Connect(CudaError* error) {
  Connection* connection = Current();
  if (connection == nullptr) {
    if (orphan_.load()) {
      *error = CudaError::kNotInitialized;
      return nullptr;
    }
    absl::MutexLock lock(&mutex_);
    connection = Current();
    if (connection == nullptr) *error = Open(&connection);
    if (connection == nullptr) return nullptr;
  }
  if (ended_.load(std::memory_order_relaxed)) {
    *error = kUnloading;
    return nullptr;
  }
  *error = connection->session->StickyError();
  return *error == CudaError::kSuccess ? connection : nullptr;
}

CudaError Process::Open(Connection** opened) {
  if (ended_.load()) return kUnloading;
  if (gave_up_) return CudaError::kNoDevice;
  auto session = OpenSession();
  if (!session.ok()) {
    gave_up_ = true;
    TellUser(std::string(Message(session.status())));
    return CudaError::kNoDevice;
  }
  *opened = new Connection(*std::move(session), ++generation_);
  connection_.store(*opened, std::memory_order_release);
  if (WritesFiles()) WriteFilesWhenInterrupted();
  return CudaError::kSuccess;
}

void Process::Reset() {
  absl::MutexLock lock(&mutex_);
  Connection* const connection = connection_.exchange(nullptr);
  if (connection == nullptr) return;
  connection->session->Close(std::chrono::seconds(1));
  connection->managed.Clear();
  const offload::ClientSessionCounters counters = connection->session->Counters();
  retired_.posted_operations += counters.posted_operations;
  retired_.blocking_round_trips += counters.blocking_round_trips;
  retired_.bytes_up += counters.bytes_up;
  retired_.bytes_down += counters.bytes_down;
  retired_.bulk_up += counters.bulk_up;
  retired_.bulk_down += counters.bulk_down;
}

void Process::Count(Call call, offload::CallClass call_class) {
  counts_[static_cast<size_t>(call)].fetch_add(1, std::memory_order_relaxed);
  class_counts_[static_cast<size_t>(call_class)].fetch_add(1, std::memory_order_relaxed);
}

void Process::CountWait(const offload::CallScope& scope) {
  Waits& waits = waits_[scope.function()];
  waits.round_trips.fetch_add(scope.round_trips(), std::memory_order_relaxed);
  waits.nanoseconds.fetch_add(static_cast<uint64_t>(scope.waited().count()), std::memory_order_relaxed);
}

void Process::AtExit() {
  if (orphan_.load()) return;
  absl::MutexLock lock(&exit_mutex_);
  if (ended_.exchange(true)) return;
  // First what needs no answer of the server.
  if (Trace* const trace = Trace::Get()) {
    if (const absl::Status written = trace->Flush(); !written.ok()) TellUser(std::string(Message(written)));
  }
  Connection* const connection = Current();
  if (WritesStats()) WriteStats(connection);
  if (connection != nullptr) connection->session->Close(std::chrono::milliseconds(500));
}

void Process::Interrupt() {
  interrupted_.store(true);
  AtExit();
}

namespace {

std::string CodecAsJson(const offload::CodecTraffic& codec) {
  return fmt::format("{{\"payloads\": {}, \"bytes_before\": {}, \"bytes_after\": {}}}", codec.payloads, codec.before,
                     codec.after);
}

// What compressing data did in one direction.
std::string BulkAsJson(offload::BulkTraffic bulk, const offload::BulkTraffic& retired) {
  bulk += retired;
  return fmt::format("{{\"plain\": {}, \"lz4\": {}, \"zstd\": {}, \"differences\": {}, \"processor_ms\": {:.3f}}}",
                     CodecAsJson(bulk.plain), CodecAsJson(bulk.lz4), CodecAsJson(bulk.zstd), bulk.differences,
                     static_cast<double>(bulk.nanoseconds) / 1e6);
}

// One more line of an object, behind `fields`.
std::string Field(const std::string& fields, const char* name, const std::string& value) {
  return fmt::format("{}\n    \"{}\": {}", fields.empty() ? "" : ",", name, value);
}

// What replay did, as one JSON object.
std::string ReplayAsJson(const offload::ClientSessionCounters& counters, const offload::SessionStats::Reply& server) {
  const offload::PredictionCounters& seen = counters.prediction;
  return fmt::format(
      "{{\"phase\": \"{}\", \"sequence_length\": {}, \"sequences_known\": {}, \"inferences\": {}, "
      "\"operations_known\": {}, \"hits\": {}, \"changed\": {}, \"jumps\": {}, \"explicit\": {}, \"run_ahead\": {}, "
      "\"undone\": {}, \"pushes\": {}, \"early_pushes\": {}, \"void_pushes\": {}, \"elided\": {}, "
      "\"misses\": {{\"unknown operation\": {}, \"operation never predicted\": {}, \"changed arguments\": {}, "
      "\"other data\": {}, \"another known operation\": {}, \"another thread\": {}, \"memory of operations full\": "
      "{}}}}}",
      counters.sequences.sequences != 0 ? "replaying" : "recording", counters.sequences.sequence_length,
      counters.sequences.sequences, counters.sequences.inferences, counters.known_operations, seen.hits, seen.changed,
      seen.jumps, seen.unknown + seen.never, server.run_ahead, server.undone, counters.pushes, counters.early_pushes,
      counters.void_pushes, counters.elided, seen.unknown, seen.never, seen.changed, seen.other_data, seen.jumps,
      seen.lane_changes, seen.forgotten);
}

}  // namespace

std::string Process::CountsAsJson() const {
  std::string fields;
  for (size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] != 0) fields += Field(fields, Info(static_cast<Call>(i)).name, fmt::format("{}", counts_[i].load()));
  }
  return fmt::format("{{{}\n  }}", fields);
}

std::string Process::WaitsAsJson() const {
  std::string fields;
  for (size_t i = 0; i < waits_.size(); ++i) {
    if (waits_[i].round_trips == 0) continue;
    fields += Field(fields, Info(static_cast<Call>(i)).name,
                    fmt::format("{{\"round_trips\": {}, \"ms\": {:.3f}}}", waits_[i].round_trips.load(),
                                static_cast<double>(waits_[i].nanoseconds) / 1e6));
  }
  return fmt::format("{{{}\n  }}", fields);
}

void Process::WriteStats(Connection* connection) {
  offload::ClientSessionCounters counters;
  uint64_t violations = 0;
  offload::SessionStats::Reply server;
  offload::DescribeDevice::Reply device;
  const char* mode = "none";
  if (connection != nullptr) {
    static constexpr const char* kModes[] = {"posted", "percall", "cached", "replay"};
    const bool is_unsafe = connection->session->options().unsafe_replay;
    mode = is_unsafe ? "replay_speculative" : kModes[static_cast<int>(connection->session->mode())];
    counters = connection->session->Counters();
    if (connection->session->Ask(offload::SessionStats{}, &server) != CudaError::kSuccess) server = {};
    if (connection->session->Ask(offload::DescribeDevice{}, &device) != CudaError::kSuccess) device = {};
    violations = connection->session->ClassViolations();
  }
  absl::MutexLock lock(&mutex_);
  // As the mode had them done, which posts nothing call by call.
  uint64_t local = class_counts_[1], posted = class_counts_[2], blocking = class_counts_[3];
  if (connection != nullptr && offload::IsPerCall(connection->session->mode())) {
    blocking += std::exchange(posted, 0);
    if (connection->session->mode() == offload::Mode::kPerCall) blocking += std::exchange(local, 0);
  }
  const std::string text = fmt::format(
      "{{\n  \"mode\": \"{}\",\n  \"calls\": {},\n  \"local_calls\": {},\n  \"posted_calls\": {},\n"
      "  \"blocking_calls\": {},\n  \"compiler_calls\": {},\n  \"posted_operations\": {},\n"
      "  \"blocking_round_trips\": {},\n  \"bytes_up\": {},\n"
      "  \"bytes_down\": {},\n  \"compression\": {{\"up\": {}, \"down\": {}}},\n  \"device_busy_ns\": {},\n  "
      "\"class_violations\": {},\n  \"wall_s\": {:.6f},\n"
      "  \"replay\": {},\n  \"partition\": {},\n"
      "  \"per_function\": {},\n  \"waits\": {}\n}}\n",
      mode, local + posted + blocking, local, posted, blocking, class_counts_[0].load(),
      counters.posted_operations + retired_.posted_operations,
      counters.blocking_round_trips + retired_.blocking_round_trips, counters.bytes_up + retired_.bytes_up,
      counters.bytes_down + retired_.bytes_down, BulkAsJson(counters.bulk_up, retired_.bulk_up),
      BulkAsJson(counters.bulk_down, retired_.bulk_down), server.busy_nanoseconds, violations,
      absl::ToDoubleSeconds(absl::Now() - started_), ReplayAsJson(counters, server),
      device.report.empty() ? "null" : device.report, CountsAsJson(), WaitsAsJson());
  const std::string path = offload::EnvironmentVariable(offload::kProgramVariables, "STATS");
  std::ofstream file(path, std::ios::trunc);
  file << text;
  if (!file.flush()) TellUser(fmt::format("cannot write the counters to {}: check WHARF_STATS", path));
}

void Process::InForkedChild() {
  if (connection_.exchange(nullptr) != nullptr) orphan_.store(true);
}

void Process::LockForFork() {
  exit_mutex_.Lock();
  mutex_.Lock();
  Registry::Get().LockForFork();
  HostRanges::Get().LockForFork();
}

void Process::UnlockAfterFork() {
  HostRanges::Get().UnlockAfterFork();
  Registry::Get().UnlockAfterFork();
  mutex_.Unlock();
  exit_mutex_.Unlock();
}

namespace {

void LockProcess() { Process::Get().LockForFork(); }
void UnlockProcess() { Process::Get().UnlockAfterFork(); }
void UnlockInChild() {
  Process::Get().UnlockAfterFork();
  Process::Get().InForkedChild();
}

__attribute__((destructor)) void EndOfProcess() { Process::Get().AtExit(); }

}  // namespace
}  // namespace wharf::client
