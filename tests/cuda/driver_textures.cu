// Arrays, textures and surfaces of the driver API, which are those of the runtime: kernels of this program, launched by
// the runtime, use them.
#include <cuda.h>

#include "harness.h"

namespace {

#define CU_OK(call) EXPECT_EQ((call), CUDA_SUCCESS)

__global__ void FetchPlane(cudaTextureObject_t texture, float* out, int width) {
  out[threadIdx.y * width + threadIdx.x] = tex2D<float>(texture, float(threadIdx.x) + 0.5f, float(threadIdx.y) + 0.5f);
}
__global__ void FetchNormalized(cudaTextureObject_t texture, float* out, int width, int height) {
  const float x = (float(threadIdx.x) + 0.5f) / float(width), y = (float(threadIdx.y) + 0.5f) / float(height);
  out[threadIdx.y * width + threadIdx.x] = tex2DLod<float>(texture, x, y, 0);
}
__global__ void FetchLinear(cudaTextureObject_t texture, float* out) {
  out[threadIdx.x] = tex1Dfetch<float>(texture, int(threadIdx.x));
}
__global__ void WritePlane(cudaSurfaceObject_t surface) {
  surf2Dwrite(float(threadIdx.x + 10 * threadIdx.y), surface, int(threadIdx.x * sizeof(float)), int(threadIdx.y));
}

CUarray MakeArray(size_t width, size_t height, size_t depth, CUarray_format format, unsigned channels,
                  unsigned flags = 0) {
  CUarray array = nullptr;
  const CUDA_ARRAY3D_DESCRIPTOR description{width, height, depth, format, channels, flags};
  CU_OK(cuArray3DCreate(&array, &description));
  return array;
}

CUDA_RESOURCE_DESC Over(CUarray array) {
  CUDA_RESOURCE_DESC resource = {};
  resource.resType = CU_RESOURCE_TYPE_ARRAY;
  resource.res.array.hArray = array;
  return resource;
}

std::vector<float> Ramp(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = float(i) / 4;
  return values;
}

void CopyPlane(CUarray to, const std::vector<float>& from, size_t width, size_t height) {
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = from.data();
  copy.srcPitch = copy.WidthInBytes = width * sizeof(float);
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.dstArray = to;
  copy.Height = height;
  CU_OK(cuMemcpy2D(&copy));
}

}  // namespace

CASE(descriptions) {
  cudaFree(nullptr);
  const CUarray array = MakeArray(20, 7, 3, CU_AD_FORMAT_SIGNED_INT16, 2, CUDA_ARRAY3D_SURFACE_LDST);
  CUDA_ARRAY3D_DESCRIPTOR all = {};
  CU_OK(cuArray3DGetDescriptor(&all, array));
  EXPECT(all.Width == 20 && all.Height == 7 && all.Depth == 3 && all.NumChannels == 2);
  EXPECT(all.Format == CU_AD_FORMAT_SIGNED_INT16 && all.Flags == CUDA_ARRAY3D_SURFACE_LDST);
  // To the runtime it is the same.
  cudaExtent extent = {};
  cudaChannelFormatDesc format = {};
  unsigned flags = 0;
  CUDA_OK(cudaArrayGetInfo(&format, &extent, &flags, reinterpret_cast<cudaArray_t>(array)));
  EXPECT(extent.width == 20 && extent.height == 7 && extent.depth == 3 && format.x == 16 && format.y == 16);
  CU_OK(cuArrayDestroy(array));
  EXPECT_EQ(cuArrayDestroy(nullptr), CUDA_ERROR_INVALID_HANDLE);

  CUarray plane = nullptr;
  const CUDA_ARRAY_DESCRIPTOR wanted{8, 4, CU_AD_FORMAT_FLOAT, 1};
  CU_OK(cuArrayCreate(&plane, &wanted));
  CUDA_ARRAY_DESCRIPTOR got = {};
  CU_OK(cuArrayGetDescriptor(&got, plane));
  EXPECT(got.Width == 8 && got.Height == 4 && got.Format == CU_AD_FORMAT_FLOAT && got.NumChannels == 1);
  CU_OK(cuArrayDestroy(plane));
  const CUDA_ARRAY_DESCRIPTOR three{8, 4, CU_AD_FORMAT_FLOAT, 3};
  EXPECT_EQ(cuArrayCreate(&plane, &three), CUDA_ERROR_INVALID_VALUE);
}

