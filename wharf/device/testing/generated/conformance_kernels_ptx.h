// Made from conformance_kernels.cu by make_kernels.sh: do not edit.
#pragma once

#include <string_view>

namespace wharf::device {

// clang-format off
inline constexpr std::string_view kConformanceKernels =
R"PTX(.version 7.0
.target sm_75
.address_size 64
	// .globl	saxpy
.extern .func  (.param .b32 func_retval0) vprintf
(
	.param .b64 vprintf_param_0,
	.param .b64 vprintf_param_1
)
;
.extern .func __assertfail
(
	.param .b64 __assertfail_param_0,
	.param .b64 __assertfail_param_1,
	.param .b32 __assertfail_param_2,
	.param .b64 __assertfail_param_3,
	.param .b64 __assertfail_param_4
)
;
.global .align 4 .u32 counter = 3;
.const .align 4 .b8 weights[16] = {0, 0, 128, 63, 0, 0, 0, 64, 0, 0, 128, 64, 0, 0, 0, 65};
.global .align 1 .b8 __unnamed_1[16] = {118, 111, 105, 100, 32, 99, 104, 101, 99, 107, 40, 105, 110, 116, 41};
.extern .shared .align 16 .b8 shared[];
.global .align 1 .b8 $str[26] = {116, 104, 114, 101, 97, 100, 32, 37, 100, 32, 111, 102, 32, 37, 115, 58, 32, 37, 100, 32, 37, 46, 50, 102, 10};
.global .align 1 .b8 $str$1[5] = {109, 97, 110, 121};
.global .align 1 .b8 $str$2[11] = {118, 97, 108, 117, 101, 32, 61, 61, 32, 49};
.global .align 1 .b8 $str$3[23] = {99, 111, 110, 102, 111, 114, 109, 97, 110, 99, 101, 95, 107, 101, 114, 110, 101, 108, 115, 46, 99, 117};
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
	setp.ge.u32 	%p1, %r1, %r2;
	@%p1 bra 	$L__BB0_2;
	cvta.to.global.u64 	%rd3, %rd2;
	mul.wide.u32 	%rd4, %r1, 4;
	add.s64 	%rd5, %rd3, %rd4;
	ld.global.f32 	%f2, [%rd5];
	cvta.to.global.u64 	%rd6, %rd1;
	add.s64 	%rd7, %rd6, %rd4;
	ld.global.f32 	%f3, [%rd7];
	fma.rn.f32 	%f4, %f2, %f1, %f3;
	st.global.f32 	[%rd7], %f4;
$L__BB0_2:
	ret;
}
	// .globl	coordinates
.visible .entry coordinates(
	.param .u64 coordinates_param_0
)
{
	.reg .b32 	%r<34>;
	.reg .b64 	%rd<5>;
	ld.param.u64 	%rd1, [coordinates_param_0];
	cvta.to.global.u64 	%rd2, %rd1;
	mov.u32 	%r1, %ctaid.x;
	mov.u32 	%r2, %nctaid.x;
	mov.u32 	%r3, %ctaid.y;
	mov.u32 	%r4, %nctaid.y;
	mov.u32 	%r5, %ctaid.z;
	mad.lo.s32 	%r6, %r4, %r5, %r3;
	mad.lo.s32 	%r7, %r6, %r2, %r1;
	mov.u32 	%r8, %tid.x;
	mov.u32 	%r9, %ntid.x;
	mov.u32 	%r10, %tid.y;
	mov.u32 	%r11, %ntid.y;
	mov.u32 	%r12, %tid.z;
	shl.b32 	%r13, %r3, 8;
	or.b32  	%r14, %r13, %r1;
	shl.b32 	%r15, %r5, 16;
	shl.b32 	%r16, %r10, 8;
	or.b32  	%r17, %r16, %r8;
	shl.b32 	%r18, %r12, 16;
	shl.b32 	%r19, %r4, 8;
	or.b32  	%r20, %r19, %r2;
	mov.u32 	%r21, %nctaid.z;
	shl.b32 	%r22, %r21, 16;
	shl.b32 	%r23, %r11, 8;
	or.b32  	%r24, %r23, %r9;
	mov.u32 	%r25, %ntid.z;
	shl.b32 	%r26, %r25, 16;
	mad.lo.s32 	%r27, %r7, %r25, %r12;
	mad.lo.s32 	%r28, %r27, %r11, %r10;
	mad.lo.s32 	%r29, %r28, %r9, %r8;
	mul.wide.u32 	%rd3, %r29, 16;
	add.s64 	%rd4, %rd2, %rd3;
	or.b32  	%r30, %r24, %r26;
	or.b32  	%r31, %r20, %r22;
	or.b32  	%r32, %r17, %r18;
	or.b32  	%r33, %r14, %r15;
	st.global.v4.u32 	[%rd4], {%r33, %r32, %r31, %r30};
	ret;
}
	// .globl	sum_blocks
