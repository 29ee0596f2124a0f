// Textures. Surfaces need arrays of the driver's: the default refuses them.
#include "wharf/device/cuda/cuda_device.h"
#include "wharf/device/cuda/texture_object.h"

namespace wharf::device::cuda {

absl::StatusOr<TextureHandle> CudaDevice::CreateTexture(const TextureDescription& texture) {
  WHARF_RETURN_IF_ERROR(gpu_->Enter());
  WHARF_RETURN_IF_ERROR(gpu_->Fault());
  WHARF_RETURN_IF_ERROR(CheckTexture(texture));
  const uint64_t bytes = BytesOf(texture.image);
  if (!Owns(texture.image.base, bytes)) {
    return CudaStatus(CudaError::kInvalidValue, "a texture of {} bytes at {:#x}: not all of it is mapped", bytes,
                      texture.image.base);
  }
  WHARF_ASSIGN_OR_RETURN(const TextureObject object, DescribeTexture(texture));
  TextureHandle handle = 0;
  WHARF_RETURN_IF_ERROR(
      gpu_->Check((*gpu_)->TexObjectCreate(&handle, &object.resource, &object.sampler, nullptr), "cuTexObjectCreate"));
  textures_.insert(handle);
  return handle;
}

absl::Status CudaDevice::DestroyTexture(TextureHandle handle) {
  WHARF_RETURN_IF_ERROR(gpu_->Enter());
  if (textures_.erase(handle) == 0) return CudaStatus(CudaError::kInvalidHandle, "no texture {:#x}", handle);
  return AfterAll([this, handle](const absl::Status& status) {
    if (absl::IsAborted(status)) return;  // it goes with the context
    gpu_->Enter().IgnoreError();
    (*gpu_)->TexObjectDestroy(handle);
  });
}

absl::Status CudaDevice::DestroySurface(TextureHandle handle) {
  return CudaStatus(CudaError::kInvalidHandle, "no surface {:#x}", handle);
}

}  // namespace wharf::device::cuda
