// Made from texture_kernels.cu by make_kernels.sh: do not edit.
#pragma once

#include <string_view>

namespace wharf::device {

// clang-format off
inline constexpr std::string_view kTextureKernels =
R"PTX(.version 7.0
.target sm_75
.address_size 64
	// .globl	fetch_2d
.visible .entry fetch_2d(
	.param .u64 fetch_2d_param_0,
	.param .u64 fetch_2d_param_1,
	.param .f32 fetch_2d_param_2,
	.param .f32 fetch_2d_param_3,
	.param .f32 fetch_2d_param_4,
	.param .f32 fetch_2d_param_5,
	.param .u32 fetch_2d_param_6
)
{
	.reg .pred 	%p<2>;
	.reg .f32 	%f<12>;
	.reg .b32 	%r<6>;
	.reg .b64 	%rd<6>;
	ld.param.u64 	%rd1, [fetch_2d_param_0];
	ld.param.u64 	%rd2, [fetch_2d_param_1];
	ld.param.f32 	%f1, [fetch_2d_param_2];
	ld.param.f32 	%f2, [fetch_2d_param_3];
	ld.param.f32 	%f3, [fetch_2d_param_4];
	ld.param.f32 	%f4, [fetch_2d_param_5];
	ld.param.u32 	%r2, [fetch_2d_param_6];
	mov.u32 	%r3, %ctaid.x;
	mov.u32 	%r4, %ntid.x;
	mov.u32 	%r5, %tid.x;
	mad.lo.s32 	%r1, %r3, %r4, %r5;
	setp.ge.u32 	%p1, %r1, %r2;
	@%p1 bra 	$L__BB0_2;
	cvta.to.global.u64 	%rd3, %rd1;
	cvt.rn.f32.u32 	%f5, %r1;
	fma.rn.f32 	%f6, %f5, %f3, %f1;
	fma.rn.f32 	%f7, %f5, %f4, %f2;
	mul.wide.u32 	%rd4, %r1, 16;
	add.s64 	%rd5, %rd3, %rd4;
	tex.2d.v4.f32.f32 	{%f8, %f9, %f10, %f11}, [%rd2, {%f6, %f7}];
	st.global.v4.f32 	[%rd5], {%f8, %f9, %f10, %f11};
$L__BB0_2:
	ret;
}
	// .globl	fetch_linear
.visible .entry fetch_linear(
	.param .u64 fetch_linear_param_0,
	.param .u64 fetch_linear_param_1,
	.param .u32 fetch_linear_param_2,
	.param .u32 fetch_linear_param_3
)
{
	.reg .pred 	%p<2>;
	.reg .f32 	%f<5>;
	.reg .b32 	%r<8>;
	.reg .b64 	%rd<6>;
	ld.param.u64 	%rd1, [fetch_linear_param_0];
	ld.param.u64 	%rd2, [fetch_linear_param_1];
	ld.param.u32 	%r2, [fetch_linear_param_2];
	ld.param.u32 	%r3, [fetch_linear_param_3];
	mov.u32 	%r4, %ctaid.x;
	mov.u32 	%r5, %ntid.x;
	mov.u32 	%r6, %tid.x;
	mad.lo.s32 	%r1, %r4, %r5, %r6;
	setp.ge.u32 	%p1, %r1, %r3;
	@%p1 bra 	$L__BB1_2;
	cvta.to.global.u64 	%rd3, %rd1;
	add.s32 	%r7, %r1, %r2;
	tex.1d.v4.f32.s32 	{%f1, %f2, %f3, %f4}, [%rd2, {%r7}];
	mul.wide.u32 	%rd4, %r1, 4;
	add.s64 	%rd5, %rd3, %rd4;
	st.global.f32 	[%rd5], %f1;
$L__BB1_2:
	ret;
}
	// .globl	fetch_each
.visible .entry fetch_each(
	.param .u64 fetch_each_param_0,
	.param .u64 fetch_each_param_1,
	.param .u32 fetch_each_param_2
)
{
	.reg .pred 	%p<2>;
	.reg .f32 	%f<5>;
	.reg .b32 	%r<7>;
	.reg .b64 	%rd<10>;
	ld.param.u64 	%rd1, [fetch_each_param_0];
	ld.param.u64 	%rd2, [fetch_each_param_1];
	ld.param.u32 	%r2, [fetch_each_param_2];
	mov.u32 	%r3, %ctaid.x;
	mov.u32 	%r4, %ntid.x;
	mov.u32 	%r5, %tid.x;
	mad.lo.s32 	%r1, %r3, %r4, %r5;
	setp.ge.u32 	%p1, %r1, %r2;
	@%p1 bra 	$L__BB2_2;
	cvta.to.global.u64 	%rd3, %rd2;
	mul.wide.u32 	%rd4, %r1, 8;
	add.s64 	%rd5, %rd3, %rd4;
	ld.global.u64 	%rd6, [%rd5];
	mov.u32 	%r6, 0;
	tex.1d.v4.f32.s32 	{%f1, %f2, %f3, %f4}, [%rd6, {%r6}];
	cvta.to.global.u64 	%rd7, %rd1;
	mul.wide.u32 	%rd8, %r1, 4;
	add.s64 	%rd9, %rd7, %rd8;
	st.global.f32 	[%rd9], %f1;
$L__BB2_2:
	ret;
}
	// .globl	mirror_rows
.visible .entry mirror_rows(
	.param .u64 mirror_rows_param_0,
	.param .u64 mirror_rows_param_1,
	.param .u32 mirror_rows_param_2,
	.param .u32 mirror_rows_param_3
)
{
	.reg .pred 	%p<4>;
	.reg .b32 	%r<13>;
	.reg .b64 	%rd<3>;
	ld.param.u64 	%rd1, [mirror_rows_param_0];
	ld.param.u64 	%rd2, [mirror_rows_param_1];
	ld.param.u32 	%r3, [mirror_rows_param_2];
	ld.param.u32 	%r4, [mirror_rows_param_3];
	mov.u32 	%r5, %ctaid.x;
	mov.u32 	%r6, %ntid.x;
	mov.u32 	%r7, %tid.x;
	mad.lo.s32 	%r1, %r5, %r6, %r7;
	setp.ge.s32 	%p1, %r1, %r3;
	mov.u32 	%r2, %ctaid.y;
	setp.ge.s32 	%p2, %r2, %r4;
	or.pred  	%p3, %p1, %p2;
	@%p3 bra 	$L__BB3_2;
	shl.b32 	%r8, %r1, 2;
	suld.b.2d.b32.trap {%r9}, [%rd2, {%r8, %r2}];
	not.b32 	%r10, %r1;
	add.s32 	%r11, %r10, %r3;
	shl.b32 	%r12, %r11, 2;
	sust.b.2d.b32.trap 	[%rd1, {%r12, %r2}], {%r9};
$L__BB3_2:
	ret;
}
	// .globl	fetch_3d
.visible .entry fetch_3d(
	.param .u64 fetch_3d_param_0,
	.param .u64 fetch_3d_param_1,
	.param .f32 fetch_3d_param_2,
	.param .f32 fetch_3d_param_3,
	.param .u32 fetch_3d_param_4
)
{
	.reg .pred 	%p<2>;
	.reg .f32 	%f<9>;
	.reg .b32 	%r<6>;
	.reg .b64 	%rd<6>;
	ld.param.u64 	%rd1, [fetch_3d_param_0];
	ld.param.u64 	%rd2, [fetch_3d_param_1];
	ld.param.f32 	%f1, [fetch_3d_param_2];
	ld.param.f32 	%f2, [fetch_3d_param_3];
	ld.param.u32 	%r2, [fetch_3d_param_4];
	mov.u32 	%r3, %ctaid.x;
	mov.u32 	%r4, %ntid.x;
	mov.u32 	%r5, %tid.x;
	mad.lo.s32 	%r1, %r3, %r4, %r5;
	setp.ge.u32 	%p1, %r1, %r2;
	@%p1 bra 	$L__BB4_2;
	cvta.to.global.u64 	%rd3, %rd1;
	cvt.rn.f32.u32 	%f3, %r1;
	add.f32 	%f4, %f3, 0f3F000000;
	tex.3d.v4.f32.f32 	{%f5, %f6, %f7, %f8}, [%rd2, {%f1, %f2, %f4, %f4}];
	mul.wide.u32 	%rd4, %r1, 4;
	add.s64 	%rd5, %rd3, %rd4;
	st.global.f32 	[%rd5], %f5;
$L__BB4_2:
	ret;
}
)PTX";
// clang-format on

}  // namespace wharf::device
