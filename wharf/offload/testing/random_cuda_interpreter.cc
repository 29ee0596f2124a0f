#include "wharf/offload/testing/random_cuda_interpreter.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <thread>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "wharf/device/soft/driver/soft_device.h"
#include "wharf/device/soft/jit/compiler.h"
#include "wharf/link/emulation/emulator.h"
#include "wharf/offload/client/client_session.h"
#include "wharf/offload/testing/generated/random_cuda_kernels_ptx.h"
#include "wharf/offload/testing/loopback_server.h"

namespace wharf::offload {
namespace {

using device::CudaError;
using device::DeviceAddress;
using Kind = Observation::Kind;

constexpr CudaError kOk = CudaError::kSuccess;
constexpr uint64_t kInstanceBuffers = 64;  // of the smallest size: more than there are
constexpr uint64_t kWord = 4;
constexpr uint32_t kBlock = 64;
constexpr uint64_t kPadding = 700 << 10;  // some fifty different ones are more than both ends remember
constexpr uint64_t kNonBlockingStream = 1;
// Of every device that is compared with another: programs' results have addresses in them. ThreadSanitizer leaves so
// little room that there is one place anyway.
#ifdef __SANITIZE_THREAD__
constexpr device::DeviceAddress kArenaBase = 0;
#else
constexpr device::DeviceAddress kArenaBase = uint64_t{0x2020} << 32;
#endif

// One compiler for many devices, so that a kernel is compiled once; a new one now and then, as it keeps the code it
// made for every place of a module's variables.
std::shared_ptr<device::soft::Compiler> CommonCompiler() {
  constexpr int kUses = 200;
  static absl::Mutex mutex(absl::kConstInit);
  static auto* const compiler = new std::shared_ptr<device::soft::Compiler>();
  static int uses = 0;
  absl::MutexLock lock(&mutex);
  if (uses++ % kUses == 0) {
    *compiler =
        device::soft::Compiler::Create(std::filesystem::temp_directory_path() / "wharf_random_cuda_kernels").value();
  }
  return *compiler;
}

class SharedCompiler final : public device::soft::Compiler {
 public:
  absl::StatusOr<std::shared_ptr<const device::soft::CompiledKernel>> Compile(
      const device::ptx::Module& module, std::string_view kernel, const device::soft::SymbolResolver& symbols,
      const device::Dim3& block) override {
    return compiler_->Compile(module, kernel, symbols, block);
  }

 private:
  const std::shared_ptr<device::soft::Compiler> compiler_ = CommonCompiler();
};

std::unique_ptr<device::Device> MakeDevice(const ExecutionOptions& options) {
  auto device = MakeRandomProgramDevice(options.quota);
  return options.wrap_device ? options.wrap_device(std::move(device)) : std::move(device);
}

uint64_t Hash(std::span<const std::byte> bytes, uint64_t hash = 0xcbf29ce484222325) {
  for (const std::byte byte : bytes) hash = (hash ^ std::to_integer<uint64_t>(byte)) * 0x100000001b3;
  return hash;
}

// A server, a link and a session.
class Connection {
 public:
  explicit Connection(const ExecutionOptions& options) {
    link::Faults up, down;
    link::LinkProfile profile;
    if (options.disturbance != 0) {
      std::mt19937_64 random(options.disturbance);
      std::uniform_int_distribution<size_t> chunk(24, 4096), delay(0, 100);
      up.max_read = chunk(random);
      down.max_read = chunk(random);
      profile.round_trip = std::chrono::microseconds(delay(random));
      profile.jitter = std::chrono::microseconds(delay(random));
      profile.seed = random();
    }
    auto [client, server] = link::MemoryPair(up, down, options.disturbance == 0 ? nullptr : &profile);
    server_ = std::make_unique<LoopbackServer>(std::move(server), MakeDevice(options));
    ClientSessionOptions session;
    session.mode = options.mode;
    session.unsafe_replay = options.unsafe_replay;
    session.timeout = std::chrono::seconds(60);
    session.output = [this](std::string_view text) { output_ += text; };
    session.on_lost = [this](std::string_view reason) { lost_ = reason; };
    session_ = ClientSession::Open(std::move(client), session).value();
  }

