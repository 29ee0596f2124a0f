// Surface objects, views of arrays, queries of objects, and what making one refuses.
#include <array>

#include "images.h"

// --- surfaces ---

__global__ void WritePlane(cudaSurfaceObject_t surface, int width, int height, int by) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height) surf2Dwrite(make_int2(x * by, y * by), surface, x * int(sizeof(int2)), y);
}
__global__ void AddToPlane(cudaSurfaceObject_t surface, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  int2 texel = surf2Dread<int2>(surface, x * int(sizeof(int2)), y);
  texel.x += 1000, texel.y -= 1000;
  surf2Dwrite(texel, surface, x * int(sizeof(int2)), y);
}

CASE(surfaces_of_planes) {
  const int width = 21, height = 10;
  const Image<int2> image(make_cudaExtent(width, height, 0), cudaArraySurfaceLoadStore, 41);
  const Surface surface(image.array());
  const Texture texture(image.Resource(), Sampler(cudaAddressModeClamp));
  std::vector<At> at;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) at.push_back({float(x) + 0.5f, float(y) + 0.5f});
  for (int by = 1; by < 4; ++by) {
    const dim3 blocks((width + 7) / 8, (height + 7) / 8), threads(8, 8);
    WritePlane<<<blocks, threads>>>(surface, width, height, by);
    AddToPlane<<<blocks, threads>>>(surface, width, height);
    const std::vector<int2> seen = Sample<Plane, int2>(texture, at), copied = image.Contents();
    for (int i = 0; i < width * height; ++i) {
      const int2 want = make_int2(i % width * by + 1000, i / width * by - 1000);
      EXPECT(seen[size_t(i)].x == want.x && seen[size_t(i)].y == want.y);
      EXPECT(copied[size_t(i)].x == want.x && copied[size_t(i)].y == want.y);
    }
  }
}

__global__ void WriteOthers(cudaSurfaceObject_t line, cudaSurfaceObject_t volume, cudaSurfaceObject_t layers,
                            cudaSurfaceObject_t lines) {
  const int x = threadIdx.x, y = threadIdx.y, z = blockIdx.x;
  const float value = float(x + 100 * y + 10000 * z);
  if (y == 0 && z == 0) surf1Dwrite(value, line, x * 4);
  surf3Dwrite(value, volume, x * 4, y, z);
  surf2DLayeredwrite(-value, layers, x * 4, y, z);
  if (y == 0) surf1DLayeredwrite(value, lines, x * 4, z);
}
__global__ void ReadOthers(cudaSurfaceObject_t line, cudaSurfaceObject_t volume, cudaSurfaceObject_t layers,
                           cudaSurfaceObject_t lines, float4* out) {
  const int x = threadIdx.x, y = threadIdx.y, z = blockIdx.x;
  out[(z * blockDim.y + y) * blockDim.x + x] =
      make_float4(surf1Dread<float>(line, x * 4), surf3Dread<float>(volume, x * 4, y, z),
                  surf2DLayeredread<float>(layers, x * 4, y, z), surf1DLayeredread<float>(lines, x * 4, z));
}

CASE(surfaces_of_other_shapes) {
  const unsigned flags = cudaArraySurfaceLoadStore;
  const Image<float> line(make_cudaExtent(8, 0, 0), flags, 42), volume(make_cudaExtent(8, 4, 3), flags, 43);
  const Image<float> layers(make_cudaExtent(8, 4, 3), flags | cudaArrayLayered, 44);
  const Image<float> lines(make_cudaExtent(8, 0, 3), flags | cudaArrayLayered, 45);
  const Surface on_line(line.array()), in_volume(volume.array()), on_layers(layers.array()), on_lines(lines.array());
  Buffer<float4> out(8 * 4 * 3);
  WriteOthers<<<3, dim3(8, 4)>>>(on_line, in_volume, on_layers, on_lines);
  ReadOthers<<<3, dim3(8, 4)>>>(on_line, in_volume, on_layers, on_lines, out);
  const std::vector<float4> got = out.Get();
  for (int z = 0; z < 3; ++z) {
    for (int y = 0; y < 4; ++y) {
      for (int x = 0; x < 8; ++x) {
        const float value = float(x + 100 * y + 10000 * z);
        const float4& one = got[size_t((z * 4 + y) * 8 + x)];
        EXPECT(one.x == float(x) && one.y == value && one.z == -value && one.w == float(x + 10000 * z));
      }
    }
  }
}