.visible .entry sum_blocks(
	.param .u64 sum_blocks_param_0,
	.param .u64 sum_blocks_param_1,
	.param .u32 sum_blocks_param_2
)
{
	.reg .pred 	%p<16>;
	.reg .b32 	%r<57>;
	.reg .b64 	%rd<9>;
	// demoted variable
	.shared .align 4 .b8 _ZZ10sum_blocksE7partial[128];
	ld.param.u64 	%rd1, [sum_blocks_param_0];
	ld.param.u64 	%rd2, [sum_blocks_param_1];
	ld.param.u32 	%r12, [sum_blocks_param_2];
	mov.u32 	%r1, %ntid.x;
	mov.u32 	%r2, %ctaid.x;
	mov.u32 	%r3, %tid.x;
	mad.lo.s32 	%r4, %r2, %r1, %r3;
	setp.ge.u32 	%p1, %r4, %r12;
	mov.u32 	%r55, 0;
	@%p1 bra 	$L__BB2_2;
	cvta.to.global.u64 	%rd3, %rd2;
	mul.wide.u32 	%rd4, %r4, 4;
	add.s64 	%rd5, %rd3, %rd4;
	ld.global.u32 	%r55, [%rd5];
$L__BB2_2:
	mov.u32 	%r13, 2;
	mov.u32 	%r14, 31;
	mov.u32 	%r15, 16;
	mov.u32 	%r16, -1;
	shfl.sync.down.b32 	%r17|%p2, %r55, %r15, %r14, %r16;
	add.s32 	%r18, %r17, %r55;
	mov.u32 	%r19, 8;
	shfl.sync.down.b32 	%r20|%p3, %r18, %r19, %r14, %r16;
	add.s32 	%r21, %r20, %r18;
	mov.u32 	%r22, 4;
	shfl.sync.down.b32 	%r23|%p4, %r21, %r22, %r14, %r16;
	add.s32 	%r24, %r23, %r21;
	shfl.sync.down.b32 	%r25|%p5, %r24, %r13, %r14, %r16;
	add.s32 	%r26, %r25, %r24;
	mov.u32 	%r27, 1;
	shfl.sync.down.b32 	%r28|%p6, %r26, %r27, %r14, %r16;
	add.s32 	%r7, %r28, %r26;
	and.b32  	%r29, %r3, 31;
	setp.ne.s32 	%p7, %r29, 0;
	@%p7 bra 	$L__BB2_4;
	shr.u32 	%r30, %r3, 3;
	and.b32  	%r31, %r30, 536870908;
	mov.u32 	%r32, _ZZ10sum_blocksE7partial;
	add.s32 	%r33, %r32, %r31;
	st.shared.u32 	[%r33], %r7;
$L__BB2_4:
	bar.sync 	0;
	setp.gt.u32 	%p8, %r3, 31;
	@%p8 bra 	$L__BB2_9;
	shr.u32 	%r35, %r1, 5;
	setp.ge.u32 	%p9, %r3, %r35;
	mov.u32 	%r56, 0;
	@%p9 bra 	$L__BB2_7;
	shl.b32 	%r36, %r3, 2;
	mov.u32 	%r37, _ZZ10sum_blocksE7partial;
	add.s32 	%r38, %r37, %r36;
	ld.shared.u32 	%r56, [%r38];
$L__BB2_7:
	mov.u32 	%r39, 2;
	mov.u32 	%r40, 31;
	mov.u32 	%r41, 16;
	mov.u32 	%r42, -1;
	shfl.sync.down.b32 	%r43|%p10, %r56, %r41, %r40, %r42;
	add.s32 	%r44, %r43, %r56;
	mov.u32 	%r45, 8;
	shfl.sync.down.b32 	%r46|%p11, %r44, %r45, %r40, %r42;
	add.s32 	%r47, %r46, %r44;
	mov.u32 	%r48, 4;
	shfl.sync.down.b32 	%r49|%p12, %r47, %r48, %r40, %r42;
	add.s32 	%r50, %r49, %r47;
	shfl.sync.down.b32 	%r51|%p13, %r50, %r39, %r40, %r42;
	add.s32 	%r52, %r51, %r50;
	mov.u32 	%r53, 1;
	shfl.sync.down.b32 	%r54|%p14, %r52, %r53, %r40, %r42;
	add.s32 	%r10, %r54, %r52;
	setp.ne.s32 	%p15, %r3, 0;
	@%p15 bra 	$L__BB2_9;
	cvta.to.global.u64 	%rd6, %rd1;
	mul.wide.u32 	%rd7, %r2, 4;
	add.s64 	%rd8, %rd6, %rd7;
	st.global.u32 	[%rd8], %r10;
$L__BB2_9:
	ret;
}
	// .globl	reverse
