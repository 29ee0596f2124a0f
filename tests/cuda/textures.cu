// Texture objects over linear, pitched and array memory: what fetches return, against a reference that samples the same
// texels on the host, and what they see of copies and kernels.
#include "images.h"

namespace {

// --- the reference ---

// The texel of a dimension, -1: the border.
long Resolve(long i, long extent, cudaTextureAddressMode mode) {
  const auto modulo = [](long a, long b) { return ((a % b) + b) % b; };
  if (i >= 0 && i < extent) return i;
  switch (mode) {
    case cudaAddressModeWrap:
      return modulo(i, extent);
    case cudaAddressModeMirror: {
      const long at = modulo(i, 2 * extent);
      return at < extent ? at : 2 * extent - 1 - at;
    }
    case cudaAddressModeClamp:
      return i < 0 ? 0 : extent - 1;
    default:
      return -1;
  }
}

// A fetch of an image of floats; `dimensions` of them, then `slice` is the layer. The border is 0.
double Reference(const Image<float>& image, const cudaTextureDesc& sampler, int dimensions, const At& p) {
  const long extents[] = {long(image.Width()), long(image.Rows()), long(image.Slices())};
  const double at[] = {p.x, p.y, p.z};
  long low[3] = {0, 0, 0};
  double high_part[3] = {0, 0, 0};
  for (int d = 0; d < dimensions; ++d) {
    double x = sampler.normalizedCoords ? at[d] * double(extents[d]) : at[d];
    if (sampler.filterMode == cudaFilterModeLinear) x -= 0.5;
    low[d] = long(std::floor(x));
    high_part[d] = sampler.filterMode == cudaFilterModeLinear ? x - std::floor(x) : 0;
  }
  double sum = 0;
  for (int corner = 0; corner < 1 << dimensions; ++corner) {
    long texel[3] = {0, 0, dimensions == 3 ? 0 : p.layer};
    double weight = 1;
    bool border = false;
    for (int d = 0; d < dimensions; ++d) {
      const bool high = (corner >> d & 1) != 0;
      cudaTextureAddressMode mode = sampler.addressMode[d];
      const bool repeats = mode == cudaAddressModeWrap || mode == cudaAddressModeMirror;
      if (repeats && !sampler.normalizedCoords) mode = cudaAddressModeClamp;
      texel[d] = Resolve(low[d] + high, extents[d], mode);
      border |= texel[d] < 0;
      weight *= high ? high_part[d] : 1 - high_part[d];
    }
    if (weight != 0 && !border) sum += weight * image.Texel(size_t(texel[0]), size_t(texel[1]), size_t(texel[2]));
  }
  // GPUs filter a line as a plane of one row, half a row outside of it: half of what they see is that side's border.
  const bool line = dimensions == 1 && image.Slices() == 1 && sampler.filterMode == cudaFilterModeLinear;
  if (line && sampler.addressMode[1] == cudaAddressModeBorder) sum /= 2;
  return sum;
}

// Linear filtering has weights of 8 bits, so texels from 0 to 1 give results that are off by a 256th a dimension.
void ExpectSampled(const std::vector<float>& got, const Image<float>& image, const cudaTextureDesc& sampler,
                   int dimensions, const std::vector<At>& at) {
  const double tolerance = sampler.filterMode == cudaFilterModeLinear ? dimensions / 256.0 : 0;
  for (size_t i = 0; i < at.size(); ++i) {
    const double want = Reference(image, sampler, dimensions, at[i]);
    if (std::abs(got[i] - want) <= tolerance) continue;
    harness::Fail(__FILE__, __LINE__,
                  "at " + harness::Show(at[i].x) + ", " + harness::Show(at[i].y) + ", " + harness::Show(at[i].z) +
                      " of layer " + harness::Show(at[i].layer) + ": got " + harness::Show(got[i]) + ", want " +
                      harness::Show(want));
    return;
  }
}

// Places within and around an image, none of which lies between two texels as far as point sampling goes.
std::vector<At> Places(const Image<float>& image, int dimensions, bool normalized, uint64_t seed, int layers = 1) {
  harness::Random random(seed);
  std::vector<At> places;
  const size_t extents[] = {image.Width(), image.Rows(), image.Slices()};
  for (int i = 0; i < 400; ++i) {
    float at[3] = {0, 0, 0};
    for (int d = 0; d < dimensions; ++d) {
      const int extent = int(extents[d]);
      // A 64th of a texel is a number of which filtering knows.
      const double texels = random.Below(4 * extent) - 1.5 * extent + (1 + random.Below(62)) / 64.0;
      const double shifted = extent % 2 == 0 ? texels : texels + 0.5;
      at[d] = float(normalized ? shifted / extent : shifted);
    }
    places.push_back({at[0], at[1], at[2], random.Below(layers)});
  }
  return places;
}

constexpr cudaTextureAddressMode kModes[] = {cudaAddressModeWrap, cudaAddressModeClamp, cudaAddressModeMirror,
                                             cudaAddressModeBorder};
constexpr cudaTextureFilterMode kFilters[] = {cudaFilterModePoint, cudaFilterModeLinear};

// Every mode, filter and kind of coordinates.
template <template <class> class Fetch>
void ExpectSamplers(const Image<float>& image, int dimensions, int layers = 1) {
  for (const bool normalized : {false, true}) {
    const std::vector<At> places = Places(image, dimensions, normalized, 7, layers);
    for (const cudaTextureAddressMode mode : kModes) {
      for (const cudaTextureFilterMode filter : kFilters) {
        const cudaTextureDesc sampler = Sampler(mode, filter, normalized);
        const Texture texture(image.Resource(), sampler);
        ExpectSampled(Sample<Fetch, float>(texture, places), image, sampler, dimensions, places);
      }
    }
  }
}

}  // namespace

