// CUDA arrays: their formats and shapes, and copies to, from and between them.
#include "harness.h"

using u8 = unsigned char;

namespace {

std::vector<u8> Bytes(size_t count, uint64_t seed) {
  harness::Random random(seed);
  std::vector<u8> bytes(count);
  for (u8& byte : bytes) byte = u8(random.Next());
  return bytes;
}

template <class T>
cudaArray_t Plane(size_t width, size_t height, unsigned flags = 0) {
  cudaArray_t array = nullptr;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<T>();
  CUDA_OK(cudaMallocArray(&array, &format, width, height, flags));
  return array;
}

// All of a plane, row behind row; `width` in bytes.
std::vector<u8> Contents(cudaArray_t array, size_t width, size_t height) {
  std::vector<u8> out(width * height);
  CUDA_OK(cudaMemcpy2DFromArray(out.data(), width, array, 0, 0, width, height, cudaMemcpyDeviceToHost));
  harness::Hash(out.data(), out.size());
  return out;
}

// The same of a volume or of layers; the extent in elements of `bytes`.
std::vector<u8> Contents(cudaArray_t array, cudaExtent extent, size_t bytes) {
  std::vector<u8> out(extent.width * bytes * extent.height * extent.depth);
  cudaMemcpy3DParms copy = {};
  copy.srcArray = array;
  copy.dstPtr = make_cudaPitchedPtr(out.data(), extent.width * bytes, extent.width, extent.height);
  copy.extent = extent;
  copy.kind = cudaMemcpyDeviceToHost;
  CUDA_OK(cudaMemcpy3D(&copy));
  harness::Hash(out.data(), out.size());
  return out;
}

template <class T>
void ExpectInfo(const char* what, unsigned flags, cudaExtent extent) {
  cudaArray_t array = nullptr;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<T>();
  CUDA_OK(cudaMalloc3DArray(&array, &format, extent, flags));
  cudaChannelFormatDesc got = {}, again = {};
  cudaExtent shape = {};
  unsigned got_flags = ~0u;
  CUDA_OK(cudaArrayGetInfo(&got, &shape, &got_flags, array));
  CUDA_OK(cudaGetChannelDesc(&again, array));
  for (const cudaChannelFormatDesc& d : {got, again}) {
    EXPECT(d.x == format.x && d.y == format.y && d.z == format.z && d.w == format.w && d.f == format.f);
  }
  EXPECT_EQ(got_flags, flags);
  EXPECT(shape.width == extent.width && shape.height == extent.height && shape.depth == extent.depth);
  if (harness::Current().failed) std::printf("  in %s\n", what);
  CUDA_OK(cudaFreeArray(array));
}

}  // namespace

CASE(shapes_and_formats) {
  ExpectInfo<float>("1D", 0, make_cudaExtent(100, 0, 0));
  ExpectInfo<uchar4>("2D", 0, make_cudaExtent(100, 7, 0));
  ExpectInfo<short2>("3D", 0, make_cudaExtent(20, 7, 3));
  ExpectInfo<float4>("layers of lines", cudaArrayLayered, make_cudaExtent(20, 0, 5));
  ExpectInfo<int>("layers", cudaArrayLayered, make_cudaExtent(20, 7, 5));
  ExpectInfo<u8>("cube", cudaArrayCubemap, make_cudaExtent(8, 8, 6));
  ExpectInfo<ushort4>("cubes", cudaArrayCubemap | cudaArrayLayered, make_cudaExtent(8, 8, 12));
  ExpectInfo<float2>("for surfaces", cudaArraySurfaceLoadStore, make_cudaExtent(16, 4, 0));
  ExpectInfo<float>("for gathers", cudaArrayTextureGather, make_cudaExtent(16, 4, 0));
}

CASE(shapes_that_are_none) {
  cudaArray_t array = nullptr;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  EXPECT_EQ(cudaMallocArray(nullptr, &format, 4, 4), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMallocArray(&array, nullptr, 4, 4), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMalloc3DArray(&array, &format, make_cudaExtent(8, 4, 6), cudaArrayCubemap), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMalloc3DArray(&array, &format, make_cudaExtent(8, 8, 5), cudaArrayCubemap), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMalloc3DArray(&array, &format, make_cudaExtent(size_t{1} << 40, 8, 8), 0), cudaErrorInvalidValue);
  const cudaChannelFormatDesc uneven = cudaCreateChannelDesc(8, 16, 0, 0, cudaChannelFormatKindUnsigned);
  EXPECT_EQ(cudaMallocArray(&array, &uneven, 4, 4), cudaErrorInvalidChannelDescriptor);
  CUDA_OK(cudaFreeArray(nullptr));
  cudaGetLastError();
}

