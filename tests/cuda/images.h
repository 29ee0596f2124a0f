// Texture and surface objects, arrays with the same texels on the host, and ways to sample, for the programs that test
// textures.
#pragma once

#include "harness.h"

namespace images {

using u8 = unsigned char;

// Where a texture is sampled.
struct At {
  float x = 0, y = 0, z = 0;
  int layer = 0;
  float level = 0;  // of detail
};

template <class T, class Fetch>
__global__ void SampleAll(cudaTextureObject_t texture, const At* at, T* out, int count, Fetch fetch) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = fetch(texture, at[i]);
}

// Each a way to fetch a T.
#define FETCH(name, expression)                                                              \
  template <class T>                                                                         \
  struct name {                                                                              \
    __device__ T operator()(cudaTextureObject_t t, const At& p) const { return expression; } \
  };
FETCH(Linear, tex1Dfetch<T>(t, int(p.x)))
FETCH(Line, tex1D<T>(t, p.x))
FETCH(Plane, tex2D<T>(t, p.x, p.y))
FETCH(Volume, tex3D<T>(t, p.x, p.y, p.z))
FETCH(LineOf, tex1DLayered<T>(t, p.x, p.layer))
FETCH(PlaneOf, tex2DLayered<T>(t, p.x, p.y, p.layer))
FETCH(Cube, texCubemap<T>(t, p.x, p.y, p.z))
FETCH(CubeOf, texCubemapLayered<T>(t, p.x, p.y, p.z, p.layer))
FETCH(LineAtLevel, tex1DLod<T>(t, p.x, p.level))
FETCH(PlaneAtLevel, tex2DLod<T>(t, p.x, p.y, p.level))
FETCH(VolumeAtLevel, tex3DLod<T>(t, p.x, p.y, p.z, p.level))
FETCH(PlaneOfAtLevel, tex2DLayeredLod<T>(t, p.x, p.y, p.layer, p.level))
FETCH(CubeAtLevel, texCubemapLod<T>(t, p.x, p.y, p.z, p.level))
FETCH(GatherX, tex2Dgather<T>(t, p.x, p.y, 0))
FETCH(GatherY, tex2Dgather<T>(t, p.x, p.y, 1))
#undef FETCH

template <template <class> class Fetch, class T>
std::vector<T> Sample(cudaTextureObject_t texture, const std::vector<At>& at) {
  Buffer<At> places(at);
  Buffer<T> out(at.size());
  const int count = int(at.size());
  SampleAll<<<(count + 127) / 128, 128>>>(texture, places.get(), out.get(), count, Fetch<T>());
  CUDA_OK(cudaGetLastError());
  return out.Get();
}

// --- objects ---

cudaResourceDesc Over(cudaArray_t array) {
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  return resource;
}

template <class T>
cudaResourceDesc Over(T* data, size_t count) {
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear = {const_cast<std::remove_const_t<T>*>(data), cudaCreateChannelDesc<T>(), count * sizeof(T)};
  return resource;
}

template <class T>
cudaResourceDesc Over(T* data, size_t width, size_t height, size_t pitch) {
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypePitch2D;
  resource.res.pitch2D = {data, cudaCreateChannelDesc<T>(), width, height, pitch};
  return resource;
}

cudaTextureDesc Sampler(cudaTextureAddressMode mode, cudaTextureFilterMode filter = cudaFilterModePoint,
                        bool normalized = false, cudaTextureReadMode read = cudaReadModeElementType) {
  cudaTextureDesc sampler = {};
  for (auto& one : sampler.addressMode) one = mode;
  sampler.filterMode = filter;
  sampler.normalizedCoords = normalized;
  sampler.readMode = read;
  return sampler;
}

class Texture {
 public:
  Texture(const cudaResourceDesc& resource, const cudaTextureDesc& sampler,
          const cudaResourceViewDesc* view = nullptr) {
    CUDA_OK(cudaCreateTextureObject(&object_, &resource, &sampler, view));
  }
  ~Texture() { CUDA_OK(cudaDestroyTextureObject(object_)); }
  Texture(const Texture&) = delete;
  Texture& operator=(const Texture&) = delete;
  operator cudaTextureObject_t() const { return object_; }

 private:
  cudaTextureObject_t object_ = 0;
};

class Surface {
 public:
  explicit Surface(cudaArray_t array) {
    const cudaResourceDesc resource = Over(array);
    CUDA_OK(cudaCreateSurfaceObject(&object_, &resource));
  }
  ~Surface() { CUDA_OK(cudaDestroySurfaceObject(object_)); }
  Surface(const Surface&) = delete;
  Surface& operator=(const Surface&) = delete;
  operator cudaSurfaceObject_t() const { return object_; }

 private:
  cudaSurfaceObject_t object_ = 0;
};

// An array and, on the host, the same texels: row behind row, slice behind slice.
template <class T>
class Image {
 public:
  Image(cudaExtent extent, unsigned flags, uint64_t seed) : extent_(extent) {
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<T>();
    CUDA_OK(cudaMalloc3DArray(&array_, &format, extent, flags));
    Refill(seed);
  }
  ~Image() { CUDA_OK(cudaFreeArray(array_)); }
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  void Refill(uint64_t seed) {
    harness::Random random(seed);
    texels_.resize(Width() * Rows() * Slices());
    for (T& texel : texels_) {
      if constexpr (std::is_same_v<T, float>) {
        texel = float(random.Below(1 << 12)) / (1 << 12);
      } else {
        auto* bytes = reinterpret_cast<u8*>(&texel);
        for (size_t i = 0; i < sizeof(T); ++i) bytes[i] = u8(random.Next());
      }
    }
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(texels_.data(), Width() * sizeof(T), Width(), Rows());
    copy.dstArray = array_;
    copy.extent = make_cudaExtent(Width(), Rows(), Slices());
    copy.kind = cudaMemcpyHostToDevice;
    CUDA_OK(cudaMemcpy3D(&copy));
  }
  std::vector<T> Contents() const {
    std::vector<T> out(texels_.size());
    cudaMemcpy3DParms copy = {};
    copy.srcArray = array_;
    copy.dstPtr = make_cudaPitchedPtr(out.data(), Width() * sizeof(T), Width(), Rows());
    copy.extent = make_cudaExtent(Width(), Rows(), Slices());
    copy.kind = cudaMemcpyDeviceToHost;
    CUDA_OK(cudaMemcpy3D(&copy));
    harness::Hash(out.data(), out.size() * sizeof(T));
    return out;
  }

  cudaArray_t array() const { return array_; }
  cudaResourceDesc Resource() const { return Over(array_); }
  size_t Width() const { return extent_.width; }
  size_t Rows() const { return extent_.height ? extent_.height : 1; }
  size_t Slices() const { return extent_.depth ? extent_.depth : 1; }
  T Texel(size_t x, size_t y = 0, size_t z = 0) const { return texels_[(z * Rows() + y) * Width() + x]; }

 private:
  const cudaExtent extent_;
  cudaArray_t array_ = nullptr;
  std::vector<T> texels_;
};

}  // namespace images

using namespace images;