.visible .entry reverse(
	.param .u64 reverse_param_0
)
{
	.reg .b32 	%r<12>;
	.reg .b64 	%rd<5>;
	ld.param.u64 	%rd1, [reverse_param_0];
	cvta.to.global.u64 	%rd2, %rd1;
	mov.u32 	%r1, %tid.x;
	mul.wide.u32 	%rd3, %r1, 4;
	add.s64 	%rd4, %rd2, %rd3;
	ld.global.u32 	%r2, [%rd4];
	shl.b32 	%r3, %r1, 2;
	mov.u32 	%r4, shared;
	add.s32 	%r5, %r4, %r3;
	st.shared.u32 	[%r5], %r2;
	bar.sync 	0;
	mov.u32 	%r6, %ntid.x;
	not.b32 	%r7, %r1;
	add.s32 	%r8, %r6, %r7;
	shl.b32 	%r9, %r8, 2;
	add.s32 	%r10, %r4, %r9;
	ld.shared.u32 	%r11, [%r10];
	st.global.u32 	[%rd4], %r11;
	ret;
}
	// .globl	histogram
.visible .entry histogram(
	.param .u64 histogram_param_0,
	.param .u64 histogram_param_1,
	.param .u32 histogram_param_2
)
{
	.reg .pred 	%p<3>;
	.reg .b32 	%r<13>;
	.reg .b64 	%rd<9>;
	ld.param.u64 	%rd3, [histogram_param_0];
	ld.param.u64 	%rd4, [histogram_param_1];
	ld.param.u32 	%r6, [histogram_param_2];
	mov.u32 	%r1, %ntid.x;
	mov.u32 	%r7, %ctaid.x;
	mov.u32 	%r8, %tid.x;
	mad.lo.s32 	%r12, %r7, %r1, %r8;
	setp.ge.u32 	%p1, %r12, %r6;
	@%p1 bra 	$L__BB4_3;
	mov.u32 	%r9, %nctaid.x;
	mul.lo.s32 	%r3, %r9, %r1;
	cvta.to.global.u64 	%rd1, %rd4;
	cvta.to.global.u64 	%rd2, %rd3;
$L__BB4_2:
	cvt.u64.u32 	%rd5, %r12;
	add.s64 	%rd6, %rd1, %rd5;
	ld.global.u8 	%r10, [%rd6];
	mul.wide.u32 	%rd7, %r10, 4;
	add.s64 	%rd8, %rd2, %rd7;
	atom.global.add.u32 	%r11, [%rd8], 1;
	add.s32 	%r12, %r12, %r3;
	setp.lt.u32 	%p2, %r12, %r6;
	@%p2 bra 	$L__BB4_2;
$L__BB4_3:
	ret;
}
	// .globl	shared_histogram
