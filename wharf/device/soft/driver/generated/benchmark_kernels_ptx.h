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
	// .globl	gather
.visible .entry gather(
	.param .u64 gather_param_0,
	.param .u64 gather_param_1,
	.param .u64 gather_param_2,
	.param .u32 gather_param_3
)
{
	.reg .pred 	%p<2>;
	.reg .f32 	%f<2>;
	.reg .b32 	%r<7>;
	.reg .b64 	%rd<12>;
	ld.param.u64 	%rd1, [gather_param_0];
	ld.param.u64 	%rd2, [gather_param_1];
	ld.param.u64 	%rd3, [gather_param_2];
	ld.param.u32 	%r2, [gather_param_3];
	mov.u32 	%r3, %ctaid.x;
	mov.u32 	%r4, %ntid.x;
	mov.u32 	%r5, %tid.x;
	mad.lo.s32 	%r1, %r3, %r4, %r5;
	setp.ge.s32 	%p1, %r1, %r2;
	@%p1 bra 	$L__BB9_2;
	cvta.to.global.u64 	%rd4, %rd3;
	mul.wide.s32 	%rd5, %r1, 4;
	add.s64 	%rd6, %rd4, %rd5;
	ld.global.u32 	%r6, [%rd6];
	cvta.to.global.u64 	%rd7, %rd2;
	mul.wide.s32 	%rd8, %r6, 4;
	add.s64 	%rd9, %rd7, %rd8;
	ld.global.f32 	%f1, [%rd9];
	cvta.to.global.u64 	%rd10, %rd1;
	add.s64 	%rd11, %rd10, %rd5;
	st.global.f32 	[%rd11], %f1;
$L__BB9_2:
	ret;
}
	// .globl	gather_wide
.visible .entry gather_wide(
	.param .u64 gather_wide_param_0,
	.param .u64 gather_wide_param_1,
	.param .u64 gather_wide_param_2,
)PTX"
R"PTX(	.param .u64 gather_wide_param_3
)
{
	.reg .pred 	%p<2>;
	.reg .f32 	%f<2>;
	.reg .b32 	%r<4>;
	.reg .b64 	%rd<18>;
	ld.param.u64 	%rd2, [gather_wide_param_0];
	ld.param.u64 	%rd3, [gather_wide_param_1];
	ld.param.u64 	%rd4, [gather_wide_param_2];
	ld.param.u64 	%rd5, [gather_wide_param_3];
	mov.u32 	%r1, %ctaid.x;
	mov.u32 	%r2, %ntid.x;
	mul.wide.u32 	%rd6, %r1, %r2;
	mov.u32 	%r3, %tid.x;
	cvt.u64.u32 	%rd7, %r3;
	add.s64 	%rd1, %rd6, %rd7;
	setp.ge.s64 	%p1, %rd1, %rd5;
	@%p1 bra 	$L__BB10_2;
	cvta.to.global.u64 	%rd8, %rd4;
	shl.b64 	%rd9, %rd1, 3;
	add.s64 	%rd10, %rd8, %rd9;
	ld.global.u64 	%rd11, [%rd10];
	cvta.to.global.u64 	%rd12, %rd3;
	shl.b64 	%rd13, %rd11, 2;
	add.s64 	%rd14, %rd12, %rd13;
	ld.global.f32 	%f1, [%rd14];
	cvta.to.global.u64 	%rd15, %rd2;
	shl.b64 	%rd16, %rd1, 2;
	add.s64 	%rd17, %rd15, %rd16;
	st.global.f32 	[%rd17], %f1;
$L__BB10_2:
	ret;
}
	// .globl	scatter
.visible .entry scatter(
	.param .u64 scatter_param_0,
	.param .u64 scatter_param_1,
	.param .u64 scatter_param_2,
	.param .u32 scatter_param_3
)
{
	.reg .pred 	%p<2>;
	.reg .f32 	%f<2>;
	.reg .b32 	%r<7>;
	.reg .b64 	%rd<12>;
	ld.param.u64 	%rd1, [scatter_param_0];
	ld.param.u64 	%rd2, [scatter_param_1];
	ld.param.u64 	%rd3, [scatter_param_2];
	ld.param.u32 	%r2, [scatter_param_3];
	mov.u32 	%r3, %ctaid.x;
	mov.u32 	%r4, %ntid.x;
	mov.u32 	%r5, %tid.x;
	mad.lo.s32 	%r1, %r3, %r4, %r5;
	setp.ge.s32 	%p1, %r1, %r2;
	@%p1 bra 	$L__BB11_2;
	cvta.to.global.u64 	%rd4, %rd2;
	mul.wide.s32 	%rd5, %r1, 4;
	add.s64 	%rd6, %rd4, %rd5;
	ld.global.f32 	%f1, [%rd6];
	cvta.to.global.u64 	%rd7, %rd3;
	add.s64 	%rd8, %rd7, %rd5;
	ld.global.u32 	%r6, [%rd8];
	cvta.to.global.u64 	%rd9, %rd1;
	mul.wide.s32 	%rd10, %r6, 4;
	add.s64 	%rd11, %rd9, %rd10;
	st.global.f32 	[%rd11], %f1;
$L__BB11_2:
	ret;
}
	// .globl	sum_columns
