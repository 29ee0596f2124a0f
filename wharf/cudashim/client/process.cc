#include "wharf/cudashim/client/process.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>
#include <utility>

#include "wharf/base/log.h"
#include "wharf/base/mutex.h"
#include "wharf/base/trace.h"
#include "wharf/cudashim/client/host_ranges.h"
#include "wharf/cudashim/client/module_state.h"
#include "wharf/link/byte_stream.h"
#include "wharf/link/resumable_stream.h"

namespace wharf::client {
namespace {

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string ProgramName() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
  if (length <= 0) return "unknown";
  const std::string full(path, static_cast<size_t>(length));
  return full.substr(full.rfind('/') + 1);
}

// The token itself, or the first line of the file that holds it.
absl::StatusOr<std::string> Token() {
  if (std::string token = Environment("WHARF_TOKEN"); !token.empty()) return token;
  const std::string path = Environment("WHARF_TOKEN_FILE");
  if (path.empty()) return std::string();
  std::ifstream file(path);
  std::string token;
  if (!file || !std::getline(file, token)) {
    return NotFound("cannot read the token from {}: check WHARF_TOKEN_FILE", path);
  }
  while (!token.empty() && (token.back() == '\r' || token.back() == ' ')) token.pop_back();
  return token;
}

Nanoseconds Timeout() {
  const std::string text = Environment("WHARF_TIMEOUT_MS");
  const long long value = text.empty() ? 0 : std::atoll(text.c_str());
  return std::chrono::milliseconds(value > 0 ? value : 10000);
}

absl::StatusOr<offload::Mode> ModeFromEnvironment() {
  const std::string text = Environment("WHARF_MODE");
  if (text.empty() || text == "replay") return offload::Mode::kReplay;
  if (text == "posted") return offload::Mode::kPosted;
  if (text == "percall") return offload::Mode::kPerCall;
  if (text == "cached") return offload::Mode::kCached;
  if (text == "replay_speculative") return offload::Mode::kReplaySpeculative;
  return InvalidArgument("WHARF_MODE is '{}': it must be replay, posted, cached, percall or replay_speculative", text);
}

void Print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

// How long a dropped connection may be gone; 0: it ends the session.
Nanoseconds ResumeTime() {
  const std::string text = Environment("WHARF_RESUME_MS");
  return std::chrono::milliseconds(text.empty() ? 30'000 : std::max(0LL, std::atoll(text.c_str())));
}

absl::StatusOr<std::unique_ptr<link::ByteStream>> OpenStream(const std::string& server,
                                                             const link::ConnectOptions& options) {
  link::ResumeOptions resume;
  resume.limit = ResumeTime();
  // What is on this machine cannot drop: when it is gone, it is gone.
  if (resume.limit.count() == 0 || server.starts_with("unix:")) return link::Connect(server, options);
  link::ConnectOptions again = options;
  again.timeout = std::min<Nanoseconds>(options.timeout, std::chrono::seconds(2));  // what is lost is asked for anew
  return link::OpenResumable(
      [server, options, again, first = true]() mutable {
        return link::Connect(server, std::exchange(first, false) ? options : again);
      },
      resume);
}

absl::StatusOr<std::unique_ptr<offload::Session>> OpenSession() {
  const std::string server = Environment("WHARF_SERVER");
  if (server.empty()) {
    return NotFound("no server is set: start the program with `wharf run --server HOST:PORT -- PROGRAM`");
  }
  TrustLockOrder();
  offload::SessionOptions options;
  WHARF_ASSIGN_OR_RETURN(options.token, Token());
  WHARF_ASSIGN_OR_RETURN(options.mode, ModeFromEnvironment());
  options.program = ProgramName();
  options.timeout = Timeout();
  options.output = Print;
  options.on_lost = [server](std::string_view reason) {
    TellUser(fmt::format("lost the server {} ({}); CUDA calls fail from now on", server, reason));
  };
  link::ConnectOptions connect;
  connect.timeout = options.timeout;
  if (Environment("WHARF_TLS") == "1") {
    connect.tls = link::TlsClientOptions{.ca_file = Environment("WHARF_TLS_CA"),
                                         .certificate_file = Environment("WHARF_TLS_CERT"),
                                         .key_file = Environment("WHARF_TLS_KEY"),
                                         .server_name = ""};
  }
  try {
    WHARF_ASSIGN_OR_RETURN(auto stream, OpenStream(server, connect));
    return offload::Session::Open(std::move(stream), std::move(options));
  } catch (const std::system_error& error) {
    return ResourceExhausted("cannot start the threads of a session: {}", error.what());
  }
}

void LockProcess();
void UnlockProcess();
void UnlockInChild();

}  // namespace

void TellUser(const std::string& line) {
  const std::string text = "wharf: " + line + "\n";
  std::fwrite(text.data(), 1, text.size(), stderr);
}

Connection::Connection(std::unique_ptr<offload::Session> opened, uint64_t number)
    : session(std::move(opened)),
      generation(number),
      allocator(session->welcome().arena, session->welcome().memory_quota) {}

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
  return CudaError::kSuccess;
}

