// What client and server of an offloaded CUDA program say to each other. This header is the one description of every
// operation: its number, whether it is answered, its fields and their order. Both codecs (wire_codec.h), the client's
// ClientSession and the server's Executor are generated from it by the compiler. docs/protocol.md is the same in prose.
//
// A frame (link/channel.h) carries one message: kind = Op or FrameKind, tag = request id (blocking operations and
// replies) or sequence number (posted), head = the encoded fields, bulk = tensor bytes or an image, flags = how these
// are coded (bulk/bulk_coding.h).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "wharf/device/device.h"
#include "wharf/device/tensor_map.h"
#include "wharf/device/texture.h"
#include "wharf/wire/proof.h"

namespace wharf::offload {

inline constexpr uint32_t kProtocolMagic = 0x46524857;  // "WHRF"
inline constexpr uint16_t kProtocolMajor = 5;           // must match
inline constexpr uint16_t kProtocolMinor = 0;           // the lower one is spoken

// Copies are cut into pieces of at most this many bytes.
inline constexpr uint32_t kMaxBulkBytes = 16 << 20;

enum class FrameKind : uint16_t {
  kHello = 1,     // client -> server, first frame
  kWelcome = 2,   // server -> client
  kRefusal = 3,   // server -> client, then it closes
  kReply = 4,     // server -> client, tag = the request's
  kOutput = 5,    // server -> client: text printed by kernels
  kHostCall = 6,  // server -> client: run host function `call`, then send HostCallDone
  kGoodbye = 7,   // either: no more frames; the reason in words
  kPing = 8,
  kPong = 9,        // either way, keep-alive; empty
  kProgress = 10,   // client -> server: operations that were predicted (progress.h); tag = operations made so far; bulk
                    // = data of the last one
  kPush = 11,       // server -> client: the answer to a predicted operation; tag = its position
  kChallenge = 12,  // server -> client: prove that you know the token
  kProof = 13,      // either: the proof
  kArrived = 14,    // either: how long a frame's bulk took to arrive
  kFirstOp = 32,    // operations start here
};

// Hello::features. The client only asks whether it would be let in: the server answers with a Welcome that names its
// driver only, or with a Refusal, and closes.
inline constexpr uint64_t kFeatureCheckOnly = 1;
// Both sides keep histories of the program's operations, and kProgress and kPush frames may come (docs/replay.md).
inline constexpr uint64_t kFeatureReplay = 2;
// The server may run ahead without a way back: a baseline, which a server has only if it was started for comparisons.
inline constexpr uint64_t kFeatureUnsafeReplay = 4;
// Bulk may be coded in both directions (bulk/bulk_coding.h), and kArrived frames may come.
inline constexpr uint64_t kFeatureCodedBulk = 8;
// The server may have PTX for modules that hold machine code only (docs/packs.md); it wants to be sent them.
inline constexpr uint64_t kFeatureKernelPacks = 16;

struct Hello {
  uint32_t magic = kProtocolMagic;
  uint16_t major = kProtocolMajor, minor = kProtocolMinor;
  uint64_t features = 0;  // kFeature… bits; unknown ones are ignored
  wire::Nonce nonce{};
  std::string program;       // for logs: the program's file name
  uint64_t memory_wish = 0;  // bytes; 0 = the server's quota
  auto Fields() { return std::tie(magic, major, minor, features, nonce, program, memory_wish); }
};

struct Welcome {
  uint16_t major = kProtocolMajor, minor = kProtocolMinor;
  uint64_t features = 0;
  uint64_t session = 0;
  device::DeviceProperties properties;
  device::Arena arena;
  uint64_t memory_quota = 0;
  auto Fields() { return std::tie(major, minor, features, session, properties, arena, memory_quota); }
};

enum class RefusalReason : uint16_t {
  kVersion = 1,
  kUnauthenticated = 2,
  kFull = 3,
  kDraining = 4,
  kMalformed = 5,
  kNoDevice = 6,
  kNotOffered = 7  // a feature that this server does not have
};
struct Refusal {
  RefusalReason reason = RefusalReason::kMalformed;
  std::string message;  // one line: what to do
  auto Fields() { return std::tie(reason, message); }
};

// Head of a reply; the operation's own Reply struct follows it in the head (if error == 0), bulk data in the bulk.
struct ReplyHeader {
  device::CudaError error = device::CudaError::kSuccess;  // of this request
  // The first error of posted operations since the last reply (not sticky), and the session's latched fault (sticky):
  // CUDA's asynchronous errors, which surface at the next call that waits.
  device::CudaError posted_error = device::CudaError::kSuccess;
  device::CudaError fault = device::CudaError::kSuccess;
  std::string message;              // about the first of these that is set
  uint64_t server_nanoseconds = 0;  // from the request's arrival to its reply; lets the client measure the link alone
  auto Fields() { return std::tie(error, posted_error, fault, message, server_nanoseconds); }
};

// Head of a push; a ReplyHeader and the rest of a reply follow.
struct PushHeader {
  uint64_t path = 0;        // what the program has done if the answer is its own: ProgramPath, this operation included
  uint64_t known = 0;       // operations of the program the server knew of when it executed this one
  uint64_t taken_back = 0;  // how often the server had taken back what it had run ahead
  bool sure = false;  // nothing that was under way before it could have failed (docs/replay.md, "Waits for nothing")
  auto Fields() { return std::tie(path, known, taken_back, sure); }
};

struct Output {
  std::string text;
  auto Fields() { return std::tie(text); }
};
struct HostCall {
  uint64_t call = 0;
  auto Fields() { return std::tie(call); }
};
// The sender of that bulk learns the link's rate from it.
struct Arrived {
  uint64_t bytes = 0, nanoseconds = 0;  // as it travelled
  auto Fields() { return std::tie(bytes, nanoseconds); }
};
struct Goodbye {
  std::string reason;
  auto Fields() { return std::tie(reason); }
};

enum class Answer : uint8_t {
  kPosted,   // one way; an error surfaces in a later reply's posted_error
  kBlocking  // answered by a kReply
};

struct Nothing {
  auto Fields() { return std::tuple<>(); }
};

// --- operations ---
// WHARF_OP(number, answer, has_bulk from client to server) heads a struct; its fields follow.
#define WHARF_OP(number, answer, has_bulk)          \
  static constexpr uint16_t kNumber = number;       \
  static constexpr Answer kAnswer = Answer::answer; \
  static constexpr bool kHasBulk = has_bulk

struct MapMemory {
  WHARF_OP(32, kPosted, false);
  static constexpr const char* kName = "MapMemory";
  uint64_t address = 0, size = 0;
  auto Fields() { return std::tie(address, size); }
};
struct UnmapMemory {
  WHARF_OP(33, kPosted, false);
  static constexpr const char* kName = "UnmapMemory";
  uint64_t address = 0;
  auto Fields() { return std::tie(address); }
};
// The image comes in pieces: `final` on the last one.
struct LoadModule {
  WHARF_OP(34, kPosted, true);
  static constexpr const char* kName = "LoadModule";
  uint64_t module = 0;
  bool final = true;
  auto Fields() { return std::tie(module, final); }
};
struct UnloadModule {
  WHARF_OP(35, kPosted, false);
  static constexpr const char* kName = "UnloadModule";
  uint64_t module = 0;
  auto Fields() { return std::tie(module); }
};
struct DefineFunction {
  WHARF_OP(36, kPosted, false);
  static constexpr const char* kName = "DefineFunction";
  uint64_t function = 0, module = 0;
  std::string name;
  auto Fields() { return std::tie(function, module, name); }
};
struct SetMaxDynamicShared {
  WHARF_OP(37, kPosted, false);
  static constexpr const char* kName = "SetMaxDynamicShared";
  uint64_t function = 0;
  uint32_t bytes = 0;
  auto Fields() { return std::tie(function, bytes); }
};
struct CreateStream {
  WHARF_OP(38, kPosted, false);
  static constexpr const char* kName = "CreateStream";
  uint64_t stream = 0;
  uint32_t flags = 0;
  int32_t priority = 0;
  auto Fields() { return std::tie(stream, flags, priority); }
};
struct DestroyStream {
  WHARF_OP(39, kPosted, false);
  static constexpr const char* kName = "DestroyStream";
  uint64_t stream = 0;
  auto Fields() { return std::tie(stream); }
};
struct CreateEvent {
  WHARF_OP(40, kPosted, false);
  static constexpr const char* kName = "CreateEvent";
  uint64_t event = 0;
  uint32_t flags = 0;
  auto Fields() { return std::tie(event, flags); }
};
struct DestroyEvent {
  WHARF_OP(41, kPosted, false);
  static constexpr const char* kName = "DestroyEvent";
  uint64_t event = 0;
  auto Fields() { return std::tie(event); }
};
struct RecordEvent {
  WHARF_OP(42, kPosted, false);
  static constexpr const char* kName = "RecordEvent";
  uint64_t event = 0, stream = 0;
  auto Fields() { return std::tie(event, stream); }
};
struct WaitEvent {
  WHARF_OP(43, kPosted, false);
  static constexpr const char* kName = "WaitEvent";
  uint64_t stream = 0, event = 0;
  auto Fields() { return std::tie(stream, event); }
};
// Bulk: extent.width * height * depth bytes, packed.
struct CopyToDevice {
  WHARF_OP(44, kPosted, true);
  static constexpr const char* kName = "CopyToDevice";
  uint64_t stream = 0;
  device::Region to;
  device::Extent extent;
  auto Fields() { return std::tie(stream, to, extent); }
};
struct CopyOnDevice {
  WHARF_OP(45, kPosted, false);
  static constexpr const char* kName = "CopyOnDevice";
  uint64_t stream = 0;
  device::Region to, from;
  device::Extent extent;
  auto Fields() { return std::tie(stream, to, from, extent); }
};
struct Fill {
  WHARF_OP(46, kPosted, false);
  static constexpr const char* kName = "Fill";
  uint64_t stream = 0;
  device::Region to;
  device::Extent extent;
  uint32_t value = 0, element_bytes = 1;
  auto Fields() { return std::tie(stream, to, extent, value, element_bytes); }
};
struct Launch {
  WHARF_OP(47, kPosted, false);
  static constexpr const char* kName = "Launch";
  uint64_t stream = 0, function = 0;
  device::LaunchConfig config;
  std::vector<std::byte> parameters;
  // The byte comes last: replay predicts arguments, as words at multiples of four bytes (replay/call_sites.h).
  auto Fields() { return std::tie(stream, function, config, parameters, config.cooperative); }
};
struct RunGemm {
  WHARF_OP(48, kPosted, false);
  static constexpr const char* kName = "RunGemm";
  uint64_t stream = 0;
  device::Gemm gemm;
  auto Fields() { return std::tie(stream, gemm); }
};
// The server answers with a kHostCall frame when the stream gets there and holds the stream until HostCallDone.
struct RequestHostCall {
  WHARF_OP(49, kPosted, false);
  static constexpr const char* kName = "RequestHostCall";
  uint64_t stream = 0, call = 0;
  auto Fields() { return std::tie(stream, call); }
};
struct HostCallDone {
  WHARF_OP(50, kPosted, false);
  static constexpr const char* kName = "HostCallDone";
  uint64_t call = 0;
  auto Fields() { return std::tie(call); }
};
// In the order of all work, as UnmapMemory is: what was sent before still finds it.
struct DestroyTexture {
  WHARF_OP(51, kPosted, false);
  static constexpr const char* kName = "DestroyTexture";
  uint64_t texture = 0;
  auto Fields() { return std::tie(texture); }
};
struct DestroySurface {
  WHARF_OP(52, kPosted, false);
  static constexpr const char* kName = "DestroySurface";
  uint64_t surface = 0;
  auto Fields() { return std::tie(surface); }
};
// Primitives of neural networks, Fourier transforms, and what LAPACK computes (device/primitive.h).
struct RunConvolution {
  WHARF_OP(53, kPosted, false);
  static constexpr const char* kName = "RunConvolution";
  uint64_t stream = 0;
  device::Convolution primitive;
  auto Fields() { return std::tie(stream, primitive); }
};
struct RunPooling {
  WHARF_OP(54, kPosted, false);
  static constexpr const char* kName = "RunPooling";
  uint64_t stream = 0;
  device::Pooling primitive;
  auto Fields() { return std::tie(stream, primitive); }
};
struct RunBatchNorm {
  WHARF_OP(55, kPosted, false);
  static constexpr const char* kName = "RunBatchNorm";
  uint64_t stream = 0;
  device::BatchNorm primitive;
  auto Fields() { return std::tie(stream, primitive); }
};
struct RunSoftmax {
  WHARF_OP(56, kPosted, false);
  static constexpr const char* kName = "RunSoftmax";
  uint64_t stream = 0;
  device::Softmax primitive;
  auto Fields() { return std::tie(stream, primitive); }
};
struct RunPointwise {
  WHARF_OP(57, kPosted, false);
  static constexpr const char* kName = "RunPointwise";
  uint64_t stream = 0;
  device::Pointwise primitive;
  auto Fields() { return std::tie(stream, primitive); }
};
struct RunRecurrent {
  WHARF_OP(58, kPosted, false);
  static constexpr const char* kName = "RunRecurrent";
  uint64_t stream = 0;
  device::Recurrent primitive;
  auto Fields() { return std::tie(stream, primitive); }
};
struct RunFourier {
  WHARF_OP(59, kPosted, false);
  static constexpr const char* kName = "RunFourier";
  uint64_t stream = 0;
  device::Fourier primitive;
  auto Fields() { return std::tie(stream, primitive); }
};
struct RunLapack {
  WHARF_OP(60, kPosted, false);
  static constexpr const char* kName = "RunLapack";
  uint64_t stream = 0;
  device::Lapack primitive;
  auto Fields() { return std::tie(stream, primitive); }
};
struct RunDnnGraph {
  WHARF_OP(61, kPosted, false);
  static constexpr const char* kName = "RunDnnGraph";
  uint64_t stream = 0;
  device::DnnGraph primitive;
  auto Fields() { return std::tie(stream, primitive); }
};
template <typename Op>
concept RunsPrimitive = requires(const Op& op) {
  device::Primitive(op.primitive);
};
inline RunConvolution RunOf(uint64_t stream, const device::Convolution& what) { return {stream, what}; }
inline RunPooling RunOf(uint64_t stream, const device::Pooling& what) { return {stream, what}; }
inline RunBatchNorm RunOf(uint64_t stream, const device::BatchNorm& what) { return {stream, what}; }
inline RunSoftmax RunOf(uint64_t stream, const device::Softmax& what) { return {stream, what}; }
inline RunPointwise RunOf(uint64_t stream, const device::Pointwise& what) { return {stream, what}; }
inline RunRecurrent RunOf(uint64_t stream, const device::Recurrent& what) { return {stream, what}; }
inline RunFourier RunOf(uint64_t stream, const device::Fourier& what) { return {stream, what}; }
inline RunLapack RunOf(uint64_t stream, const device::Lapack& what) { return {stream, what}; }
inline RunDnnGraph RunOf(uint64_t stream, const device::DnnGraph& what) { return {stream, what}; }

// Reply bulk: the packed bytes (at most kMaxBulkBytes a request).
struct CopyToHost {
  WHARF_OP(64, kBlocking, false);
  static constexpr const char* kName = "CopyToHost";
  using Reply = Nothing;
  uint64_t stream = 0;
  device::Region from;
  device::Extent extent;
  auto Fields() { return std::tie(stream, from, extent); }
};
struct SynchronizeStream {
  WHARF_OP(65, kBlocking, false);
  static constexpr const char* kName = "SynchronizeStream";
  using Reply = Nothing;
  uint64_t stream = 0;
  auto Fields() { return std::tie(stream); }
};
struct SynchronizeDevice {
  WHARF_OP(66, kBlocking, false);
  static constexpr const char* kName = "SynchronizeDevice";
  using Reply = Nothing;
  auto Fields() { return std::tuple<>(); }
};
struct SynchronizeEvent {
  WHARF_OP(67, kBlocking, false);
  static constexpr const char* kName = "SynchronizeEvent";
  using Reply = Nothing;
  uint64_t event = 0;
  auto Fields() { return std::tie(event); }
};
// error is kNotReady while work is pending.
struct QueryStream {
  WHARF_OP(68, kBlocking, false);
  static constexpr const char* kName = "QueryStream";
  using Reply = Nothing;
  uint64_t stream = 0;
  auto Fields() { return std::tie(stream); }
};
struct QueryEvent {
  WHARF_OP(69, kBlocking, false);
  static constexpr const char* kName = "QueryEvent";
  using Reply = Nothing;
  uint64_t event = 0;
  auto Fields() { return std::tie(event); }
};
struct ElapsedTime {
  WHARF_OP(70, kBlocking, false);
  static constexpr const char* kName = "ElapsedTime";
  struct Reply {
    float milliseconds = 0;
    auto Fields() { return std::tie(milliseconds); }
  };
  uint64_t start = 0, end = 0;
  auto Fields() { return std::tie(start, end); }
};
struct FindSymbol {
  WHARF_OP(71, kBlocking, false);
  static constexpr const char* kName = "FindSymbol";
  struct Reply {
    device::Symbol symbol;
    auto Fields() { return std::tie(symbol); }
  };
  uint64_t module = 0;
  std::string name;
  auto Fields() { return std::tie(module, name); }
};
struct GetAttributes {
  WHARF_OP(72, kBlocking, false);
  static constexpr const char* kName = "GetAttributes";
  struct Reply {
    device::FunctionAttributes attributes;
    auto Fields() { return std::tie(attributes); }
  };
  uint64_t function = 0;
  auto Fields() { return std::tie(function); }
};
// Answered as soon as everything sent before was accepted. `percall` mode puts one behind each call that needs no other
// answer, so that a call costs one round trip, as it does in per-call remoting; `function` says which (an index of
// cudashim/api.def).
struct Acknowledge {
  WHARF_OP(73, kBlocking, false);
  static constexpr const char* kName = "Acknowledge";
  using Reply = Nothing;
  uint32_t function = 0;
  auto Fields() { return std::tie(function); }
};
struct SessionStats {
  WHARF_OP(74, kBlocking, false);
  static constexpr const char* kName = "SessionStats";
  struct Reply {
    uint64_t busy_nanoseconds = 0, launches = 0, mapped_bytes = 0, kernels_compiled = 0;
    uint64_t run_ahead = 0, undone = 0;  // operations executed before the program made them; of these, taken back
    auto Fields() { return std::tie(busy_nanoseconds, launches, mapped_bytes, kernels_compiled, run_ahead, undone); }
  };
  auto Fields() { return std::tuple<>(); }
};
// What a device that is made of several has to say of its work.
struct DescribeDevice {
  WHARF_OP(75, kBlocking, false);
  static constexpr const char* kName = "DescribeDevice";
  struct Reply {
    std::string report;  // a JSON object, or ""
    auto Fields() { return std::tie(report); }
  };
  auto Fields() { return std::tuple<>(); }
};
// Answered, unlike other operations that make something: the device chooses the handle, which is a number that kernels
// use.
struct CreateTexture {
  WHARF_OP(76, kBlocking, false);
  static constexpr const char* kName = "CreateTexture";
  struct Reply {
    uint64_t texture = 0;
    auto Fields() { return std::tie(texture); }
  };
  device::TextureDescription texture;
  auto Fields() { return std::tie(texture); }
};
struct CreateSurface {
  WHARF_OP(77, kBlocking, false);
  static constexpr const char* kName = "CreateSurface";
  struct Reply {
    uint64_t surface = 0;
    auto Fields() { return std::tie(surface); }
  };
  device::ImageDescription image;
  auto Fields() { return std::tie(image); }
};
struct EncodeTensorMap {
  WHARF_OP(78, kBlocking, false);
  static constexpr const char* kName = "EncodeTensorMap";
  struct Reply {
    device::TensorMap map{};
    auto Fields() { return std::tie(map); }
  };
  device::TensorMapDescription map;
  auto Fields() { return std::tie(map); }
};
#undef WHARF_OP

template <typename... Ops>
struct OpList {};
using AllOps =
    OpList<MapMemory, UnmapMemory, LoadModule, UnloadModule, DefineFunction, SetMaxDynamicShared, CreateStream,
           DestroyStream, CreateEvent, DestroyEvent, RecordEvent, WaitEvent, CopyToDevice, CopyOnDevice, Fill, Launch,
           RunGemm, RequestHostCall, HostCallDone, DestroyTexture, DestroySurface, RunConvolution, RunPooling,
           RunBatchNorm, RunSoftmax, RunPointwise, RunRecurrent, RunFourier, RunLapack, RunDnnGraph, CopyToHost,
           SynchronizeStream, SynchronizeDevice, SynchronizeEvent, QueryStream, QueryEvent, ElapsedTime, FindSymbol,
           GetAttributes, Acknowledge, SessionStats, DescribeDevice, CreateTexture, CreateSurface, EncodeTensorMap>;

// Operations that repeat with the inferences of a program and can be predicted (replay/step_op.h).
using StepOps =
    OpList<MapMemory, UnmapMemory, CreateStream, DestroyStream, CreateEvent, DestroyEvent, RecordEvent, WaitEvent,
           CopyToDevice, CopyOnDevice, Fill, Launch, RunGemm, RequestHostCall, CopyToHost, SynchronizeStream,
           SynchronizeDevice, SynchronizeEvent, QueryStream, QueryEvent, ElapsedTime, RunConvolution, RunPooling,
           RunBatchNorm, RunSoftmax, RunPointwise, RunRecurrent, RunFourier, RunLapack, RunDnnGraph>;

}  // namespace wharf::offload