.visible .entry sum_columns(
	.param .u64 sum_columns_param_0,
	.param .u64 sum_columns_param_1,
	.param .u64 sum_columns_param_2,
	.param .u32 sum_columns_param_3
)
{
	.reg .pred 	%p<6>;
	.reg .f32 	%f<25>;
	.reg .b32 	%r<16>;
	.reg .b64 	%rd<28>;
	ld.param.u64 	%rd11, [sum_columns_param_0];
	ld.param.u64 	%rd12, [sum_columns_param_1];
	ld.param.u64 	%rd13, [sum_columns_param_2];
	ld.param.u32 	%r9, [sum_columns_param_3];
	mov.u32 	%r10, %ntid.x;
	mov.u32 	%r11, %ctaid.x;
	mul.lo.s32 	%r1, %r11, %r10;
	mov.u32 	%r2, %tid.x;
	setp.lt.s32 	%p1, %r9, 1;
	mov.f32 	%f24, 0f00000000;
	@%p1 bra 	$L__BB12_7;
	cvt.u64.u32 	%rd14, %r2;
	cvt.u64.u32 	%rd15, %r1;
	add.s64 	%rd16, %rd15, %rd14;
	cvta.to.global.u64 	%rd17, %rd12;
	shl.b64 	%rd18, %rd16, 2;
	add.s64 	%rd27, %rd17, %rd18;
	add.s32 	%r12, %r9, -1;
	and.b32  	%r15, %r9, 3;
	setp.lt.u32 	%p2, %r12, 3;
	mov.f32 	%f24, 0f00000000;
	@%p2 bra 	$L__BB12_4;
	sub.s32 	%r14, %r9, %r15;
	shl.b64 	%rd2, %rd13, 2;
	shl.b64 	%rd3, %rd13, 4;
	mov.f32 	%f24, 0f00000000;
	mov.u64 	%rd25, %rd27;
$L__BB12_3:
	ld.global.f32 	%f12, [%rd25];
	add.f32 	%f13, %f24, %f12;
	add.s64 	%rd19, %rd25, %rd2;
	ld.global.f32 	%f14, [%rd19];
	add.f32 	%f15, %f13, %f14;
	add.s64 	%rd20, %rd19, %rd2;
	ld.global.f32 	%f16, [%rd20];
	add.f32 	%f17, %f15, %f16;
	add.s64 	%rd21, %rd20, %rd2;
	add.s64 	%rd5, %rd21, %rd2;
	ld.global.f32 	%f18, [%rd21];
	add.f32 	%f24, %f17, %f18;
	add.s64 	%rd27, %rd25, %rd3;
	add.s32 	%r14, %r14, -4;
	setp.ne.s32 	%p3, %r14, 0;
	mov.u64 	%rd25, %rd5;
	@%p3 bra 	$L__BB12_3;
$L__BB12_4:
	setp.eq.s32 	%p4, %r15, 0;
	@%p4 bra 	$L__BB12_7;
	shl.b64 	%rd8, %rd13, 2;
$L__BB12_6:
	.pragma "nounroll";
	ld.global.f32 	%f19, [%rd27];
	add.f32 	%f24, %f24, %f19;
	add.s64 	%rd27, %rd27, %rd8;
	add.s32 	%r15, %r15, -1;
	setp.ne.s32 	%p5, %r15, 0;
	@%p5 bra 	$L__BB12_6;
$L__BB12_7:
	add.s32 	%r13, %r1, %r2;
	cvta.to.global.u64 	%rd22, %rd11;
	mul.wide.u32 	%rd23, %r13, 4;
	add.s64 	%rd24, %rd22, %rd23;
	st.global.f32 	[%rd24], %f24;
	ret;
}
	// .globl	local_histogram