CASE(planes) {
  const size_t width = 37 * 4, height = 11;
  cudaArray_t array = Plane<uchar4>(37, height);
  const std::vector<u8> in = Bytes(200 * height, 1), patch = Bytes(64 * 5, 2);
  CUDA_OK(cudaMemcpy2DToArray(array, 0, 0, in.data(), 200, width, height, cudaMemcpyHostToDevice));
  // Offsets and width are in bytes.
  CUDA_OK(cudaMemcpy2DToArrayAsync(array, 8, 3, patch.data(), 64, 40, 5, cudaMemcpyHostToDevice, nullptr));
  std::vector<u8> want(width * height);
  for (size_t y = 0; y < height; ++y) std::memcpy(&want[y * width], &in[y * 200], width);
  for (size_t y = 0; y < 5; ++y) std::memcpy(&want[(y + 3) * width + 8], &patch[y * 64], 40);
  EXPECT_SAME(Contents(array, width, height), want);

  std::vector<u8> part(50 * 2, 0xee), want_part = part;
  CUDA_OK(cudaMemcpy2DFromArrayAsync(part.data(), 50, array, 12, 4, 44, 2, cudaMemcpyDeviceToHost, nullptr));
  CUDA_OK(cudaDeviceSynchronize());
  for (size_t y = 0; y < 2; ++y) std::memcpy(&want_part[y * 50], &want[(y + 4) * width + 12], 44);
  EXPECT_SAME(part, want_part);
  CUDA_OK(cudaFreeArray(array));
}

__global__ void Double(float* values, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] *= 2;
}

CASE(between_kernels) {
  const int width = 40, height = 9, count = width * height;
  std::vector<float> in(count), want(count);
  for (int i = 0; i < count; ++i) in[i] = float(i) / 8, want[i] = in[i] * 4;
  Buffer<float> buffer(in);
  cudaArray_t array = Plane<float>(width, height);
  for (int round = 0; round < 2; ++round) {
    Double<<<(count + 127) / 128, 128>>>(buffer, count);
    CUDA_OK(cudaMemcpy2DToArray(array, 0, 0, buffer.get(), width * 4, width * 4, height, cudaMemcpyDeviceToDevice));
    CUDA_OK(cudaMemset(buffer.get(), 0, count * 4));
    CUDA_OK(cudaMemcpy2DFromArray(buffer.get(), width * 4, array, 0, 0, width * 4, height, cudaMemcpyDeviceToDevice));
  }
  EXPECT_SAME(buffer.Get(), want);
  CUDA_OK(cudaFreeArray(array));
}

CASE(between_arrays) {
  cudaArray_t from = Plane<int>(30, 10), to = Plane<int>(20, 12);
  const std::vector<u8> in = Bytes(120 * 10, 3);
  std::vector<u8> want = Bytes(80 * 12, 4);
  CUDA_OK(cudaMemcpy2DToArray(from, 0, 0, in.data(), 120, 120, 10, cudaMemcpyHostToDevice));
  CUDA_OK(cudaMemcpy2DToArray(to, 0, 0, want.data(), 80, 80, 12, cudaMemcpyHostToDevice));
  CUDA_OK(cudaMemcpy2DArrayToArray(to, 16, 5, from, 40, 2, 48, 6));
  for (size_t y = 0; y < 6; ++y) std::memcpy(&want[(y + 5) * 80 + 16], &in[(y + 2) * 120 + 40], 48);
  EXPECT_SAME(Contents(to, 80, 12), want);
  CUDA_OK(cudaFreeArray(from));
  CUDA_OK(cudaFreeArray(to));
}

// They are told a number of bytes and run on from row to row.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#pragma nv_diag_suppress 1444
CASE(counted_bytes) {
  const size_t width = 52, height = 8;
  cudaArray_t array = Plane<float>(13, height), other = Plane<float>(17, height);
  std::vector<u8> want = Bytes(width * height, 5), next = Bytes(68 * height, 6);
  CUDA_OK(cudaMemcpyToArray(array, 0, 0, want.data(), want.size(), cudaMemcpyHostToDevice));
  EXPECT_SAME(Contents(array, width, height), want);
  const std::vector<u8> patch = Bytes(200, 7);
  CUDA_OK(cudaMemcpyToArrayAsync(array, 20, 1, patch.data(), 200, cudaMemcpyHostToDevice, nullptr));
  std::memcpy(&want[width + 20], patch.data(), 200);
  EXPECT_SAME(Contents(array, width, height), want);
  std::vector<u8> part(150);
  CUDA_OK(cudaMemcpyFromArray(part.data(), array, 48, 2, 150, cudaMemcpyDeviceToHost));
  EXPECT_SAME(part, std::vector<u8>(&want[2 * width + 48], &want[2 * width + 48] + 150));
  CUDA_OK(cudaMemcpyFromArrayAsync(part.data(), array, 0, 5, 150, cudaMemcpyDeviceToHost, nullptr));
  CUDA_OK(cudaDeviceSynchronize());
  EXPECT_SAME(part, std::vector<u8>(&want[5 * width], &want[5 * width] + 150));
  CUDA_OK(cudaMemcpyToArray(other, 0, 0, next.data(), next.size(), cudaMemcpyHostToDevice));
  CUDA_OK(cudaMemcpyArrayToArray(other, 4, 2, array, 8, 1, 260));
  std::memcpy(&next[2 * 68 + 4], &want[width + 8], 260);
  EXPECT_SAME(Contents(other, 68, height), next);
  CUDA_OK(cudaFreeArray(array));
  CUDA_OK(cudaFreeArray(other));
}
#pragma GCC diagnostic pop