// --- linear memory ---

template <class T>
void ExpectFetched(const std::vector<T>& values) {
  Buffer<T> buffer(values);
  const Texture texture(Over(buffer.get(), values.size()), Sampler(cudaAddressModeClamp));
  std::vector<At> at(values.size());
  for (size_t i = 0; i < at.size(); ++i) at[i].x = float(i);
  const std::vector<T> got = Sample<Linear, T>(texture, at);
  EXPECT(std::memcmp(got.data(), values.data(), sizeof(T) * values.size()) == 0);
  // Beyond the end there are zeros.
  const T zero = {};
  const T beyond = Sample<Linear, T>(texture, {{float(values.size())}})[0];
  EXPECT(std::memcmp(&beyond, &zero, sizeof(T)) == 0);
}

template <class T>
std::vector<T> RandomTexels(size_t count, uint64_t seed) {
  harness::Random random(seed);
  std::vector<T> texels(count);
  auto* bytes = reinterpret_cast<u8*>(texels.data());
  for (size_t i = 0; i < count * sizeof(T); ++i) bytes[i] = u8(random.Next() & 0x3f);  // no NaN
  return texels;
}

CASE(linear_memory) {
  ExpectFetched(RandomTexels<float>(1000, 1));
  ExpectFetched(RandomTexels<float2>(200, 2));
  ExpectFetched(RandomTexels<float4>(200, 3));
  ExpectFetched(RandomTexels<int>(200, 4));
  ExpectFetched(RandomTexels<u8>(333, 5));
  ExpectFetched(RandomTexels<short2>(100, 6));
  ExpectFetched(RandomTexels<uint4>(100, 7));
}

