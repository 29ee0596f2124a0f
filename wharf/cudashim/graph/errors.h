// CUDA's errors that only graphs and stream capture make.
#pragma once

#include "wharf/device/cuda_error.h"

namespace wharf::cudagraph {

using device::CudaError;

inline constexpr CudaError kIllegalState{401};
inline constexpr CudaError kLossyQuery{402};
inline constexpr CudaError kCaptureUnsupported{900};
inline constexpr CudaError kCaptureInvalidated{901};
inline constexpr CudaError kCaptureMerge{902};
inline constexpr CudaError kCaptureUnmatched{903};
inline constexpr CudaError kCaptureUnjoined{904};
inline constexpr CudaError kCaptureIsolation{905};
inline constexpr CudaError kCaptureImplicit{906};
inline constexpr CudaError kCapturedEvent{907};
inline constexpr CudaError kCaptureWrongThread{908};
inline constexpr CudaError kUpdateFailure{910};

}  // namespace wharf::cudagraph
