// Made from benchmark_kernels.cu by make_kernels.sh: do not edit.
#pragma once

#include <string_view>

namespace wharf::device::soft {

// clang-format off
inline constexpr std::string_view kBenchmarkKernels =
R"PTX(.version 7.0
.target sm_75
.address_size 64
	// .globl	saxpy
.visible .entry saxpy(
	.param .u64 saxpy_param_0,
	.param .u64 saxpy_param_1,
	.param .f32 saxpy_param_2,
	.param .u32 saxpy_param_3
)
{
	.reg .pred 	%p<2>;
	.reg .f32 	%f<5>;
	.reg .b32 	%r<6>;
	.reg .b64 	%rd<8>;
	ld.param.u64 	%rd1, [saxpy_param_0];
	ld.param.u64 	%rd2, [saxpy_param_1];
	ld.param.f32 	%f1, [saxpy_param_2];
	ld.param.u32 	%r2, [saxpy_param_3];
	mov.u32 	%r3, %ctaid.x;
	mov.u32 	%r4, %ntid.x;
	mov.u32 	%r5, %tid.x;
	mad.lo.s32 	%r1, %r3, %r4, %r5;
	setp.ge.s32 	%p1, %r1, %r2;
	@%p1 bra 	$L__BB0_2;
	cvta.to.global.u64 	%rd3, %rd1;
	cvta.to.global.u64 	%rd4, %rd2;
	mul.wide.s32 	%rd5, %r1, 4;
	add.s64 	%rd6, %rd4, %rd5;
	ld.global.f32 	%f2, [%rd6];
	add.s64 	%rd7, %rd3, %rd5;
	ld.global.f32 	%f3, [%rd7];
	fma.rn.f32 	%f4, %f2, %f1, %f3;
	st.global.f32 	[%rd7], %f4;
$L__BB0_2:
	ret;
}
	// .globl	saxpy_grid_stride
.visible .entry saxpy_grid_stride(
	.param .u64 saxpy_grid_stride_param_0,
	.param .u64 saxpy_grid_stride_param_1,
	.param .f32 saxpy_grid_stride_param_2,
	.param .u32 saxpy_grid_stride_param_3
)
{
	.reg .pred 	%p<3>;
	.reg .f32 	%f<5>;
	.reg .b32 	%r<11>;
	.reg .b64 	%rd<8>;
	ld.param.u64 	%rd3, [saxpy_grid_stride_param_0];
	ld.param.u64 	%rd4, [saxpy_grid_stride_param_1];
	ld.param.f32 	%f1, [saxpy_grid_stride_param_2];
	ld.param.u32 	%r6, [saxpy_grid_stride_param_3];
	mov.u32 	%r1, %ntid.x;
	mov.u32 	%r7, %ctaid.x;
	mov.u32 	%r8, %tid.x;
	mad.lo.s32 	%r10, %r7, %r1, %r8;
	setp.ge.s32 	%p1, %r10, %r6;
	@%p1 bra 	$L__BB1_3;
	mov.u32 	%r9, %nctaid.x;
	mul.lo.s32 	%r3, %r9, %r1;
	cvta.to.global.u64 	%rd1, %rd4;
	cvta.to.global.u64 	%rd2, %rd3;
$L__BB1_2:
	mul.wide.s32 	%rd5, %r10, 4;
	add.s64 	%rd6, %rd1, %rd5;
	ld.global.f32 	%f2, [%rd6];
	add.s64 	%rd7, %rd2, %rd5;
	ld.global.f32 	%f3, [%rd7];
	fma.rn.f32 	%f4, %f2, %f1, %f3;
	st.global.f32 	[%rd7], %f4;
	add.s32 	%r10, %r10, %r3;
	setp.lt.s32 	%p2, %r10, %r6;
	@%p2 bra 	$L__BB1_2;
$L__BB1_3:
	ret;
}
	// .globl	bias_relu
.visible .entry bias_relu(
	.param .u64 bias_relu_param_0,
	.param .u64 bias_relu_param_1,
	.param .u64 bias_relu_param_2,
	.param .u32 bias_relu_param_3,
	.param .u32 bias_relu_param_4
)
{
	.reg .pred 	%p<2>;
	.reg .f32 	%f<5>;
	.reg .b32 	%r<8>;
	.reg .b64 	%rd<12>;
	ld.param.u64 	%rd1, [bias_relu_param_0];
	ld.param.u64 	%rd2, [bias_relu_param_1];
	ld.param.u64 	%rd3, [bias_relu_param_2];
	ld.param.u32 	%r2, [bias_relu_param_3];
	ld.param.u32 	%r3, [bias_relu_param_4];
	mov.u32 	%r4, %ctaid.x;
	mov.u32 	%r5, %ntid.x;
	mov.u32 	%r6, %tid.x;
	mad.lo.s32 	%r1, %r4, %r5, %r6;
	setp.ge.s32 	%p1, %r1, %r3;
	@%p1 bra 	$L__BB2_2;
	cvta.to.global.u64 	%rd4, %rd2;
	mul.wide.s32 	%rd5, %r1, 4;
	add.s64 	%rd6, %rd4, %rd5;
	div.s32 	%r7, %r1, %r2;
	cvta.to.global.u64 	%rd7, %rd3;
	mul.wide.s32 	%rd8, %r7, 4;
	add.s64 	%rd9, %rd7, %rd8;
	ld.global.f32 	%f1, [%rd9];
	ld.global.f32 	%f2, [%rd6];
	add.f32 	%f3, %f2, %f1;
	max.f32 	%f4, %f3, 0f00000000;
	cvta.to.global.u64 	%rd10, %rd1;
	add.s64 	%rd11, %rd10, %rd5;
	st.global.f32 	[%rd11], %f4;
$L__BB2_2:
	ret;
}
	// .globl	stencil
.visible .entry stencil(
	.param .u64 stencil_param_0,
	.param .u64 stencil_param_1,
	.param .u32 stencil_param_2,
	.param .u32 stencil_param_3
)
{
	.reg .pred 	%p<8>;
	.reg .f32 	%f<11>;
	.reg .b32 	%r<16>;
	.reg .b64 	%rd<16>;
	ld.param.u64 	%rd1, [stencil_param_0];
	ld.param.u64 	%rd2, [stencil_param_1];
	ld.param.u32 	%r3, [stencil_param_2];
	ld.param.u32 	%r4, [stencil_param_3];
	mov.u32 	%r5, %ntid.x;
	mov.u32 	%r6, %ctaid.x;
	mov.u32 	%r7, %tid.x;
	mad.lo.s32 	%r1, %r6, %r5, %r7;
	mov.u32 	%r8, %ntid.y;
	mov.u32 	%r9, %ctaid.y;
	mov.u32 	%r10, %tid.y;
	mad.lo.s32 	%r2, %r9, %r8, %r10;
	setp.lt.s32 	%p1, %r1, 1;
	setp.lt.s32 	%p2, %r2, 1;
	or.pred  	%p3, %p1, %p2;
	add.s32 	%r11, %r3, -1;
	setp.ge.s32 	%p4, %r1, %r11;
	or.pred  	%p5, %p3, %p4;
	add.s32 	%r12, %r4, -1;
	setp.ge.s32 	%p6, %r2, %r12;
	or.pred  	%p7, %p5, %p6;
	@%p7 bra 	$L__BB3_2;
	cvta.to.global.u64 	%rd3, %rd1;
	mul.lo.s32 	%r13, %r2, %r3;
	cvt.s64.s32 	%rd4, %r13;
	cvt.s64.s32 	%rd5, %r1;
	add.s64 	%rd6, %rd4, %rd5;
	cvta.to.global.u64 	%rd7, %rd2;
	shl.b64 	%rd8, %rd6, 2;
	add.s64 	%rd9, %rd7, %rd8;
	ld.global.f32 	%f1, [%rd9];
	ld.global.f32 	%f2, [%rd9+4];
	ld.global.f32 	%f3, [%rd9+-4];
	add.f32 	%f4, %f3, %f2;
	neg.s32 	%r14, %r3;
	mul.wide.s32 	%rd10, %r14, 4;
	add.s64 	%rd11, %rd9, %rd10;
	ld.global.f32 	%f5, [%rd11];
	add.f32 	%f6, %f4, %f5;
	mul.wide.s32 	%rd12, %r3, 4;
	add.s64 	%rd13, %rd9, %rd12;
	ld.global.f32 	%f7, [%rd13];
	add.f32 	%f8, %f6, %f7;
	mul.f32 	%f9, %f8, 0f3E000000;
	fma.rn.f32 	%f10, %f1, 0f3F000000, %f9;
	add.s32 	%r15, %r13, %r1;
	mul.wide.s32 	%rd14, %r15, 4;
	add.s64 	%rd15, %rd3, %rd14;
	st.global.f32 	[%rd15], %f10;
$L__BB3_2:
	ret;
}
	// .globl	polynomial
.visible .entry polynomial(
	.param .u64 polynomial_param_0,
	.param .u64 polynomial_param_1,
	.param .u32 polynomial_param_2
)
{
	.reg .pred 	%p<2>;
	.reg .f32 	%f<18>;
	.reg .b32 	%r<6>;
	.reg .b64 	%rd<8>;
	ld.param.u64 	%rd1, [polynomial_param_0];
	ld.param.u64 	%rd2, [polynomial_param_1];
	ld.param.u32 	%r2, [polynomial_param_2];
	mov.u32 	%r3, %ctaid.x;
	mov.u32 	%r4, %ntid.x;
	mov.u32 	%r5, %tid.x;
	mad.lo.s32 	%r1, %r3, %r4, %r5;
	setp.ge.s32 	%p1, %r1, %r2;
	@%p1 bra 	$L__BB4_2;
	cvta.to.global.u64 	%rd3, %rd1;
	cvta.to.global.u64 	%rd4, %rd2;
	mul.wide.s32 	%rd5, %r1, 4;
	add.s64 	%rd6, %rd4, %rd5;
	ld.global.f32 	%f1, [%rd6];
	fma.rn.f32 	%f2, %f1, 0f3DCCCCCD, 0f3E99999A;
	fma.rn.f32 	%f3, %f1, %f2, 0f3E99999A;
	fma.rn.f32 	%f4, %f1, %f3, 0f3E99999A;
	fma.rn.f32 	%f5, %f1, %f4, 0f3E99999A;
	fma.rn.f32 	%f6, %f1, %f5, 0f3E99999A;
	fma.rn.f32 	%f7, %f1, %f6, 0f3E99999A;
	fma.rn.f32 	%f8, %f1, %f7, 0f3E99999A;
	fma.rn.f32 	%f9, %f1, %f8, 0f3E99999A;
	fma.rn.f32 	%f10, %f1, %f9, 0f3E99999A;
	fma.rn.f32 	%f11, %f1, %f10, 0f3E99999A;
	fma.rn.f32 	%f12, %f1, %f11, 0f3E99999A;
	fma.rn.f32 	%f13, %f1, %f12, 0f3E99999A;
	fma.rn.f32 	%f14, %f1, %f13, 0f3E99999A;
	fma.rn.f32 	%f15, %f1, %f14, 0f3E99999A;
	fma.rn.f32 	%f16, %f1, %f15, 0f3E99999A;
	fma.rn.f32 	%f17, %f1, %f16, 0f3E99999A;
	add.s64 	%rd7, %rd3, %rd5;
	st.global.f32 	[%rd7], %f17;
$L__BB4_2:
	ret;
}
	// .globl	exponential
.visible .entry exponential(
	.param .u64 exponential_param_0,
	.param .u64 exponential_param_1,
	.param .u32 exponential_param_2
)
{
	.reg .pred 	%p<2>;
	.reg .f32 	%f<18>;
	.reg .b32 	%r<8>;
	.reg .b64 	%rd<8>;
	ld.param.u64 	%rd1, [exponential_param_0];
	ld.param.u64 	%rd2, [exponential_param_1];
	ld.param.u32 	%r2, [exponential_param_2];
	mov.u32 	%r3, %ctaid.x;
	mov.u32 	%r4, %ntid.x;
	mov.u32 	%r5, %tid.x;
	mad.lo.s32 	%r1, %r3, %r4, %r5;
	setp.ge.s32 	%p1, %r1, %r2;
	@%p1 bra 	$L__BB5_2;
	cvta.to.global.u64 	%rd3, %rd2;
	mul.wide.s32 	%rd4, %r1, 4;
	add.s64 	%rd5, %rd3, %rd4;
	ld.global.f32 	%f1, [%rd5];
	mov.f32 	%f2, 0f3F000000;
	mov.f32 	%f3, 0f3BBB989D;
	fma.rn.f32 	%f4, %f1, %f3, %f2;
	cvt.sat.f32.f32 	%f5, %f4;
	mov.f32 	%f6, 0f4B400001;
	mov.f32 	%f7, 0f437C0000;
	fma.rm.f32 	%f8, %f5, %f7, %f6;
	add.f32 	%f9, %f8, 0fCB40007F;
	neg.f32 	%f10, %f9;
	mov.f32 	%f11, 0f3FB8AA3B;
	fma.rn.f32 	%f12, %f1, %f11, %f10;
	mov.f32 	%f13, 0f32A57060;
	fma.rn.f32 	%f14, %f1, %f13, %f12;
	mov.b32 	%r6, %f8;
	shl.b32 	%r7, %r6, 23;
	mov.b32 	%f15, %r7;
	ex2.approx.ftz.f32 	%f16, %f14;
	mul.f32 	%f17, %f16, %f15;
	cvta.to.global.u64 	%rd6, %rd1;
	add.s64 	%rd7, %rd6, %rd4;
	st.global.f32 	[%rd7], %f17;
$L__BB5_2:
	ret;
}
	// .globl	gelu
.visible .entry gelu(
	.param .u64 gelu_param_0,
	.param .u64 gelu_param_1,
	.param .u32 gelu_param_2
)
{
	.reg .pred 	%p<4>;
	.reg .f32 	%f<31>;
	.reg .b32 	%r<6>;
	.reg .b64 	%rd<8>;
	ld.param.u64 	%rd1, [gelu_param_0];
	ld.param.u64 	%rd2, [gelu_param_1];
	ld.param.u32 	%r2, [gelu_param_2];
	mov.u32 	%r3, %ctaid.x;
	mov.u32 	%r4, %ntid.x;
	mov.u32 	%r5, %tid.x;
	mad.lo.s32 	%r1, %r3, %r4, %r5;
	setp.ge.s32 	%p1, %r1, %r2;
	@%p1 bra 	$L__BB6_2;
	cvta.to.global.u64 	%rd3, %rd2;
	mul.wide.s32 	%rd4, %r1, 4;
	add.s64 	%rd5, %rd3, %rd4;
	ld.global.f32 	%f1, [%rd5];
)PTX"
R"PTX(	mul.f32 	%f2, %f1, 0f3F000000;
	mul.f32 	%f3, %f1, 0f3D372713;
	mul.f32 	%f4, %f1, %f3;
	fma.rn.f32 	%f5, %f1, %f4, %f1;
	mul.f32 	%f6, %f5, 0f3F4C422A;
	abs.f32 	%f7, %f6;
	mul.f32 	%f8, %f7, 0f4038AA3B;
	ex2.approx.ftz.f32 	%f9, %f8;
	add.f32 	%f10, %f9, 0f3F800000;
	mov.f32 	%f11, 0f3F800000;
	rcp.approx.ftz.f32 	%f12, %f10;
	mov.f32 	%f13, 0fC0000000;
	fma.rn.f32 	%f14, %f12, %f13, %f11;
	setp.ge.f32 	%p2, %f7, 0f41102CB4;
	selp.f32 	%f15, 0f3F800000, %f14, %p2;
	copysign.f32 	%f16, %f6, %f15;
	mul.f32 	%f17, %f6, %f6;
	mov.f32 	%f18, 0fBD563CAE;
	mov.f32 	%f19, 0f3C80F082;
	fma.rn.f32 	%f20, %f19, %f17, %f18;
	mov.f32 	%f21, 0f3E085941;
	fma.rn.f32 	%f22, %f20, %f17, %f21;
	mov.f32 	%f23, 0fBEAAA9ED;
	fma.rn.f32 	%f24, %f22, %f17, %f23;
	mov.f32 	%f25, 0f00000000;
	fma.rn.f32 	%f26, %f24, %f17, %f25;
	fma.rn.f32 	%f27, %f26, %f6, %f6;
	setp.ge.f32 	%p3, %f7, 0f3F19999A;
	selp.f32 	%f28, %f16, %f27, %p3;
	add.f32 	%f29, %f28, 0f3F800000;
	mul.f32 	%f30, %f2, %f29;
	cvta.to.global.u64 	%rd6, %rd1;
	add.s64 	%rd7, %rd6, %rd4;
	st.global.f32 	[%rd7], %f30;
$L__BB6_2:
	ret;
}
	// .globl	sum_blocks