CASE(copies) {
  const size_t width = 9, height = 5, depth = 3;
  const std::vector<float> in = Ramp(width * height * depth);
  const CUarray array = MakeArray(width, height, depth, CU_AD_FORMAT_FLOAT, 1);
  CUDA_MEMCPY3D to = {};
  to.srcMemoryType = CU_MEMORYTYPE_HOST;
  to.srcHost = in.data();
  to.srcPitch = to.WidthInBytes = width * sizeof(float);
  to.srcHeight = to.Height = height;
  to.Depth = depth;
  to.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  to.dstArray = array;
  CU_OK(cuMemcpy3D(&to));
  // A part of the middle slice.
  std::vector<float> part(3 * 2), want;
  CUDA_MEMCPY3D from = {};
  from.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  from.srcArray = array;
  from.srcXInBytes = 2 * sizeof(float), from.srcY = 1, from.srcZ = 1;
  from.dstMemoryType = CU_MEMORYTYPE_HOST;
  from.dstHost = part.data();
  from.dstPitch = from.WidthInBytes = 3 * sizeof(float);
  from.dstHeight = from.Height = 2;
  from.Depth = 1;
  CU_OK(cuMemcpy3D(&from));
  for (size_t y = 1; y < 3; ++y)
    for (size_t x = 2; x < 5; ++x) want.push_back(in[(height + y) * width + x]);
  EXPECT_SAME(part, want);
  from.srcY = 4;
  EXPECT_EQ(cuMemcpy3D(&from), CUDA_ERROR_INVALID_VALUE);
  CU_OK(cuArrayDestroy(array));

  const CUarray line = MakeArray(16, 0, 0, CU_AD_FORMAT_FLOAT, 1), other = MakeArray(16, 0, 0, CU_AD_FORMAT_FLOAT, 1);
  const std::vector<float> values = Ramp(16);
  CU_OK(cuMemcpyHtoA(line, 0, values.data(), 64));
  CU_OK(cuMemcpyAtoA(other, 0, line, 0, 64));
  std::vector<float> back(8);
  CU_OK(cuMemcpyAtoH(back.data(), other, 32, 32));
  EXPECT_SAME(back, std::vector<float>(values.begin() + 8, values.end()));
  EXPECT_EQ(cuMemcpyHtoA(line, 4, values.data(), 64), CUDA_ERROR_INVALID_VALUE);
  CU_OK(cuArrayDestroy(line));
  CU_OK(cuArrayDestroy(other));
}

CASE(mipmaps) {
  CUmipmappedArray mipmap = nullptr;
  const CUDA_ARRAY3D_DESCRIPTOR description{6, 4, 0, CU_AD_FORMAT_FLOAT, 1, 0};
  CU_OK(cuMipmappedArrayCreate(&mipmap, &description, 2));
  CUarray level = nullptr;
  CU_OK(cuMipmappedArrayGetLevel(&level, mipmap, 1));
  CUDA_ARRAY3D_DESCRIPTOR told = {};
  CU_OK(cuArray3DGetDescriptor(&told, level));
  EXPECT(told.Width == 3 && told.Height == 2 && told.Depth == 0 && told.Format == CU_AD_FORMAT_FLOAT);
  const std::vector<float> values = Ramp(6);
  CopyPlane(level, values, 3, 2);
  CUDA_RESOURCE_DESC resource = {};
  resource.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
  resource.res.mipmap.hMipmappedArray = mipmap;
  CUDA_TEXTURE_DESC sampler = {};
  sampler.flags = CU_TRSF_NORMALIZED_COORDINATES;
  sampler.minMipmapLevelClamp = sampler.maxMipmapLevelClamp = 1;  // which a fetch of the first level finds
  CUtexObject texture = 0;
  CU_OK(cuTexObjectCreate(&texture, &resource, &sampler, nullptr));
  Buffer<float> out(6);
  FetchNormalized<<<1, dim3(3, 2)>>>(texture, out, 3, 2);
  EXPECT_SAME(out.Get(), values);
  CUDA_RESOURCE_DESC again = {};
  CU_OK(cuTexObjectGetResourceDesc(&again, texture));
  EXPECT(again.resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY && again.res.mipmap.hMipmappedArray == mipmap);
  CU_OK(cuTexObjectDestroy(texture));
  EXPECT_EQ(cuMipmappedArrayGetLevel(&level, mipmap, 2), CUDA_ERROR_INVALID_VALUE);
  CU_OK(cuMipmappedArrayDestroy(mipmap));
  EXPECT_EQ(cuMipmappedArrayDestroy(nullptr), CUDA_ERROR_INVALID_HANDLE);
}

