// Floats in a byte, which came with compute capability 8.9: conversions of every half and byte and of floats around
// every boundary, against <cuda_fp8.h> on the host; products of matrices. Compiled for compute_89.
#include <cuda_fp8.h>

#include "tests/cuda/harness.h"

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;

static float FromByte(u8 byte, __nv_fp8_interpretation_t kind) {
  return float(half(__nv_cvt_fp8_to_halfraw(byte, kind)));
}

// --- conversions ---

#define CONVERT(name, type)                                                                  \
  __device__ u16 name##FromFloats(float high, float low) {                                   \
    u16 out;                                                                                 \
    asm("cvt.rn.satfinite.relu." type ".f32 %0, %1, %2;" : "=h"(out) : "f"(high), "f"(low)); \
    return out;                                                                              \
  }                                                                                          \
  __device__ u16 name##FromHalves(u32 halves) {                                              \
    u16 out;                                                                                 \
    asm("cvt.rn.satfinite.relu." type ".f16x2 %0, %1;" : "=h"(out) : "r"(halves));           \
    return out;                                                                              \
  }                                                                                          \
  __device__ u32 name##ToHalves(u16 bytes) {                                                 \
    u32 out;                                                                                 \
    asm("cvt.rn.relu.f16x2." type " %0, %1;" : "=r"(out) : "h"(bytes));                      \
    return out;                                                                              \
  }
CONVERT(PositiveE4M3, "e4m3x2")
CONVERT(PositiveE5M2, "e5m2x2")

__device__ u32 Bits(__half2_raw both) { return both.x | u32(both.y) << 16; }

