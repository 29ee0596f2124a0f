// Mipmapped arrays: their levels as arrays, fetches at a level of detail and by gradients, and what making one refuses.
// Expected values keep away from where hardware may round either way.
#include <algorithm>
#include <cmath>

#include "images.h"

namespace {

// The extent of level `level`; zero where there is none.
size_t Halved(size_t extent, unsigned level) { return extent == 0 ? 0 : std::max<size_t>(1, extent >> level); }
// In texels, at least 1 each; layers and faces stay.
cudaExtent TexelsOf(cudaExtent first, unsigned level, unsigned flags) {
  const bool layers = (flags & (cudaArrayLayered | cudaArrayCubemap)) != 0;
  const size_t slices = layers ? first.depth : Halved(first.depth, level);
  return make_cudaExtent(Halved(first.width, level), std::max<size_t>(1, Halved(first.height, level)),
                         std::max<size_t>(1, slices));
}

float ValueOf(unsigned level, size_t x, size_t y, size_t z) {
  return float(1000 * level + 100 * z + 10 * y + x) / 4;  // exact
}

// Every texel of level l is ValueOf(l, x, y, z), or l alone if `flat`.
class Mipmap {
 public:
  Mipmap(cudaExtent extent, unsigned levels, unsigned flags = 0, bool flat = false) {
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    CUDA_OK(cudaMallocMipmappedArray(&mipmap_, &format, extent, levels, flags));
    for (unsigned level = 0; level < levels; ++level) {
      const auto [width, rows, slices] = TexelsOf(extent, level, flags);
      std::vector<float> texels;
      for (size_t z = 0; z < slices; ++z)
        for (size_t y = 0; y < rows; ++y)
          for (size_t x = 0; x < width; ++x) texels.push_back(flat ? float(level) : ValueOf(level, x, y, z));
      cudaMemcpy3DParms copy = {};
      copy.srcPtr = make_cudaPitchedPtr(texels.data(), width * sizeof(float), width, rows);
      copy.dstArray = Level(level);
      copy.extent = make_cudaExtent(width, rows, slices);
      copy.kind = cudaMemcpyHostToDevice;
      CUDA_OK(cudaMemcpy3D(&copy));
    }
  }
  ~Mipmap() { CUDA_OK(cudaFreeMipmappedArray(mipmap_)); }
  Mipmap(const Mipmap&) = delete;
  Mipmap& operator=(const Mipmap&) = delete;

  cudaMipmappedArray_t get() const { return mipmap_; }
  cudaArray_t Level(unsigned level) const {
    cudaArray_t array = nullptr;
    CUDA_OK(cudaGetMipmappedArrayLevel(&array, mipmap_, level));
    return array;
  }
  cudaResourceDesc Resource() const {
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeMipmappedArray;
    resource.res.mipmap.mipmap = mipmap_;
    return resource;
  }

 private:
  cudaMipmappedArray_t mipmap_ = nullptr;
};

cudaTextureDesc Levels(cudaTextureFilterMode between, float lowest = 0, float highest = 100, float bias = 0,
                       cudaTextureFilterMode filter = cudaFilterModePoint) {
  cudaTextureDesc sampler = Sampler(cudaAddressModeClamp, filter, /*normalized=*/true);
  sampler.mipmapFilterMode = between;
  sampler.minMipmapLevelClamp = lowest;
  sampler.maxMipmapLevelClamp = highest;
  sampler.mipmapLevelBias = bias;
  return sampler;
}

std::vector<float> FetchPlane(cudaTextureObject_t texture, const std::vector<float>& levels) {
  std::vector<At> at;
  for (const float level : levels) at.push_back({0.4f, 0.6f, 0, 0, level});
  return Sample<PlaneAtLevel, float>(texture, at);
}

}  // namespace

