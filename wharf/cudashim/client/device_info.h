// What device queries answer from. Everything comes from the server's welcome; nothing is sent.
#pragma once

#include "wharf/cudashim/client/call.h"
#include "wharf/cudashim/client/memory.h"

namespace wharf::client {

// Where every API says that the one device is.
inline constexpr char kPciBusId[] = "0000:01:00.0";

// REQUIRES: Connect() succeeded. Valid until the program ends.
WHARF_CLIENT_API const device::DeviceProperties& Properties();
// A cudaDeviceAttr / CUdevice_attribute (they share numbers). kInvalidValue for numbers that are none.
WHARF_CLIENT_API CudaError DeviceAttribute(int attribute, int* value);

WHARF_CLIENT_API CudaError RunGemm(StreamHandle stream, const device::Gemm& gemm);

// "cudaErrorInvalidValue" / "CUDA_ERROR_INVALID_VALUE" and the sentence; nullptr for numbers that are no error.
WHARF_CLIENT_API const char* RuntimeErrorName(int error);
WHARF_CLIENT_API const char* DriverErrorName(int error);
WHARF_CLIENT_API const char* ErrorSentence(int error);

}  // namespace wharf::client
