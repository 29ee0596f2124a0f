// Bit counting, fields, permutes, funnel shifts, three-input logic.
#include "tests/cuda/harness.h"

using u32 = uint32_t;
using s32 = int32_t;
using u64 = uint64_t;
using s64 = int64_t;

template <class T>
static int PopCount(T x) {
  int n = 0;
  for (; x; x &= x - 1) ++n;
  return n;
}
template <class T>
static int LeadingZeros(T x) {
  int n = 0;
  for (int i = 8 * sizeof(T) - 1; i >= 0 && !(x >> i & 1); --i) ++n;
  return n;
}
template <class T>
static T Reverse(T x) {
  T out = 0;
  for (size_t i = 0; i < 8 * sizeof(T); ++i) out |= T(x >> i & 1) << (8 * sizeof(T) - 1 - i);
  return out;
}

ELEMENTWISE(popc_32, int, u32, __popc(a), PopCount(a))
ELEMENTWISE(popc_64, int, u64, __popcll(a), PopCount(a))
ELEMENTWISE(clz_32, int, u32, __clz(s32(a)), LeadingZeros(a))
ELEMENTWISE(clz_64, int, u64, __clzll(s64(a)), LeadingZeros(a))
ELEMENTWISE(ffs_32, int, u32, __ffs(s32(a)), a ? PopCount((a & -a) - 1) + 1 : 0)
ELEMENTWISE(ffs_64, int, u64, __ffsll(s64(a)), a ? PopCount((a & -a) - 1) + 1 : 0)
ELEMENTWISE(brev_32, u32, u32, __brev(a), Reverse(a))
ELEMENTWISE(brev_64, u64, u64, __brevll(a), Reverse(a))

__device__ u32 BfindU(u32 a) {
  u32 d;
  asm("bfind.u32 %0, %1;" : "=r"(d) : "r"(a));
  return d;
}
__device__ u32 BfindS(s32 a) {
  u32 d;
  asm("bfind.s32 %0, %1;" : "=r"(d) : "r"(a));
  return d;
}
__device__ u32 BfindShift(u32 a) {
  u32 d;
  asm("bfind.shiftamt.u32 %0, %1;" : "=r"(d) : "r"(a));
  return d;
}
__device__ u32 BfindU64(u64 a) {
  u32 d;
  asm("bfind.u64 %0, %1;" : "=r"(d) : "l"(a));
  return d;
}
ELEMENTWISE(bfind_u32, u32, u32, BfindU(a), a ? 31 - LeadingZeros(a) : ~0u)
ELEMENTWISE(bfind_s32, u32, u32, BfindS(s32(a)), (a >> 31 ? ~a : a) ? 31 - LeadingZeros(a >> 31 ? ~a : a) : ~0u)
ELEMENTWISE(bfind_shiftamt, u32, u32, BfindShift(a), a ? LeadingZeros(a) : ~0u)
ELEMENTWISE(bfind_u64, u32, u64, BfindU64(a), a ? 63 - LeadingZeros(a) : ~0u)