.visible .entry shared_histogram(
	.param .u64 shared_histogram_param_0,
	.param .u64 shared_histogram_param_1,
	.param .u32 shared_histogram_param_2
)
{
	.reg .pred 	%p<5>;
	.reg .b16 	%rs<2>;
	.reg .b32 	%r<16>;
	.reg .b64 	%rd<9>;
	// demoted variable
	.shared .align 4 .b8 _ZZ16shared_histogramE3own[256];
	ld.param.u64 	%rd2, [shared_histogram_param_0];
	ld.param.u64 	%rd3, [shared_histogram_param_1];
	ld.param.u32 	%r6, [shared_histogram_param_2];
	mov.u32 	%r1, %tid.x;
	setp.gt.u32 	%p1, %r1, 63;
	shl.b32 	%r7, %r1, 2;
	mov.u32 	%r8, _ZZ16shared_histogramE3own;
	add.s32 	%r2, %r8, %r7;
	@%p1 bra 	$L__BB5_2;
	mov.u32 	%r9, 0;
	st.shared.u32 	[%r2], %r9;
$L__BB5_2:
	bar.sync 	0;
	setp.ge.u32 	%p2, %r1, %r6;
	@%p2 bra 	$L__BB5_5;
	mov.u32 	%r3, %ntid.x;
	cvta.to.global.u64 	%rd1, %rd3;
)PTX"
R"PTX(	mov.u32 	%r15, %r1;
$L__BB5_4:
	cvt.u64.u32 	%rd4, %r15;
	add.s64 	%rd5, %rd1, %rd4;
	ld.global.u8 	%rs1, [%rd5];
	mul.wide.u16 	%r10, %rs1, 4;
	add.s32 	%r12, %r8, %r10;
	atom.shared.add.u32 	%r13, [%r12], 1;
	add.s32 	%r15, %r15, %r3;
	setp.lt.u32 	%p3, %r15, %r6;
	@%p3 bra 	$L__BB5_4;
$L__BB5_5:
	bar.sync 	0;
	@%p1 bra 	$L__BB5_7;
	ld.shared.u32 	%r14, [%r2];
	cvta.to.global.u64 	%rd6, %rd2;
	mul.wide.u32 	%rd7, %r1, 4;
	add.s64 	%rd8, %rd6, %rd7;
	st.global.u32 	[%rd8], %r14;
$L__BB5_7:
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
	@%p1 bra 	$L__BB6_2;
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
$L__BB6_2:
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
	.reg .b32 	%r<15>;
	.reg .b64 	%rd<13>;
	ld.param.u64 	%rd1, [gather_param_0];
	ld.param.u64 	%rd2, [gather_param_1];
	ld.param.u64 	%rd3, [gather_param_2];
	ld.param.u32 	%r2, [gather_param_3];
	mov.u32 	%r3, %ctaid.x;
	mov.u32 	%r4, %ntid.x;
	mov.u32 	%r5, %tid.x;
	mad.lo.s32 	%r1, %r3, %r4, %r5;
	setp.ge.s32 	%p1, %r1, %r2;
	@%p1 bra 	$L__BB7_2;
	cvta.to.global.u64 	%rd4, %rd3;
	cvta.to.global.u64 	%rd5, %rd1;
	mul.wide.s32 	%rd6, %r1, 16;
	add.s64 	%rd7, %rd5, %rd6;
	mul.wide.s32 	%rd8, %r1, 4;
	add.s64 	%rd9, %rd4, %rd8;
	ld.global.u32 	%r6, [%rd9];
	cvta.to.global.u64 	%rd10, %rd2;
	mul.wide.s32 	%rd11, %r6, 16;
	add.s64 	%rd12, %rd10, %rd11;
	ld.global.v4.u32 	{%r7, %r8, %r9, %r10}, [%rd12];
	st.global.v4.u32 	[%rd7], {%r7, %r8, %r9, %r10};
