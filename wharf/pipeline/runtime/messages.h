// What the scheduler, workers and clients of a pipeline say to each other, frame by frame: docs/protocol.md,
// "Pipelines". Encoded by wire/codec.h.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "wharf/link/channel.h"
#include "wharf/split/messages/messages.h"
#include "wharf/wire/codec.h"
#include "wharf/wire/digest.h"
#include "wharf/wire/goodbye.h"
#include "wharf/wire/handshake.h"
#include "wharf/wire/send.h"

namespace wharf::pipeline {

inline constexpr uint32_t kPipelineMagic = 0x50524857;  // "WHRP"
inline constexpr uint16_t kPipelineMajor = 3;           // must match
inline constexpr uint16_t kPipelineMinor = 0;           // the lower one is spoken

// Numbers of their own: by the first frame's a server tells kinds of sessions apart.
enum class FrameKind : uint16_t {
  kHello = 160,         // who connects, first frame
  kWelcome = 161,       // who is connected to
  kGoodbye = 162,       // either, last frame: why
  kOpenModel = 163,     // scheduler to worker
  kModelState = 164,    // worker: whether it has the model
  kModelPiece = 165,    // scheduler to worker: bulk = bytes of the model, in order
  kDefineStage = 166,   // scheduler to worker
  kStageDefined = 167,  // worker
  kSamples = 168,       // scheduler or worker to worker: bulk = the samples; tag = task, 0 from the scheduler
  kCompute = 169,       // scheduler to worker: tag = task
  kComputed = 170,      // worker: tag = task, bulk = what the last stage made
  kSend = 171,          // scheduler to worker: tag = task
  kArrived = 172,       // worker that got kSamples of a worker, to the scheduler: tag = task
  kFailed = 173,        // worker to scheduler: tag = task
  kAskModels = 174,     // client
  kModels = 175,        // server
  kRequest = 176,       // client: tag = its number, bulk = the model's input
  kResponse = 177,      // server: tag = the request's, bulk = the model's outputs
  kChallenge = 178,     // who is connected to: prove that you know the token
  kProof = 179,         // either: the proof
};

enum class Role : uint8_t { kScheduler = 1, kWorker = 2, kClient = 3 };

// "" for what is none.
std::string NameOf(Role role);

struct Hello {
  uint32_t magic = kPipelineMagic;
  uint16_t major = kPipelineMajor, minor = kPipelineMinor;
  uint64_t features = 0;  // none yet
  wire::Nonce nonce{};
  Role role = Role::kClient;
  auto Fields() { return std::tie(magic, major, minor, features, nonce, role); }
};
struct Welcome {
  uint16_t major = kPipelineMajor, minor = kPipelineMinor;
  uint64_t features = 0;
  auto Fields() { return std::tie(major, minor, features); }
};
using split::kModelPieceBytes;
using split::ModelState;
using wire::DecodeHead;
using wire::DecodeList;
using wire::EncodeList;
using wire::Goodbye;
using wire::SendMessage;
using wire::Sha256;

struct PipelineProtocol {
  static constexpr wire::ProtocolVersion kVersion = {"pipeline session", "pipeline protocol", kPipelineMagic,
                                                     kPipelineMajor, kPipelineMinor};
  using Hello = pipeline::Hello;
  using Welcome = pipeline::Welcome;
  using Goodbye = wire::Goodbye;
  static constexpr FrameKind kHello = FrameKind::kHello, kWelcome = FrameKind::kWelcome, kGoodbye = FrameKind::kGoodbye,
                             kChallenge = FrameKind::kChallenge, kProof = FrameKind::kProof;
  static std::string RoleOf(const Hello& hello) { return NameOf(hello.role); }
};

struct OpenModel {
  Sha256 hash{};  // of the ONNX file's bytes
  uint64_t bytes = 0;
  uint32_t max_batch = 1;  // of its stages
  uint32_t parts = 1;      // equal ones that each GPU is divided into which computes them
  auto Fields() { return std::tie(hash, bytes, max_batch, parts); }
};
// A stage of the model that was opened last, under a number that the scheduler never uses again.
struct DefineStage {
  uint32_t stage = 0;
  int32_t first_node = 0, end_node = 0;
  bool last = false;  // what it makes goes back to the scheduler
  // EncodeList of u64, [batch - 1]: a computation takes so many nanoseconds at least; empty: what it takes.
  std::vector<std::byte> least;
  auto Fields() { return std::tie(stage, first_node, end_node, last, least); }
};
struct StageDefined {
  uint32_t stage = 0;
  uint64_t input_bytes = 0, output_bytes = 0;  // of one sample
  auto Fields() { return std::tie(stage, input_bytes, output_bytes); }
};
// Inputs of a stage. `samples`: EncodeList of u64, numbers that the scheduler never uses again.
struct Samples {
  uint32_t stage = 0;
  std::vector<std::byte> samples;
  auto Fields() { return std::tie(stage, samples); }
};
struct Compute {
  uint32_t stage = 0;
  uint32_t vgpu = 0;  // of the worker's, which compute side by side
  std::vector<std::byte> samples;
  auto Fields() { return std::tie(stage, vgpu, samples); }
};
struct Computed {
  uint64_t nanoseconds = 0;
  auto Fields() { return std::tie(nanoseconds); }
};
// What the samples have become goes to the worker at `address`, where it is the input of `stage`.
struct Send {
  uint32_t stage = 0;
  std::vector<std::byte> samples;
  std::string address;
  auto Fields() { return std::tie(stage, samples, address); }
};
struct Arrived {
  uint64_t nanoseconds = 0;  // from its first bytes to its last
  auto Fields() { return std::tie(nanoseconds); }
};
struct Failed {
  uint16_t code = 0;  // of absl::StatusCode
  std::string message;
  auto Fields() { return std::tie(code, message); }
};
struct ModelEntry {
  std::string name;
  uint64_t slo_nanoseconds = 0, input_bytes = 0, output_bytes = 0;
  double planned_rate = 0;  // requests/s
  auto Fields() { return std::tie(name, slo_nanoseconds, input_bytes, output_bytes, planned_rate); }
};
struct Models {
  std::vector<std::byte> models;  // EncodeList of ModelEntry
  auto Fields() { return std::tie(models); }
};
struct ModelRequest {
  std::string model;
  auto Fields() { return std::tie(model); }
};
// How a request ended (scheduler.h, RequestRecord); no outputs if it was dropped.
struct ModelResponse {
  uint8_t fate = 0;
  uint64_t nanoseconds = 0, queued = 0, computed = 0, transferred = 0;  // since the request arrived; of which …
  auto Fields() { return std::tie(fate, nanoseconds, queued, computed, transferred); }
};

// Samples and model inputs are refused by what the stage or model says, long before these.
inline link::FrameLimits PipelineFrameLimits() { return {.max_head_bytes = 1 << 20, .max_bulk_bytes = 1u << 30}; }

// kInvalidArgument: no list of 1 to `most` numbers.
absl::StatusOr<std::vector<uint64_t>> DecodeSamples(std::span<const std::byte> list, size_t most);

}  // namespace wharf::pipeline