__device__ u32 BfeU(u32 a, u32 b, u32 c) {
  u32 d;
  asm("bfe.u32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}
__device__ s32 BfeS(s32 a, u32 b, u32 c) {
  s32 d;
  asm("bfe.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}
__device__ u64 BfeU64(u64 a, u32 b, u32 c) {
  u64 d;
  asm("bfe.u64 %0, %1, %2, %3;" : "=l"(d) : "l"(a), "r"(b), "r"(c));
  return d;
}
__device__ s64 BfeS64(s64 a, u32 b, u32 c) {
  s64 d;
  asm("bfe.s64 %0, %1, %2, %3;" : "=l"(d) : "l"(a), "r"(b), "r"(c));
  return d;
}
__device__ u32 Bfi(u32 a, u32 b, u32 c, u32 n) {
  u32 d;
  asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(d) : "r"(a), "r"(b), "r"(c), "r"(n));
  return d;
}
__device__ u64 Bfi64(u64 a, u64 b, u32 c, u32 n) {
  u64 d;
  asm("bfi.b64 %0, %1, %2, %3, %4;" : "=l"(d) : "l"(a), "l"(b), "r"(c), "r"(n));
  return d;
}
// Position and length count modulo 256; bits beyond the top repeat the sign (or are zero).
static u64 Extract(u64 a, int width, u32 position, u32 length, bool is_signed) {
  position &= 255, length &= 255;
  const int top = width - 1;
  const u64 sign = !is_signed || length == 0 ? 0 : a >> std::min<u32>(position + length - 1, u32(top)) & 1;
  u64 out = 0;
  for (int i = 0; i <= top; ++i)
    out |= (u32(i) < length && position + u32(i) <= u32(top) ? a >> (position + u32(i)) & 1 : sign) << i;
  return out;
}
static u64 Insert(u64 a, u64 b, int width, u32 position, u32 length) {
  position &= 255, length &= 255;
  for (u32 i = 0; i < length && position + i < u32(width); ++i) {
    const u64 bit = u64(1) << (position + i);
    b = (b & ~bit) | ((a >> i & 1) ? bit : 0);
  }
  return b;
}
ELEMENTWISE(bfe_u32, u32, u32, BfeU(a, b & 63, c & 63), u32(Extract(a, 32, b & 63, c & 63, false)))
ELEMENTWISE(bfe_u32_any, u32, u32, BfeU(a, b, c), u32(Extract(a, 32, b, c, false)))
ELEMENTWISE(bfe_s32, s32, u32, BfeS(s32(a), b & 63, c & 63), s32(Extract(a, 32, b & 63, c & 63, true)))
ELEMENTWISE(bfe_u64, u64, u64, BfeU64(a, u32(b) & 127, u32(c) & 127), Extract(a, 64, u32(b) & 127, u32(c) & 127, false))
ELEMENTWISE(bfe_s64, s64, u64, BfeS64(s64(a), u32(b) & 127, u32(c) & 127),
            s64(Extract(a, 64, u32(b) & 127, u32(c) & 127, true)))
ELEMENTWISE(bfi_b32, u32, u32, Bfi(a, b, c & 63, (c >> 8) & 63), u32(Insert(a, b, 32, c & 63, (c >> 8) & 63)))
ELEMENTWISE(bfi_b64, u64, u64, Bfi64(a, b, u32(c) & 127, u32(c >> 8) & 127),
            Insert(a, b, 64, u32(c) & 127, u32(c >> 8) & 127))

__device__ u32 BmskClamp(u32 a, u32 b) {
  u32 d;
  asm("bmsk.clamp.b32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}
__device__ u32 BmskWrap(u32 a, u32 b) {
  u32 d;
  asm("bmsk.wrap.b32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}
__device__ s32 SzextClamp(s32 a, u32 n) {
  s32 d;
  asm("szext.clamp.s32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(n));
  return d;
}
static u32 Mask(u32 position, u32 length) {
  u32 out = 0;
  for (u32 i = 0; i < std::min(length, 32u); ++i)
    if (u64(position) + i < 32) out |= 1u << (position + i);
  return out;
}
ELEMENTWISE(bmsk_clamp, u32, u32, BmskClamp(a & 63, b & 63), Mask(a & 63, b & 63))
ELEMENTWISE(bmsk_wrap, u32, u32, BmskWrap(a, b), Mask(a & 31, b & 31))
ELEMENTWISE(szext_clamp, s32, u32, SzextClamp(s32(a), b & 63),
            (b & 63) > 31   ? s32(a)
            : (b & 63) == 0 ? 0
                            : s32(a << (32 - (b & 63))) >> (32 - (b & 63)))

static u32 Permute(u32 a, u32 b, u32 selector) {
  const u64 bytes = (u64(b) << 32) | a;
  u32 out = 0;
  for (int i = 0; i < 4; ++i) {
    const u32 s = selector >> (4 * i) & 15;
    u32 byte = u32(bytes >> (8 * (s & 7))) & 255;
    if (s & 8) byte = byte & 128 ? 255 : 0;
    out |= byte << (8 * i);
  }
  return out;
}
ELEMENTWISE(prmt_default, u32, u32, __byte_perm(a, b, c), Permute(a, b, c & 0x7777))
__device__ u32 PrmtSign(u32 a, u32 b, u32 c) {
  u32 d;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}
ELEMENTWISE(prmt_sign, u32, u32, PrmtSign(a, b, c), Permute(a, b, c))
#define PRMT_MODE(mode, selectors)                                                \
  __device__ u32 Prmt_##mode(u32 a, u32 b, u32 c) {                               \
    u32 d;                                                                        \
    asm("prmt.b32." #mode " %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c)); \
    return d;                                                                     \
  }                                                                               \
  static u32 PrmtHost_##mode(u32 a, u32 b, u32 c) {                               \
    const u32 table[4] = selectors;                                               \
    return Permute(a, b, table[c & 3]);                                           \
  }                                                                               \
  ELEMENTWISE(prmt_##mode, u32, u32, Prmt_##mode(a, b, c), PrmtHost_##mode(a, b, c))
#define LIST(a, b, c, d) \
  { a, b, c, d }
PRMT_MODE(f4e, LIST(0x3210, 0x4321, 0x5432, 0x6543))
PRMT_MODE(b4e, LIST(0x5670, 0x6701, 0x7012, 0x0123))
PRMT_MODE(rc8, LIST(0x0000, 0x1111, 0x2222, 0x3333))
PRMT_MODE(ecl, LIST(0x3210, 0x3211, 0x3222, 0x3333))
PRMT_MODE(ecr, LIST(0x0000, 0x1110, 0x2210, 0x3210))
PRMT_MODE(rc16, LIST(0x1010, 0x3232, 0x1010, 0x3232))

ELEMENTWISE(funnel_left_wrap, u32, u32, __funnelshift_l(a, b, c), u32((((u64(b) << 32) | a) << (c & 31)) >> 32))
ELEMENTWISE(funnel_right_wrap, u32, u32, __funnelshift_r(a, b, c), u32(((u64(b) << 32) | a) >> (c & 31)))
ELEMENTWISE(funnel_left_clamp, u32, u32, __funnelshift_lc(a, b, c),
            c >= 32 ? a : u32((((u64(b) << 32) | a) << c) >> 32))
ELEMENTWISE(funnel_right_clamp, u32, u32, __funnelshift_rc(a, b, c), c >= 32 ? b : u32(((u64(b) << 32) | a) >> c))
ELEMENTWISE(rotate_64, u64, u64, (a << (b & 63)) | (a >> (-b & 63)), (a << (b & 63)) | (a >> (-b & 63)))

#define LOP3(table)                                                                 \
  __device__ u32 Lop3_##table(u32 a, u32 b, u32 c) {                                \
    u32 d;                                                                          \
    asm("lop3.b32 %0, %1, %2, %3, " #table ";" : "=r"(d) : "r"(a), "r"(b), "r"(c)); \
    return d;                                                                       \
  }                                                                                 \
  ELEMENTWISE(lop3_##table, u32, u32, Lop3_##table(a, b, c), Logic(a, b, c, table))
static u32 Logic(u32 a, u32 b, u32 c, u32 table) {
  u32 out = 0;
  for (int i = 0; i < 32; ++i) out |= (table >> ((a >> i & 1) * 4 + (b >> i & 1) * 2 + (c >> i & 1)) & 1) << i;
  return out;
}
LOP3(0x96)
LOP3(0xE8)
LOP3(0xCA)
LOP3(0x1B)
LOP3(0x40)

__device__ u32 Cnot(u32 a) {
  u32 d;
  asm("cnot.b32 %0, %1;" : "=r"(d) : "r"(a));
  return d;
}
ELEMENTWISE(cnot_b32, u32, u32, Cnot(a & 1 ? 0 : a), (a & 1 ? 0 : a) == 0)

__global__ void FnsKernel(const u32* mask, u32* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = __fns(mask[i], i % 32, i % 7 - 3);
}
static u32 FnsHost(u32 mask, u32 base, int offset) {
  if (offset == 0) return mask >> base & 1 ? base : ~0u;
  int left = std::abs(offset);
  for (int i = int(base); i >= 0 && i<32; i += offset> 0 ? 1 : -1)
    if ((mask >> i & 1) && --left == 0) return u32(i);
  return ~0u;
}
CASE(fns) {
  const std::vector<u32> masks = harness::Inputs<u32>(512, 9);
  Buffer<u32> in(masks), out(masks.size());
  FnsKernel<<<4, 128>>>(in, out, 512);
  std::vector<u32> want;
  for (int i = 0; i < 512; ++i) want.push_back(FnsHost(masks[i], i % 32, i % 7 - 3));
  EXPECT_SAME(out.Get(), want);
}
ELEMENTWISE(logic_64, u64, u64, (a & ~b) | (b ^ c) | ~(a | c), (a & ~b) | (b ^ c) | ~(a | c))
ELEMENTWISE(logic_16, uint16_t, uint16_t, uint16_t((a & b) ^ (~c | a)), uint16_t((a & b) ^ (~c | a)))