  ClientSession& session() { return *session_; }

  // Ends the session and adds what concerns all of it.
  void Close(Trace& trace) {
    const ReplayCounters replay = server_->executor().Counters().replay;
    trace.run_ahead = replay.run_ahead;
    trace.undone = replay.undone;
    trace.guarded = replay.guarded;
    trace.violations = replay.violations;
    const PredictionCounters prediction = session_->Counters().prediction;
    trace.forgotten = prediction.forgotten;
    trace.predicted = prediction.hits + prediction.changed + prediction.jumps;
    trace.operations = trace.predicted + prediction.unknown;
    trace.class_violations = session_->ClassViolations();
    session_.reset();  // nothing adds to the trace any more
    trace.output = output_;
    trace.lost = lost_;
  }

 private:
  std::string output_, lost_;
  std::unique_ptr<LoopbackServer> server_;
  std::unique_ptr<ClientSession> session_;
};

class Interpreter {
 public:
  // `instance` keeps apart what several interpreters do in one session.
  Interpreter(const RandomCudaProgram& program, const ExecutionOptions& options, ClientSession& session,
              uint64_t instance)
      : program_(program),
        options_(options),
        session_(session),
        memory_(MemoryOf(session.welcome().arena, options, instance)),
        random_(options.disturbance + instance),
        next_id_((instance + 1) << 32) {
    streams_[0] = device::kDefaultStream;
  }

  Trace Run() {
    LoadModule();
    std::vector<std::thread> others;
    for (uint8_t thread = 1; thread < kThreads; ++thread) {
      const auto is_its = [thread](const Op& op) { return op.thread == thread; };
      if (std::any_of(program_.begin(), program_.end(), is_its)) {
        others.emplace_back([this, thread] { TakeTurns(thread); });
      }
    }
    TakeTurns(0);
    for (std::thread& other : others) other.join();
    op_ = static_cast<uint32_t>(program_.size());
    ReadAll();
    session_.WaitForDetached();
    return std::move(trace_);
  }

 private:
  struct Buffer {
    bool live = false;
    DeviceAddress address = 0;
    uint64_t words = 0;
  };
  // Words of a buffer an operation may touch, or is to touch if it is wild.
  struct Reach {
    DeviceAddress address = 0;
    uint32_t count = 0, rows = 1;
  };
  using Pinned = std::shared_ptr<std::vector<std::byte>>;

  // Where an instance's buffers begin.
  static DeviceAddress MemoryOf(const device::Arena& arena, const ExecutionOptions& options, uint64_t instance) {
    const uint64_t size = kInstanceBuffers * options.scale * arena.granularity;
    return options.high ? arena.base + arena.size - (instance + 1) * size : arena.base + instance * size;
  }

  // --- whose turn it is ---

  void TakeTurns(uint8_t thread) {
    struct Turn {
      Interpreter* self;
      uint8_t thread;
    } turn{this, thread};
    const auto is_on = +[](Turn* t) {
      return t->self->next_ >= t->self->program_.size() || t->self->program_[t->self->next_].thread == t->thread;
    };
    absl::MutexLock lock(&baton_);
    while (true) {
      baton_.Await(absl::Condition(is_on, &turn));
      if (next_ >= program_.size()) return;
      op_ = static_cast<uint32_t>(next_++);
      Pause();
      Execute(program_[op_]);
      // Only kernels fault.
      const OpKind kind = program_[op_].kind;
      if (options_.settle && (kind == OpKind::kLaunch || kind == OpKind::kToss)) {
        trace_.calls.back().fault = session_.Ask(SynchronizeDevice{});
      }
    }
  }

  // A program computes between its calls, and the server may get ahead of it or not.
  void Pause() {
    if (options_.disturbance == 0 || random_() % 8 != 0) return;
    std::this_thread::sleep_for(std::chrono::microseconds(random_() % (random_() % 16 == 0 ? 3000 : 200)));
  }

  // --- calls ---

