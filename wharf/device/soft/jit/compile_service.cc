#include "wharf/device/soft/jit/compile_service.h"

#include <pthread.h>

#include <optional>
#include <thread>
#include <utility>

#include "wharf/device/cuda_error.h"
#include "wharf/device/ptx/parser.h"
#include "wharf/device/soft/codegen/program.h"
#include "wharf/device/soft/jit/cache.h"
#include "wharf/device/soft/jit/compile_wire.h"
#include "wharf/device/soft/jit/engine.h"
#include "wharf/device/soft/jit/object_maker.h"

namespace wharf::device::soft {
namespace {

// Made, and asked to answer, on one thread.
class CompileServer {
 public:
  CompileServer(std::unique_ptr<link::ByteStream> stream, std::unique_ptr<JitEngine> engine, std::string directory)
      : stream_(std::move(stream)), engine_(std::move(engine)), store_(std::move(directory)) {
    pthread_getcpuclockid(pthread_self(), &processor_);
  }

  // On another thread, until Stop: ends with `on_late` when a kernel has taken too long.
  void Watch(const CompileLimit& limit) {
    absl::MutexLock lock(&mutex_);
    while (!mutex_.AwaitWithTimeout(absl::Condition(&stopped_), absl::Milliseconds(100))) {
      if (!began_ || ProcessorTime(processor_) - *began_ < limit.time) continue;
      const std::string why =
          fmt::format("kernel {}: compiling it takes more than {:g} s of processor time (the server's --compile-limit)",
                      kernel_, Seconds(limit.time));
      SendReply(*stream_, static_cast<int32_t>(CudaError::kInvalidPtx), why).IgnoreError();
      limit.on_late();
      return;
    }
  }
  void Stop() {
    absl::MutexLock lock(&mutex_);
    stopped_ = true;
  }

  // Fails when there is nobody to answer any more.
  absl::Status AnswerNext() {
    WHARF_ASSIGN_OR_RETURN(CompileRequest request, ReadRequest(*stream_));
    {
      absl::MutexLock lock(&mutex_);
      began_ = ProcessorTime(processor_);
      kernel_ = request.kernel;
    }
    const absl::StatusOr<std::unique_ptr<llvm::MemoryBuffer>> object =
        Make(std::move(request.text), request.kernel, request.block, request.checks);
    {
      absl::MutexLock lock(&mutex_);  // waits for who is saying that it took too long
      began_.reset();
    }
    if (object.ok()) {
      const llvm::StringRef code = (*object)->getBuffer();
      return SendReply(*stream_, 0, {code.data(), code.size()});
    }
    const std::string why(Message(object.status()));
    return SendReply(*stream_, static_cast<int32_t>(CudaErrorOf(object.status())), why);
  }

 private:
  absl::StatusOr<std::unique_ptr<llvm::MemoryBuffer>> Make(std::string text, const std::string& kernel,
                                                           const Dim3& block, check::Checks checks) {
    // Kernels of one module are asked for one after the other.
    if (module_ == nullptr || *module_->text != text) {
      WHARF_ASSIGN_OR_RETURN(module_, ptx::Parse(std::move(text)));
    }
    WHARF_ASSIGN_OR_RETURN(Program program, Analyze(*module_, kernel));
    AddChecks(checks, &program);
    program.block = CodeShape(program, block);
    const CompilerOptions options;  // always confined
    WHARF_ASSIGN_OR_RETURN(std::unique_ptr<llvm::MemoryBuffer> object, MakeObject(program, *engine_, options));
    // Named by what it was made of, not by who asked for it.
    store_.Put(ObjectName(program, *engine_, options), *object);
    return object;
  }

  const std::unique_ptr<link::ByteStream> stream_;
  const std::unique_ptr<JitEngine> engine_;
  const ObjectStore store_;
  std::shared_ptr<const ptx::Module> module_;  // of the last request
  clockid_t processor_{};

  absl::Mutex mutex_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<Nanoseconds> began_ ABSL_GUARDED_BY(mutex_);  // of the thread's time; nothing: it waits for a request
  std::string kernel_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::Status ServeCompilations(int socket, const std::string& cache_directory, const CompileLimit& limit) {
  std::unique_ptr<link::ByteStream> stream = link::FromSocket(socket);
  WHARF_ASSIGN_OR_RETURN(std::unique_ptr<JitEngine> engine, JitEngine::Create());
  CompileServer server(std::move(stream), std::move(engine), cache_directory);
  std::thread watch;
  if (limit.time > Nanoseconds::zero()) watch = std::thread([&] { server.Watch(limit); });
  while (server.AnswerNext().ok()) {
  }
  server.Stop();
  if (watch.joinable()) watch.join();
  return absl::OkStatus();
}

CompileClient::CompileClient(int socket) : stream_(link::FromSocket(socket)) {}

absl::StatusOr<std::string> CompileClient::Compile(std::string_view ptx, std::string_view kernel, const Dim3& block,
                                                   check::Checks checks) {
  if (ptx.size() > kMostText || kernel.size() > kMostName) {
    return CudaStatus(CudaError::kInvalidPtx, "kernel {}: its module is too large to be compiled", kernel);
  }
  absl::MutexLock lock(&mutex_);
  absl::StatusOr<std::string> object = Ask(ptx, kernel, block, checks);
  if (object.ok() || CudaErrorOf(object.status()) != CudaError::kRemoteLost) return object;
  stream_->Shutdown();
  return CudaStatus(CudaError::kInvalidPtx, "kernel {}: the process that compiles kernels has ended", kernel);
}

absl::StatusOr<std::string> CompileClient::Ask(std::string_view ptx, std::string_view kernel, const Dim3& block,
                                               check::Checks checks) {
  const auto lost = [](const absl::Status& why) {
    return CudaStatus(CudaError::kRemoteLost, std::string(Message(why)));
  };
  if (const absl::Status sent = SendRequest(*stream_, ptx, kernel, block, checks); !sent.ok()) return lost(sent);
  absl::StatusOr<CompileReply> reply = ReadReply(*stream_);
  if (!reply.ok()) return lost(reply.status());
  if (reply->error != 0) return CudaStatus(static_cast<CudaError>(reply->error), std::move(reply->text));
  return std::move(reply->text);
}

}  // namespace wharf::device::soft
