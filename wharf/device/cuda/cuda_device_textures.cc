// Textures and surfaces. What lies in our memory as a GPU wants it, linear and pitched, is used where it is; CUDA
// arrays are arrays of the driver's (texture/driver_arrays.h).
#include "wharf/device/cuda/cuda_device.h"
#include "wharf/device/cuda/texture/texture_object.h"

namespace wharf::device::cuda {

absl::StatusOr<TextureHandle> CudaDevice::CreateTexture(const TextureDescription& texture) {
  WHARF_RETURN_IF_ERROR(gpu_->Enter());
  WHARF_RETURN_IF_ERROR(gpu_->Fault());
  WHARF_RETURN_IF_ERROR(CheckTexture(texture));
  const uint64_t bytes = BytesOf(texture.image, texture.mipmap.levels);
  if (!Owns(texture.image.base, bytes)) {
    return CudaStatus(CudaError::kInvalidValue, "a texture of {} bytes at {:#x}: not all of it is mapped", bytes,
                      texture.image.base);
  }
  DriverArrays::ArrayPointer array;
  ResourceDescription resource;
  if (texture.image.kind == ImageKind::kArray) {
    WHARF_ASSIGN_OR_RETURN(array, TakeArray(texture.image, texture.mipmap.levels, /*for_surface=*/false));
    resource = array->Resource();
  } else {
    WHARF_ASSIGN_OR_RETURN(resource, DescribeMemory(texture.image));
  }
  const SamplerDescription sampler = DescribeSampler(texture);
  TextureHandle handle = 0;
  const absl::Status made =
      gpu_->Check((*gpu_)->TexObjectCreate(&handle, &resource, &sampler, nullptr), "cuTexObjectCreate");
  if (!made.ok()) {
    if (array != nullptr) GiveBackArray(array, /*of_surface=*/false);
    return made;
  }
  textures_[handle] = std::move(array);
  return handle;
}

absl::Status CudaDevice::DestroyTexture(TextureHandle handle) {
  WHARF_RETURN_IF_ERROR(gpu_->Enter());
  const auto found = textures_.find(handle);
  if (found == textures_.end()) return CudaStatus(CudaError::kInvalidHandle, "no texture {:#x}", handle);
  const DriverArrays::ArrayPointer array = std::move(found->second);
  textures_.erase(found);
  if (array != nullptr) GiveBackArray(array, /*of_surface=*/false);
  return AfterAll([this, handle, array](const absl::Status& status) {
    if (absl::IsAborted(status)) return;  // it goes with the context
    gpu_->Enter().IgnoreError();
    (*gpu_)->TexObjectDestroy(handle);
  });
}

absl::StatusOr<TextureHandle> CudaDevice::CreateSurface(const ImageDescription& image) {
  WHARF_RETURN_IF_ERROR(gpu_->Enter());
  WHARF_RETURN_IF_ERROR(gpu_->Fault());
  WHARF_RETURN_IF_ERROR(CheckSurface(image));
  if (!Owns(image.base, BytesOf(image))) {
    return CudaStatus(CudaError::kInvalidValue, "a surface at {:#x}: not all of it is mapped", image.base);
  }
  WHARF_ASSIGN_OR_RETURN(const DriverArrays::ArrayPointer array, TakeArray(image, 1, /*for_surface=*/true));
  const ResourceDescription resource = array->Resource();
  TextureHandle handle = 0;
  const absl::Status made = gpu_->Check((*gpu_)->SurfObjectCreate(&handle, &resource), "cuSurfObjectCreate");
  if (!made.ok()) {
    GiveBackArray(array, /*of_surface=*/true);
    return made;
  }
  surfaces_[handle] = array;
  return handle;
}

absl::Status CudaDevice::DestroySurface(TextureHandle handle) {
  WHARF_RETURN_IF_ERROR(gpu_->Enter());
  const auto found = surfaces_.find(handle);
  if (found == surfaces_.end()) return CudaStatus(CudaError::kInvalidHandle, "no surface {:#x}", handle);
  const DriverArrays::ArrayPointer array = std::move(found->second);
  surfaces_.erase(found);
  // Kernels that are queued may still write it; copies that come find that in our memory.
  const uint64_t bytes = array->bytes();
  const absl::Status stored = QueueAhead(/*after_all_work=*/true, [&](StreamHandle stream) -> absl::Status {
    WHARF_RETURN_IF_ERROR(arrays_->Store(array->image().base, bytes, stream));
    return arrays_->Load(array->image().base, bytes, stream);
  });
  GiveBackArray(array, /*of_surface=*/true);
  WHARF_RETURN_IF_ERROR(AfterAll([this, handle, array](const absl::Status& status) {
    if (absl::IsAborted(status)) return;
    gpu_->Enter().IgnoreError();
    (*gpu_)->SurfObjectDestroy(handle);
  }));
  return stored;
}

absl::StatusOr<DriverArrays::ArrayPointer> CudaDevice::TakeArray(const ImageDescription& image, uint32_t levels,
                                                                 bool for_surface) {
  WHARF_ASSIGN_OR_RETURN(const DriverArrays::Use use, arrays_->Take(image, levels, for_surface));
  ++names_version_;  // what may be part of a graph
  if (!use.is_new) return use.array;
  const absl::Status loaded = QueueAhead(/*after_all_work=*/true, [&](StreamHandle stream) -> absl::Status {
    WHARF_RETURN_IF_ERROR(arrays_->Store(image.base, use.array->bytes(), stream, use.array.get()));
    return use.array->Load(stream);
  });
  if (loaded.ok()) return use.array;
  GiveBackArray(use.array, for_surface);
  return loaded;
}

void CudaDevice::GiveBackArray(const DriverArrays::ArrayPointer& array, bool of_surface) {
  arrays_->GiveBack(array, of_surface);
  ++names_version_;
}

}  // namespace wharf::device::cuda