  // One call of the program, which sends what `body` sends.
  template <typename Body>
  void Call(Kind kind, Body&& body) {
    CallScope scope(0, kind == Kind::kPosted ? CallClass::kPosted : CallClass::kBlocking);
    Observation seen;
    seen.op = op_;
    seen.kind = kind;
    seen.error = session_.Finish(scope, body(seen));
    if (seen.error == CudaError::kNotReady) seen.error = kOk;
    trace_.calls.push_back(std::move(seen));
  }
  template <typename Operation>
  void Post(const Operation& operation, std::span<const std::byte> bulk = {}) {
    Call(Kind::kPosted, [&](Observation&) { return session_.Post(operation, bulk); });
  }
  void Refuse(CudaError error) {
    trace_.calls.emplace_back();
    trace_.calls.back().op = op_;
    trace_.calls.back().kind = Kind::kRefused;
    trace_.calls.back().error = error;
  }

  void LoadModule() {
    Call(Kind::kPosted, [this](Observation&) {
      module_ = next_id_++;
      const std::span<const char> image(kRandomCudaKernels.data(), kRandomCudaKernels.size());
      CudaError error = session_.Post(offload::LoadModule{module_, true}, std::as_bytes(image));
      for (int i = 0; i < kKernels; ++i) {
        functions_[static_cast<size_t>(i)] = next_id_;
        const std::string name(Name(static_cast<Kernel>(i)));
        error = session_.Post(DefineFunction{next_id_++, module_, name});
      }
      return error;
    });
  }

  void Execute(const Op& op) {
    switch (op.kind) {
      case OpKind::kAllocate:
      case OpKind::kFree:
      case OpKind::kUpload:
      case OpKind::kDownload:
      case OpKind::kDownloadLater:
      case OpKind::kCopy:
      case OpKind::kFill:
      case OpKind::kLaunch:
      case OpKind::kGemm:
      case OpKind::kToss:
        return ExecuteOnBuffers(op);
      case OpKind::kSkip:
        if (op.value % 64 < last_download_.size() && (std::to_integer<int>(last_download_[op.value % 64]) & 1) != 0) {
          next_ += op.count % 8;
        }
        return;
      case OpKind::kReadAll:
        return ReadAll();
      case OpKind::kReload:
        Post(UnloadModule{module_});
        return LoadModule();
      case OpKind::kSynchronizeDevice:
        return SynchronizeAll();
      default:
        return ExecuteOnStreams(op);
    }
  }

  // --- streams and events ---

  void ExecuteOnStreams(const Op& op) {
    uint64_t& stream = streams_[op.stream];
    uint64_t& event = events_[op.event];
    const bool has_stream = op.stream == 0 || stream != 0;
    switch (op.kind) {
      case OpKind::kCreateStream:
        if (op.stream == 0 || has_stream) return Refuse(CudaError::kInvalidValue);
        stream = next_id_++;
        return Post(CreateStream{stream, kNonBlockingStream, 0});
      case OpKind::kDestroyStream:
        if (op.stream == 0 || !has_stream) return Refuse(CudaError::kInvalidHandle);
        return Post(DestroyStream{std::exchange(stream, 0)});
      case OpKind::kCreateEvent:
        if (event != 0) return Refuse(CudaError::kInvalidValue);
        event = next_id_++;
        return Post(CreateEvent{event, 0});
      case OpKind::kDestroyEvent:
        if (event == 0) return Refuse(CudaError::kInvalidHandle);
        return Post(DestroyEvent{std::exchange(event, 0)});
      case OpKind::kRecordEvent:
        return has_stream && event != 0 ? Post(RecordEvent{event, stream}) : Refuse(CudaError::kInvalidHandle);
      case OpKind::kWaitEvent:
        return has_stream && event != 0 ? Post(WaitEvent{stream, event}) : Refuse(CudaError::kInvalidHandle);
      case OpKind::kHostCall:
        return has_stream ? HostCall(op.stream) : Refuse(CudaError::kInvalidHandle);
      case OpKind::kSynchronizeStream:
        return has_stream ? Settle(op.stream, SynchronizeStream{stream}) : Refuse(CudaError::kInvalidHandle);
      case OpKind::kQueryStream:
        return has_stream ? Settle(op.stream, QueryStream{stream}) : Refuse(CudaError::kInvalidHandle);
      case OpKind::kPollStream:
        return has_stream ? Poll(stream) : Refuse(CudaError::kInvalidHandle);
      case OpKind::kSynchronizeEvent:
        return event != 0 ? Ask(SynchronizeEvent{event}) : Refuse(CudaError::kInvalidHandle);
      case OpKind::kQueryEvent:
        return event != 0 ? Ask(QueryEvent{event}) : Refuse(CudaError::kInvalidHandle);
      default:
        std::abort();
    }
  }