CASE(levels_are_arrays) {
  const Mipmap mipmap(make_cudaExtent(20, 9, 0), 5);
  for (unsigned level = 0; level < 5; ++level) {
    cudaChannelFormatDesc format = {};
    cudaExtent extent = {};
    unsigned flags = 1;
    CUDA_OK(cudaArrayGetInfo(&format, &extent, &flags, mipmap.Level(level)));
    EXPECT(extent.width == Halved(20, level) && extent.height == Halved(9, level) && extent.depth == 0);
    EXPECT(format.x == 32 && format.f == cudaChannelFormatKindFloat && flags == 0);
    std::vector<float> seen(extent.width * extent.height);
    CUDA_OK(cudaMemcpy2DFromArray(seen.data(), extent.width * 4, mipmap.Level(level), 0, 0, extent.width * 4,
                                  extent.height, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < seen.size(); ++i) {
      EXPECT(seen[i] == ValueOf(level, i % extent.width, i / extent.width, 0));
    }
  }
}

// Each texel of each level, at its middle.
template <template <class> class Fetch>
void EveryTexel(cudaExtent extent, unsigned levels, unsigned flags) {
  const Mipmap mipmap(extent, levels, flags);
  const Texture texture(mipmap.Resource(), Levels(cudaFilterModePoint));
  std::vector<At> wanted;
  std::vector<float> values;
  for (unsigned level = 0; level < levels; ++level) {
    const auto [width, rows, slices] = TexelsOf(extent, level, flags);
    for (size_t z = 0; z < slices; ++z)
      for (size_t y = 0; y < rows; ++y)
        for (size_t x = 0; x < width; ++x) {
          wanted.push_back({(float(x) + 0.5f) / float(width), (float(y) + 0.5f) / float(rows),
                            (float(z) + 0.5f) / float(slices), int(z), float(level)});
          values.push_back(ValueOf(level, x, y, z));
        }
  }
  EXPECT((Sample<Fetch, float>(texture, wanted)) == values);
}

CASE(every_texel_of_every_level) {
  EveryTexel<LineAtLevel>(make_cudaExtent(37, 0, 0), 6, 0);
  EveryTexel<PlaneAtLevel>(make_cudaExtent(20, 9, 0), 5, 0);
  EveryTexel<PlaneAtLevel>(make_cudaExtent(3, 16, 0), 3, 0);
  EveryTexel<VolumeAtLevel>(make_cudaExtent(6, 4, 10), 4, 0);
  EveryTexel<PlaneOfAtLevel>(make_cudaExtent(12, 5, 3), 4, cudaArrayLayered);
}

CASE(cubes_have_levels) {
  const Mipmap mipmap(make_cudaExtent(8, 8, 6), 3, cudaArrayCubemap);
  const Texture texture(mipmap.Resource(), Levels(cudaFilterModePoint));
  // The middle of a face is between texels, so a little off it; level 2 has two texels a row.
  const std::vector<float> seen =
      Sample<CubeAtLevel, float>(texture, {{1, -0.1f, -0.1f, 0, 2}, {-1, -0.1f, -0.1f, 0, 1}, {0.1f, 0.1f, -1, 0, 0}});
  EXPECT(seen[0] == ValueOf(2, 1, 1, 0));
  EXPECT(seen[1] == ValueOf(1, 1, 2, 1));
  EXPECT(seen[2] == ValueOf(0, 3, 3, 5));
}

CASE(levels_are_chosen_and_mixed) {
  const Mipmap mipmap(make_cudaExtent(16, 16, 0), 5, 0, /*flat=*/true);
  const Texture nearest(mipmap.Resource(), Levels(cudaFilterModePoint));
  EXPECT(FetchPlane(nearest, {-3, 0, 0.25f, 0.75f, 1.25f, 3.75f, 4, 9}) ==
         (std::vector<float>{0, 0, 0, 1, 1, 4, 4, 4}));
  const Texture mixed(mipmap.Resource(), Levels(cudaFilterModeLinear));
  EXPECT(FetchPlane(mixed, {-3, 0, 0.25f, 0.75f, 1.5f, 3.125f, 4, 9}) ==
         (std::vector<float>{0, 0, 0.25f, 0.75f, 1.5f, 3.125f, 4, 4}));
  const Texture bounded(mipmap.Resource(), Levels(cudaFilterModeLinear, 1, 2.5f));
  EXPECT(FetchPlane(bounded, {0, 1, 1.25f, 2.5f, 3, 9}) == (std::vector<float>{1, 1, 1.25f, 2.5f, 2.5f, 2.5f}));
  const Texture biased(mipmap.Resource(), Levels(cudaFilterModeLinear, 0, 100, 1.5f));
  EXPECT(FetchPlane(biased, {-2, 0, 1, 2.5f, 9}) == (std::vector<float>{0, 1.5f, 2.5f, 4, 4}));
}

CASE(texels_and_levels_are_filtered_together) {
  const Mipmap mipmap(make_cudaExtent(8, 8, 0), 2);
  const Texture texture(mipmap.Resource(), Levels(cudaFilterModeLinear, 0, 100, 0, cudaFilterModeLinear));
  // Between texels 3 and 4 of the first level and 1 and 2 of the second, both ways.
  const std::vector<float> seen = Sample<PlaneAtLevel, float>(texture, {{0.5f, 0.5f, 0, 0, 0.5f}});
  const float first = ValueOf(0, 7, 7, 0) / 2, second = (ValueOf(1, 3, 3, 0) + ValueOf(1, 0, 0, 0)) / 2;
  EXPECT(seen[0] == (first + second) / 2);
}

__global__ void FetchByGradients(cudaTextureObject_t t, const float4* steps, float* out, int count) {
  const int i = threadIdx.x;
  if (i >= count) return;
  const float4 s = steps[i];
  out[i] = tex2DGrad<float>(t, 0.4f, 0.6f, make_float2(s.x, s.y), make_float2(s.z, s.w));
}
CASE(gradients_choose_the_level) {
  const Mipmap mipmap(make_cudaExtent(32, 8, 0), 6, 0, /*flat=*/true);
  const Texture texture(mipmap.Resource(), Levels(cudaFilterModePoint));
  // In texels of 1 / 32 and 1 / 8: a step of 2^n texels is level n.
  const std::vector<float4> steps{{1 / 32.f, 0, 0, 1 / 8.f},
                                  {4 / 32.f, 0, 0, 1 / 8.f},
                                  {0, 1 / 8.f, 0, 8 / 8.f},
                                  {1 / 64.f, 0, 0, 0},
                                  {64, 0, 0, 0}};
  Buffer<float4> given(steps);
  Buffer<float> out(steps.size());
  FetchByGradients<<<1, 32>>>(texture, given.get(), out.get(), int(steps.size()));
  EXPECT(out.Get() == (std::vector<float>{0, 2, 3, 0, 5}));
}

// As programs make their mipmaps: each level from the one before, by a kernel.
__global__ void Shrink(cudaTextureObject_t from, cudaSurfaceObject_t to, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  const float u = (float(x) + 0.5f) / float(width), v = (float(y) + 0.5f) / float(height);
  surf2Dwrite(tex2D<float>(from, u, v), to, x * int(sizeof(float)), y);
}
CASE(kernels_make_levels) {
  const int size = 16;
  const Mipmap mipmap(make_cudaExtent(size, size, 0), 5, cudaArraySurfaceLoadStore, /*flat=*/true);
  std::vector<float> first(size * size);
  for (int i = 0; i < size * size; ++i) first[size_t(i)] = float(i % size) + 100 * float(i / size);
  CUDA_OK(cudaMemcpy2DToArray(mipmap.Level(0), 0, 0, first.data(), size * 4, size * 4, size, cudaMemcpyHostToDevice));
  for (unsigned level = 1; level < 5; ++level) {
    const Texture from(Over(mipmap.Level(level - 1)),
                       Sampler(cudaAddressModeClamp, cudaFilterModeLinear, /*normalized=*/true));
    const Surface to(mipmap.Level(level));
    const int width = size >> level;
    Shrink<<<dim3(unsigned(width + 7) / 8, unsigned(width + 7) / 8), dim3(8, 8)>>>(from, to, width, width);
    CUDA_OK(cudaGetLastError());
  }
  const Texture texture(mipmap.Resource(), Levels(cudaFilterModePoint));
  // A texel of level n is the mean of 2^n texels each way.
  const std::vector<float> seen = Sample<PlaneAtLevel, float>(
      texture, {{0.1f, 0.1f, 0, 0, 1}, {0.9f, 0.1f, 0, 0, 2}, {0.9f, 0.9f, 0, 0, 3}, {0.5f, 0.5f, 0, 0, 4}});
  EXPECT(seen == (std::vector<float>{0.5f + 100 * 0.5f, 13.5f + 100 * 1.5f, 11.5f + 100 * 11.5f, 7.5f + 100 * 7.5f}));
}

CASE(views_show_some_levels) {
  const Mipmap mipmap(make_cudaExtent(16, 16, 0), 5, 0, /*flat=*/true);
  const cudaResourceDesc resource = mipmap.Resource();
  const cudaTextureDesc sampler = Levels(cudaFilterModePoint);
  cudaResourceViewDesc view = {};
  view.format = cudaResViewFormatFloat1;
  view.width = view.height = 16;
  view.firstMipmapLevel = 1;
  view.lastMipmapLevel = 3;
  const Texture texture(resource, sampler, &view);
  EXPECT(FetchPlane(texture, {0, 1, 9}) == (std::vector<float>{1, 2, 3}));
  view.lastMipmapLevel = 5;  // there is none: those that there are
  const Texture rest(resource, sampler, &view);
  EXPECT(FetchPlane(rest, {0, 1}) == (std::vector<float>{1, 2}));
}

CASE(descriptions_are_remembered) {
  const Mipmap mipmap(make_cudaExtent(4, 4, 0), 2);
  const Texture texture(mipmap.Resource(), Levels(cudaFilterModeLinear, 0.5f, 1, 0.25f));
  cudaResourceDesc resource = {};
  CUDA_OK(cudaGetTextureObjectResourceDesc(&resource, texture));
  EXPECT(resource.resType == cudaResourceTypeMipmappedArray && resource.res.mipmap.mipmap == mipmap.get());
  cudaTextureDesc sampler = {};
  CUDA_OK(cudaGetTextureObjectTextureDesc(&sampler, texture));
  EXPECT(sampler.mipmapFilterMode == cudaFilterModeLinear && sampler.mipmapLevelBias == 0.25f);
  EXPECT(sampler.minMipmapLevelClamp == 0.5f && sampler.maxMipmapLevelClamp == 1);
}

CASE(what_is_none_is_refused) {
  const Mipmap mipmap(make_cudaExtent(4, 4, 0), 3);
  cudaArray_t array = nullptr;
  EXPECT_EQ(cudaGetMipmappedArrayLevel(&array, mipmap.get(), 3), cudaErrorInvalidValue);
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaMipmappedArray_t none = nullptr;
  EXPECT_EQ(cudaMallocMipmappedArray(&none, &format, make_cudaExtent(0, 4, 0), 1, 0), cudaErrorInvalidValue);
  cudaGetLastError();
  // Too many levels are as many as there are.
  CUDA_OK(cudaMallocMipmappedArray(&none, &format, make_cudaExtent(4, 4, 0), 20, 0));
  CUDA_OK(cudaGetMipmappedArrayLevel(&array, none, 2));
  EXPECT_EQ(cudaGetMipmappedArrayLevel(&array, none, 3), cudaErrorInvalidValue);
  cudaGetLastError();
  CUDA_OK(cudaFreeMipmappedArray(none));
}
