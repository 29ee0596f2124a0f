// The door between a thin drop-in library (libcudart.so.13, …) and libwharf_client.so, which holds the one session of
// the process. Everything here is exported from libwharf_client.so; types that cross are plain or libstdc++'s.
//
//   cudaError_t cudaMalloc(void** pointer, size_t size) {
//     return Runtime(Call::k_cudaMalloc, [&] { return client::Allocate(size, …); });
//   }
#pragma once

#include <cstddef>
#include <cstdint>

#include "wharf/device/cuda_error.h"

#define WHARF_CLIENT_API __attribute__((visibility("default")))

namespace wharf::client {

using device::CudaError;

// The row of api.def: its number is the position there.
enum class Call : uint32_t {
#define WHARF_CALL(library, name, call_class, operations) k_##name,
#include "wharf/cudashim/api.def"
#undef WHARF_CALL
  kCount
};

// CUDA errors that only the client makes.
inline constexpr CudaError kUnloading{4};  // cudaErrorCudartUnloading
inline constexpr CudaError kInvalidChannelDescriptor{20};
inline constexpr CudaError kInvalidFilterSetting{26};
inline constexpr CudaError kMissingConfiguration{52};
inline constexpr CudaError kPeerUnsupported{217};

// One intercepted call: counts it, holds it to its class, and in the per-call modes makes its round trip.
class WHARF_CLIENT_API CallGuard {
 public:
  explicit CallGuard(Call call);
  ~CallGuard();
  CallGuard(const CallGuard&) = delete;
  CallGuard& operator=(const CallGuard&) = delete;
  // What the call returns, given what its body did. Call once, last.
  CudaError Finish(CudaError error);

 private:
  alignas(8) std::byte scope_[40];  // an offload::CallScope
};

// Opens the session if it is not open yet; then the sticky error, if any.
WHARF_CLIENT_API CudaError Connect();
WHARF_CLIENT_API bool IsConnected();
// The sticky error of an open session; never connects.
WHARF_CLIENT_API CudaError StickyError();
// Waits for the device, then ends the session and forgets everything on the device; the next call opens a new one.
WHARF_CLIENT_API CudaError ResetDevice();
// `function` is called by every reset from now on, while the session can still be used. One may be set.
WHARF_CLIENT_API void BeforeReset(void (*function)());

// The thread's last error (cudaGetLastError).
WHARF_CLIENT_API void SetLastError(CudaError error);
WHARF_CLIENT_API CudaError TakeLastError();
WHARF_CLIENT_API CudaError PeekLastError();

// A call that needs the device.
template <typename Body>
CudaError Run(Call call, Body&& body) {
  CallGuard guard(call);
  CudaError error = Connect();
  if (error == CudaError::kSuccess) error = body();
  return guard.Finish(error);
}
// A call that does not.
template <typename Body>
CudaError RunLocal(Call call, Body&& body) {
  CallGuard guard(call);
  return guard.Finish(body());
}

// A public function that is not covered: logged once each. `name` must live for ever.
WHARF_CLIENT_API void ReportUnsupported(const char* name);

// Exchanges what this thread forbids itself while streams are captured, a number of both APIs.
WHARF_CLIENT_API CudaError ExchangeCaptureMode(int* mode);

// While it lives, stream 0 of this thread means the per-thread default stream (the _ptsz and _ptds entry points).
class WHARF_CLIENT_API PerThreadDefaultStream {
 public:
  PerThreadDefaultStream();
  ~PerThreadDefaultStream();
  PerThreadDefaultStream(const PerThreadDefaultStream&) = delete;
  PerThreadDefaultStream& operator=(const PerThreadDefaultStream&) = delete;

 private:
  bool before_;
};

}  // namespace wharf::client