  template <typename Operation>
  void Ask(const Operation& operation) {
    Call(Kind::kWaits, [&](Observation&) { return session_.Ask(operation); });
  }

  // As the libraries do: what is known to be done is not asked again.
  template <typename Operation>
  void Settle(uint8_t slot, const Operation& operation) {
    Call(Kind::kWaits, [&](Observation& seen) {
      const CudaError error = Settled(operation);
      if constexpr (std::is_same_v<Operation, SynchronizeStream>) See(slot, error, seen);
      return error;
    });
  }
  template <typename Operation>
  CudaError Settled(const Operation& operation) {
    if (session_.IsKnownDone(operation.stream)) return kOk;
    const ClientSession::RequestPtr request = session_.Start(operation);
    const CudaError error = session_.Wait({&request, 1});
    if (error == kOk) session_.NoteDone(*request, operation.stream);
    return error;
  }
  // Asks until the stream is done.
  void Poll(uint64_t stream) {
    Call(Kind::kWaits, [&](Observation&) {
      CudaError error = Settled(QueryStream{stream});
      while (error == CudaError::kNotReady) {
        std::this_thread::yield();
        error = Settled(QueryStream{stream});
      }
      return error;
    });
  }
  void SynchronizeAll() {
    Call(Kind::kSettles, [this](Observation& seen) {
      const CudaError error = session_.Ask(SynchronizeDevice{});
      for (uint8_t slot = 0; slot < kStreamSlots; ++slot) See(slot, error, seen);
      return error;
    });
  }

  // What was copied to pinned memory on a stream that has been waited for.
  void See(uint8_t slot, CudaError error, Observation& seen) {
    if (device::IsSticky(error)) return;  // copies may still be under way
    for (const Pinned& pinned : pinned_[slot]) seen.bytes.insert(seen.bytes.end(), pinned->begin(), pinned->end());
    pinned_[slot].clear();
  }

  void HostCall(uint8_t slot) {
    Call(Kind::kPosted, [&](Observation&) {
      return session_.PostHostCall(streams_[slot], [this, pinned = pinned_[slot]] {
        uint64_t hash = 0;
        for (const Pinned& each : pinned) hash = Hash(*each, hash);
        trace_.host_calls.push_back(hash);
      });
    });
  }

  // --- buffers ---

  void ExecuteOnBuffers(const Op& op) {
    if (op.kind == OpKind::kAllocate) return Allocate(op);
    if (op.kind == OpKind::kFree) return Free(op);
    if (op.stream != 0 && streams_[op.stream] == 0) return Refuse(CudaError::kInvalidHandle);
    const bool computes = op.kind == OpKind::kLaunch || op.kind == OpKind::kGemm || op.kind == OpKind::kToss;
    const int wanted = op.kind == OpKind::kCopy ? 2 : computes ? 3 : 1;
    for (int i = 0; i < wanted && !op.wild; ++i) {
      if (!buffers_[op.buffers[static_cast<size_t>(i)]].live) return Refuse(CudaError::kInvalidValue);
    }
    if (op.kind == OpKind::kLaunch) return Launch(op);
    if (op.kind == OpKind::kGemm) return Gemm(op);
    if (op.kind == OpKind::kToss) return Toss(op);
    Transfer(op, wanted);
  }