__global__ void OutsideOfPlane(cudaSurfaceObject_t surface, int* out) {
  surf2Dwrite(77, surface, 4 * 4, 1, cudaBoundaryModeZero);  // nowhere
  out[0] = surf2Dread<int>(surface, 4 * 4, 1, cudaBoundaryModeZero);
  out[1] = surf2Dread<int>(surface, -4, -1, cudaBoundaryModeZero);
  out[2] = surf2Dread<int>(surface, 9 * 4, 9, cudaBoundaryModeClamp);
  out[3] = surf2Dread<int>(surface, -4, 1, cudaBoundaryModeClamp);
}

CASE(surfaces_have_bounds) {
  const Image<int> image(make_cudaExtent(4, 3, 0), cudaArraySurfaceLoadStore, 46);
  const Surface surface(image.array());
  Buffer<int> out(4);
  OutsideOfPlane<<<1, 1>>>(surface, out);
  EXPECT_SAME(out.Get(), (std::vector<int>{0, 0, image.Texel(3, 2), image.Texel(0, 1)}));
  const std::vector<int> contents = image.Contents();
  for (size_t i = 0; i < contents.size(); ++i) EXPECT_EQ(contents[i], image.Texel(i % 4, i / 4));
}

// --- views ---

// As a GPU has it: nobody looks whether all of it is there, as long as nobody fetches it.
CASE(a_line_of_texels_that_is_longer_than_its_memory) {
  Buffer<float> line(1024);
  std::vector<float> values(1024);
  for (int i = 0; i < 1024; ++i) values[i] = float(i);
  line.Set(values);
  cudaTextureDesc sampler{};
  sampler.filterMode = cudaFilterModeLinear;  // of no meaning here
  const Texture texture(Over(line.get(), 64 << 20), sampler);
  EXPECT_EQ((Sample<Linear, float>(texture, {{0}})[0]), 0.0f);
  EXPECT_EQ((Sample<Linear, float>(texture, {{1023}})[0]), 1023.0f);
}
CASE(views) {
  const Image<unsigned> words(make_cudaExtent(6, 4, 0), 0, 51);
  cudaResourceViewDesc view = {};
  view.format = cudaResViewFormatUnsignedChar4;
  view.width = 6, view.height = 4;
  const Texture bytes(words.Resource(), Sampler(cudaAddressModeClamp), &view);
  // Numbers of 32 bits are read as they are, and bytes that were none for the array as numbers up to one.
  const float4 got = Sample<Plane, float4>(bytes, {{2.5f, 1.5f}})[0];
  const unsigned want = words.Texel(2, 1);
  EXPECT(harness::Same(got.x, float(want & 255) / 255, 2) && harness::Same(got.y, float(want >> 8 & 255) / 255, 2) &&
         harness::Same(got.z, float(want >> 16 & 255) / 255, 2) && harness::Same(got.w, float(want >> 24) / 255, 2));

  const Image<float> layers(make_cudaExtent(6, 4, 5), cudaArrayLayered, 52);
  cudaResourceViewDesc some = {};
  some.format = cudaResViewFormatFloat1;
  some.width = 6, some.height = 4, some.depth = 5;
  some.firstLayer = 2, some.lastLayer = 3;
  const Texture inner(layers.Resource(), Sampler(cudaAddressModeClamp), &some);
  EXPECT_EQ((Sample<PlaneOf, float>(inner, {{2.5f, 1.5f, 0, 1}})[0]), layers.Texel(2, 1, 3));
  cudaResourceViewDesc told = {};
  CUDA_OK(cudaGetTextureObjectResourceViewDesc(&told, inner));
  EXPECT(told.format == some.format && told.width == 6 && told.height == 4 && told.depth == 5);
  EXPECT(told.firstLayer == 2 && told.lastLayer == 3);

  cudaTextureObject_t none = 0;
  const cudaResourceDesc resource = words.Resource();
  const cudaTextureDesc sampler = Sampler(cudaAddressModeClamp);
  view.format = cudaResViewFormatFloat2;  // of another size
  EXPECT_EQ(cudaCreateTextureObject(&none, &resource, &sampler, &view), cudaErrorInvalidValue);
  view.format = cudaResViewFormatUnsignedInt1;
  view.width = 5;
  EXPECT_EQ(cudaCreateTextureObject(&none, &resource, &sampler, &view), cudaErrorInvalidValue);
  view.width = 6, view.lastMipmapLevel = 1;
  EXPECT_EQ(cudaCreateTextureObject(&none, &resource, &sampler, &view), cudaErrorInvalidValue);
  view.lastMipmapLevel = 0;
  view.format = cudaResViewFormatNone;
  EXPECT_EQ(cudaCreateTextureObject(&none, &resource, &sampler, &view), cudaErrorInvalidValue);
  cudaGetLastError();
  // Of memory that is no array it is not looked at.
  view.format = cudaResViewFormatUnsignedInt1;
  const Buffer<float> line(16);
  const Texture linear(Over(line.get(), 16), sampler, &view);
  EXPECT_EQ((Sample<Linear, float>(linear, {{3}})[0]), 0.0f);
}