.visible .entry sum_blocks(
	.param .u64 sum_blocks_param_0,
	.param .u64 sum_blocks_param_1
)
{
	.reg .pred 	%p<8>;
	.reg .f32 	%f<26>;
	.reg .b32 	%r<27>;
	.reg .b64 	%rd<9>;
	// demoted variable
	.shared .align 4 .b8 _ZZ10sum_blocksE7partial[32];
	ld.param.u64 	%rd1, [sum_blocks_param_0];
	ld.param.u64 	%rd2, [sum_blocks_param_1];
	cvta.to.global.u64 	%rd3, %rd2;
	mov.u32 	%r3, %ntid.x;
	mov.u32 	%r1, %ctaid.x;
	mov.u32 	%r2, %tid.x;
	mad.lo.s32 	%r4, %r1, %r3, %r2;
	mul.wide.u32 	%rd4, %r4, 4;
	add.s64 	%rd5, %rd3, %rd4;
	ld.global.f32 	%f2, [%rd5];
	mov.b32 	%r5, %f2;
	mov.u32 	%r6, 2;
	mov.u32 	%r7, 31;
	mov.u32 	%r8, 16;
	mov.u32 	%r9, -1;
	shfl.sync.down.b32 	%r10|%p1, %r5, %r8, %r7, %r9;
	mov.b32 	%f3, %r10;
	add.f32 	%f4, %f2, %f3;
	mov.b32 	%r11, %f4;
	mov.u32 	%r12, 8;
	shfl.sync.down.b32 	%r13|%p2, %r11, %r12, %r7, %r9;
	mov.b32 	%f5, %r13;
	add.f32 	%f6, %f4, %f5;
	mov.b32 	%r14, %f6;
	mov.u32 	%r15, 4;
	shfl.sync.down.b32 	%r16|%p3, %r14, %r15, %r7, %r9;
	mov.b32 	%f7, %r16;
	add.f32 	%f8, %f6, %f7;
	mov.b32 	%r17, %f8;
	shfl.sync.down.b32 	%r18|%p4, %r17, %r6, %r7, %r9;
	mov.b32 	%f9, %r18;
	add.f32 	%f10, %f8, %f9;
	mov.b32 	%r19, %f10;
	mov.u32 	%r20, 1;
	shfl.sync.down.b32 	%r21|%p5, %r19, %r20, %r7, %r9;
	mov.b32 	%f11, %r21;
	add.f32 	%f1, %f10, %f11;
	and.b32  	%r22, %r2, 31;
	setp.ne.s32 	%p6, %r22, 0;
	@%p6 bra 	$L__BB7_2;
	shr.u32 	%r23, %r2, 3;
	and.b32  	%r24, %r23, 536870908;
	mov.u32 	%r25, _ZZ10sum_blocksE7partial;
	add.s32 	%r26, %r25, %r24;
	st.shared.f32 	[%r26], %f1;
$L__BB7_2:
	bar.sync 	0;
	setp.ne.s32 	%p7, %r2, 0;
	@%p7 bra 	$L__BB7_4;
	ld.shared.f32 	%f12, [_ZZ10sum_blocksE7partial+4];
	add.f32 	%f13, %f1, %f12;
	ld.shared.f32 	%f14, [_ZZ10sum_blocksE7partial+8];
	add.f32 	%f15, %f13, %f14;
	ld.shared.f32 	%f16, [_ZZ10sum_blocksE7partial+12];
	add.f32 	%f17, %f15, %f16;
	ld.shared.f32 	%f18, [_ZZ10sum_blocksE7partial+16];
	add.f32 	%f19, %f17, %f18;
	ld.shared.f32 	%f20, [_ZZ10sum_blocksE7partial+20];
	add.f32 	%f21, %f19, %f20;
	ld.shared.f32 	%f22, [_ZZ10sum_blocksE7partial+24];
	add.f32 	%f23, %f21, %f22;
	ld.shared.f32 	%f24, [_ZZ10sum_blocksE7partial+28];
	add.f32 	%f25, %f23, %f24;
	cvta.to.global.u64 	%rd6, %rd1;
	mul.wide.u32 	%rd7, %r1, 4;
	add.s64 	%rd8, %rd6, %rd7;
	st.global.f32 	[%rd8], %f25;
$L__BB7_4:
	ret;
}
	// .globl	matmul