// Positions and the extent count the array's elements, in plain memory too.
CASE(volumes) {
  const cudaExtent extent = make_cudaExtent(12, 7, 5);
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<short2>();
  cudaArray_t array = nullptr, copy_of_it = nullptr;
  CUDA_OK(cudaMalloc3DArray(&array, &format, extent));
  CUDA_OK(cudaMalloc3DArray(&copy_of_it, &format, extent));
  const size_t row = 12 * 4, slice = row * 7;
  const std::vector<u8> in = Bytes(slice * 5, 8), patch = Bytes(64 * 4 * 3, 9);
  std::vector<u8> want = in;
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr(const_cast<u8*>(in.data()), row, 12, 7);
  copy.dstArray = array;
  copy.extent = extent;
  copy.kind = cudaMemcpyHostToDevice;
  CUDA_OK(cudaMemcpy3D(&copy));
  EXPECT_SAME(Contents(array, extent, 4), want);

  copy.srcPtr = make_cudaPitchedPtr(const_cast<u8*>(patch.data()), 64, 64, 4);
  copy.srcPos = make_cudaPos(5, 1, 1);
  copy.dstPos = make_cudaPos(3, 2, 1);
  copy.extent = make_cudaExtent(6, 3, 2);
  CUDA_OK(cudaMemcpy3DAsync(&copy, nullptr));
  for (size_t z = 0; z < 2; ++z)
    for (size_t y = 0; y < 3; ++y)
      std::memcpy(&want[(z + 1) * slice + (y + 2) * row + 12], &patch[(z + 1) * 256 + (y + 1) * 64 + 20], 24);
  EXPECT_SAME(Contents(array, extent, 4), want);

  cudaMemcpy3DParms across = {};
  across.srcArray = array;
  across.dstArray = copy_of_it;
  across.extent = extent;
  across.kind = cudaMemcpyDeviceToDevice;
  CUDA_OK(cudaMemcpy3D(&across));
  EXPECT_SAME(Contents(copy_of_it, extent, 4), want);
  CUDA_OK(cudaFreeArray(array));
  CUDA_OK(cudaFreeArray(copy_of_it));
}

// A layer, or a face of a cube, is a slice.
CASE(layers_and_faces) {
  for (const unsigned flags : {unsigned(cudaArrayLayered), unsigned(cudaArrayCubemap)}) {
    const cudaExtent extent = make_cudaExtent(8, 8, 6);
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t array = nullptr;
    CUDA_OK(cudaMalloc3DArray(&array, &format, extent, flags));
    const std::vector<u8> in = Bytes(8 * 8 * 6 * 4, flags);
    for (size_t layer = 0; layer < 6; ++layer) {
      cudaMemcpy3DParms copy = {};
      copy.srcPtr = make_cudaPitchedPtr(const_cast<u8*>(&in[layer * 256]), 32, 8, 8);
      copy.dstArray = array;
      copy.dstPos = make_cudaPos(0, 0, layer);
      copy.extent = make_cudaExtent(8, 8, 1);
      copy.kind = cudaMemcpyHostToDevice;
      CUDA_OK(cudaMemcpy3D(&copy));
    }
    EXPECT_SAME(Contents(array, extent, 4), in);
    CUDA_OK(cudaFreeArray(array));
  }
}

CASE(copies_that_leave_the_array) {
  cudaArray_t array = Plane<float>(16, 4);
  const std::vector<u8> in = Bytes(64 * 5, 11);
  CUDA_OK(cudaMemcpy2DToArray(array, 0, 0, in.data(), 64, 64, 4, cudaMemcpyHostToDevice));
  EXPECT_EQ(cudaMemcpy2DToArray(array, 0, 1, in.data(), 64, 64, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy2DToArray(array, 4, 0, in.data(), 64, 64, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy2DToArray(array, 0, ~size_t{0}, in.data(), 64, 64, 2, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr(const_cast<u8*>(in.data()), 64, 16, 5);
  copy.dstArray = array;
  copy.extent = make_cudaExtent(16, 5, 1);
  copy.kind = cudaMemcpyHostToDevice;
  EXPECT_EQ(cudaMemcpy3D(&copy), cudaErrorInvalidValue);
  EXPECT_SAME(Contents(array, 64, 4), std::vector<u8>(in.begin(), in.begin() + 256));
  CUDA_OK(cudaFreeArray(array));
  cudaGetLastError();
}
