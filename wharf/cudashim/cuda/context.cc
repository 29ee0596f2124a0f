// Contexts. There is one, the session's: every context handle of the program is that one; which is current is kept per
// thread, as programs expect.
#include "wharf/cudashim/cuda/context.h"

#include <array>
#include <atomic>
#include <vector>

#include "wharf/cudashim/cuda/driver.h"

namespace wharf::cudashim {
namespace {

char the_context;
thread_local std::vector<CUcontext> current;
std::atomic<unsigned> context_flags{0};
std::array<std::atomic<size_t>, CU_LIMIT_MAX> limits{1024, 1 << 20, 8 << 20, 2, 2048, 64};
std::atomic<int> cache_config{CU_FUNC_CACHE_PREFER_NONE};

CUcontext Context() { return reinterpret_cast<CUcontext>(&the_context); }

// The thread's current context; a program that used the runtime has the primary one.
CUcontext Current() {
  if (!current.empty()) return current.back();
  return client::IsConnected() ? Context() : nullptr;
}

CudaError Check(CUcontext context) { return context == Context() ? CudaError::kSuccess : CudaError::kInvalidContext; }

// None means the current one.
CudaError CheckOrCurrent(CUcontext context) { return Check(context != nullptr ? context : Current()); }

CudaError MakeCurrent(CUcontext context) {
  if (context != nullptr && context != Context()) return CudaError::kInvalidContext;
  if (current.empty()) {
    current.push_back(context);
  } else {
    current.back() = context;
  }
  return CudaError::kSuccess;
}

CudaError Push(CUcontext context) {
  const CudaError error = Check(context);
  if (error == CudaError::kSuccess) current.push_back(context);
  return error;
}

CudaError Pop(CUcontext* context) {
  const CUcontext top = Current();
  if (top == nullptr) return CudaError::kInvalidContext;
  if (!current.empty()) current.pop_back();
  if (context != nullptr) *context = top;
  return CudaError::kSuccess;
}

}  // namespace

CUcontext PrimaryContext() { return Context(); }
CUcontext CurrentContext() { return Current(); }

}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  return Driver(Call::k_cuDevicePrimaryCtxRetain, [&] {
    if (context == nullptr) return CudaError::kInvalidValue;
    *context = Context();
    return CheckDevice(device);
  });
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  return Driver(Call::k_cuDevicePrimaryCtxRelease_v2, [&] { return CheckDevice(device); });
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags) {
  return DriverLocal(Call::k_cuDevicePrimaryCtxSetFlags_v2, [&] {
    context_flags = flags;
    return CheckDevice(device);
  });
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  return DriverLocal(Call::k_cuDevicePrimaryCtxGetState, [&] {
    if (flags != nullptr) *flags = context_flags;
    if (active != nullptr) *active = client::IsConnected() ? 1 : 0;
    return CheckDevice(device);
  });
}

CUresult cuDevicePrimaryCtxReset(CUdevice device) {
  return DriverLocal(Call::k_cuDevicePrimaryCtxReset_v2,
                     [&] { return device != 0 ? CudaError::kInvalidDevice : client::ResetDevice(); });
}

CUresult cuCtxCreate(CUcontext* context, CUctxCreateParams*, unsigned, CUdevice device) {
  return Driver(Call::k_cuCtxCreate_v4, [&] {
    if (context == nullptr) return CudaError::kInvalidValue;
    if (device != 0) return CudaError::kInvalidDevice;
    *context = Context();
    return Push(*context);
  });
}

CUresult cuCtxDestroy(CUcontext context) {
  return Driver(Call::k_cuCtxDestroy_v2, [&] {
    const CudaError error = Check(context);
    if (error != CudaError::kSuccess) return error;
    (void)client::SynchronizeDevice();  // what was queued is done, and printed; its errors go with the context
    if (!current.empty()) current.pop_back();
    return error;
  });
}

CUresult cuCtxPushCurrent(CUcontext context) {
  return DriverLocal(Call::k_cuCtxPushCurrent_v2, [&] { return Push(context); });
}

CUresult cuCtxPopCurrent(CUcontext* context) {
  return DriverLocal(Call::k_cuCtxPopCurrent_v2, [&] { return Pop(context); });
}