$L__BB7_2:
	ret;
}
	// .globl	follow
.visible .entry follow(
	.param .u64 follow_param_0,
	.param .u64 follow_param_1
)
{
	.reg .pred 	%p<3>;
	.reg .b32 	%r<13>;
	.reg .b64 	%rd<11>;
	ld.param.u64 	%rd2, [follow_param_0];
	ld.param.u64 	%rd3, [follow_param_1];
	mov.u32 	%r1, %tid.x;
	cvta.to.global.u64 	%rd1, %rd3;
	mul.wide.s32 	%rd4, %r1, 4;
	add.s64 	%rd5, %rd1, %rd4;
	ld.global.u32 	%r10, [%rd5];
	setp.lt.s32 	%p1, %r10, 0;
	mov.u32 	%r12, 0;
	@%p1 bra 	$L__BB8_3;
	mov.u32 	%r12, 0;
$L__BB8_2:
	add.s32 	%r12, %r12, 1;
	mul.wide.s32 	%rd6, %r10, 4;
	add.s64 	%rd7, %rd1, %rd6;
	ld.global.u32 	%r10, [%rd7];
	setp.gt.s32 	%p2, %r10, -1;
	@%p2 bra 	$L__BB8_2;
$L__BB8_3:
	cvta.to.global.u64 	%rd8, %rd2;
	mul.wide.u32 	%rd9, %r1, 4;
	add.s64 	%rd10, %rd8, %rd9;
	st.global.u32 	[%rd10], %r12;
	ret;
}
	// .globl	count
.visible .entry count(
	.param .u64 count_param_0
)
{
	.reg .f32 	%f<2>;
	.reg .b32 	%r<4>;
	.reg .b64 	%rd<10>;
	ld.param.u64 	%rd1, [count_param_0];
	cvta.to.global.u64 	%rd2, %rd1;
	mov.u64 	%rd3, counter;
	atom.global.add.u32 	%r1, [%rd3], 1;
	mov.u32 	%r2, %tid.x;
	shl.b32 	%r3, %r2, 2;
	cvt.u64.u32 	%rd4, %r3;
	and.b64  	%rd5, %rd4, 12;
	mov.u64 	%rd6, weights;
	add.s64 	%rd7, %rd6, %rd5;
	ld.const.f32 	%f1, [%rd7];
	mul.wide.u32 	%rd8, %r2, 4;
	add.s64 	%rd9, %rd2, %rd8;
	st.global.f32 	[%rd9], %f1;
	ret;
}
	// .globl	ballots