.visible .entry local_histogram(
	.param .u64 local_histogram_param_0,
	.param .u64 local_histogram_param_1,
	.param .u32 local_histogram_param_2
)
{
	.local .align 16 .b8 	__local_depot13[64];
	.reg .b64 	%SP;
	.reg .b64 	%SPL;
	.reg .pred 	%p<2>;
	.reg .f32 	%f<2>;
	.reg .b32 	%r<103>;
	.reg .b64 	%rd<58>;
	mov.u64 	%SPL, __local_depot13;
	ld.param.u64 	%rd1, [local_histogram_param_0];
	ld.param.u64 	%rd2, [local_histogram_param_1];
	ld.param.u32 	%r2, [local_histogram_param_2];
	mov.u32 	%r3, %ntid.x;
	mov.u32 	%r4, %ctaid.x;
	mov.u32 	%r5, %tid.x;
	mad.lo.s32 	%r1, %r4, %r3, %r5;
	setp.ge.s32 	%p1, %r1, %r2;
	@%p1 bra 	$L__BB13_2;
	add.u64 	%rd4, %SPL, 0;
	cvta.to.global.u64 	%rd5, %rd1;
	mov.u32 	%r6, 0;
	st.local.v4.u32 	[%rd4], {%r6, %r6, %r6, %r6};
	st.local.v4.u32 	[%rd4+16], {%r6, %r6, %r6, %r6};
	st.local.v4.u32 	[%rd4+32], {%r6, %r6, %r6, %r6};
	st.local.v4.u32 	[%rd4+48], {%r6, %r6, %r6, %r6};
	cvta.to.global.u64 	%rd6, %rd2;
	mul.wide.s32 	%rd7, %r1, 4;
	add.s64 	%rd8, %rd6, %rd7;
	ld.global.u32 	%r7, [%rd8];
	cvt.u64.u32 	%rd9, %r7;
	shl.b32 	%r8, %r7, 2;
	cvt.u64.u32 	%rd10, %r8;
	and.b64  	%rd11, %rd10, 60;
	add.s64 	%rd12, %rd4, %rd11;
	ld.local.u32 	%r9, [%rd12];
	add.s32 	%r10, %r9, 1;
	st.local.u32 	[%rd12], %r10;
	shr.u32 	%r11, %r7, 1;
	cvt.u64.u32 	%rd13, %r11;
	shl.b32 	%r12, %r7, 1;
	cvt.u64.u32 	%rd14, %r12;
	and.b64  	%rd15, %rd14, 60;
	add.s64 	%rd16, %rd4, %rd15;
	ld.local.u32 	%r13, [%rd16];
	add.s32 	%r14, %r13, 1;
	st.local.u32 	[%rd16], %r14;
	shr.u32 	%r15, %r7, 2;
	cvt.u64.u32 	%rd17, %r15;
	and.b64  	%rd18, %rd9, 60;
	add.s64 	%rd19, %rd4, %rd18;
	ld.local.u32 	%r16, [%rd19];
	add.s32 	%r17, %r16, 1;
	st.local.u32 	[%rd19], %r17;
	shr.u32 	%r18, %r7, 3;
	cvt.u64.u32 	%rd20, %r18;
	and.b64  	%rd21, %rd13, 60;
	add.s64 	%rd22, %rd4, %rd21;
	ld.local.u32 	%r19, [%rd22];
	add.s32 	%r20, %r19, 1;
	st.local.u32 	[%rd22], %r20;
	shr.u32 	%r21, %r7, 4;
	cvt.u64.u32 	%rd23, %r21;
	and.b64  	%rd24, %rd17, 60;
	add.s64 	%rd25, %rd4, %rd24;
	ld.local.u32 	%r22, [%rd25];
	add.s32 	%r23, %r22, 1;
	st.local.u32 	[%rd25], %r23;
	shr.u32 	%r24, %r7, 5;
	cvt.u64.u32 	%rd26, %r24;
	and.b64  	%rd27, %rd20, 60;
	add.s64 	%rd28, %rd4, %rd27;
	ld.local.u32 	%r25, [%rd28];
	add.s32 	%r26, %r25, 1;
	st.local.u32 	[%rd28], %r26;
	shr.u32 	%r27, %r7, 6;
	cvt.u64.u32 	%rd29, %r27;
	and.b64  	%rd30, %rd23, 60;
	add.s64 	%rd31, %rd4, %rd30;
	ld.local.u32 	%r28, [%rd31];
	add.s32 	%r29, %r28, 1;
	st.local.u32 	[%rd31], %r29;
	shr.u32 	%r30, %r7, 7;
	cvt.u64.u32 	%rd32, %r30;
	and.b64  	%rd33, %rd26, 60;
	add.s64 	%rd34, %rd4, %rd33;
	ld.local.u32 	%r31, [%rd34];
	add.s32 	%r32, %r31, 1;
	st.local.u32 	[%rd34], %r32;
	shr.u32 	%r33, %r7, 8;
	cvt.u64.u32 	%rd35, %r33;
	and.b64  	%rd36, %rd29, 60;
	add.s64 	%rd37, %rd4, %rd36;
	ld.local.u32 	%r34, [%rd37];
	add.s32 	%r35, %r34, 1;
	st.local.u32 	[%rd37], %r35;
	shr.u32 	%r36, %r7, 9;
	cvt.u64.u32 	%rd38, %r36;
	and.b64  	%rd39, %rd32, 60;
	add.s64 	%rd40, %rd4, %rd39;
	ld.local.u32 	%r37, [%rd40];
	add.s32 	%r38, %r37, 1;
	st.local.u32 	[%rd40], %r38;
	shr.u32 	%r39, %r7, 10;
	cvt.u64.u32 	%rd41, %r39;
	and.b64  	%rd42, %rd35, 60;
	add.s64 	%rd43, %rd4, %rd42;
	ld.local.u32 	%r40, [%rd43];
	add.s32 	%r41, %r40, 1;
	st.local.u32 	[%rd43], %r41;
	shr.u32 	%r42, %r7, 11;
	cvt.u64.u32 	%rd44, %r42;
	and.b64  	%rd45, %rd38, 60;
	add.s64 	%rd46, %rd4, %rd45;
	ld.local.u32 	%r43, [%rd46];
	add.s32 	%r44, %r43, 1;
	st.local.u32 	[%rd46], %r44;
	shr.u32 	%r45, %r7, 12;
	cvt.u64.u32 	%rd47, %r45;
	and.b64  	%rd48, %rd41, 60;
	add.s64 	%rd49, %rd4, %rd48;
	ld.local.u32 	%r46, [%rd49];
	add.s32 	%r47, %r46, 1;
	st.local.u32 	[%rd49], %r47;
	shr.u32 	%r48, %r7, 13;
	cvt.u64.u32 	%rd50, %r48;
	and.b64  	%rd51, %rd44, 60;
	add.s64 	%rd52, %rd4, %rd51;
	ld.local.u32 	%r49, [%rd52];
	add.s32 	%r50, %r49, 1;
	st.local.u32 	[%rd52], %r50;
	and.b64  	%rd53, %rd47, 60;
	add.s64 	%rd54, %rd4, %rd53;
	ld.local.u32 	%r51, [%rd54];
	add.s32 	%r52, %r51, 1;
	st.local.u32 	[%rd54], %r52;
	and.b64  	%rd55, %rd50, 60;
	add.s64 	%rd56, %rd4, %rd55;
	ld.local.u32 	%r53, [%rd56];
	add.s32 	%r54, %r53, 1;
	st.local.u32 	[%rd56], %r54;
)PTX"
R"PTX(	ld.local.v4.u32 	{%r55, %r56, %r57, %r58}, [%rd4];
	max.s32 	%r63, %r55, 0;
	max.s32 	%r64, %r63, %r56;
	max.s32 	%r65, %r64, %r57;
	max.s32 	%r66, %r65, %r58;
	ld.local.v4.u32 	{%r67, %r68, %r69, %r70}, [%rd4+16];
	max.s32 	%r75, %r66, %r67;
	max.s32 	%r76, %r75, %r68;
	max.s32 	%r77, %r76, %r69;
	max.s32 	%r78, %r77, %r70;
	ld.local.v4.u32 	{%r79, %r80, %r81, %r82}, [%rd4+32];
	max.s32 	%r87, %r78, %r79;
	max.s32 	%r88, %r87, %r80;
	max.s32 	%r89, %r88, %r81;
	max.s32 	%r90, %r89, %r82;
	ld.local.v4.u32 	{%r91, %r92, %r93, %r94}, [%rd4+48];
	max.s32 	%r99, %r90, %r91;
	max.s32 	%r100, %r99, %r92;
	max.s32 	%r101, %r100, %r93;
	max.s32 	%r102, %r101, %r94;
	cvt.rn.f32.s32 	%f1, %r102;
	add.s64 	%rd57, %rd5, %rd7;
	st.global.f32 	[%rd57], %f1;
$L__BB13_2:
	ret;
}
)PTX";
// clang-format on

}  // namespace wharf::device::soft