CUresult cuCtxSetCurrent(CUcontext context) {
  return DriverLocal(Call::k_cuCtxSetCurrent, [&] { return MakeCurrent(context); });
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  return DriverLocal(Call::k_cuCtxGetCurrent, [&] {
    if (context == nullptr) return CudaError::kInvalidValue;
    *context = Current();
    return CudaError::kSuccess;
  });
}

CUresult cuCtxGetDevice(CUdevice* device) {
  return DriverLocal(Call::k_cuCtxGetDevice,
                     [&] { return Current() == nullptr ? CudaError::kInvalidContext : Store(device, 0); });
}

CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext context) {
  return DriverLocal(Call::k_cuCtxGetDevice_v2, [&] {
    const CudaError error = CheckOrCurrent(context);
    return error == CudaError::kSuccess ? Store(device, 0) : error;
  });
}

CUresult cuCtxGetFlags(unsigned* flags) {
  return DriverLocal(Call::k_cuCtxGetFlags, [&] { return Store(flags, context_flags.load()); });
}

CUresult cuCtxSetFlags(unsigned flags) {
  return DriverLocal(Call::k_cuCtxSetFlags, [&] {
    context_flags = flags;
    return CudaError::kSuccess;
  });
}

CUresult cuCtxGetId(CUcontext, unsigned long long* id) {
  return DriverLocal(Call::k_cuCtxGetId, [&] { return Store(id, 1); });
}

CUresult cuCtxGetApiVersion(CUcontext, unsigned* version) {
  return DriverLocal(Call::k_cuCtxGetApiVersion, [&] { return Store(version, CUDA_VERSION); });
}

CUresult cuCtxGetLimit(size_t* value, CUlimit limit) {
  return DriverLocal(Call::k_cuCtxGetLimit, [&] {
    return limit >= limits.size() ? CudaError::kInvalidValue : Store(value, limits[limit].load());
  });
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  return DriverLocal(Call::k_cuCtxSetLimit, [&] {
    if (limit >= limits.size()) return CudaError::kInvalidValue;
    limits[limit] = value;
    return CudaError::kSuccess;
  });
}

CUresult cuCtxGetCacheConfig(CUfunc_cache* config) {
  return DriverLocal(Call::k_cuCtxGetCacheConfig, [&] { return Store(config, cache_config.load()); });
}

CUresult cuCtxSetCacheConfig(CUfunc_cache config) {
  return DriverLocal(Call::k_cuCtxSetCacheConfig, [&] {
    cache_config = config;
    return CudaError::kSuccess;
  });
}

CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return DriverLocal(Call::k_cuCtxGetStreamPriorityRange, [&] {
    if (least != nullptr) *least = 0;
    if (greatest != nullptr) *greatest = -5;
    return CudaError::kSuccess;
  });
}

CUresult cuCtxEnablePeerAccess(CUcontext, unsigned) {
  return DriverLocal(Call::k_cuCtxEnablePeerAccess, [] { return client::kPeerUnsupported; });
}

CUresult cuCtxDisablePeerAccess(CUcontext) {
  return DriverLocal(Call::k_cuCtxDisablePeerAccess, [] { return client::kPeerUnsupported; });
}

CUresult cuCtxResetPersistingL2Cache(void) {
  return DriverLocal(Call::k_cuCtxResetPersistingL2Cache, [] { return CudaError::kSuccess; });
}

CUresult cuCtxSynchronize(void) {
  return Driver(Call::k_cuCtxSynchronize, [] { return client::SynchronizeDevice(); });
}

CUresult cuCtxSynchronize_v2(CUcontext context) {
  return Driver(Call::k_cuCtxSynchronize_v2, [&] {
    const CudaError error = CheckOrCurrent(context);
    return error == CudaError::kSuccess ? client::SynchronizeDevice() : error;
  });
}

// No stream is of a green context: none can be made.
CUresult cuStreamGetCtx_v2(CUstream stream, CUcontext* context, CUgreenCtx* green) {
  return Driver(Call::k_cuStreamGetCtx_v2, [&] {
    const CudaError error = Store(green, nullptr);
    return error == CudaError::kSuccess ? static_cast<CudaError>(cuStreamGetCtx(stream, context)) : error;
  });
}

}  // extern "C"
