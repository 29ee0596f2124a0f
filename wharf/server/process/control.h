// What the daemon and its worker processes tell each other, over a private socket pair (SOCK_SEQPACKET: one message a
// packet). The daemon never parses what a client sends, and trusts nothing in a worker's messages but numbers.
// Text of theirs goes to the log, cleaned and cut.
//
//   daemon                              worker
//     Configure (+ page of shares) ────▶  (at start)
//     Assign + connection ─────────────▶
//        ◀─────────────────────────────  Taken: nothing was read before. TLS, Hello, token
//        ◀─────────────────────────────  AskAdmission
//     Admission ───────────────────────▶  makes the device, Welcome, serves … or Refusal
//        ◀─────────────────────────────  SessionReport, then it exits
//        ◀─────────────────────────────  ClientRefused instead, for the log
//        ◀─────────────────────────────  AskLoad instead: its client asks only whether it would be let in
//     Load ────────────────────────────▶  Welcome
//     Drain ───────────────────────────▶  at any time
//        ◀─────────────────────────────  Waiting: the connection is gone, or back
//     Evict ───────────────────────────▶  while it waits: its place is needed
//     Probe ───────────────────────────▶  instead of Assign: can a device be made? (of wharf-model: can models run?)
//        ◀─────────────────────────────  ProbeResult, then it exits
//
// A connection that resumes a session (link/resume/resumable_stream.h) goes from the worker that accepted it to the one
// that has the session:
//
//   worker                              daemon                              worker of the session
//     ResumeSession + connection ──────▶  ResumeSession + connection ────────▶  checks the secret, goes on there
//        ◀─────────────────────────────  ResumeAnswer
//
// So does one that asks for a split session, to a worker that can run models:
//
//   worker                              daemon                              worker of wharf-model
//     ServeModels + connection ────────▶  Assign + connection ───────────────▶  serves …
//        ◀─────────────────────────────  Admission            ◀──────────────  Waiting: the connection is gone
//                                         Assign + connection ───────────────▶  the client is back: goes on
//                                                              ◀──────────────  SessionReport, then it exits
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/offload/bulk/bulk_counters.h"
#include "wharf/wire/proof.h"