// Four results for each input: of e4m3 and of e5m2, as they are and, of negative ones, zero.
__global__ void FromFloats(const float2* in, ushort4* out, int count) {
  const int i = int(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  const float2 x = in[i];
  out[i] = make_ushort4(__nv_cvt_float2_to_fp8x2(x, __NV_SATFINITE, __NV_E4M3),
                        __nv_cvt_float2_to_fp8x2(x, __NV_SATFINITE, __NV_E5M2), PositiveE4M3FromFloats(x.y, x.x),
                        PositiveE5M2FromFloats(x.y, x.x));
}
__global__ void FromHalves(const __half2_raw* in, ushort4* out, int count) {
  const int i = int(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  const __half2_raw x = in[i];
  out[i] = make_ushort4(__nv_cvt_halfraw2_to_fp8x2(x, __NV_SATFINITE, __NV_E4M3),
                        __nv_cvt_halfraw2_to_fp8x2(x, __NV_SATFINITE, __NV_E5M2), PositiveE4M3FromHalves(Bits(x)),
                        PositiveE5M2FromHalves(Bits(x)));
}
__global__ void ToHalves(uint4* out) {
  const u16 bytes = u16(blockIdx.x * blockDim.x + threadIdx.x);
  out[bytes] =
      make_uint4(Bits(__nv_cvt_fp8x2_to_halfraw2(bytes, __NV_E4M3)), Bits(__nv_cvt_fp8x2_to_halfraw2(bytes, __NV_E5M2)),
                 PositiveE4M3ToHalves(bytes), PositiveE5M2ToHalves(bytes));
}

// A NaN stays one.
static u16 Convert(float2 x, __nv_fp8_interpretation_t kind, bool positive) {
  const auto relu = [&](float v) { return positive && v <= 0 ? 0.0f : v; };
  return __nv_cvt_float2_to_fp8x2(make_float2(relu(x.x), relu(x.y)), __NV_SATFINITE, kind);
}
static u32 ConvertBack(u16 bytes, __nv_fp8_interpretation_t kind, bool positive) {
  const auto half_of = [&](u8 byte) {
    const u32 bits = __nv_cvt_fp8_to_halfraw(byte, kind).x;
    return positive && bits >= 0x8000 ? 0 : bits;  // no NaN has a sign
  };
  return half_of(u8(bytes)) | half_of(u8(bytes >> 8)) << 16;
}
static void ExpectConverted(const std::vector<ushort4>& got, const std::vector<float2>& in) {
  for (size_t i = 0; i < in.size(); ++i) {
    EXPECT_EQ(got[i].x, Convert(in[i], __NV_E4M3, false));
    EXPECT_EQ(got[i].y, Convert(in[i], __NV_E5M2, false));
    EXPECT_EQ(got[i].z, Convert(in[i], __NV_E4M3, true));
    EXPECT_EQ(got[i].w, Convert(in[i], __NV_E5M2, true));
  }
}

CASE(floats_to_bytes) {
  std::vector<float> numbers{INFINITY, NAN, std::numeric_limits<float>::max(), 0, 0x1p-126f, 0x1p-149f};
  for (const auto kind : {__NV_E4M3, __NV_E5M2})
    for (int byte = 0; byte < 127; ++byte) {
      const float low = FromByte(u8(byte), kind), high = FromByte(u8(byte + 1), kind), middle = (low + high) / 2;
      if (!std::isfinite(middle)) continue;
      for (const float x : {low, middle, high})
        for (const float to : {0.0f, INFINITY}) numbers.insert(numbers.end(), {x, std::nextafterf(x, to)});
    }
  // Halfway to what would come behind the last number.
  for (const float x : {464.0f, 480.0f, 61440.0f, 65536.0f})
    numbers.insert(numbers.end(), {x, std::nextafterf(x, 0.0f), std::nextafterf(x, INFINITY)});
  harness::Random random(1);
  for (int i = 0; i < 50000; ++i) {
    float x;
    const u32 bits = u32(random.Next());
    std::memcpy(&x, &bits, 4);
    const int exponent = i % 2 == 0 ? 0 : random.Below(40) - 22;  // first: a call's arguments have no order
    numbers.push_back(i % 2 == 0 ? x : float(std::ldexp(random.Uniform(), exponent)));
  }
  std::vector<float2> in;
  for (const float x : numbers) in.insert(in.end(), {make_float2(x, -x), make_float2(-x, x / 3)});
  Buffer<float2> device(in);
  Buffer<ushort4> out(in.size());
  FromFloats<<<int(in.size() + 255) / 256, 256>>>(device, out, int(in.size()));
  CUDA_OK(cudaGetLastError());
  ExpectConverted(out.Get(), in);
}

CASE(halves_to_bytes) {
  std::vector<__half2_raw> halves(65536);
  std::vector<float2> in(65536);
  for (u32 i = 0; i < 65536; ++i) {
    halves[i].x = u16(i), halves[i].y = u16(i * 40503);
    in[i] = make_float2(float(half(__half_raw{halves[i].x})), float(half(__half_raw{halves[i].y})));
  }
  Buffer<__half2_raw> device(halves);
  Buffer<ushort4> out(in.size());
  FromHalves<<<256, 256>>>(device, out, 65536);
  CUDA_OK(cudaGetLastError());
  ExpectConverted(out.Get(), in);
}

CASE(bytes_to_halves) {
  Buffer<uint4> out(65536);
  ToHalves<<<256, 256>>>(out);
  CUDA_OK(cudaGetLastError());
  const std::vector<uint4> got = out.Get();
  for (u32 i = 0; i < 65536; ++i) {
    EXPECT_EQ(got[i].x, ConvertBack(u16(i), __NV_E4M3, false));
    EXPECT_EQ(got[i].y, ConvertBack(u16(i), __NV_E5M2, false));
    EXPECT_EQ(got[i].z, ConvertBack(u16(i), __NV_E4M3, true));
    EXPECT_EQ(got[i].w, ConvertBack(u16(i), __NV_E5M2, true));
  }
}

// --- products, of small numbers, so that every sum is exact ---

// a is 16 x 32 by rows, b 32 x 8 by columns. e4m3 times e5m2, and the same with two columns of three of k left out of
// a sparse a of twice the width.
__global__ void Products(const u8* a, const u8* b, const u8* wide_b, float* full, float* sparse, float* half_sums) {
  const int lane = int(threadIdx.x), g = lane / 4, t = lane % 4;
  u32 fa[4], fb[2], wide[4];
  for (int i = 0; i < 4; ++i) fa[i] = *reinterpret_cast<const u32*>(&a[(g + i % 2 * 8) * 32 + t * 4 + i / 2 * 16]);
  for (int i = 0; i < 2; ++i) fb[i] = *reinterpret_cast<const u32*>(&b[g * 32 + t * 4 + i * 16]);
  for (int i = 0; i < 4; ++i) wide[i] = *reinterpret_cast<const u32*>(&wide_b[g * 64 + t * 4 + i * 16]);
  float c[4] = {}, d[4] = {};
  u32 h[2] = {};
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]), "r"(fb[1]));
  // The first and the last column of each four.
  asm volatile(
      "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.f32.e4m3.e5m2.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9, %10, %11}, {%0, %1, %2, %3}, %12, 0;"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(wide[0]), "r"(wide[1]), "r"(wide[2]), "r"(wide[3]),
        "r"(0xcccccccc));
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.e4m3.e5m2.f16 {%0, %1}, {%2, %3}, {%4}, {%0, %1};"
               : "+r"(h[0]), "+r"(h[1])
               : "r"(fa[0]), "r"(fa[1]), "r"(fb[0]));
  for (int i = 0; i < 4; ++i) {
    const int to = (g + i / 2 * 8) * 8 + 2 * t + i % 2;
    full[to] = c[i], sparse[to] = d[i];
    half_sums[to] = float(__ushort_as_half(static_cast<unsigned short>(h[i / 2] >> i % 2 * 16)));
  }
}
CASE(products_of_bytes) {
  harness::Random random(2);
  // Multiples of an eighth up to 1: exact in both formats, as are their sums in halves.
  const auto make = [&](size_t count, __nv_fp8_interpretation_t kind) {
    std::vector<u8> all(count);
    for (u8& x : all) {
      const float values[] = {0.125f, 0.25f, 0.375f, 0.5f, 0.75f, 1};
      const float value = values[random.Below(6)];
      x = __nv_cvt_float_to_fp8(random.Below(2) == 0 ? value : -value, __NV_SATFINITE, kind);
    }
    return all;
  };
  const auto a = make(16 * 32, __NV_E4M3), b = make(32 * 8, __NV_E5M2), wide_b = make(64 * 8, __NV_E5M2);
  Buffer<u8> da(a), db(b), dw(wide_b);
  Buffer<float> full(128), sparse(128), half_sums(128);
  Products<<<1, 32>>>(da, db, dw, full, sparse, half_sums);
  CUDA_OK(cudaGetLastError());
  std::vector<float> all(128), few(128), short_sums(128);
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 8; ++j)
      for (int k = 0; k < 32; ++k) {
        const float x = FromByte(a[i * 32 + k], __NV_E4M3);
        const float product = x * FromByte(b[j * 32 + k], __NV_E5M2);
        all[i * 8 + j] += product;
        if (k < 16) short_sums[i * 8 + j] += product;
        few[i * 8 + j] += x * FromByte(wide_b[j * 64 + k / 2 * 4 + k % 2 * 3], __NV_E5M2);
      }
  EXPECT_SAME(full.Get(), all);
  EXPECT_SAME(sparse.Get(), few);
  EXPECT_SAME(half_sums.Get(), short_sums);
}