void Process::Reset() {
  absl::MutexLock lock(&mutex_);
  Connection* const connection = connection_.exchange(nullptr);
  if (connection == nullptr) return;
  connection->session->Close(std::chrono::seconds(1));
  const offload::SessionCounters counters = connection->session->Counters();
  retired_.posted_operations += counters.posted_operations;
  retired_.blocking_round_trips += counters.blocking_round_trips;
  retired_.bytes_up += counters.bytes_up;
  retired_.bytes_down += counters.bytes_down;
}

void Process::Count(Call call, offload::CallClass call_class) {
  counts_[static_cast<size_t>(call)].fetch_add(1, std::memory_order_relaxed);
  class_counts_[static_cast<size_t>(call_class)].fetch_add(1, std::memory_order_relaxed);
}

void Process::AtExit() {
  Connection* const connection = Current();
  if (orphan_.load() || ended_.exchange(true)) return;
  if (!Environment("WHARF_STATS").empty()) WriteStats(connection);
  if (connection != nullptr) connection->session->Close(std::chrono::milliseconds(500));
  if (Trace* const trace = Trace::Get()) {
    if (const absl::Status written = trace->Flush(); !written.ok()) TellUser(std::string(Message(written)));
  }
}

namespace {

// What replay did, as one JSON object.
std::string ReplayAsJson(const offload::SessionCounters& counters, const offload::SessionStats::Reply& server) {
  const offload::PredictionCounters& seen = counters.prediction;
  return fmt::format(
      "{{\"phase\": \"{}\", \"sequence_length\": {}, \"sequences_known\": {}, \"inferences\": {}, "
      "\"operations_known\": {}, \"hits\": {}, \"changed\": {}, \"jumps\": {}, \"explicit\": {}, \"run_ahead\": {}, "
      "\"undone\": {}, \"pushes\": {}, \"early_pushes\": {}, \"void_pushes\": {}, \"elided\": {}, "
      "\"misses\": {{\"unknown operation\": {}, \"operation never foreseen\": {}, \"changed arguments\": {}, "
      "\"another known operation\": {}, \"another thread\": {}, \"memory of operations full\": {}}}}}",
      counters.sequences.sequences != 0 ? "replaying" : "recording", counters.sequences.sequence_length,
      counters.sequences.sequences, counters.sequences.inferences, counters.known_operations, seen.hits, seen.changed,
      seen.jumps, seen.unknown + seen.never, server.run_ahead, server.undone, counters.pushes, counters.early_pushes,
      counters.void_pushes, counters.elided, seen.unknown, seen.never, seen.changed, seen.jumps, seen.lane_changes,
      seen.forgotten);
}

}  // namespace

void Process::WriteStats(Connection* connection) {
  offload::SessionCounters counters;
  uint64_t violations = 0;
  offload::SessionStats::Reply server;
  const char* mode = "none";
  if (connection != nullptr) {
    static constexpr const char* kModes[] = {"posted", "percall", "cached", "replay", "replay_speculative"};
    mode = kModes[static_cast<int>(connection->session->mode())];
    counters = connection->session->Counters();
    if (connection->session->Ask(offload::SessionStats{}, &server) != CudaError::kSuccess) server = {};
    violations = connection->session->ClassViolations();
  }
  absl::MutexLock lock(&mutex_);
  const uint64_t calls = class_counts_[1] + class_counts_[2] + class_counts_[3];
  std::string text = fmt::format(
      "{{\n  \"mode\": \"{}\",\n  \"calls\": {},\n  \"local_calls\": {},\n  \"posted_calls\": {},\n"
      "  \"blocking_calls\": {},\n  \"posted_operations\": {},\n  \"blocking_round_trips\": {},\n  \"bytes_up\": {},\n"
      "  \"bytes_down\": {},\n  \"device_busy_ns\": {},\n  \"class_violations\": {},\n  \"wall_s\": {:.6f},\n"
      "  \"replay\": {},\n"
      "  \"per_function\": {{",
      mode, calls, class_counts_[1].load(), class_counts_[2].load(), class_counts_[3].load(),
      counters.posted_operations + retired_.posted_operations,
      counters.blocking_round_trips + retired_.blocking_round_trips, counters.bytes_up + retired_.bytes_up,
      counters.bytes_down + retired_.bytes_down, server.busy_nanoseconds, violations,
      absl::ToDoubleSeconds(absl::Now() - started_), ReplayAsJson(counters, server));
  const char* separator = "\n";
  for (size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] == 0) continue;
    text += fmt::format("{}    \"{}\": {}", separator, Info(static_cast<Call>(i)).name, counts_[i].load());
    separator = ",\n";
  }
  text += "\n  }\n}\n";
  const std::string path = Environment("WHARF_STATS");
  std::ofstream file(path, std::ios::trunc);
  file << text;
  if (!file.flush()) TellUser(fmt::format("cannot write the counters to {}: check WHARF_STATS", path));
}

void Process::InForkedChild() {
  if (connection_.exchange(nullptr) != nullptr) orphan_.store(true);
}

void Process::LockForFork() {
  mutex_.Lock();
  Registry::Get().LockForFork();
  HostRanges::Get().LockForFork();
}

void Process::UnlockAfterFork() {
  HostRanges::Get().UnlockAfterFork();
  Registry::Get().UnlockAfterFork();
  mutex_.Unlock();
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