.visible .entry ballots(
	.param .u64 ballots_param_0
)
{
	.reg .pred 	%p<9>;
	.reg .b16 	%rs<2>;
	.reg .b32 	%r<17>;
	.reg .b64 	%rd<5>;
	ld.param.u64 	%rd1, [ballots_param_0];
	mov.u32 	%r1, %tid.x;
	and.b32  	%r2, %r1, 31;
	and.b32  	%r6, %r1, 1;
	setp.eq.b32 	%p1, %r6, 1;
	mov.pred 	%p2, 0;
	xor.pred  	%p3, %p1, %p2;
	not.pred 	%p4, %p3;
	@%p4 bra 	$L__BB10_2;
	bra.uni 	$L__BB10_1;
$L__BB10_2:
	and.b32  	%r8, %r1, 3;
	setp.eq.s32 	%p7, %r8, 0;
	mov.u32 	%r9, 1431655765;
	vote.sync.ballot.b32 	%r16, %p7, %r9;
	bra.uni 	$L__BB10_3;
$L__BB10_1:
	setp.gt.u32 	%p5, %r2, 15;
	mov.u32 	%r7, -1431655766;
	vote.sync.ballot.b32 	%r16, %p5, %r7;
$L__BB10_3:
	cvt.u16.u32 	%rs1, %r2;
	mul.wide.u16 	%r10, %rs1, -13107;
	shr.u32 	%r11, %r10, 18;
	mov.u32 	%r12, -1;
	match.any.sync.b32 	%r13, %r11, %r12;
	popc.b32 	%r14, %r13;
	add.s32 	%r15, %r14, %r16;
	cvta.to.global.u64 	%rd2, %rd1;
	mul.wide.u32 	%rd3, %r1, 4;
	add.s64 	%rd4, %rd2, %rd3;
	st.global.u32 	[%rd4], %r15;
	ret;
}
	// .globl	chain
.visible .entry chain(
	.param .u64 chain_param_0,
	.param .u64 chain_param_1
)
{
	.reg .pred 	%p<4>;
	.reg .b32 	%r<11>;
	.reg .b64 	%rd<9>;
	ld.param.u64 	%rd3, [chain_param_0];
	ld.param.u64 	%rd4, [chain_param_1];
	cvta.to.global.u64 	%rd1, %rd4;
	cvta.to.global.u64 	%rd2, %rd3;
	mov.u32 	%r4, %tid.x;
	setp.ne.s32 	%p1, %r4, 0;
	@%p1 bra 	$L__BB11_6;
	mov.u32 	%r1, %ctaid.x;
$L__BB11_2:
	ld.volatile.global.u32 	%r5, [%rd2];
	setp.ne.s32 	%p2, %r5, %r1;
	@%p2 bra 	$L__BB11_2;
	membar.gl;
	setp.eq.s32 	%p3, %r1, 0;
	mov.u32 	%r10, 1;
	@%p3 bra 	$L__BB11_5;
	add.s32 	%r7, %r1, -1;
	mul.wide.u32 	%rd5, %r7, 4;
	add.s64 	%rd6, %rd1, %rd5;
	ld.global.u32 	%r8, [%rd6];
	mul.lo.s32 	%r10, %r8, 3;
$L__BB11_5:
	mul.wide.u32 	%rd7, %r1, 4;
	add.s64 	%rd8, %rd1, %rd7;
	st.global.u32 	[%rd8], %r10;
	membar.gl;
	add.s32 	%r9, %r1, 1;
	st.volatile.global.u32 	[%rd2], %r9;
$L__BB11_6:
	bar.sync 	0;
	ret;
}
	// .globl	say
.visible .entry say(
	.param .u32 say_param_0
)
{
	.local .align 16 .b8 	__local_depot12[32];
	.reg .b64 	%SP;
	.reg .b64 	%SPL;
	.reg .b32 	%r<4>;
	.reg .f64 	%fd<3>;
	.reg .b64 	%rd<7>;
	mov.u64 	%SPL, __local_depot12;
	cvta.local.u64 	%SP, %SPL;
	ld.param.u32 	%r1, [say_param_0];
	add.u64 	%rd1, %SP, 0;
	add.u64 	%rd2, %SPL, 0;
	mov.u32 	%r2, %tid.x;
	cvt.rn.f64.s32 	%fd1, %r1;
	mul.f64 	%fd2, %fd1, 0d3FC0000000000000;
	st.local.u32 	[%rd2], %r2;
	mov.u64 	%rd3, $str$1;
	cvta.global.u64 	%rd4, %rd3;
	st.local.u64 	[%rd2+8], %rd4;
	st.local.u32 	[%rd2+16], %r1;
	st.local.f64 	[%rd2+24], %fd2;
	mov.u64 	%rd5, $str;
	cvta.global.u64 	%rd6, %rd5;
	{ // callseq 0, 0
	.reg .b32 temp_param_reg;
	.param .b64 param0;
	st.param.b64 	[param0+0], %rd6;
	.param .b64 param1;
	st.param.b64 	[param1+0], %rd1;
	.param .b32 retval0;
	call.uni (retval0), 
	vprintf, 
	(
	param0, 
	param1
	);
	ld.param.b32 	%r3, [retval0+0];
	} // callseq 0
	ret;
}
	// .globl	check