  void Allocate(const Op& op) {
    const uint8_t slot = op.buffers[0];
    Buffer& buffer = buffers_[slot];
    if (buffer.live) return Refuse(CudaError::kInvalidValue);
    const uint64_t granule = options_.scale * session_.welcome().arena.granularity;
    const uint64_t place = 2 * uint64_t{slot} + op.value % 2, size = (1 + slot % 2) * granule;
    buffer = {true, memory_ + 4 * place * granule, size / kWord};
    Post(MapMemory{buffer.address, size});
  }
  void Free(const Op& op) {
    Buffer& buffer = buffers_[op.buffers[0]];
    if (!buffer.live && !op.wild) return Refuse(CudaError::kInvalidValue);
    buffer.live = false;
    Post(UnmapMemory{buffer.address});
  }

  // The part of its first `wanted` buffers an operation touches, cut to what all of them have.
  Reach Touched(const Op& op, int wanted) const {
    Reach reach{op.offset * kWord, op.count, op.rows};
    if (op.wild) return reach;
    uint64_t words = UINT64_MAX;
    for (int i = 0; i < wanted; ++i) words = std::min(words, buffers_[op.buffers[static_cast<size_t>(i)]].words);
    words -= op.offset;
    reach.count = static_cast<uint32_t>(std::min<uint64_t>(op.count, words));
    if (uint64_t{2} * reach.count * reach.rows > words) reach.rows = 1;
    return reach;
  }
  DeviceAddress At(const Op& op, size_t index, const Reach& reach) const {
    return buffers_[op.buffers[index]].address + reach.address;
  }

  void Transfer(const Op& op, int wanted) {
    const Reach reach = Touched(op, wanted);
    const device::Extent extent{reach.count * kWord, reach.rows, 1};
    const uint64_t pitch = 2 * extent.width, stream = streams_[op.stream];
    const device::Region first{At(op, 0, reach), pitch, 0}, second{At(op, 1, reach), pitch, 0};
    switch (op.kind) {
      case OpKind::kUpload:
        return Post(CopyToDevice{stream, first, extent}, RandomBytes(op.value, extent.width * extent.height));
      case OpKind::kCopy:
        return Post(CopyOnDevice{stream, first, second, extent});
      case OpKind::kFill: {
        const uint32_t element = uint32_t{1} << op.value % 3;
        return Post(Fill{stream, first, extent, op.value * 0x01010101, element});
      }
      case OpKind::kDownload:
        return Download(CopyToHost{stream, first, extent});
      case OpKind::kDownloadLater:
        return DownloadLater(op.stream, CopyToHost{stream, first, extent});
      default:
        std::abort();
    }
  }

  static std::vector<std::byte> RandomBytes(uint32_t seed, uint64_t size) {
    std::vector<std::byte> bytes(size);
    std::minstd_rand random(seed + 1);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() >> 8);
    return bytes;
  }

  void Download(const CopyToHost& copy) {
    Call(Kind::kWaits, [&](Observation& seen) {
      seen.bytes.resize(copy.extent.width * copy.extent.height);
      const ClientSession::RequestPtr request = session_.Start(copy, seen.bytes);
      const CudaError error = session_.Wait({&request, 1});
      if (error == kOk) session_.NoteDone(*request, copy.stream);
      last_download_ = seen.bytes;
      return error;
    });
  }
  void DownloadLater(uint8_t slot, const CopyToHost& copy) {
    const auto pinned = std::make_shared<std::vector<std::byte>>(copy.extent.width * copy.extent.height);
    pinned_[slot].push_back(pinned);
    every_pinned_.push_back(pinned);
    const bool detached = !IsPerCall(options_.mode);
    CallScope scope(0, CallClass::kBlocking);
    const ClientSession::RequestPtr request = session_.Start(copy, *pinned, detached);
    const CudaError error = detached ? session_.StickyError() : session_.Wait({&request, 1});
    Observation seen;
    seen.op = op_;
    seen.error = session_.Finish(scope, error);
    trace_.calls.push_back(std::move(seen));
  }

  void Toss(const Op& op) {
    const Reach reach = Touched(op, 3);
    Download(CopyToHost{streams_[op.stream], {At(op, 1, reach), kWord, 0}, {kWord, 1, 1}});
    if ((std::to_integer<int>(last_download_.front()) & 1) == 0) Launch(op);
  }

