#include "wharf/device/cuda/texture/driver_array.h"

#include "wharf/device/cuda/texture/texture_object.h"

namespace wharf::device::cuda {
namespace {

constexpr unsigned kLayered = 1, kSurfaces = 2, kCubemap = 4, kGather = 8;  // CUDA_ARRAY3D_…

ArrayDescription Describe(const ImageDescription& image) {
  ArrayDescription description;
  description.width = image.width;
  description.height = image.height;
  description.depth = image.depth;
  description.format = FormatOf(image.format);
  description.channels = image.format.channels;
  description.flags =
      kSurfaces | (image.layered ? kLayered : 0) | (image.cubemap ? kCubemap : 0) | (image.gather ? kGather : 0);
  return description;
}

}  // namespace

absl::StatusOr<std::shared_ptr<DriverArray>> DriverArray::Create(Gpu* gpu, const ImageDescription& image,
                                                                 uint32_t levels) {
  std::shared_ptr<DriverArray> made(new DriverArray(gpu));
  made->bytes_ = BytesOf(image, levels);
  ArrayDescription description = Describe(image);
  Level whole{image};
  const auto create = [&] {
    return levels == 1 ? (*gpu)->Array3DCreate(&whole.array, &description)
                       : (*gpu)->MipmappedArrayCreate(&made->mipmapped_, &description, levels);
  };
  Result result = create();
  if (result != kResultSuccess) {  // surfaces have smaller limits than textures
    description.flags &= ~kSurfaces;
    result = create();
  }
  WHARF_RETURN_IF_ERROR(gpu->Check(result, "an array"));
  if (levels == 1) {
    made->levels_.push_back(whole);
    return made;
  }
  for (uint32_t i = 0; i < levels; ++i) {
    Level& level = made->levels_.emplace_back(Level{LevelOf(image, i)});
    WHARF_RETURN_IF_ERROR(
        gpu->Check((*gpu)->MipmappedArrayGetLevel(&level.array, made->mipmapped_, i), "cuMipmappedArrayGetLevel"));
  }
  return made;
}

DriverArray::~DriverArray() {
  if (mipmapped_ != nullptr) {
    (*gpu_)->MipmappedArrayDestroy(mipmapped_);
  } else if (!levels_.empty() && levels_.front().array != nullptr) {
    (*gpu_)->ArrayDestroy(levels_.front().array);
  }
}

ResourceDescription DriverArray::Resource() const {
  ResourceDescription resource;
  if (mipmapped_ != nullptr) {
    resource.type = ResourceType::kMipmapped;
    resource.mipmapped = mipmapped_;
  } else {
    resource.type = ResourceType::kArray;
    resource.array = levels_.front().array;
  }
  return resource;
}

absl::Status DriverArray::Copy(StreamHandle stream, bool to_array) const {
  for (const Level& level : levels_) {
    // One copy, unless slices are no multiple of a row apart.
    const ImageDescription& image = level.image;
    const uint32_t slices = image.Slices();
    const bool whole = slices == 1 || image.Rows() == 1 || image.slice_pitch % image.row_pitch == 0;
    const uint32_t step = whole ? slices : 1;
    for (uint32_t z = 0; z < slices; z += step) {
      WHARF_RETURN_IF_ERROR(CopySlices(level, z, step, to_array, stream));
    }
  }
  return absl::OkStatus();
}

absl::Status DriverArray::CopySlices(const Level& level, uint32_t first, uint32_t count, bool to_array,
                                     StreamHandle stream) const {
  const ImageDescription& image = level.image;
  Copy3D copy;
  copy.width = uint64_t{image.width} * image.format.TexelBytes();
  copy.height = image.Rows();
  copy.depth = count;
  const DeviceAddress address = image.base + (first == 0 ? 0 : first * image.slice_pitch);
  // Slices of one row are rows apart by themselves.
  const uint64_t pitch = image.Rows() > 1 ? image.row_pitch : count > 1 ? image.slice_pitch : copy.width;
  const uint64_t rows = image.Rows() > 1 && count > 1 ? image.slice_pitch / image.row_pitch : image.Rows();
  if (to_array) {
    copy.src_device = address;
    copy.src_pitch = pitch;
    copy.src_height = rows;
    copy.dst_type = kMemoryTypeArray;
    copy.dst_array = level.array;
    copy.dst_z = first;
  } else {
    copy.src_type = kMemoryTypeArray;
    copy.src_array = level.array;
    copy.src_z = first;
    copy.dst_device = address;
    copy.dst_pitch = pitch;
    copy.dst_height = rows;
  }
  return gpu_->Check((*gpu_)->Memcpy3DAsync(&copy, stream), "a copy of an array");
}

}  // namespace wharf::device::cuda