.visible .entry check(
	.param .u32 check_param_0
)
{
	.reg .pred 	%p<2>;
	.reg .b32 	%r<2>;
	.reg .b64 	%rd<7>;
	ld.param.u32 	%r1, [check_param_0];
	setp.eq.s32 	%p1, %r1, 1;
	@%p1 bra 	$L__BB13_2;
	mov.u64 	%rd1, $str$2;
	cvta.global.u64 	%rd2, %rd1;
	mov.u64 	%rd3, $str$3;
	cvta.global.u64 	%rd4, %rd3;
	mov.u64 	%rd5, __unnamed_1;
	cvta.global.u64 	%rd6, %rd5;
	{ // callseq 1, 0
	.reg .b32 temp_param_reg;
	.param .b64 param0;
	st.param.b64 	[param0+0], %rd2;
	.param .b64 param1;
	st.param.b64 	[param1+0], %rd4;
	.param .b32 param2;
	st.param.b32 	[param2+0], 111;
	.param .b64 param3;
	st.param.b64 	[param3+0], %rd6;
	.param .b64 param4;
	st.param.b64 	[param4+0], 1;
	call.uni 
	__assertfail, 
	(
	param0, 
	param1, 
	param2, 
	param3, 
	param4
	);
	} // callseq 1
$L__BB13_2:
	ret;
}
	// .globl	stop
.visible .entry stop()
{
	// begin inline asm
	trap;
	// end inline asm
	ret;
}
	// .globl	poke
.visible .entry poke(
	.param .u64 poke_param_0,
	.param .u32 poke_param_1
)
{
	.reg .b32 	%r<2>;
	.reg .b64 	%rd<3>;
	ld.param.u64 	%rd1, [poke_param_0];
	ld.param.u32 	%r1, [poke_param_1];
	cvta.to.global.u64 	%rd2, %rd1;
	st.global.u32 	[%rd2], %r1;
	ret;
}
	// .globl	unpack
.visible .entry unpack(
	.param .u8 unpack_param_0,
	.param .align 8 .b8 unpack_param_1[32],
	.param .u16 unpack_param_2,
	.param .u64 unpack_param_3
)
{
	.reg .b16 	%rs<2>;
	.reg .f64 	%fd<2>;
)PTX"
R"PTX(	.reg .b64 	%rd<8>;
	ld.param.s8 	%rs1, [unpack_param_0];
	ld.param.s16 	%rd1, [unpack_param_2];
	ld.param.u64 	%rd2, [unpack_param_3];
	ld.param.s32 	%rd3, [unpack_param_1+24];
	ld.param.f64 	%fd1, [unpack_param_1];
	cvta.to.global.u64 	%rd4, %rd2;
	cvt.s64.s16 	%rd5, %rs1;
	st.global.u64 	[%rd4], %rd5;
	cvt.rzi.s64.f64 	%rd6, %fd1;
	st.global.u64 	[%rd4+8], %rd6;
	ld.param.s8 	%rd7, [unpack_param_1+20];
	st.global.u64 	[%rd4+16], %rd7;
	st.global.u64 	[%rd4+24], %rd3;
	st.global.u64 	[%rd4+32], %rd1;
	ret;
}
)PTX";
// clang-format on

}  // namespace wharf::device