CASE(linear_memory_as_normalized_floats) {
  const std::vector<signed char> bytes = {0, 1, 127, -127, -128, 64};
  Buffer<signed char> buffer(bytes);
  cudaResourceDesc resource = Over(buffer.get(), bytes.size());
  resource.res.linear.desc = cudaCreateChannelDesc<signed char>();
  const Texture texture(resource,
                        Sampler(cudaAddressModeClamp, cudaFilterModePoint, false, cudaReadModeNormalizedFloat));
  std::vector<At> at(bytes.size());
  std::vector<float> want(bytes.size());
  for (size_t i = 0; i < at.size(); ++i) {
    at[i].x = float(i);
    want[i] = std::max(float(bytes[i]) / 127, -1.0f);
  }
  EXPECT_NEAR_ULP((Sample<Linear, float>(texture, at)), want, 2);
}

// --- arrays ---

CASE(lines) { ExpectSamplers<Line>(Image<float>(make_cudaExtent(24, 0, 0), 0, 11), 1); }
CASE(planes) { ExpectSamplers<Plane>(Image<float>(make_cudaExtent(20, 14, 0), 0, 12), 2); }
CASE(planes_of_odd_extents) { ExpectSamplers<Plane>(Image<float>(make_cudaExtent(7, 5, 0), 0, 13), 2); }
CASE(planes_at_a_level) { ExpectSamplers<PlaneAtLevel>(Image<float>(make_cudaExtent(20, 14, 0), 0, 14), 2); }
CASE(volumes) { ExpectSamplers<Volume>(Image<float>(make_cudaExtent(10, 6, 4), 0, 15), 3); }
CASE(layers_of_lines) { ExpectSamplers<LineOf>(Image<float>(make_cudaExtent(12, 0, 5), cudaArrayLayered, 16), 1, 5); }
CASE(layers_of_planes) { ExpectSamplers<PlaneOf>(Image<float>(make_cudaExtent(12, 6, 5), cudaArrayLayered, 17), 2, 5); }

CASE(channels) {
  const Image<uchar4> image(make_cudaExtent(9, 6, 0), 0, 21);
  std::vector<At> at;
  for (int y = 0; y < 6; ++y)
    for (int x = 0; x < 9; ++x) at.push_back({float(x) + 0.5f, float(y) + 0.5f});
  const Texture bytes(image.Resource(), Sampler(cudaAddressModeClamp));
  const std::vector<uchar4> got = Sample<Plane, uchar4>(bytes, at);
  const Texture floats(image.Resource(),
                       Sampler(cudaAddressModeClamp, cudaFilterModeLinear, false, cudaReadModeNormalizedFloat));
  const std::vector<float4> scaled = Sample<Plane, float4>(floats, at);
  for (size_t i = 0; i < at.size(); ++i) {
    const uchar4 want = image.Texel(i % 9, i / 9);
    EXPECT(std::memcmp(&got[i], &want, sizeof(want)) == 0);
    // In the middle of a texel there is nothing else.
    EXPECT(harness::Same(scaled[i].x, float(want.x) / 255, 2) && harness::Same(scaled[i].y, float(want.y) / 255, 2) &&
           harness::Same(scaled[i].z, float(want.z) / 255, 2) && harness::Same(scaled[i].w, float(want.w) / 255, 2));
  }
  const Image<short2> shorts(make_cudaExtent(9, 6, 0), 0, 22);
  const Texture pairs(shorts.Resource(), Sampler(cudaAddressModeClamp));
  const std::vector<short2> read = Sample<Plane, short2>(pairs, at);
  for (size_t i = 0; i < at.size(); ++i) {
    const short2 want = shorts.Texel(i % 9, i / 9);
    EXPECT(read[i].x == want.x && read[i].y == want.y);
  }
}

CASE(border_colours) {
  const Image<float4> image(make_cudaExtent(4, 4, 0), 0, 23);
  cudaTextureDesc sampler = Sampler(cudaAddressModeBorder);
  for (int c = 0; c < 4; ++c) sampler.borderColor[c] = float(c) + 0.25f;
  const Texture texture(image.Resource(), sampler);
  const float4 got = Sample<Plane, float4>(texture, {{-3, 2}})[0];
  EXPECT(got.x == 0.25f && got.y == 1.25f && got.z == 2.25f && got.w == 3.25f);
}

