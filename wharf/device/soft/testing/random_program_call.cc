// Calls of device functions, nested scopes that shadow names and repeat labels, arrays in local memory, tables of
// jumps.
#include <bit>

#include "wharf/device/soft/testing/random_program_types.h"

namespace wharf::device::soft::random_program {
namespace {

using T = uint32_t;

T Mix(T a, T b) { return a * 3 ^ std::rotl(b, 7); }

// Mix called twice by a function that takes a structure and returns one.
uint64_t MixBoth(T a, T b, uint64_t c) {
  return Mix(a, static_cast<T>(c)) | static_cast<uint64_t>(Mix(b, static_cast<T>(c >> 32))) << 32;
}

T Collatz(T a) {
  T steps = 0;
  for (a &= 0xFFF; a > 1 && steps < 40; ++steps) a = (a & 1) != 0 ? 3 * a + 1 : a >> 1;
  return steps;
}

T Fibonacci(T n) { return n < 2 ? n : Fibonacci(n - 1) + Fibonacci(n - 2); }

void AddCalls(Family& family) {
  family.specs.push_back(WithText(MakeSpec<T, T, T>("", Mix),
                                  "{ .param .b32 p0, p1, r0; st.param.b32 [p0+0], $1; st.param.b32 [p1+0], $2; "
                                  "call.uni (r0), mix, (p0, p1); ld.param.b32 $0, [r0+0]; }"));
  family.specs.push_back(WithText(
      MakeSpec<uint64_t, T, T, uint64_t>("", MixBoth),
      "{ .param .align 8 .b8 p0[16]; .param .align 8 .b8 r0[8]; st.param.b32 [p0+0], $1; "
      "st.param.b32 [p0+4], $2; st.param.b64 [p0+8], $3; call (r0), mix_both, (p0); ld.param.b64 $0, [r0]; }"));
  family.specs.push_back(WithText(
      MakeSpec<T, T>("", Collatz),
      "{ .param .b32 p0; st.param.b32 [p0], $1; .param .b32 r0; call (r0), collatz, (p0); ld.param.u32 $0, [r0]; }"));
  family.specs.push_back(WithText(MakeSpec<T, T>("", [](T a) { return Fibonacci(a & 7); }),
                                  "and.b32 %w, $1, 7; { .param .b32 p0; st.param.b32 [p0], %w; .param .b32 r0; "
                                  "call (r0), fibonacci, (p0); ld.param.u32 $0, [r0]; }"));
  family.specs.push_back(WithText(MakeSpec<T, T, T>("", [](T a, T b) { return (a & 1) != 0 ? Mix(a, b) : Mix(b, a); }),
                                  "{ .reg .pred odd; .reg .b32 t; .reg .b64 f, g; .param .b32 p0, p1, r0; "
                                  "and.b32 t, $1, 1; setp.ne.u32 odd, t, 0; mov.u64 f, mix; mov.u64 g, mix_reversed; "
                                  "selp.b64 f, f, g, odd; st.param.b32 [p0], $1; st.param.b32 [p1], $2; "
                                  "shape: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _); "
                                  "call (r0), f, (p0, p1), shape; ld.param.b32 $0, [r0]; }"));
}

void AddScopes(Family& family) {
  family.specs.push_back(WithText(MakeSpec<T, T>("", [](T a) { return (a >> 1) + 5; }),
                                  "{ .reg .b32 t; mov.b32 t, 5; { .reg .b64 t; cvt.u64.u32 t, $1; shr.u64 t, t, 1; "
                                  "cvt.u32.u64 %w, t; } add.u32 $0, %w, t; }"));
  family.specs.push_back(WithText(MakeSpec<T, T, T>("", [](T a, T b) { return static_cast<int32_t>(a) < 0 ? a : b; }),
                                  "{ .reg .pred t; mov.b32 %w, $1; setp.lt.s32 t, %w, 0; @t bra SKIP; "
                                  "mov.b32 %w, $2; SKIP: } mov.b32 $0, %w;"));
  family.specs.push_back(WithText(MakeSpec<T, T, T>("",
                                                    [](T a, T b) {
                                                      switch (a & 3) {
                                                        case 0:
                                                          return b + 1;
                                                        case 1:
                                                          return ~b;
                                                        case 2:
                                                          return b << 3;
                                                        default:
                                                          return b;
                                                      }
                                                    }),
                                  "{ .reg .b32 t; and.b32 t, $1, 3; mov.b32 %w, $2; "
                                  "ts: .branchtargets A, B, C, D; brx.idx t, ts; "
                                  "A: add.u32 %w, %w, 1; bra D; B: not.b32 %w, %w; bra D; C: shl.b32 %w, %w, 3; "
                                  "D: mov.b32 $0, %w; }"));
}

void AddLocalMemory(Family& family) {
  family.specs.push_back(
      WithoutLiterals(WithText(MakeSpec<T, T, T, T, T, T>("",
                                                          [](T a, T b, T c, T d, T i) {
                                                            return ((const T[]){a, b, c, d})[i & 3];
                                                          }),
                               "{ .local .align 16 .b8 array[16]; .reg .b64 at; .reg .b32 t; mov.u64 at, array; "
                               "st.local.v4.b32 [at], {$1, $2, $3, $4}; and.b32 t, $5, 3; mad.wide.u32 at, t, 4, at; "
                               "ld.local.b32 $0, [at]; }")));
  family.specs.push_back(WithoutLiterals(
      WithText(MakeSpec<T, uint64_t, T>(
                   "", [](uint64_t a, T i) { return static_cast<T>(static_cast<int8_t>(a >> (8 * (i & 7)))); }),
               "{ .local .align 8 .b8 bytes[8]; .reg .b64 at, all; .reg .b32 t; mov.u64 at, bytes; "
               "cvta.local.u64 all, at; st.u64 [all], $1; and.b32 t, $2, 7; cvt.u64.u32 all, t; add.u64 at, at, all; "
               "ld.local.s8 $0, [at]; }")));
}

}  // namespace

const char* DeviceFunctions() {
  return R"(.func (.param .b32 r) mix(.param .b32 a, .param .b32 b)
{
	.reg .b32 %x, %y;
	ld.param.b32 %x, [a];
	ld.param.b32 %y, [b];
	mul.lo.u32 %x, %x, 3;
	shf.l.wrap.b32 %y, %y, %y, 7;
	xor.b32 %x, %x, %y;
	st.param.b32 [r], %x;
	ret;
}
.func (.param .b32 r) mix_reversed(.param .b32 a, .param .b32 b)
{
	.reg .b32 %x, %y;
	.param .b32 p, q, s;
	ld.param.b32 %x, [a];
	ld.param.b32 %y, [b];
	st.param.b32 [p], %y;
	st.param.b32 [q], %x;
	call (s), mix, (p, q);
	ld.param.b32 %x, [s];
	st.param.b32 [r], %x;
	ret;
}
.func (.param .align 8 .b8 r[8]) mix_both(.param .align 8 .b8 a[16])
{
	.reg .b32 %x, %y, %c, %e;
	ld.param.v2.b32 {%x, %y}, [a];
	ld.param.v2.b32 {%c, %e}, [a+8];
	{
		.param .b32 p, q, s;
		st.param.b32 [p], %x;
		st.param.b32 [q], %c;
		call (s), mix, (p, q);
		ld.param.b32 %x, [s];
	}
	{
		.param .b32 p, q, s;
		st.param.b32 [p], %y;
		st.param.b32 [q], %e;
		call (s), mix, (p, q);
		ld.param.b32 %y, [s];
	}
	st.param.v2.b32 [r], {%x, %y};
	ret;
}
.func (.param .b32 r) collatz(.param .b32 a)
{
	.reg .b32 %x, %n, %t;
	.reg .pred %p;
	ld.param.b32 %x, [a];
	and.b32 %x, %x, 0xFFF;
	mov.b32 %n, 0;
LOOP:
	setp.gt.u32 %p, %x, 1;
	@!%p bra DONE;
	setp.lt.u32 %p, %n, 40;
	@!%p bra DONE;
	and.b32 %t, %x, 1;
	setp.ne.u32 %p, %t, 0;
	@%p mad.lo.u32 %x, %x, 3, 1;
	@!%p shr.u32 %x, %x, 1;
	add.u32 %n, %n, 1;
	bra LOOP;
DONE:
	st.param.b32 [r], %n;
	ret;
}
.func (.param .b32 r) fibonacci(.param .b32 n)
{
	.reg .b32 %n, %x, %y;
	.reg .pred %p;
	ld.param.b32 %n, [n];
	setp.lt.u32 %p, %n, 2;
	@%p bra DONE;
	{
		.param .b32 p, s;
		sub.u32 %x, %n, 1;
		st.param.b32 [p], %x;
		call (s), fibonacci, (p);
		ld.param.b32 %x, [s];
	}
	{
		.param .b32 p, s;
		sub.u32 %y, %n, 2;
		st.param.b32 [p], %y;
		call (s), fibonacci, (p);
		ld.param.b32 %y, [s];
	}
	add.u32 %n, %x, %y;
DONE:
	st.param.b32 [r], %n;
	ret;
}
)";
}

void AddCallSpecs(std::vector<Family>& families) {
  Family family{"calls and scopes", {}};
  AddCalls(family);
  AddScopes(family);
  AddLocalMemory(family);
  families.push_back(std::move(family));
}

}  // namespace wharf::device::soft::random_program