  void Launch(const Op& op) {
    const Reach reach = Touched(op, 3);
    offload::Launch launch;
    launch.stream = streams_[op.stream];
    launch.function = functions_[static_cast<size_t>(op.kernel)];
    launch.config.grid.x = (reach.count + kBlock - 1) / kBlock;
    launch.config.block.x = kBlock;
    const struct {
      DeviceAddress a, b, c;
      uint32_t n, k;
    } parameters{At(op, 0, reach), At(op, 1, reach), At(op, 2, reach), reach.count, op.value};
    const auto bytes = std::as_bytes(std::span(&parameters, 1));
    launch.parameters.assign(bytes.begin(), bytes.end());
    if (op.padded) {
      const std::vector<std::byte> padding = RandomBytes(op.value, kPadding);
      launch.parameters.insert(launch.parameters.end(), padding.begin(), padding.end());
    }
    Post(launch);
  }

  void Gemm(const Op& op) {
    const Reach reach = Touched(op, 3);
    RunGemm run;
    run.stream = streams_[op.stream];
    run.gemm.m = run.gemm.n = run.gemm.k = op.value % 8 + 1;
    run.gemm.lda = run.gemm.ldb = run.gemm.ldc = run.gemm.ldd = run.gemm.m;
    run.gemm.c = run.gemm.d = At(op, 0, reach);
    run.gemm.a = At(op, 1, reach);
    run.gemm.b = At(op, 2, reach);
    run.gemm.beta[0] = op.value % 2;
    Post(run);
  }

  void ReadAll() {
    SynchronizeAll();
    for (const Buffer& buffer : buffers_) {
      if (buffer.live) Download(CopyToHost{0, {buffer.address, 0, 0}, {buffer.words * kWord, 1, 1}});
    }
    FindSymbol::Reply variable;
    Call(Kind::kWaits, [&](Observation&) { return session_.Ask(FindSymbol{module_, "variable"}, &variable); });
    Download(CopyToHost{0, {variable.symbol.address, 0, 0}, {kWord, 1, 1}});
  }

  const RandomCudaProgram& program_;
  const ExecutionOptions& options_;
  ClientSession& session_;
  const DeviceAddress memory_;  // where its buffers begin
  std::mt19937_64 random_;
  Trace trace_;

  absl::Mutex baton_;  // held by the thread whose turn it is; guards all below
  size_t next_ = 0;
  uint32_t op_ = 0;
  uint64_t next_id_, module_ = 0;
  std::array<uint64_t, kKernels> functions_{};
  std::array<Buffer, kBufferSlots> buffers_{};
  std::array<uint64_t, kStreamSlots> streams_{};
  std::array<uint64_t, kEventSlots> events_{};
  std::array<std::vector<Pinned>, kStreamSlots> pinned_;  // copied to since the stream was last waited for
  std::vector<Pinned> every_pinned_;
  std::vector<std::byte> last_download_;
};

}  // namespace

std::unique_ptr<device::Device> MakeRandomProgramDevice(uint64_t quota) {
  device::DeviceOptions options;
  options.memory_quota = quota;
  options.arena_base = kArenaBase;
  options.threads = 1;
  return device::soft::SoftDevice::Create(options, std::make_unique<SharedCompiler>()).value();
}

Trace Execute(const RandomCudaProgram& program, const ExecutionOptions& options) {
  Connection connection(options);
  Interpreter interpreter(program, options, connection.session(), 0);
  Trace trace = interpreter.Run();
  connection.Close(trace);
  return trace;
}

std::vector<Trace> ExecuteTogether(std::span<const RandomCudaProgram> programs, const ExecutionOptions& options) {
  Connection connection(options);
  std::vector<Trace> traces(programs.size());
  std::vector<std::unique_ptr<Interpreter>> interpreters;
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < programs.size(); ++i) {
      interpreters.push_back(std::make_unique<Interpreter>(programs[i], options, connection.session(), i));
      threads.emplace_back([&traces, i, interpreter = interpreters.back().get()] { traces[i] = interpreter->Run(); });
    }
  }
  Trace all;
  connection.Close(all);
  for (Trace& trace : traces) trace.lost = all.lost;
  return traces;
}

}  // namespace wharf::offload