CASE(pitched_memory) {
  const int width = 30, height = 9;
  float* data = nullptr;
  size_t pitch = 0;
  CUDA_OK(cudaMallocPitch(&data, &pitch, width * sizeof(float), height));
  const Image<float> image(make_cudaExtent(width, height, 0), 0, 24);  // for its texels
  CUDA_OK(
      cudaMemcpy2DFromArray(data, pitch, image.array(), 0, 0, width * sizeof(float), height, cudaMemcpyDeviceToDevice));
  for (const bool normalized : {false, true}) {
    const std::vector<At> places = Places(image, 2, normalized, 25);
    for (const cudaTextureAddressMode mode : kModes) {
      const cudaTextureDesc sampler = Sampler(mode, cudaFilterModeLinear, normalized);
      const Texture texture(Over(data, width, height, pitch), sampler);
      ExpectSampled(Sample<Plane, float>(texture, places), image, sampler, 2, places);
    }
  }
  CUDA_OK(cudaFree(data));
}

// The middles of texels, by the face and the coordinates within it that the programming guide gives for a direction.
CASE(cubes) {
  const int n = 4;
  const Image<float> cube(make_cudaExtent(n, n, 6), cudaArrayCubemap, 26);
  const Image<float> cubes(make_cudaExtent(n, n, 12), cudaArrayCubemap | cudaArrayLayered, 27);
  std::vector<At> at;
  std::vector<float> want, want_of;
  for (int face = 0; face < 6; ++face) {
    for (int y = 0; y < n; ++y) {
      for (int x = 0; x < n; ++x) {
        const float s = (2 * x + 1) / float(n) - 1, t = (2 * y + 1) / float(n) - 1;
        const float towards[6][3] = {{1, -t, -s}, {-1, -t, s}, {s, 1, t}, {s, -1, -t}, {s, -t, 1}, {-s, -t, -1}};
        const int layer = (x + y) % 2;
        at.push_back({3 * towards[face][0], 3 * towards[face][1], 3 * towards[face][2], layer});
        want.push_back(cube.Texel(size_t(x), size_t(y), size_t(face)));
        want_of.push_back(cubes.Texel(size_t(x), size_t(y), size_t(6 * layer + face)));
      }
    }
  }
  const Texture one(cube.Resource(), Sampler(cudaAddressModeClamp, cudaFilterModePoint, true));
  EXPECT_SAME((Sample<Cube, float>(one, at)), want);
  const Texture many(cubes.Resource(), Sampler(cudaAddressModeClamp, cudaFilterModePoint, true));
  EXPECT_SAME((Sample<CubeOf, float>(many, at)), want_of);
}

// As a number is gathered: what is too small is zero, and there is one NaN.
static unsigned Gathered(float value) {
  unsigned bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  const unsigned rest = bits & 0x7fffffffu;
  if (rest > 0x7f800000u) return 0x7fffffffu;
  return rest < 0x00800000u ? bits & 0x80000000u : bits;
}

// The four texels that linear filtering would use: left below, right below, right above, left above.
CASE(gathers) {
  const Image<float2> image(make_cudaExtent(8, 6, 0), cudaArrayTextureGather, 28);
  const Texture texture(image.Resource(), Sampler(cudaAddressModeClamp));
  std::vector<At> at;
  for (size_t y = 1; y < 6; ++y)
    for (size_t x = 1; x < 8; ++x) at.push_back({float(x), float(y)});
  const std::vector<float4> first = Sample<GatherX, float4>(texture, at), second = Sample<GatherY, float4>(texture, at);
  for (size_t i = 0; i < at.size(); ++i) {
    const size_t x = size_t(at[i].x), y = size_t(at[i].y);
    const float2 want[] = {image.Texel(x - 1, y), image.Texel(x, y), image.Texel(x, y - 1), image.Texel(x - 1, y - 1)};
    const unsigned want_x[] = {Gathered(want[0].x), Gathered(want[1].x), Gathered(want[2].x), Gathered(want[3].x)};
    const unsigned want_y[] = {Gathered(want[0].y), Gathered(want[1].y), Gathered(want[2].y), Gathered(want[3].y)};
    EXPECT(std::memcmp(&first[i], want_x, sizeof(want_x)) == 0);
    EXPECT(std::memcmp(&second[i], want_y, sizeof(want_y)) == 0);
  }
}

