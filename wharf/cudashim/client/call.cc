#include "wharf/cudashim/client/call.h"

#include <atomic>
#include <new>
#include <unordered_set>

#include "wharf/base/log.h"
#include "wharf/base/trace.h"
#include "wharf/cudashim/client/process.h"

namespace wharf::client {
namespace {

using offload::CallClass;
using offload::CallScope;

constexpr CallInfo kCalls[] = {
#define WHARF_CALL(library, name, call_class, operations) {#library, #name, CallClass::call_class, operations},
#include "wharf/cudashim/api.def"
#undef WHARF_CALL
};

std::atomic<void (*)()> before_reset{nullptr};
thread_local CudaError last_error = CudaError::kSuccess;
// When the program's call on this thread began; kept only while tracing.
thread_local TimePoint call_began;

// Calls answered here are left out: they are most of all and take nanoseconds.
void TraceCall(Trace& trace, const CallScope& scope) {
  if (!scope.outermost() || scope.call_class() < CallClass::kPosted) return;
  const char* category = scope.call_class() == CallClass::kPosted ? "posted call" : "blocking call";
  trace.Complete(kCalls[scope.function()].name, category, call_began, trace.Now(),
                 TraceArgs().Add("round trips", scope.round_trips()));
}

}  // namespace

const CallInfo& Info(Call call) { return kCalls[static_cast<size_t>(call)]; }

CallGuard::CallGuard(Call call) {
  static_assert(sizeof(scope_) >= sizeof(CallScope) && alignof(CallScope) <= 8);
  const bool nested = CallScope::Current() != nullptr;
  new (scope_) CallScope(static_cast<uint32_t>(call), Info(call).call_class);
  if (nested) return;
  Process::Get().Count(call, Info(call).call_class);
  if (const Trace* const trace = Trace::Get()) call_began = trace->Now();
}

CallGuard::~CallGuard() {
  auto* const scope = reinterpret_cast<CallScope*>(scope_);
  if (Trace* const trace = Trace::Get()) TraceCall(*trace, *scope);
  if (scope->outermost() && scope->round_trips() > 0) Process::Get().CountWait(*scope);
  scope->~CallScope();
}

CudaError CallGuard::Finish(CudaError error) {
  Process& process = Process::Get();
  if (Connection* const connection = process.Current()) {
    error = connection->session->Finish(*reinterpret_cast<CallScope*>(scope_), error);
    if (error == CudaError::kIllegalAddress) ExplainFault(*connection);
  }
  if (error != CudaError::kSuccess && LogEnabled(LogLevel::kDebug)) {
    const auto& scope = *reinterpret_cast<const CallScope*>(scope_);
    Log(LogLevel::kDebug, "a call failed",
        {{"call", kCalls[scope.function()].name}, {"error", fmt::format("{}", static_cast<int>(error))}});
  }
  process.StayIfInterrupted();
  return error;
}

CudaError Connect() {
  CudaError error = CudaError::kSuccess;
  Process::Get().Connect(&error);
  return error;
}

bool IsConnected() { return Process::Get().Current() != nullptr; }

CudaError StickyError() {
  Connection* const connection = Process::Get().Current();
  return connection == nullptr ? CudaError::kSuccess : connection->session->StickyError();
}

void BeforeReset(void (*function)()) { before_reset.store(function); }

CudaError ResetDevice() {
  if (void (*const before)() = before_reset.load()) before();
  if (Connection* const connection = Process::Get().Current()) {
    if (connection->session->StickyError() == CudaError::kSuccess) {
      (void)connection->session->Ask(offload::SynchronizeDevice{});
    }
    Process::Get().Reset();
  }
  last_error = CudaError::kSuccess;
  return CudaError::kSuccess;
}

void SetLastError(CudaError error) {
  if (error != CudaError::kSuccess) last_error = error;
}

CudaError TakeLastError() {
  const CudaError error = PeekLastError();
  last_error = CudaError::kSuccess;
  return error;
}

CudaError PeekLastError() { return last_error; }

void ReportUnsupported(const char* name) {
  static absl::Mutex mutex;
  static auto* const reported = new std::unordered_set<const char*>();
  {
    absl::MutexLock lock(&mutex);
    if (!reported->insert(name).second) return;
  }
  Log(LogLevel::kWarning, "a CUDA function that Wharf does not cover was called; it returned \"not supported\"",
      {{"function", name}});
}

}  // namespace wharf::client