.visible .entry matmul(
	.param .u64 matmul_param_0,
	.param .u64 matmul_param_1,
	.param .u64 matmul_param_2,
	.param .u32 matmul_param_3
)
{
	.reg .pred 	%p<3>;
	.reg .f32 	%f<57>;
	.reg .b32 	%r<35>;
	.reg .b64 	%rd<13>;
	// demoted variable
	.shared .align 4 .b8 _ZZ6matmulE2ta[1024];
	// demoted variable
	.shared .align 4 .b8 _ZZ6matmulE2tb[1024];
	ld.param.u64 	%rd3, [matmul_param_0];
	ld.param.u64 	%rd4, [matmul_param_1];
	ld.param.u64 	%rd5, [matmul_param_2];
	ld.param.u32 	%r18, [matmul_param_3];
	mov.u32 	%r19, %ctaid.y;
	shl.b32 	%r20, %r19, 4;
	mov.u32 	%r1, %tid.y;
	add.s32 	%r21, %r20, %r1;
	mov.u32 	%r22, %ctaid.x;
	shl.b32 	%r2, %r22, 4;
	mov.u32 	%r3, %tid.x;
	mul.lo.s32 	%r4, %r21, %r18;
	setp.lt.s32 	%p1, %r18, 1;
	mov.f32 	%f56, 0f00000000;
	@%p1 bra 	$L__BB8_3;
	shl.b32 	%r24, %r1, 6;
	mov.u32 	%r25, _ZZ6matmulE2ta;
	add.s32 	%r7, %r25, %r24;
	shl.b32 	%r26, %r3, 2;
	add.s32 	%r5, %r7, %r26;
	mov.u32 	%r27, _ZZ6matmulE2tb;
	add.s32 	%r28, %r27, %r24;
	add.s32 	%r6, %r28, %r26;
	add.s32 	%r8, %r27, %r26;
	mad.lo.s32 	%r29, %r1, %r18, %r3;
	add.s32 	%r33, %r29, %r2;
	shl.b32 	%r10, %r18, 4;
	add.s32 	%r32, %r3, %r4;
	cvta.to.global.u64 	%rd1, %rd4;
	cvta.to.global.u64 	%rd2, %rd5;
	mov.f32 	%f56, 0f00000000;
	mov.u32 	%r34, 0;
$L__BB8_2:
	mul.wide.u32 	%rd6, %r32, 4;
	add.s64 	%rd7, %rd1, %rd6;
	ld.global.f32 	%f6, [%rd7];
	st.shared.f32 	[%r5], %f6;
	mul.wide.u32 	%rd8, %r33, 4;
	add.s64 	%rd9, %rd2, %rd8;
	ld.global.f32 	%f7, [%rd9];
	st.shared.f32 	[%r6], %f7;
	bar.sync 	0;
	ld.shared.f32 	%f8, [%r8];
	ld.shared.f32 	%f9, [%r7];
	fma.rn.f32 	%f10, %f9, %f8, %f56;
	ld.shared.f32 	%f11, [%r8+64];
	ld.shared.f32 	%f12, [%r7+4];
	fma.rn.f32 	%f13, %f12, %f11, %f10;
	ld.shared.f32 	%f14, [%r8+128];
	ld.shared.f32 	%f15, [%r7+8];
	fma.rn.f32 	%f16, %f15, %f14, %f13;
	ld.shared.f32 	%f17, [%r8+192];
	ld.shared.f32 	%f18, [%r7+12];
	fma.rn.f32 	%f19, %f18, %f17, %f16;
	ld.shared.f32 	%f20, [%r8+256];
	ld.shared.f32 	%f21, [%r7+16];
	fma.rn.f32 	%f22, %f21, %f20, %f19;
	ld.shared.f32 	%f23, [%r8+320];
	ld.shared.f32 	%f24, [%r7+20];
	fma.rn.f32 	%f25, %f24, %f23, %f22;
	ld.shared.f32 	%f26, [%r8+384];
	ld.shared.f32 	%f27, [%r7+24];
	fma.rn.f32 	%f28, %f27, %f26, %f25;
	ld.shared.f32 	%f29, [%r8+448];
	ld.shared.f32 	%f30, [%r7+28];
	fma.rn.f32 	%f31, %f30, %f29, %f28;
	ld.shared.f32 	%f32, [%r8+512];
	ld.shared.f32 	%f33, [%r7+32];
	fma.rn.f32 	%f34, %f33, %f32, %f31;
	ld.shared.f32 	%f35, [%r8+576];
	ld.shared.f32 	%f36, [%r7+36];
	fma.rn.f32 	%f37, %f36, %f35, %f34;
	ld.shared.f32 	%f38, [%r8+640];
	ld.shared.f32 	%f39, [%r7+40];
	fma.rn.f32 	%f40, %f39, %f38, %f37;
	ld.shared.f32 	%f41, [%r8+704];
	ld.shared.f32 	%f42, [%r7+44];
	fma.rn.f32 	%f43, %f42, %f41, %f40;
	ld.shared.f32 	%f44, [%r8+768];
	ld.shared.f32 	%f45, [%r7+48];
	fma.rn.f32 	%f46, %f45, %f44, %f43;
	ld.shared.f32 	%f47, [%r8+832];
	ld.shared.f32 	%f48, [%r7+52];
	fma.rn.f32 	%f49, %f48, %f47, %f46;
	ld.shared.f32 	%f50, [%r8+896];
	ld.shared.f32 	%f51, [%r7+56];
	fma.rn.f32 	%f52, %f51, %f50, %f49;
	ld.shared.f32 	%f53, [%r8+960];
	ld.shared.f32 	%f54, [%r7+60];
	fma.rn.f32 	%f56, %f54, %f53, %f52;
	bar.sync 	0;
	add.s32 	%r33, %r33, %r10;
	add.s32 	%r32, %r32, 16;
	add.s32 	%r34, %r34, 16;
	setp.lt.s32 	%p2, %r34, %r18;
	@%p2 bra 	$L__BB8_2;
$L__BB8_3:
	add.s32 	%r30, %r2, %r3;
	add.s32 	%r31, %r4, %r30;
	cvta.to.global.u64 	%rd10, %rd3;
	mul.wide.s32 	%rd11, %r31, 4;
	add.s64 	%rd12, %rd10, %rd11;
	st.global.f32 	[%rd12], %f56;
	ret;
}
)PTX";
// clang-format on

}  // namespace wharf::device::soft