// --- what textures see ---

CASE(copies_are_seen) {
  Image<float> image(make_cudaExtent(16, 8, 0), 0, 31);
  const cudaTextureDesc sampler = Sampler(cudaAddressModeClamp);
  const Texture texture(image.Resource(), sampler);
  const std::vector<At> places = Places(image, 2, false, 32);
  for (uint64_t round = 0; round < 5; ++round) {
    image.Refill(33 + round);
    ExpectSampled(Sample<Plane, float>(texture, places), image, sampler, 2, places);
  }
}

__global__ void Fill(float* values, int count, float by) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] = float(i) * by;
}

// The same calls again and again, as inferences make them.
CASE(kernels_are_seen) {
  const int count = 500;
  Buffer<float> buffer(count);
  std::vector<At> at(count);
  for (int i = 0; i < count; ++i) at[size_t(i)].x = float(i);
  const Texture texture(Over(buffer.get(), count), Sampler(cudaAddressModeClamp));
  for (int round = 1; round < 12; ++round) {
    Fill<<<4, 128>>>(buffer, count, float(round));
    const std::vector<float> got = Sample<Linear, float>(texture, at);
    for (int i = 0; i < count; ++i) EXPECT_EQ(got[size_t(i)], float(i) * float(round));
  }
}

// One object an inference, with other memory each time.
CASE(objects_come_and_go) {
  Buffer<float> a(RandomTexels<float>(64, 34)), b(RandomTexels<float>(64, 35));
  const std::vector<float> want_a = a.Get(), want_b = b.Get();
  std::vector<At> at(64);
  for (size_t i = 0; i < at.size(); ++i) at[i].x = float(i);
  for (int round = 0; round < 12; ++round) {
    const bool first = round % 3 != 0;
    const Texture texture(Over(first ? a.get() : b.get(), 64), Sampler(cudaAddressModeClamp));
    EXPECT_SAME((Sample<Linear, float>(texture, at)), first ? want_a : want_b);
  }
}

struct InMemory {
  int which;
  cudaTextureObject_t textures[3];
};
__global__ void FetchByStruct(const InMemory* memory, float* out) {
  out[threadIdx.x] = tex1Dfetch<float>(memory->textures[memory->which], int(threadIdx.x));
}

CASE(objects_in_memory) {
  const std::vector<float> first = RandomTexels<float>(32, 36), second = RandomTexels<float>(32, 37);
  Buffer<float> a(first), b(second), out(32);
  const Texture texture_a(Over(a.get(), 32), Sampler(cudaAddressModeClamp));
  const Texture texture_b(Over(b.get(), 32), Sampler(cudaAddressModeClamp));
  for (int which = 0; which < 3; ++which) {
    Buffer<InMemory> memory(std::vector<InMemory>{{which, {texture_a, texture_b, texture_a}}});
    FetchByStruct<<<1, 32>>>(memory, out);
    EXPECT_SAME(out.Get(), which == 1 ? second : first);
  }
}

// An object may outlive its array; the memory is not used any more.
CASE(arrays_may_go_first) {
  cudaArray_t array = nullptr;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  CUDA_OK(cudaMallocArray(&array, &format, 8, 8, cudaArraySurfaceLoadStore));
  const Texture texture(Over(array), Sampler(cudaAddressModeClamp));
  const Surface surface(array);
  CUDA_OK(cudaFreeArray(array));
  CUDA_OK(cudaDeviceSynchronize());
}