// --- queries and errors ---

CASE(objects_tell_what_they_are) {
  Buffer<float4> buffer(64);
  cudaTextureDesc sampler = Sampler(cudaAddressModeMirror, cudaFilterModeLinear, true);
  sampler.addressMode[1] = cudaAddressModeBorder;
  sampler.maxAnisotropy = 4;
  sampler.mipmapLevelBias = 0.5f;
  sampler.maxMipmapLevelClamp = 3;
  sampler.borderColor[2] = 7;
  const Texture texture(Over(buffer.get(), 8, 2, 128), sampler);
  cudaResourceDesc resource = {};
  CUDA_OK(cudaGetTextureObjectResourceDesc(&resource, texture));
  EXPECT_EQ(resource.resType, cudaResourceTypePitch2D);
  EXPECT(resource.res.pitch2D.devPtr == buffer.get() && resource.res.pitch2D.pitchInBytes == 128);
  EXPECT(resource.res.pitch2D.width == 8 && resource.res.pitch2D.height == 2);
  EXPECT(resource.res.pitch2D.desc.w == 32 && resource.res.pitch2D.desc.f == cudaChannelFormatKindFloat);
  cudaTextureDesc told = {};
  CUDA_OK(cudaGetTextureObjectTextureDesc(&told, texture));
  EXPECT(told.addressMode[0] == cudaAddressModeMirror && told.addressMode[1] == cudaAddressModeBorder);
  EXPECT(told.filterMode == cudaFilterModeLinear && told.normalizedCoords == 1 && told.maxAnisotropy == 4);
  EXPECT(told.mipmapLevelBias == 0.5f && told.maxMipmapLevelClamp == 3);  // of CUDA 13 no border
  EXPECT_EQ(told.readMode, cudaReadModeElementType);
  cudaResourceViewDesc view = {};
  CUDA_OK(cudaGetTextureObjectResourceViewDesc(&view, texture));  // of one that has none, it may say anything

  const Image<int> image(make_cudaExtent(4, 4, 0), cudaArraySurfaceLoadStore, 61);
  const Surface surface(image.array());
  CUDA_OK(cudaGetSurfaceObjectResourceDesc(&resource, surface));
  EXPECT(resource.resType == cudaResourceTypeArray && resource.res.array.array == image.array());
  cudaGetLastError();
}

