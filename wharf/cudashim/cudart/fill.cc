// cudaMemset in all its forms.
#include "wharf/cudashim/cudart/runtime.h"

namespace wharf::cudashim {
namespace {

CudaError FillBytes(cudaStream_t stream, const client::Box& to, const device::Extent& extent, int value) {
  if (extent.width != 0 && to.row_pitch != 0 && to.row_pitch < extent.width) return CudaError::kInvalidPitchValue;
  return client::Fill(Stream(stream), to, extent, static_cast<uint8_t>(value), 1);
}

client::Box BoxOf(const cudaPitchedPtr& pitched) {
  return {Address(pitched.ptr), pitched.pitch, pitched.pitch * pitched.ysize};
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

cudaError_t cudaMemset(void* pointer, int value, size_t count) {
  return Runtime(Call::k_cudaMemset, [&] {
    return FillBytes(nullptr, {Address(pointer), 0, 0}, {count, 1, 1}, value);
  });
}

cudaError_t cudaMemsetAsync(void* pointer, int value, size_t count, cudaStream_t stream) {
  return Runtime(Call::k_cudaMemsetAsync, [&] {
    return FillBytes(stream, {Address(pointer), 0, 0}, {count, 1, 1}, value);
  });
}

cudaError_t cudaMemset2D(void* pointer, size_t pitch, int value, size_t width, size_t height) {
  return Runtime(Call::k_cudaMemset2D, [&] {
    return FillBytes(nullptr, {Address(pointer), pitch, 0}, {width, height, 1}, value);
  });
}

cudaError_t cudaMemset2DAsync(void* pointer, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
  return Runtime(Call::k_cudaMemset2DAsync, [&] {
    return FillBytes(stream, {Address(pointer), pitch, 0}, {width, height, 1}, value);
  });
}

cudaError_t cudaMemset3D(cudaPitchedPtr pitched, int value, cudaExtent extent) {
  return Runtime(Call::k_cudaMemset3D, [&] {
    return FillBytes(nullptr, BoxOf(pitched), {extent.width, extent.height, extent.depth}, value);
  });
}

cudaError_t cudaMemset3DAsync(cudaPitchedPtr pitched, int value, cudaExtent extent, cudaStream_t stream) {
  return Runtime(Call::k_cudaMemset3DAsync, [&] {
    return FillBytes(stream, BoxOf(pitched), {extent.width, extent.height, extent.depth}, value);
  });
}

}  // extern "C"