CASE(textures) {
  const unsigned width = 6, height = 4;
  const std::vector<float> values = Ramp(width * height);
  const CUarray array = MakeArray(width, height, 0, CU_AD_FORMAT_FLOAT, 1);
  CopyPlane(array, values, width, height);
  CUDA_RESOURCE_DESC resource = Over(array);
  CUDA_TEXTURE_DESC sampler = {};
  for (CUaddress_mode& mode : sampler.addressMode) mode = CU_TR_ADDRESS_MODE_CLAMP;
  CUtexObject texture = 0;
  CU_OK(cuTexObjectCreate(&texture, &resource, &sampler, nullptr));
  Buffer<float> out(width * height);
  FetchPlane<<<1, dim3(width, height)>>>(texture, out, int(width));
  EXPECT_SAME(out.Get(), values);
  // The runtime tells of it in its own terms.
  cudaResourceDesc told = {};
  CUDA_OK(cudaGetTextureObjectResourceDesc(&told, texture));
  EXPECT(told.resType == cudaResourceTypeArray && told.res.array.array == reinterpret_cast<cudaArray_t>(array));
  cudaTextureDesc told_sampler = {};
  CUDA_OK(cudaGetTextureObjectTextureDesc(&told_sampler, texture));
  EXPECT(told_sampler.readMode == cudaReadModeElementType && told_sampler.normalizedCoords == 0);
  CU_OK(cuTexObjectDestroy(texture));
  CU_OK(cuTexObjectDestroy(texture));
  CU_OK(cuArrayDestroy(array));

  Buffer<float> line(values);
  resource = {};
  resource.resType = CU_RESOURCE_TYPE_LINEAR;
  resource.res.linear = {CUdeviceptr(line.get()), CU_AD_FORMAT_FLOAT, 1, values.size() * sizeof(float)};
  sampler.flags = CU_TRSF_READ_AS_INTEGER;
  CU_OK(cuTexObjectCreate(&texture, &resource, &sampler, nullptr));
  CUDA_TEXTURE_DESC got = {};
  CU_OK(cuTexObjectGetTextureDesc(&got, texture));
  EXPECT_EQ(got.flags, unsigned(CU_TRSF_READ_AS_INTEGER));
  CUDA_RESOURCE_DESC got_resource = {};
  CU_OK(cuTexObjectGetResourceDesc(&got_resource, texture));
  EXPECT(got_resource.resType == CU_RESOURCE_TYPE_LINEAR &&
         got_resource.res.linear.devPtr == resource.res.linear.devPtr &&
         got_resource.res.linear.sizeInBytes == resource.res.linear.sizeInBytes);
  FetchLinear<<<1, width * height>>>(texture, out);
  EXPECT_SAME(out.Get(), values);
  CU_OK(cuTexObjectDestroy(texture));
  resource.flags = 1;
  EXPECT_EQ(cuTexObjectCreate(&texture, &resource, &sampler, nullptr), CUDA_ERROR_INVALID_VALUE);
}

CASE(surfaces) {
  const unsigned width = 6, height = 4;
  const CUarray array = MakeArray(width, height, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SURFACE_LDST);
  const CUDA_RESOURCE_DESC resource = Over(array);
  CUsurfObject surface = 0;
  CU_OK(cuSurfObjectCreate(&surface, &resource));
  WritePlane<<<1, dim3(width, height)>>>(surface);
  std::vector<float> got(width * height), want;
  CUDA_OK(cudaMemcpy2DFromArray(got.data(), width * sizeof(float), reinterpret_cast<cudaArray_t>(array), 0, 0,
                                width * sizeof(float), height, cudaMemcpyDeviceToHost));
  for (unsigned y = 0; y < height; ++y)
    for (unsigned x = 0; x < width; ++x) want.push_back(float(x + 10 * y));
  EXPECT_SAME(got, want);
  CUDA_RESOURCE_DESC told = {};
  CU_OK(cuSurfObjectGetResourceDesc(&told, surface));
  EXPECT(told.resType == CU_RESOURCE_TYPE_ARRAY && told.res.array.hArray == array);
  CU_OK(cuSurfObjectDestroy(surface));
  CU_OK(cuSurfObjectDestroy(surface));
  CU_OK(cuArrayDestroy(array));
}