CASE(textures_that_are_none) {
  Buffer<int> buffer(1024);
  cudaTextureObject_t none = 0;
  const cudaResourceDesc linear = Over(buffer.get(), 1024);
  const cudaTextureDesc sampler = Sampler(cudaAddressModeClamp);
  const auto error_of = [&](const cudaResourceDesc& resource, const cudaTextureDesc& with) {
    return cudaCreateTextureObject(&none, &resource, &with, nullptr);
  };
  EXPECT_EQ(cudaCreateTextureObject(nullptr, &linear, &sampler, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaCreateTextureObject(&none, nullptr, &sampler, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaCreateTextureObject(&none, &linear, nullptr, nullptr), cudaErrorInvalidResourceHandle);

  cudaResourceDesc resource = linear;
  resource.res.linear.devPtr = buffer.get() + 1;
  EXPECT_EQ(error_of(resource, sampler), cudaErrorInvalidValue);
  resource.res.linear.devPtr = nullptr;
  EXPECT_EQ(error_of(resource, sampler), cudaErrorInvalidValue);
  resource = linear;
  resource.res.linear.sizeInBytes = size_t{1} << 40;
  EXPECT_EQ(error_of(resource, sampler), cudaErrorInvalidValue);
  resource = linear;
  resource.res.linear.desc = cudaCreateChannelDesc(32, 32, 32, 0, cudaChannelFormatKindFloat);
  EXPECT_EQ(error_of(resource, sampler), cudaErrorInvalidChannelDescriptor);

  const cudaResourceDesc pitched = Over(buffer.get(), 16, 4, 64);
  EXPECT_EQ(error_of(pitched, sampler), cudaSuccess);
  CUDA_OK(cudaDestroyTextureObject(none));
  resource = pitched;
  resource.res.pitch2D.pitchInBytes = 68;
  EXPECT_EQ(error_of(resource, sampler), cudaErrorInvalidValue);
  resource = pitched;
  resource.res.pitch2D.height = 100'000;
  EXPECT_EQ(error_of(resource, sampler), cudaErrorInvalidValue);

  cudaTextureDesc wrong = sampler;
  wrong.filterMode = cudaFilterModeLinear;
  EXPECT_EQ(error_of(pitched, wrong), cudaErrorInvalidFilterSetting);
  wrong.readMode = cudaReadModeNormalizedFloat;  // which 32-bit integers are not read as
  EXPECT_EQ(error_of(pitched, wrong), cudaErrorInvalidFilterSetting);
  EXPECT_EQ(error_of(linear, wrong), cudaErrorInvalidFilterSetting);
  wrong.filterMode = cudaFilterModePoint;
  EXPECT_EQ(error_of(pitched, wrong), cudaErrorInvalidNormSetting);
  EXPECT_EQ(error_of(linear, wrong), cudaErrorInvalidNormSetting);
  wrong = sampler;
  wrong.addressMode[0] = cudaTextureAddressMode(4);
  EXPECT_EQ(error_of(pitched, wrong), cudaErrorInvalidValue);
  // What is fetched by integers has no filter: of floats it is not looked at.
  Buffer<float> floats(64);
  wrong.addressMode[0] = cudaAddressModeWrap, wrong.filterMode = cudaFilterModeLinear;
  EXPECT_EQ(error_of(Over(floats.get(), 64), wrong), cudaSuccess);
  CUDA_OK(cudaDestroyTextureObject(none));
  EXPECT_EQ(error_of(linear, wrong), cudaErrorInvalidFilterSetting);

  CUDA_OK(cudaDestroyTextureObject(none));  // there is none, nor was there ever such a one
  CUDA_OK(cudaDestroyTextureObject(12345678));
  EXPECT_EQ(cudaGetTextureObjectResourceDesc(&resource, none), cudaErrorInvalidValue);
  EXPECT_EQ(error_of(Over(cudaArray_t{nullptr}), sampler), cudaErrorInvalidResourceHandle);
  cudaGetLastError();
}

CASE(surfaces_that_are_none) {
  Buffer<int> buffer(64);
  cudaSurfaceObject_t none = 0;
  const cudaResourceDesc linear = Over(buffer.get(), 64);
  EXPECT_EQ(cudaCreateSurfaceObject(&none, &linear), cudaErrorInvalidValue);
  const Image<float> unwritable(make_cudaExtent(4, 4, 0), 0, 62);
  const cudaResourceDesc resource = unwritable.Resource();
  EXPECT_EQ(cudaCreateSurfaceObject(nullptr, &resource), cudaErrorInvalidValue);
  CUDA_OK(cudaCreateSurfaceObject(&none, &resource));  // what kernels do with it is another matter
  CUDA_OK(cudaDestroySurfaceObject(none));
  CUDA_OK(cudaDestroySurfaceObject(none));
  CUDA_OK(cudaDestroySurfaceObject(12345678));
  cudaGetLastError();
}

CASE(limits) {
  cudaDeviceProp properties = {};
  CUDA_OK(cudaGetDeviceProperties(&properties, 0));
  EXPECT(properties.textureAlignment >= 256 && properties.texturePitchAlignment >= 32);
  EXPECT(properties.surfaceAlignment >= 256);
  EXPECT(properties.maxTexture1D >= 65536 && properties.maxTexture2D[0] >= 65536 &&
         properties.maxTexture2D[1] >= 65535);
  EXPECT(properties.maxTexture3D[0] >= 4096 && properties.maxTexture3D[2] >= 4096);
  EXPECT(properties.maxTexture2DLinear[0] >= 65000 && properties.maxTexture2DLinear[2] >= 1048544);
  EXPECT(properties.maxTexture2DLayered[2] >= 2048 && properties.maxTextureCubemap >= 16384);
  EXPECT(properties.maxSurface2D[0] >= 65536 && properties.maxSurfaceCubemapLayered[1] >= 2046);
  const std::array<std::pair<cudaDeviceAttr, int>, 4> same = {
      {{cudaDevAttrMaxTexture2DHeight, properties.maxTexture2D[1]},
       {cudaDevAttrMaxTexture2DLinearPitch, properties.maxTexture2DLinear[2]},
       {cudaDevAttrMaxSurface3DDepth, properties.maxSurface3D[2]},
       {cudaDevAttrTexturePitchAlignment, int(properties.texturePitchAlignment)}}};
  for (const auto& [attribute, want] : same) {
    int value = 0;
    CUDA_OK(cudaDeviceGetAttribute(&value, attribute, 0));
    EXPECT_EQ(value, want);
  }
  size_t width = 0;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  CUDA_OK(cudaDeviceGetTexture1DLinearMaxWidth(&width, &format, 0));
  EXPECT(width >= size_t{1} << 27);
}