namespace wharf::server {

// The keeper of files (server/keeper) is such a process, too, and so is whoever compiles kernels for a session:
//
//   daemon                              keeper
//     KeepOrder + socket ──────────────▶  answers on it (base/stored/keeper.h) until its other end is closed
//
//   daemon                              compiler
//     Assign + socket ─────────────────▶  answers on it (device/soft/jit/compile_service.h) until …
//
// Where a worker process has its end.
inline constexpr int kControlDescriptor = 3;
// Where it has its end of the keeper's socket (base/stored/keeper.h), through which it reads and writes caches, and
// where what LeaveFileSystem wants, if it is isolated.
inline constexpr int kKeeperDescriptor = 4;
inline constexpr int kFileSystemDescriptor = 5;

enum class ControlKind : uint8_t {
  kConfigure = 1,
  kAssign = 2,
  kAskAdmission = 3,
  kAdmission = 4,
  kSessionReport = 5,
  kDrain = 6,
  kProbe = 7,
  kProbeResult = 8,
  kResumeSession = 9,
  kResumeAnswer = 10,
  kWaiting = 11,
  kEvict = 12,
  kServeModels = 13,
  kKeep = 14,
  kTaken = 15,
  kClientRefused = 16,
  kAskLoad = 17,
  kLoad = 18
};

// A device that is made of this machine's and another server's: for `wharf run --partition`, whose variables say which
// (device_factory.h).
inline constexpr const char* kPartitionDriver = "partition";

// What a process of `wharf worker` is.
enum class WorkerRole : uint8_t {
  kServes = 0,
  kCompiles = 1,
  kKeepsFiles = 2,
  kKeepsModels = 3  // files, but no compiled kernels, whoever asks: of a server that is trusted with nothing else
};

struct Configure {
  WorkerRole role = WorkerRole::kServes;
  std::string device, model_device, cache_directory;
  bool wants_token = false;
  wire::TokenKey token_key;  // of clients; the worker forgets it when its client is in
  std::string tls_certificate, tls_key, tls_client_ca;
  uint64_t memory_quota = 0;
  uint64_t worker_memory = 0;  // that a program's worker may take beside the device's
  int32_t threads = 0;
  int32_t compute_capability = 75;  // of a software device (device::DeviceOptions)
  int64_t idle_timeout_ns = 0, hello_timeout_ns = 0;
  int64_t compile_limit_ns = 0;           // of processor time, for one operation of a client
  int64_t kernel_timeout_ns = 0;          // of a software device (device::DeviceOptions)
  int64_t resume_timeout_ns = 0;          // 0: sessions end with their connection
  uint64_t model_cache_bytes = 0;         // of the models under cache_directory
  bool isolated = false;                  // the worker has name spaces of its own
  bool unsafe_replay = false;             // who asks for replay without a way back gets it
  std::vector<std::string> kernel_packs;  // files: PTX for programs that carry none
  auto Fields() {
    return std::tie(role, device, model_device, cache_directory, wants_token, token_key, tls_certificate, tls_key,
                    tls_client_ca, memory_quota, worker_memory, threads, compute_capability, idle_timeout_ns,
                    hello_timeout_ns, compile_limit_ns, kernel_timeout_ns, resume_timeout_ns, model_cache_bytes,
                    isolated, unsafe_replay, kernel_packs);
  }
};

inline constexpr uint32_t kNoShareSlot = ~uint32_t{0};

struct Assign {
  uint64_t session = 0;
  uint32_t share_slot = kNoShareSlot;  // in the page of shares
  std::vector<std::byte> beginning;    // what another worker has read of the connection
  std::array<std::byte, 16> secret{};  // of split sessions: by which the client may come back
  auto Fields() { return std::tie(session, share_slot, beginning, secret); }
};

// A client that has proved itself wants a session.
struct AskAdmission {
  std::string identity;  // who it is by its certificate (link/certificate.h); "" if it has shown none
  auto Fields() { return std::tie(identity); }
};

enum class Verdict : uint8_t { kAdmitted = 0, kFull = 1, kDraining = 2, kNoModels = 3 };
// With a socket to whoever compiles kernels for the session, where they are compiled elsewhere.
struct Admission {
  Verdict verdict = Verdict::kFull;
  auto Fields() { return std::tie(verdict); }
};

// A client that has proved itself asks how busy the server is. AskLoad has no fields.
struct ServerLoad {
  uint64_t open = 0;      // sessions
  bool has_room = false;  // for one more
  auto Fields() { return std::tie(open, has_room); }
};

// A client that has proved itself wants a split session.
struct ServeModels {
  std::vector<std::byte> beginning;  // what was read of the connection, without secrets; the daemon does not look
  uint64_t session = 0;              // that it wants to go on with; 0: a new one
  std::array<std::byte, 16> secret{};
  auto Fields() { return std::tie(beginning, session, secret); }
};

struct SessionReport {
  uint64_t operations = 0, blocking_operations = 0, launches = 0, posted_errors = 0;
  uint64_t bytes_received = 0, bytes_sent = 0, peak_mapped_bytes = 0, busy_nanoseconds = 0;
  uint64_t waited_nanoseconds = 0;  // for the session's turn on the device
  uint64_t inferences = 0;          // of split sessions
  int32_t fault = 0;
  offload::BulkTraffic bulk_in, bulk_out;  // what came and left compressed, of programs' sessions
  auto Fields() {
    return std::tie(operations, blocking_operations, launches, posted_errors, bytes_received, bytes_sent,
                    peak_mapped_bytes, busy_nanoseconds, waited_nanoseconds, inferences, fault, bulk_in, bulk_out);
  }
};

// A client was not let in. The daemon says so in the log: strangers have as many workers as they make connections, and
// each would keep to a limit of lines of its own.
enum class RefusedAt : uint8_t { kTls = 0, kHello = 1 };
struct ClientRefused {
  RefusedAt at = RefusedAt::kHello;
  std::string peer, why;  // of this the daemon writes no more than a line has room for, and printable characters only
  auto Fields() { return std::tie(at, peer, why); }
};

// The session ends within `grace_ns`: by itself, else with a Goodbye.
struct Drain {
  int64_t grace_ns = 0;
  auto Fields() { return std::tie(grace_ns); }
};

// What the client's opening said. The daemon looks at the session's number only.
struct ResumeSession {
  uint64_t session = 0;
  std::array<std::byte, 16> secret{};
  uint64_t received = 0;
  auto Fields() { return std::tie(session, secret, received); }
};

struct ResumeAnswer {
  bool passed_on = false;  // false: there is no such session
  auto Fields() { return std::tie(passed_on); }
};

struct Waiting {
  bool waiting = false;  // for a client whose connection broke
  auto Fields() { return std::tie(waiting); }
};

struct ProbeResult {
  std::string driver, name;  // both "" if no device can be made
  std::string problem;
  auto Fields() { return std::tie(driver, name, problem); }
};

// For whom the keeper is to answer on a socket.
enum class KeptFor : uint8_t {
  kKernels = 0,   // reads compiled kernels
  kCompiler = 1,  // writes them, too
  kModels = 2     // reads and writes models and profiles
};
struct KeepOrder {
  KeptFor who = KeptFor::kKernels;
  std::string whose;  // kernels are told apart by it
  auto Fields() { return std::tie(who, whose); }
};

struct ControlMessage {
  ControlKind kind{};
  std::vector<std::byte> body;
  int fd = -1;  // owned by whoever received the message
};

inline constexpr size_t kMaxControlBytes = 64 << 10;

// Never waits: a receiver that does not read is kInternal. `fd` >= 0 is passed along (the receiver gets a copy).
absl::Status SendControlBytes(int socket, ControlKind kind, const std::vector<std::byte>& body, int fd = -1);
// Waits for a message. kUnavailable when the other side is gone, kDataLoss for a malformed packet.
absl::StatusOr<ControlMessage> ReceiveControl(int socket);

}  // namespace wharf::server
