// Made from barrier_kernels.cu by make_kernels.sh: do not edit.
#pragma once

#include <string_view>

namespace wharf::device::soft {

// clang-format off
inline constexpr std::string_view kBarrierKernels =
R"PTX(.version 7.0
.target sm_75
.address_size 64
	// .globl	block_reduction
.visible .entry block_reduction(
	.param .u64 block_reduction_param_0,
	.param .u64 block_reduction_param_1
)
{
	.reg .pred 	%p<10>;
	.reg .f32 	%f<27>;
	.reg .b32 	%r<8>;
	.reg .b64 	%rd<9>;
	// demoted variable
	.shared .align 4 .b8 _ZZ15block_reductionE4part[1024];
	ld.param.u64 	%rd2, [block_reduction_param_0];
	ld.param.u64 	%rd1, [block_reduction_param_1];
	cvta.to.global.u64 	%rd3, %rd2;
	mov.u32 	%r1, %ctaid.x;
	shl.b32 	%r4, %r1, 8;
	mov.u32 	%r2, %tid.x;
	add.s32 	%r5, %r4, %r2;
	mul.wide.s32 	%rd4, %r5, 4;
	add.s64 	%rd5, %rd3, %rd4;
	ld.global.f32 	%f1, [%rd5];
	shl.b32 	%r6, %r2, 2;
	mov.u32 	%r7, _ZZ15block_reductionE4part;
	add.s32 	%r3, %r7, %r6;
	st.shared.f32 	[%r3], %f1;
	bar.sync 	0;
	setp.gt.s32 	%p1, %r2, 127;
	@%p1 bra 	$L__BB0_2;
	ld.shared.f32 	%f2, [%r3];
	ld.shared.f32 	%f3, [%r3+512];
	add.f32 	%f4, %f3, %f2;
	st.shared.f32 	[%r3], %f4;
$L__BB0_2:
	bar.sync 	0;
	setp.gt.s32 	%p2, %r2, 63;
	@%p2 bra 	$L__BB0_4;
	ld.shared.f32 	%f5, [%r3];
	ld.shared.f32 	%f6, [%r3+256];
	add.f32 	%f7, %f6, %f5;
	st.shared.f32 	[%r3], %f7;
$L__BB0_4:
	bar.sync 	0;
	setp.gt.s32 	%p3, %r2, 31;
	@%p3 bra 	$L__BB0_6;
	ld.shared.f32 	%f8, [%r3];
	ld.shared.f32 	%f9, [%r3+128];
	add.f32 	%f10, %f9, %f8;
	st.shared.f32 	[%r3], %f10;
$L__BB0_6:
	bar.sync 	0;
	setp.gt.s32 	%p4, %r2, 15;
	@%p4 bra 	$L__BB0_8;
	ld.shared.f32 	%f11, [%r3];
	ld.shared.f32 	%f12, [%r3+64];
	add.f32 	%f13, %f12, %f11;
	st.shared.f32 	[%r3], %f13;
$L__BB0_8:
	bar.sync 	0;
	setp.gt.s32 	%p5, %r2, 7;
	@%p5 bra 	$L__BB0_10;
	ld.shared.f32 	%f14, [%r3];
	ld.shared.f32 	%f15, [%r3+32];
	add.f32 	%f16, %f15, %f14;
	st.shared.f32 	[%r3], %f16;
$L__BB0_10:
	bar.sync 	0;
	setp.gt.s32 	%p6, %r2, 3;
	@%p6 bra 	$L__BB0_12;
	ld.shared.f32 	%f17, [%r3];
	ld.shared.f32 	%f18, [%r3+16];
	add.f32 	%f19, %f18, %f17;
	st.shared.f32 	[%r3], %f19;
$L__BB0_12:
	bar.sync 	0;
	setp.gt.s32 	%p7, %r2, 1;
	@%p7 bra 	$L__BB0_14;
	ld.shared.f32 	%f20, [%r3];
	ld.shared.f32 	%f21, [%r3+8];
	add.f32 	%f22, %f21, %f20;
	st.shared.f32 	[%r3], %f22;
$L__BB0_14:
	bar.sync 	0;
	setp.gt.s32 	%p8, %r2, 0;
	@%p8 bra 	$L__BB0_16;
	ld.shared.f32 	%f23, [%r3];
	ld.shared.f32 	%f24, [%r3+4];
	add.f32 	%f25, %f24, %f23;
	st.shared.f32 	[%r3], %f25;
$L__BB0_16:
	bar.sync 	0;
	setp.ne.s32 	%p9, %r2, 0;
	@%p9 bra 	$L__BB0_18;
	cvta.to.global.u64 	%rd6, %rd1;
	ld.shared.f32 	%f26, [_ZZ15block_reductionE4part];
	mul.wide.s32 	%rd7, %r1, 4;
	add.s64 	%rd8, %rd6, %rd7;
	st.global.f32 	[%rd8], %f26;
$L__BB0_18:
	ret;
}
	// .globl	warp_reduction
.visible .entry warp_reduction(
	.param .u64 warp_reduction_param_0,
	.param .u64 warp_reduction_param_1
)
{
	.reg .pred 	%p<13>;
	.reg .f32 	%f<22>;
	.reg .b32 	%r<44>;
	.reg .b64 	%rd<9>;
	// demoted variable
	.shared .align 4 .b8 _ZZ14warp_reductionE5warps[32];
	ld.param.u64 	%rd2, [warp_reduction_param_0];
	ld.param.u64 	%rd1, [warp_reduction_param_1];
	cvta.to.global.u64 	%rd3, %rd2;
	mov.u32 	%r1, %ctaid.x;
	shl.b32 	%r3, %r1, 8;
	mov.u32 	%r4, 8;
	mov.u32 	%r2, %tid.x;
	add.s32 	%r5, %r3, %r2;
	mul.wide.s32 	%rd4, %r5, 4;
	add.s64 	%rd5, %rd3, %rd4;
	ld.global.f32 	%f5, [%rd5];
	mov.b32 	%r6, %f5;
	mov.u32 	%r7, 2;
	mov.u32 	%r8, 31;
	mov.u32 	%r9, 16;
	mov.u32 	%r10, -1;
	shfl.sync.down.b32 	%r11|%p1, %r6, %r9, %r8, %r10;
	mov.b32 	%f6, %r11;
	add.f32 	%f7, %f5, %f6;
	mov.b32 	%r12, %f7;
	shfl.sync.down.b32 	%r13|%p2, %r12, %r4, %r8, %r10;
	mov.b32 	%f8, %r13;
	add.f32 	%f9, %f7, %f8;
	mov.b32 	%r14, %f9;
	mov.u32 	%r15, 4;
	shfl.sync.down.b32 	%r16|%p3, %r14, %r15, %r8, %r10;
	mov.b32 	%f10, %r16;
	add.f32 	%f11, %f9, %f10;
	mov.b32 	%r17, %f11;
	shfl.sync.down.b32 	%r18|%p4, %r17, %r7, %r8, %r10;
	mov.b32 	%f12, %r18;
	add.f32 	%f13, %f11, %f12;
	mov.b32 	%r19, %f13;
	mov.u32 	%r20, 1;
	shfl.sync.down.b32 	%r21|%p5, %r19, %r20, %r8, %r10;
	mov.b32 	%f14, %r21;
	add.f32 	%f1, %f13, %f14;
	and.b32  	%r22, %r2, 31;
	setp.ne.s32 	%p6, %r22, 0;
	@%p6 bra 	$L__BB1_2;
	shr.s32 	%r23, %r2, 31;
	shr.u32 	%r24, %r23, 27;
	add.s32 	%r25, %r2, %r24;
	shr.s32 	%r26, %r25, 5;
	shl.b32 	%r27, %r26, 2;
	mov.u32 	%r28, _ZZ14warp_reductionE5warps;
	add.s32 	%r29, %r28, %r27;
	st.shared.f32 	[%r29], %f1;
$L__BB1_2:
	bar.sync 	0;
	setp.gt.s32 	%p7, %r2, 31;
	@%p7 bra 	$L__BB1_7;
	setp.gt.s32 	%p8, %r2, 7;
	mov.f32 	%f21, 0f00000000;
	@%p8 bra 	$L__BB1_5;
	shl.b32 	%r30, %r2, 2;
	mov.u32 	%r31, _ZZ14warp_reductionE5warps;
	add.s32 	%r32, %r31, %r30;
	ld.shared.f32 	%f21, [%r32];
$L__BB1_5:
	mov.b32 	%r33, %f21;
	mov.u32 	%r34, 2;
	mov.u32 	%r35, 31;
	mov.u32 	%r36, 4;
	mov.u32 	%r37, -1;
	shfl.sync.down.b32 	%r38|%p9, %r33, %r36, %r35, %r37;
	mov.b32 	%f16, %r38;
	add.f32 	%f17, %f21, %f16;
	mov.b32 	%r39, %f17;
	shfl.sync.down.b32 	%r40|%p10, %r39, %r34, %r35, %r37;
	mov.b32 	%f18, %r40;
	add.f32 	%f19, %f17, %f18;
	mov.b32 	%r41, %f19;
	mov.u32 	%r42, 1;
	shfl.sync.down.b32 	%r43|%p11, %r41, %r42, %r35, %r37;
	mov.b32 	%f20, %r43;
	add.f32 	%f4, %f19, %f20;
	setp.ne.s32 	%p12, %r2, 0;
	@%p12 bra 	$L__BB1_7;
	cvta.to.global.u64 	%rd6, %rd1;
	mul.wide.s32 	%rd7, %r1, 4;
	add.s64 	%rd8, %rd6, %rd7;
	st.global.f32 	[%rd8], %f4;
$L__BB1_7:
	ret;
}
	// .globl	scan
.visible .entry scan(
	.param .u64 scan_param_0,
	.param .u64 scan_param_1
)
{
	.reg .pred 	%p<20>;
	.reg .f32 	%f<59>;
	.reg .b32 	%r<99>;
	.reg .b64 	%rd<10>;
	// demoted variable
	.shared .align 4 .b8 _ZZ4scanE4tree[2048];
	ld.param.u64 	%rd3, [scan_param_0];
	ld.param.u64 	%rd2, [scan_param_1];
	cvta.to.global.u64 	%rd4, %rd3;
	mov.u32 	%r12, %ctaid.x;
	shl.b32 	%r13, %r12, 9;
	mov.u32 	%r1, %tid.x;
	shl.b32 	%r14, %r1, 1;
	add.s32 	%r15, %r13, %r14;
	cvt.s64.s32 	%rd1, %r15;
	mul.wide.s32 	%rd5, %r15, 4;
	add.s64 	%rd6, %rd4, %rd5;
	ld.global.f32 	%f1, [%rd6];
	shl.b32 	%r16, %r1, 3;
	mov.u32 	%r17, _ZZ4scanE4tree;
	add.s32 	%r2, %r17, %r16;
	st.shared.f32 	[%r2], %f1;
	ld.global.f32 	%f2, [%rd6+4];
	or.b32  	%r3, %r14, 1;
	st.shared.f32 	[%r2+4], %f2;
	bar.sync 	0;
	setp.gt.s32 	%p1, %r1, 255;
	@%p1 bra 	$L__BB2_2;
	ld.shared.f32 	%f3, [%r2];
	ld.shared.f32 	%f4, [%r2+4];
	add.f32 	%f5, %f3, %f4;
	st.shared.f32 	[%r2+4], %f5;
$L__BB2_2:
	bar.sync 	0;
	shl.b32 	%r18, %r3, 3;
	add.s32 	%r20, %r17, %r18;
	setp.gt.s32 	%p2, %r1, 127;
	@%p2 bra 	$L__BB2_4;
	add.s32 	%r43, %r20, -4;
	ld.shared.f32 	%f6, [%r43];
	add.s32 	%r44, %r20, -4;
	ld.shared.f32 	%f7, [%r44+8];
	add.f32 	%f8, %f6, %f7;
	add.s32 	%r45, %r20, -4;
	st.shared.f32 	[%r45+8], %f8;
$L__BB2_4:
	bar.sync 	0;
	shl.b32 	%r21, %r3, 4;
	add.s32 	%r23, %r17, %r21;
	setp.gt.s32 	%p3, %r1, 63;
	@%p3 bra 	$L__BB2_6;
	add.s32 	%r46, %r23, -4;
	ld.shared.f32 	%f9, [%r46];
	add.s32 	%r47, %r23, -4;
	ld.shared.f32 	%f10, [%r47+16];
	add.f32 	%f11, %f9, %f10;
	add.s32 	%r48, %r23, -4;
	st.shared.f32 	[%r48+16], %f11;
$L__BB2_6:
	bar.sync 	0;
	shl.b32 	%r24, %r3, 5;
	add.s32 	%r26, %r17, %r24;
	setp.gt.s32 	%p4, %r1, 31;
	@%p4 bra 	$L__BB2_8;
	add.s32 	%r49, %r26, -4;
	ld.shared.f32 	%f12, [%r49];
	add.s32 	%r50, %r26, -4;
	ld.shared.f32 	%f13, [%r50+32];
	add.f32 	%f14, %f12, %f13;
	add.s32 	%r51, %r26, -4;
	st.shared.f32 	[%r51+32], %f14;
$L__BB2_8:
	bar.sync 	0;
	shl.b32 	%r27, %r3, 6;
	add.s32 	%r29, %r17, %r27;
	setp.gt.s32 	%p5, %r1, 15;
	@%p5 bra 	$L__BB2_10;
	add.s32 	%r52, %r29, -4;
	ld.shared.f32 	%f15, [%r52];
	add.s32 	%r53, %r29, -4;
	ld.shared.f32 	%f16, [%r53+64];
	add.f32 	%f17, %f15, %f16;
	add.s32 	%r54, %r29, -4;
	st.shared.f32 	[%r54+64], %f17;
$L__BB2_10:
	bar.sync 	0;
	shl.b32 	%r30, %r3, 7;
	add.s32 	%r32, %r17, %r30;
	setp.gt.s32 	%p6, %r1, 7;
	@%p6 bra 	$L__BB2_12;
	add.s32 	%r55, %r32, -4;
	ld.shared.f32 	%f18, [%r55];
	add.s32 	%r56, %r32, -4;
	ld.shared.f32 	%f19, [%r56+128];
	add.f32 	%f20, %f18, %f19;
	add.s32 	%r57, %r32, -4;
	st.shared.f32 	[%r57+128], %f20;
$L__BB2_12:
	bar.sync 	0;
	shl.b32 	%r33, %r3, 8;
	add.s32 	%r35, %r17, %r33;
	setp.gt.s32 	%p7, %r1, 3;
	@%p7 bra 	$L__BB2_14;
	add.s32 	%r58, %r35, -4;
	ld.shared.f32 	%f21, [%r58];
	add.s32 	%r59, %r35, -4;
)PTX"
R"PTX(	ld.shared.f32 	%f22, [%r59+256];
	add.f32 	%f23, %f21, %f22;
	add.s32 	%r60, %r35, -4;
	st.shared.f32 	[%r60+256], %f23;
$L__BB2_14:
	bar.sync 	0;
	shl.b32 	%r36, %r3, 9;
	add.s32 	%r38, %r17, %r36;
	setp.gt.s32 	%p8, %r1, 1;
	@%p8 bra 	$L__BB2_16;
	add.s32 	%r61, %r38, -4;
	ld.shared.f32 	%f24, [%r61];
	add.s32 	%r62, %r38, -4;
	ld.shared.f32 	%f25, [%r62+512];
	add.f32 	%f26, %f24, %f25;
	add.s32 	%r63, %r38, -4;
	st.shared.f32 	[%r63+512], %f26;
$L__BB2_16:
	bar.sync 	0;
	shl.b32 	%r39, %r3, 10;
	add.s32 	%r41, %r17, %r39;
	setp.gt.s32 	%p9, %r1, 0;
	@%p9 bra 	$L__BB2_18;
	add.s32 	%r64, %r41, -4;
	ld.shared.f32 	%f27, [%r64];
	add.s32 	%r65, %r41, -4;
	ld.shared.f32 	%f28, [%r65+1024];
	add.f32 	%f29, %f27, %f28;
	add.s32 	%r66, %r41, -4;
	st.shared.f32 	[%r66+1024], %f29;
$L__BB2_18:
	setp.ne.s32 	%p10, %r1, 0;
	@%p10 bra 	$L__BB2_20;
	mov.u32 	%r42, 0;
	st.shared.u32 	[_ZZ4scanE4tree+2044], %r42;
$L__BB2_20:
	bar.sync 	0;
	@%p9 bra 	$L__BB2_22;
	add.s32 	%r67, %r41, -4;
	ld.shared.f32 	%f30, [%r67];
	add.s32 	%r68, %r41, -4;
	ld.shared.f32 	%f31, [%r68+1024];
	add.s32 	%r69, %r41, -4;
	st.shared.f32 	[%r69], %f31;
	add.f32 	%f32, %f30, %f31;
	add.s32 	%r70, %r41, -4;
	st.shared.f32 	[%r70+1024], %f32;
$L__BB2_22:
	bar.sync 	0;
	@%p8 bra 	$L__BB2_24;
	add.s32 	%r71, %r38, -4;
	ld.shared.f32 	%f33, [%r71];
	add.s32 	%r72, %r38, -4;
	ld.shared.f32 	%f34, [%r72+512];
	add.s32 	%r73, %r38, -4;
	st.shared.f32 	[%r73], %f34;
	add.f32 	%f35, %f33, %f34;
	add.s32 	%r74, %r38, -4;
	st.shared.f32 	[%r74+512], %f35;
$L__BB2_24:
	bar.sync 	0;
	@%p7 bra 	$L__BB2_26;
	add.s32 	%r75, %r35, -4;
	ld.shared.f32 	%f36, [%r75];
	add.s32 	%r76, %r35, -4;
	ld.shared.f32 	%f37, [%r76+256];
	add.s32 	%r77, %r35, -4;
	st.shared.f32 	[%r77], %f37;
	add.f32 	%f38, %f36, %f37;
	add.s32 	%r78, %r35, -4;
	st.shared.f32 	[%r78+256], %f38;
$L__BB2_26:
	bar.sync 	0;
	@%p6 bra 	$L__BB2_28;
	add.s32 	%r79, %r32, -4;
	ld.shared.f32 	%f39, [%r79];
	add.s32 	%r80, %r32, -4;
	ld.shared.f32 	%f40, [%r80+128];
	add.s32 	%r81, %r32, -4;
	st.shared.f32 	[%r81], %f40;
	add.f32 	%f41, %f39, %f40;
	add.s32 	%r82, %r32, -4;
	st.shared.f32 	[%r82+128], %f41;
$L__BB2_28:
	bar.sync 	0;
	@%p5 bra 	$L__BB2_30;
	add.s32 	%r83, %r29, -4;
	ld.shared.f32 	%f42, [%r83];
	add.s32 	%r84, %r29, -4;
	ld.shared.f32 	%f43, [%r84+64];
	add.s32 	%r85, %r29, -4;
	st.shared.f32 	[%r85], %f43;
	add.f32 	%f44, %f42, %f43;
	add.s32 	%r86, %r29, -4;
	st.shared.f32 	[%r86+64], %f44;
$L__BB2_30:
	bar.sync 	0;
	@%p4 bra 	$L__BB2_32;
	add.s32 	%r87, %r26, -4;
	ld.shared.f32 	%f45, [%r87];
	add.s32 	%r88, %r26, -4;
	ld.shared.f32 	%f46, [%r88+32];
	add.s32 	%r89, %r26, -4;
	st.shared.f32 	[%r89], %f46;
	add.f32 	%f47, %f45, %f46;
	add.s32 	%r90, %r26, -4;
	st.shared.f32 	[%r90+32], %f47;
$L__BB2_32:
	bar.sync 	0;
	@%p3 bra 	$L__BB2_34;
	add.s32 	%r91, %r23, -4;
	ld.shared.f32 	%f48, [%r91];
	add.s32 	%r92, %r23, -4;
	ld.shared.f32 	%f49, [%r92+16];
	add.s32 	%r93, %r23, -4;
	st.shared.f32 	[%r93], %f49;
	add.f32 	%f50, %f48, %f49;
	add.s32 	%r94, %r23, -4;
	st.shared.f32 	[%r94+16], %f50;
$L__BB2_34:
	bar.sync 	0;
	@%p2 bra 	$L__BB2_36;
	add.s32 	%r95, %r20, -4;
	ld.shared.f32 	%f51, [%r95];
	add.s32 	%r96, %r20, -4;
	ld.shared.f32 	%f52, [%r96+8];
	add.s32 	%r97, %r20, -4;
	st.shared.f32 	[%r97], %f52;
	add.f32 	%f53, %f51, %f52;
	add.s32 	%r98, %r20, -4;
	st.shared.f32 	[%r98+8], %f53;
$L__BB2_36:
	bar.sync 	0;
	@%p1 bra 	$L__BB2_38;
	ld.shared.f32 	%f54, [%r2];
	ld.shared.f32 	%f55, [%r2+4];
	st.shared.f32 	[%r2], %f55;
	add.f32 	%f56, %f54, %f55;
	st.shared.f32 	[%r2+4], %f56;
$L__BB2_38:
	bar.sync 	0;
	ld.shared.f32 	%f57, [%r2];
	cvta.to.global.u64 	%rd7, %rd2;
	shl.b64 	%rd8, %rd1, 2;
	add.s64 	%rd9, %rd7, %rd8;
	st.global.f32 	[%rd9], %f57;
	ld.shared.f32 	%f58, [%r2+4];
	st.global.f32 	[%rd9+4], %f58;
	ret;
}
	// .globl	layer_norm
.visible .entry layer_norm(
	.param .u64 layer_norm_param_0,
	.param .u64 layer_norm_param_1
)
{
	.reg .pred 	%p<12>;
	.reg .f32 	%f<79>;
	.reg .b32 	%r<42>;
	.reg .b64 	%rd<12>;
	// demoted variable
	.shared .align 4 .b8 _ZZ10layer_normE4sums[32];
	// demoted variable
	.shared .align 4 .b8 _ZZ10layer_normE7squared[32];
	ld.param.u64 	%rd2, [layer_norm_param_0];
	ld.param.u64 	%rd3, [layer_norm_param_1];
	cvta.to.global.u64 	%rd4, %rd2;
	mov.u32 	%r3, %ctaid.x;
	shl.b32 	%r1, %r3, 10;
	cvt.s64.s32 	%rd5, %r1;
	mov.u32 	%r2, %tid.x;
	cvt.s64.s32 	%rd6, %r2;
	add.s64 	%rd7, %rd6, %rd5;
	shl.b64 	%rd8, %rd7, 2;
	add.s64 	%rd9, %rd4, %rd8;
	ld.global.f32 	%f1, [%rd9];
	add.f32 	%f7, %f1, 0f00000000;
	fma.rn.f32 	%f8, %f1, %f1, 0f00000000;
	ld.global.f32 	%f2, [%rd9+1024];
	add.f32 	%f9, %f7, %f2;
	fma.rn.f32 	%f10, %f2, %f2, %f8;
	ld.global.f32 	%f3, [%rd9+2048];
	add.f32 	%f11, %f9, %f3;
	fma.rn.f32 	%f12, %f3, %f3, %f10;
	ld.global.f32 	%f4, [%rd9+3072];
	add.f32 	%f13, %f11, %f4;
	fma.rn.f32 	%f14, %f4, %f4, %f12;
	cvta.to.global.u64 	%rd1, %rd3;
	mov.b32 	%r4, %f13;
	mov.u32 	%r5, 31;
	mov.u32 	%r6, 16;
	mov.u32 	%r7, -1;
	shfl.sync.bfly.b32 	%r8|%p1, %r4, %r6, %r5, %r7;
	mov.b32 	%f15, %r8;
	add.f32 	%f16, %f13, %f15;
	mov.b32 	%r9, %f14;
	shfl.sync.bfly.b32 	%r10|%p2, %r9, %r6, %r5, %r7;
	mov.b32 	%f17, %r10;
	add.f32 	%f18, %f14, %f17;
	mov.b32 	%r11, %f16;
	mov.u32 	%r12, 8;
	shfl.sync.bfly.b32 	%r13|%p3, %r11, %r12, %r5, %r7;
	mov.b32 	%f19, %r13;
	add.f32 	%f20, %f16, %f19;
	mov.b32 	%r14, %f18;
	shfl.sync.bfly.b32 	%r15|%p4, %r14, %r12, %r5, %r7;
	mov.b32 	%f21, %r15;
	add.f32 	%f22, %f18, %f21;
	mov.b32 	%r16, %f20;
	mov.u32 	%r17, 4;
	shfl.sync.bfly.b32 	%r18|%p5, %r16, %r17, %r5, %r7;
	mov.b32 	%f23, %r18;
	add.f32 	%f24, %f20, %f23;
	mov.b32 	%r19, %f22;
	shfl.sync.bfly.b32 	%r20|%p6, %r19, %r17, %r5, %r7;
	mov.b32 	%f25, %r20;
	add.f32 	%f26, %f22, %f25;
	mov.b32 	%r21, %f24;
	mov.u32 	%r22, 2;
	shfl.sync.bfly.b32 	%r23|%p7, %r21, %r22, %r5, %r7;
	mov.b32 	%f27, %r23;
	add.f32 	%f28, %f24, %f27;
	mov.b32 	%r24, %f26;
	shfl.sync.bfly.b32 	%r25|%p8, %r24, %r22, %r5, %r7;
	mov.b32 	%f29, %r25;
	add.f32 	%f30, %f26, %f29;
	mov.b32 	%r26, %f28;
	mov.u32 	%r27, 1;
	shfl.sync.bfly.b32 	%r28|%p9, %r26, %r27, %r5, %r7;
	mov.b32 	%f31, %r28;
	add.f32 	%f5, %f28, %f31;
	mov.b32 	%r29, %f30;
	shfl.sync.bfly.b32 	%r30|%p10, %r29, %r27, %r5, %r7;
	mov.b32 	%f32, %r30;
	add.f32 	%f6, %f30, %f32;
	and.b32  	%r31, %r2, 31;
	setp.ne.s32 	%p11, %r31, 0;
	@%p11 bra 	$L__BB3_2;
	shr.s32 	%r32, %r2, 31;
	shr.u32 	%r33, %r32, 27;
	add.s32 	%r34, %r2, %r33;
	shr.s32 	%r35, %r34, 5;
	shl.b32 	%r36, %r35, 2;
	mov.u32 	%r37, _ZZ10layer_normE4sums;
	add.s32 	%r38, %r37, %r36;
	st.shared.f32 	[%r38], %f5;
	mov.u32 	%r39, _ZZ10layer_normE7squared;
	add.s32 	%r40, %r39, %r36;
	st.shared.f32 	[%r40], %f6;
$L__BB3_2:
	bar.sync 	0;
	ld.shared.f32 	%f33, [_ZZ10layer_normE4sums];
	add.f32 	%f34, %f33, 0f00000000;
	ld.shared.f32 	%f35, [_ZZ10layer_normE7squared];
	add.f32 	%f36, %f35, 0f00000000;
	ld.shared.f32 	%f37, [_ZZ10layer_normE4sums+4];
	add.f32 	%f38, %f34, %f37;
	ld.shared.f32 	%f39, [_ZZ10layer_normE7squared+4];
	add.f32 	%f40, %f36, %f39;
	ld.shared.f32 	%f41, [_ZZ10layer_normE4sums+8];
	add.f32 	%f42, %f38, %f41;
	ld.shared.f32 	%f43, [_ZZ10layer_normE7squared+8];
	add.f32 	%f44, %f40, %f43;
	ld.shared.f32 	%f45, [_ZZ10layer_normE4sums+12];
	add.f32 	%f46, %f42, %f45;
	ld.shared.f32 	%f47, [_ZZ10layer_normE7squared+12];
	add.f32 	%f48, %f44, %f47;
	ld.shared.f32 	%f49, [_ZZ10layer_normE4sums+16];
	add.f32 	%f50, %f46, %f49;
	ld.shared.f32 	%f51, [_ZZ10layer_normE7squared+16];
	add.f32 	%f52, %f48, %f51;
	ld.shared.f32 	%f53, [_ZZ10layer_normE4sums+20];
	add.f32 	%f54, %f50, %f53;
	ld.shared.f32 	%f55, [_ZZ10layer_normE7squared+20];
	add.f32 	%f56, %f52, %f55;
	ld.shared.f32 	%f57, [_ZZ10layer_normE4sums+24];
	add.f32 	%f58, %f54, %f57;
	ld.shared.f32 	%f59, [_ZZ10layer_normE7squared+24];
	add.f32 	%f60, %f56, %f59;
	ld.shared.f32 	%f61, [_ZZ10layer_normE4sums+28];
	add.f32 	%f62, %f58, %f61;
	ld.shared.f32 	%f63, [_ZZ10layer_normE7squared+28];
	add.f32 	%f64, %f60, %f63;
)PTX"
R"PTX(	mul.f32 	%f65, %f62, 0f3A800000;
	mul.f32 	%f66, %f64, 0f3A800000;
	mul.f32 	%f67, %f65, %f65;
	sub.f32 	%f68, %f66, %f67;
	add.f32 	%f69, %f68, 0f3727C5AC;
	rsqrt.approx.f32 	%f70, %f69;
	sub.f32 	%f71, %f1, %f65;
	mul.f32 	%f72, %f70, %f71;
	add.s32 	%r41, %r1, %r2;
	mul.wide.s32 	%rd10, %r41, 4;
	add.s64 	%rd11, %rd1, %rd10;
	st.global.f32 	[%rd11], %f72;
	sub.f32 	%f73, %f2, %f65;
	mul.f32 	%f74, %f70, %f73;
	st.global.f32 	[%rd11+1024], %f74;
	sub.f32 	%f75, %f3, %f65;
	mul.f32 	%f76, %f70, %f75;
	st.global.f32 	[%rd11+2048], %f76;
	sub.f32 	%f77, %f4, %f65;
	mul.f32 	%f78, %f70, %f77;
	st.global.f32 	[%rd11+3072], %f78;
	ret;
}
	// .globl	tiled_stencil
.visible .entry tiled_stencil(
	.param .u64 tiled_stencil_param_0,
	.param .u64 tiled_stencil_param_1,
	.param .u32 tiled_stencil_param_2,
	.param .u32 tiled_stencil_param_3
)
{
	.reg .pred 	%p<9>;
	.reg .f32 	%f<28>;
	.reg .b32 	%r<26>;
	.reg .b64 	%rd<15>;
	// demoted variable
	.shared .align 4 .b8 _ZZ13tiled_stencilE4tile[1296];
	ld.param.u64 	%rd3, [tiled_stencil_param_0];
	ld.param.u64 	%rd4, [tiled_stencil_param_1];
	ld.param.u32 	%r7, [tiled_stencil_param_2];
	ld.param.u32 	%r8, [tiled_stencil_param_3];
	cvta.to.global.u64 	%rd5, %rd3;
	mov.u32 	%r9, %tid.x;
	add.s32 	%r1, %r9, 1;
	mov.u32 	%r10, %ctaid.x;
	shl.b32 	%r11, %r10, 4;
	add.s32 	%r2, %r11, %r9;
	mov.u32 	%r12, %ctaid.y;
	shl.b32 	%r13, %r12, 4;
	mov.u32 	%r14, %tid.y;
	add.s32 	%r3, %r13, %r14;
	mad.lo.s32 	%r15, %r3, %r7, %r2;
	cvt.s64.s32 	%rd1, %r15;
	mul.wide.s32 	%rd6, %r15, 4;
	add.s64 	%rd2, %rd5, %rd6;
	ld.global.f32 	%f9, [%rd2];
	mov.u32 	%r16, _ZZ13tiled_stencilE4tile;
	mad.lo.s32 	%r5, %r14, 72, %r16;
	shl.b32 	%r17, %r9, 2;
	add.s32 	%r4, %r5, %r17;
	st.shared.f32 	[%r4+76], %f9;
	setp.ne.s32 	%p1, %r9, 0;
	@%p1 bra 	$L__BB4_4;
	setp.lt.s32 	%p2, %r2, 1;
	mov.f32 	%f24, 0f00000000;
	@%p2 bra 	$L__BB4_3;
	ld.global.f32 	%f24, [%rd2+-4];
$L__BB4_3:
	st.shared.f32 	[%r5+72], %f24;
$L__BB4_4:
	setp.ne.s32 	%p3, %r1, 16;
	@%p3 bra 	$L__BB4_8;
	add.s32 	%r18, %r2, 1;
	setp.ge.s32 	%p4, %r18, %r7;
	mov.f32 	%f25, 0f00000000;
	@%p4 bra 	$L__BB4_7;
	ld.global.f32 	%f25, [%rd2+4];
$L__BB4_7:
	st.shared.f32 	[%r5+140], %f25;
$L__BB4_8:
	setp.ne.s32 	%p5, %r14, 0;
	shl.b32 	%r20, %r1, 2;
	add.s32 	%r6, %r16, %r20;
	@%p5 bra 	$L__BB4_12;
	setp.lt.s32 	%p6, %r3, 1;
	mov.f32 	%f26, 0f00000000;
	@%p6 bra 	$L__BB4_11;
	cvt.u32.u64 	%r22, %rd1;
	sub.s32 	%r23, %r22, %r7;
	mul.wide.s32 	%rd8, %r23, 4;
	add.s64 	%rd9, %rd5, %rd8;
	ld.global.f32 	%f26, [%rd9];
$L__BB4_11:
	st.shared.f32 	[%r6], %f26;
$L__BB4_12:
	setp.ne.s32 	%p7, %r14, 15;
	@%p7 bra 	$L__BB4_16;
	add.s32 	%r25, %r3, 1;
	setp.ge.s32 	%p8, %r25, %r8;
	mov.f32 	%f27, 0f00000000;
	@%p8 bra 	$L__BB4_15;
	mul.wide.s32 	%rd10, %r7, 4;
	add.s64 	%rd11, %rd2, %rd10;
	ld.global.f32 	%f27, [%rd11];
$L__BB4_15:
	st.shared.f32 	[%r6+1224], %f27;
$L__BB4_16:
	bar.sync 	0;
	ld.shared.f32 	%f14, [%r4+76];
	ld.shared.f32 	%f15, [%r4+148];
	ld.shared.f32 	%f16, [%r4+4];
	add.f32 	%f17, %f16, %f15;
	ld.shared.f32 	%f18, [%r4+72];
	add.f32 	%f19, %f17, %f18;
	ld.shared.f32 	%f20, [%r4+80];
	add.f32 	%f21, %f19, %f20;
	mul.f32 	%f22, %f21, 0f3E000000;
	fma.rn.f32 	%f23, %f14, 0f3F000000, %f22;
	cvta.to.global.u64 	%rd12, %rd4;
	shl.b64 	%rd13, %rd1, 2;
	add.s64 	%rd14, %rd12, %rd13;
	st.global.f32 	[%rd14], %f23;
	ret;
}
	// .globl	product_16
.visible .entry product_16(
	.param .u64 product_16_param_0,
	.param .u64 product_16_param_1,
	.param .u64 product_16_param_2,
	.param .u32 product_16_param_3
)
{
	.reg .pred 	%p<3>;
	.reg .f32 	%f<57>;
	.reg .b32 	%r<29>;
	.reg .b64 	%rd<20>;
	// demoted variable
	.shared .align 4 .b8 _ZZ10product_16E6tile_a[1024];
	// demoted variable
	.shared .align 4 .b8 _ZZ10product_16E6tile_b[1024];
	ld.param.u64 	%rd8, [product_16_param_0];
	ld.param.u64 	%rd9, [product_16_param_1];
	ld.param.u64 	%rd10, [product_16_param_2];
	ld.param.u32 	%r11, [product_16_param_3];
	mov.u32 	%r12, %ctaid.y;
	shl.b32 	%r13, %r12, 4;
	mov.u32 	%r1, %tid.y;
	add.s32 	%r14, %r13, %r1;
	mov.u32 	%r15, %ctaid.x;
	shl.b32 	%r2, %r15, 4;
	mov.u32 	%r3, %tid.x;
	mul.lo.s32 	%r4, %r14, %r11;
	setp.lt.s32 	%p1, %r11, 1;
	mov.f32 	%f56, 0f00000000;
	@%p1 bra 	$L__BB5_3;
	shl.b32 	%r17, %r1, 6;
	mov.u32 	%r18, _ZZ10product_16E6tile_a;
	add.s32 	%r7, %r18, %r17;
	shl.b32 	%r19, %r3, 2;
	add.s32 	%r5, %r7, %r19;
	mov.u32 	%r20, _ZZ10product_16E6tile_b;
	add.s32 	%r21, %r20, %r17;
	add.s32 	%r6, %r21, %r19;
	add.s32 	%r8, %r20, %r19;
	mad.lo.s32 	%r22, %r1, %r11, %r3;
	add.s32 	%r23, %r22, %r2;
	cvta.to.global.u64 	%rd11, %rd9;
	mul.wide.s32 	%rd12, %r23, 4;
	add.s64 	%rd19, %rd11, %rd12;
	shl.b32 	%r24, %r11, 4;
	mul.wide.s32 	%rd2, %r24, 4;
	add.s32 	%r25, %r3, %r4;
	cvta.to.global.u64 	%rd13, %rd8;
	mul.wide.s32 	%rd14, %r25, 4;
	add.s64 	%rd18, %rd13, %rd14;
	mov.f32 	%f56, 0f00000000;
	mov.u32 	%r28, 0;
$L__BB5_2:
	ld.global.f32 	%f6, [%rd18];
	st.shared.f32 	[%r5], %f6;
	ld.global.f32 	%f7, [%rd19];
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
	add.s64 	%rd19, %rd19, %rd2;
	add.s64 	%rd18, %rd18, 64;
	add.s32 	%r28, %r28, 16;
	setp.lt.s32 	%p2, %r28, %r11;
	@%p2 bra 	$L__BB5_2;
$L__BB5_3:
	add.s32 	%r26, %r2, %r3;
	add.s32 	%r27, %r4, %r26;
	cvta.to.global.u64 	%rd15, %rd10;
	mul.wide.s32 	%rd16, %r27, 4;
	add.s64 	%rd17, %rd15, %rd16;
	st.global.f32 	[%rd17], %f56;
	ret;
}
	// .globl	product_32
.visible .entry product_32(
	.param .u64 product_32_param_0,
	.param .u64 product_32_param_1,
	.param .u64 product_32_param_2,
	.param .u32 product_32_param_3
)
{
	.reg .pred 	%p<3>;
	.reg .f32 	%f<105>;
	.reg .b32 	%r<29>;
	.reg .b64 	%rd<20>;
	// demoted variable
	.shared .align 4 .b8 _ZZ10product_32E6tile_a[4096];
	// demoted variable
	.shared .align 4 .b8 _ZZ10product_32E6tile_b[4096];
	ld.param.u64 	%rd8, [product_32_param_0];
	ld.param.u64 	%rd9, [product_32_param_1];
	ld.param.u64 	%rd10, [product_32_param_2];
	ld.param.u32 	%r11, [product_32_param_3];
	mov.u32 	%r12, %ctaid.y;
	shl.b32 	%r13, %r12, 5;
	mov.u32 	%r1, %tid.y;
	add.s32 	%r14, %r13, %r1;
	mov.u32 	%r15, %ctaid.x;
	shl.b32 	%r2, %r15, 5;
	mov.u32 	%r3, %tid.x;
	mul.lo.s32 	%r4, %r14, %r11;
	setp.lt.s32 	%p1, %r11, 1;
	mov.f32 	%f104, 0f00000000;
	@%p1 bra 	$L__BB6_3;
	shl.b32 	%r17, %r1, 7;
	mov.u32 	%r18, _ZZ10product_32E6tile_a;
	add.s32 	%r7, %r18, %r17;
	shl.b32 	%r19, %r3, 2;
	add.s32 	%r5, %r7, %r19;
)PTX"
R"PTX(	mov.u32 	%r20, _ZZ10product_32E6tile_b;
	add.s32 	%r21, %r20, %r17;
	add.s32 	%r6, %r21, %r19;
	add.s32 	%r8, %r20, %r19;
	mad.lo.s32 	%r22, %r1, %r11, %r3;
	add.s32 	%r23, %r22, %r2;
	cvta.to.global.u64 	%rd11, %rd9;
	mul.wide.s32 	%rd12, %r23, 4;
	add.s64 	%rd19, %rd11, %rd12;
	shl.b32 	%r24, %r11, 5;
	mul.wide.s32 	%rd2, %r24, 4;
	add.s32 	%r25, %r3, %r4;
	cvta.to.global.u64 	%rd13, %rd8;
	mul.wide.s32 	%rd14, %r25, 4;
	add.s64 	%rd18, %rd13, %rd14;
	mov.f32 	%f104, 0f00000000;
	mov.u32 	%r28, 0;
$L__BB6_2:
	ld.global.f32 	%f6, [%rd18];
	st.shared.f32 	[%r5], %f6;
	ld.global.f32 	%f7, [%rd19];
	st.shared.f32 	[%r6], %f7;
	bar.sync 	0;
	ld.shared.f32 	%f8, [%r8];
	ld.shared.f32 	%f9, [%r7];
	fma.rn.f32 	%f10, %f9, %f8, %f104;
	ld.shared.f32 	%f11, [%r8+128];
	ld.shared.f32 	%f12, [%r7+4];
	fma.rn.f32 	%f13, %f12, %f11, %f10;
	ld.shared.f32 	%f14, [%r8+256];
	ld.shared.f32 	%f15, [%r7+8];
	fma.rn.f32 	%f16, %f15, %f14, %f13;
	ld.shared.f32 	%f17, [%r8+384];
	ld.shared.f32 	%f18, [%r7+12];
	fma.rn.f32 	%f19, %f18, %f17, %f16;
	ld.shared.f32 	%f20, [%r8+512];
	ld.shared.f32 	%f21, [%r7+16];
	fma.rn.f32 	%f22, %f21, %f20, %f19;
	ld.shared.f32 	%f23, [%r8+640];
	ld.shared.f32 	%f24, [%r7+20];
	fma.rn.f32 	%f25, %f24, %f23, %f22;
	ld.shared.f32 	%f26, [%r8+768];
	ld.shared.f32 	%f27, [%r7+24];
	fma.rn.f32 	%f28, %f27, %f26, %f25;
	ld.shared.f32 	%f29, [%r8+896];
	ld.shared.f32 	%f30, [%r7+28];
	fma.rn.f32 	%f31, %f30, %f29, %f28;
	ld.shared.f32 	%f32, [%r8+1024];
	ld.shared.f32 	%f33, [%r7+32];
	fma.rn.f32 	%f34, %f33, %f32, %f31;
	ld.shared.f32 	%f35, [%r8+1152];
	ld.shared.f32 	%f36, [%r7+36];
	fma.rn.f32 	%f37, %f36, %f35, %f34;
	ld.shared.f32 	%f38, [%r8+1280];
	ld.shared.f32 	%f39, [%r7+40];
	fma.rn.f32 	%f40, %f39, %f38, %f37;
	ld.shared.f32 	%f41, [%r8+1408];
	ld.shared.f32 	%f42, [%r7+44];
	fma.rn.f32 	%f43, %f42, %f41, %f40;
	ld.shared.f32 	%f44, [%r8+1536];
	ld.shared.f32 	%f45, [%r7+48];
	fma.rn.f32 	%f46, %f45, %f44, %f43;
	ld.shared.f32 	%f47, [%r8+1664];
	ld.shared.f32 	%f48, [%r7+52];
	fma.rn.f32 	%f49, %f48, %f47, %f46;
	ld.shared.f32 	%f50, [%r8+1792];
	ld.shared.f32 	%f51, [%r7+56];
	fma.rn.f32 	%f52, %f51, %f50, %f49;
	ld.shared.f32 	%f53, [%r8+1920];
	ld.shared.f32 	%f54, [%r7+60];
	fma.rn.f32 	%f55, %f54, %f53, %f52;
	ld.shared.f32 	%f56, [%r8+2048];
	ld.shared.f32 	%f57, [%r7+64];
	fma.rn.f32 	%f58, %f57, %f56, %f55;
	ld.shared.f32 	%f59, [%r8+2176];
	ld.shared.f32 	%f60, [%r7+68];
	fma.rn.f32 	%f61, %f60, %f59, %f58;
	ld.shared.f32 	%f62, [%r8+2304];
	ld.shared.f32 	%f63, [%r7+72];
	fma.rn.f32 	%f64, %f63, %f62, %f61;
	ld.shared.f32 	%f65, [%r8+2432];
	ld.shared.f32 	%f66, [%r7+76];
	fma.rn.f32 	%f67, %f66, %f65, %f64;
	ld.shared.f32 	%f68, [%r8+2560];
	ld.shared.f32 	%f69, [%r7+80];
	fma.rn.f32 	%f70, %f69, %f68, %f67;
	ld.shared.f32 	%f71, [%r8+2688];
	ld.shared.f32 	%f72, [%r7+84];
	fma.rn.f32 	%f73, %f72, %f71, %f70;
	ld.shared.f32 	%f74, [%r8+2816];
	ld.shared.f32 	%f75, [%r7+88];
	fma.rn.f32 	%f76, %f75, %f74, %f73;
	ld.shared.f32 	%f77, [%r8+2944];
	ld.shared.f32 	%f78, [%r7+92];
	fma.rn.f32 	%f79, %f78, %f77, %f76;
	ld.shared.f32 	%f80, [%r8+3072];
	ld.shared.f32 	%f81, [%r7+96];
	fma.rn.f32 	%f82, %f81, %f80, %f79;
	ld.shared.f32 	%f83, [%r8+3200];
	ld.shared.f32 	%f84, [%r7+100];
	fma.rn.f32 	%f85, %f84, %f83, %f82;
	ld.shared.f32 	%f86, [%r8+3328];
	ld.shared.f32 	%f87, [%r7+104];
	fma.rn.f32 	%f88, %f87, %f86, %f85;
	ld.shared.f32 	%f89, [%r8+3456];
	ld.shared.f32 	%f90, [%r7+108];
	fma.rn.f32 	%f91, %f90, %f89, %f88;
	ld.shared.f32 	%f92, [%r8+3584];
	ld.shared.f32 	%f93, [%r7+112];
	fma.rn.f32 	%f94, %f93, %f92, %f91;
	ld.shared.f32 	%f95, [%r8+3712];
	ld.shared.f32 	%f96, [%r7+116];
	fma.rn.f32 	%f97, %f96, %f95, %f94;
	ld.shared.f32 	%f98, [%r8+3840];
	ld.shared.f32 	%f99, [%r7+120];
	fma.rn.f32 	%f100, %f99, %f98, %f97;
	ld.shared.f32 	%f101, [%r8+3968];
	ld.shared.f32 	%f102, [%r7+124];
	fma.rn.f32 	%f104, %f102, %f101, %f100;
	bar.sync 	0;
	add.s64 	%rd19, %rd19, %rd2;
	add.s64 	%rd18, %rd18, 128;
	add.s32 	%r28, %r28, 32;
	setp.lt.s32 	%p2, %r28, %r11;
	@%p2 bra 	$L__BB6_2;
$L__BB6_3:
	add.s32 	%r26, %r2, %r3;
	add.s32 	%r27, %r4, %r26;
	cvta.to.global.u64 	%rd15, %rd10;
	mul.wide.s32 	%rd16, %r27, 4;
	add.s64 	%rd17, %rd15, %rd16;
	st.global.f32 	[%rd17], %f104;
	ret;
}
	// .globl	softmax
.visible .entry softmax(
	.param .u64 softmax_param_0,
	.param .u64 softmax_param_1
)
{
	.reg .pred 	%p<17>;
	.reg .f32 	%f<83>;
	.reg .b32 	%r<8>;
	.reg .b64 	%rd<12>;
	// demoted variable
	.shared .align 4 .b8 _ZZ7softmaxE4part[1024];
	ld.param.u64 	%rd3, [softmax_param_0];
	ld.param.u64 	%rd2, [softmax_param_1];
	cvta.to.global.u64 	%rd4, %rd3;
	mov.u32 	%r4, %ctaid.x;
	shl.b32 	%r1, %r4, 10;
	cvt.s64.s32 	%rd5, %r1;
	mov.u32 	%r2, %tid.x;
	cvt.s64.s32 	%rd6, %r2;
	add.s64 	%rd7, %rd5, %rd6;
	shl.b64 	%rd8, %rd7, 2;
	add.s64 	%rd1, %rd4, %rd8;
	ld.global.f32 	%f5, [%rd1+1024];
	ld.global.f32 	%f6, [%rd1];
	max.f32 	%f7, %f6, %f5;
	ld.global.f32 	%f8, [%rd1+2048];
	max.f32 	%f9, %f7, %f8;
	ld.global.f32 	%f10, [%rd1+3072];
	max.f32 	%f11, %f9, %f10;
	shl.b32 	%r5, %r2, 2;
	mov.u32 	%r6, _ZZ7softmaxE4part;
	add.s32 	%r3, %r6, %r5;
	st.shared.f32 	[%r3], %f11;
	bar.sync 	0;
	setp.gt.s32 	%p1, %r2, 127;
	@%p1 bra 	$L__BB7_2;
	ld.shared.f32 	%f12, [%r3];
	ld.shared.f32 	%f13, [%r3+512];
	max.f32 	%f14, %f12, %f13;
	st.shared.f32 	[%r3], %f14;
$L__BB7_2:
	bar.sync 	0;
	setp.gt.s32 	%p2, %r2, 63;
	@%p2 bra 	$L__BB7_4;
	ld.shared.f32 	%f15, [%r3];
	ld.shared.f32 	%f16, [%r3+256];
	max.f32 	%f17, %f15, %f16;
	st.shared.f32 	[%r3], %f17;
$L__BB7_4:
	bar.sync 	0;
	setp.gt.s32 	%p3, %r2, 31;
	@%p3 bra 	$L__BB7_6;
	ld.shared.f32 	%f18, [%r3];
	ld.shared.f32 	%f19, [%r3+128];
	max.f32 	%f20, %f18, %f19;
	st.shared.f32 	[%r3], %f20;
$L__BB7_6:
	bar.sync 	0;
	setp.gt.s32 	%p4, %r2, 15;
	@%p4 bra 	$L__BB7_8;
	ld.shared.f32 	%f21, [%r3];
	ld.shared.f32 	%f22, [%r3+64];
	max.f32 	%f23, %f21, %f22;
	st.shared.f32 	[%r3], %f23;
$L__BB7_8:
	bar.sync 	0;
	setp.gt.s32 	%p5, %r2, 7;
	@%p5 bra 	$L__BB7_10;
	ld.shared.f32 	%f24, [%r3];
	ld.shared.f32 	%f25, [%r3+32];
	max.f32 	%f26, %f24, %f25;
	st.shared.f32 	[%r3], %f26;
$L__BB7_10:
	bar.sync 	0;
	setp.gt.s32 	%p6, %r2, 3;
	@%p6 bra 	$L__BB7_12;
	ld.shared.f32 	%f27, [%r3];
	ld.shared.f32 	%f28, [%r3+16];
	max.f32 	%f29, %f27, %f28;
	st.shared.f32 	[%r3], %f29;
$L__BB7_12:
	bar.sync 	0;
	setp.gt.s32 	%p7, %r2, 1;
	@%p7 bra 	$L__BB7_14;
	ld.shared.f32 	%f30, [%r3];
	ld.shared.f32 	%f31, [%r3+8];
	max.f32 	%f32, %f30, %f31;
	st.shared.f32 	[%r3], %f32;
$L__BB7_14:
	bar.sync 	0;
	setp.gt.s32 	%p8, %r2, 0;
	@%p8 bra 	$L__BB7_16;
	ld.shared.f32 	%f33, [%r3];
	ld.shared.f32 	%f34, [%r3+4];
	max.f32 	%f35, %f33, %f34;
	st.shared.f32 	[%r3], %f35;
$L__BB7_16:
	bar.sync 	0;
	ld.shared.f32 	%f36, [_ZZ7softmaxE4part];
	bar.sync 	0;
	ld.global.f32 	%f37, [%rd1];
	sub.f32 	%f38, %f37, %f36;
	mul.f32 	%f39, %f38, 0f3FB8AA3B;
	ex2.approx.f32 	%f1, %f39;
	add.f32 	%f40, %f1, 0f00000000;
	ld.global.f32 	%f41, [%rd1+1024];
	sub.f32 	%f42, %f41, %f36;
	mul.f32 	%f43, %f42, 0f3FB8AA3B;
	ex2.approx.f32 	%f2, %f43;
	add.f32 	%f44, %f40, %f2;
	ld.global.f32 	%f45, [%rd1+2048];
	sub.f32 	%f46, %f45, %f36;
	mul.f32 	%f47, %f46, 0f3FB8AA3B;
	ex2.approx.f32 	%f3, %f47;
	add.f32 	%f48, %f44, %f3;
	ld.global.f32 	%f49, [%rd1+3072];
	sub.f32 	%f50, %f49, %f36;
	mul.f32 	%f51, %f50, 0f3FB8AA3B;
	ex2.approx.f32 	%f4, %f51;
	add.f32 	%f52, %f48, %f4;
	st.shared.f32 	[%r3], %f52;
	bar.sync 	0;
	@%p1 bra 	$L__BB7_18;
	ld.shared.f32 	%f53, [%r3];
	ld.shared.f32 	%f54, [%r3+512];
	add.f32 	%f55, %f54, %f53;
	st.shared.f32 	[%r3], %f55;
$L__BB7_18:
	bar.sync 	0;
	@%p2 bra 	$L__BB7_20;
	ld.shared.f32 	%f56, [%r3];
	ld.shared.f32 	%f57, [%r3+256];
	add.f32 	%f58, %f57, %f56;
	st.shared.f32 	[%r3], %f58;
$L__BB7_20:
	bar.sync 	0;
	@%p3 bra 	$L__BB7_22;
	ld.shared.f32 	%f59, [%r3];
	ld.shared.f32 	%f60, [%r3+128];
	add.f32 	%f61, %f60, %f59;
	st.shared.f32 	[%r3], %f61;
$L__BB7_22:
	bar.sync 	0;
	@%p4 bra 	$L__BB7_24;
)PTX"
R"PTX(	ld.shared.f32 	%f62, [%r3];
	ld.shared.f32 	%f63, [%r3+64];
	add.f32 	%f64, %f63, %f62;
	st.shared.f32 	[%r3], %f64;
$L__BB7_24:
	bar.sync 	0;
	@%p5 bra 	$L__BB7_26;
	ld.shared.f32 	%f65, [%r3];
	ld.shared.f32 	%f66, [%r3+32];
	add.f32 	%f67, %f66, %f65;
	st.shared.f32 	[%r3], %f67;
$L__BB7_26:
	bar.sync 	0;
	@%p6 bra 	$L__BB7_28;
	ld.shared.f32 	%f68, [%r3];
	ld.shared.f32 	%f69, [%r3+16];
	add.f32 	%f70, %f69, %f68;
	st.shared.f32 	[%r3], %f70;
$L__BB7_28:
	bar.sync 	0;
	@%p7 bra 	$L__BB7_30;
	ld.shared.f32 	%f71, [%r3];
	ld.shared.f32 	%f72, [%r3+8];
	add.f32 	%f73, %f72, %f71;
	st.shared.f32 	[%r3], %f73;
$L__BB7_30:
	bar.sync 	0;
	@%p8 bra 	$L__BB7_32;
	ld.shared.f32 	%f74, [%r3];
	ld.shared.f32 	%f75, [%r3+4];
	add.f32 	%f76, %f75, %f74;
	st.shared.f32 	[%r3], %f76;
$L__BB7_32:
	bar.sync 	0;
	ld.shared.f32 	%f77, [_ZZ7softmaxE4part];
	rcp.rn.f32 	%f78, %f77;
	mul.f32 	%f79, %f78, %f1;
	add.s32 	%r7, %r1, %r2;
	cvta.to.global.u64 	%rd9, %rd2;
	mul.wide.s32 	%rd10, %r7, 4;
	add.s64 	%rd11, %rd9, %rd10;
	st.global.f32 	[%rd11], %f79;
	mul.f32 	%f80, %f78, %f2;
	st.global.f32 	[%rd11+1024], %f80;
	mul.f32 	%f81, %f78, %f3;
	st.global.f32 	[%rd11+2048], %f81;
	mul.f32 	%f82, %f78, %f4;
	st.global.f32 	[%rd11+3072], %f82;
	ret;
}
	// .globl	bitonic_sort
.visible .entry bitonic_sort(
	.param .u64 bitonic_sort_param_0,
	.param .u64 bitonic_sort_param_1
)
{
	.reg .pred 	%p<136>;
	.reg .f32 	%f<95>;
	.reg .b32 	%r<95>;
	.reg .b64 	%rd<10>;
	// demoted variable
	.shared .align 4 .b8 _ZZ12bitonic_sortE4list[2048];
	ld.param.u64 	%rd3, [bitonic_sort_param_0];
	ld.param.u64 	%rd2, [bitonic_sort_param_1];
	mov.u32 	%r21, %ctaid.x;
	shl.b32 	%r22, %r21, 9;
	mov.u32 	%r1, %tid.x;
	add.s32 	%r23, %r22, %r1;
	cvt.s64.s32 	%rd1, %r23;
	cvta.to.global.u64 	%rd4, %rd3;
	mul.wide.s32 	%rd5, %r23, 4;
	add.s64 	%rd6, %rd4, %rd5;
	ld.global.f32 	%f91, [%rd6];
	shl.b32 	%r24, %r1, 2;
	mov.u32 	%r25, _ZZ12bitonic_sortE4list;
	add.s32 	%r2, %r25, %r24;
	st.shared.f32 	[%r2], %f91;
	ld.global.f32 	%f92, [%rd6+1024];
	st.shared.f32 	[%r2+1024], %f92;
	bar.sync 	0;
	shl.b32 	%r3, %r1, 1;
	and.b32  	%r4, %r1, 1;
	setp.eq.s32 	%p1, %r4, 0;
	shl.b32 	%r26, %r1, 3;
	add.s32 	%r5, %r25, %r26;
	ld.shared.f32 	%f1, [%r5+4];
	ld.shared.f32 	%f2, [%r5];
	setp.gt.f32 	%p2, %f2, %f1;
	xor.pred  	%p3, %p1, %p2;
	@%p3 bra 	$L__BB8_2;
	st.shared.f32 	[%r5], %f1;
	st.shared.f32 	[%r5+4], %f2;
$L__BB8_2:
	bar.sync 	0;
	sub.s32 	%r6, %r3, %r4;
	and.b32  	%r27, %r6, 4;
	setp.eq.s32 	%p4, %r27, 0;
	shl.b32 	%r28, %r6, 2;
	add.s32 	%r7, %r25, %r28;
	ld.shared.f32 	%f3, [%r7+8];
	ld.shared.f32 	%f4, [%r7];
	setp.gt.f32 	%p5, %f4, %f3;
	xor.pred  	%p6, %p4, %p5;
	@%p6 bra 	$L__BB8_4;
	st.shared.f32 	[%r7], %f3;
	st.shared.f32 	[%r7+8], %f4;
$L__BB8_4:
	bar.sync 	0;
	and.b32  	%r30, %r1, 2;
	setp.eq.s32 	%p7, %r30, 0;
	ld.shared.f32 	%f5, [%r5+4];
	ld.shared.f32 	%f6, [%r5];
	setp.gt.f32 	%p8, %f6, %f5;
	xor.pred  	%p9, %p7, %p8;
	@%p9 bra 	$L__BB8_6;
	st.shared.f32 	[%r5], %f5;
	st.shared.f32 	[%r5+4], %f6;
$L__BB8_6:
	bar.sync 	0;
	and.b32  	%r31, %r1, 3;
	sub.s32 	%r8, %r3, %r31;
	and.b32  	%r32, %r8, 8;
	setp.eq.s32 	%p10, %r32, 0;
	shl.b32 	%r33, %r8, 2;
	add.s32 	%r9, %r25, %r33;
	ld.shared.f32 	%f7, [%r9+16];
	ld.shared.f32 	%f8, [%r9];
	setp.gt.f32 	%p11, %f8, %f7;
	xor.pred  	%p12, %p10, %p11;
	@%p12 bra 	$L__BB8_8;
	st.shared.f32 	[%r9], %f7;
	st.shared.f32 	[%r9+16], %f8;
$L__BB8_8:
	bar.sync 	0;
	and.b32  	%r35, %r6, 8;
	setp.eq.s32 	%p13, %r35, 0;
	ld.shared.f32 	%f9, [%r7+8];
	ld.shared.f32 	%f10, [%r7];
	setp.gt.f32 	%p14, %f10, %f9;
	xor.pred  	%p15, %p13, %p14;
	@%p15 bra 	$L__BB8_10;
	st.shared.f32 	[%r7], %f9;
	st.shared.f32 	[%r7+8], %f10;
$L__BB8_10:
	bar.sync 	0;
	and.b32  	%r36, %r1, 4;
	setp.eq.s32 	%p16, %r36, 0;
	ld.shared.f32 	%f11, [%r5+4];
	ld.shared.f32 	%f12, [%r5];
	setp.gt.f32 	%p17, %f12, %f11;
	xor.pred  	%p18, %p16, %p17;
	@%p18 bra 	$L__BB8_12;
	st.shared.f32 	[%r5], %f11;
	st.shared.f32 	[%r5+4], %f12;
$L__BB8_12:
	bar.sync 	0;
	and.b32  	%r37, %r1, 7;
	sub.s32 	%r10, %r3, %r37;
	and.b32  	%r38, %r10, 16;
	setp.eq.s32 	%p19, %r38, 0;
	shl.b32 	%r39, %r10, 2;
	add.s32 	%r11, %r25, %r39;
	ld.shared.f32 	%f13, [%r11+32];
	ld.shared.f32 	%f14, [%r11];
	setp.gt.f32 	%p20, %f14, %f13;
	xor.pred  	%p21, %p19, %p20;
	@%p21 bra 	$L__BB8_14;
	st.shared.f32 	[%r11], %f13;
	st.shared.f32 	[%r11+32], %f14;
$L__BB8_14:
	bar.sync 	0;
	and.b32  	%r41, %r8, 16;
	setp.eq.s32 	%p22, %r41, 0;
	ld.shared.f32 	%f15, [%r9+16];
	ld.shared.f32 	%f16, [%r9];
	setp.gt.f32 	%p23, %f16, %f15;
	xor.pred  	%p24, %p22, %p23;
	@%p24 bra 	$L__BB8_16;
	st.shared.f32 	[%r9], %f15;
	st.shared.f32 	[%r9+16], %f16;
$L__BB8_16:
	bar.sync 	0;
	and.b32  	%r42, %r6, 16;
	setp.eq.s32 	%p25, %r42, 0;
	ld.shared.f32 	%f17, [%r7+8];
	ld.shared.f32 	%f18, [%r7];
	setp.gt.f32 	%p26, %f18, %f17;
	xor.pred  	%p27, %p25, %p26;
	@%p27 bra 	$L__BB8_18;
	st.shared.f32 	[%r7], %f17;
	st.shared.f32 	[%r7+8], %f18;
$L__BB8_18:
	bar.sync 	0;
	and.b32  	%r43, %r1, 8;
	setp.eq.s32 	%p28, %r43, 0;
	ld.shared.f32 	%f19, [%r5+4];
	ld.shared.f32 	%f20, [%r5];
	setp.gt.f32 	%p29, %f20, %f19;
	xor.pred  	%p30, %p28, %p29;
	@%p30 bra 	$L__BB8_20;
	st.shared.f32 	[%r5], %f19;
	st.shared.f32 	[%r5+4], %f20;
$L__BB8_20:
	bar.sync 	0;
	and.b32  	%r44, %r1, 15;
	sub.s32 	%r12, %r3, %r44;
	and.b32  	%r45, %r12, 32;
	setp.eq.s32 	%p31, %r45, 0;
	shl.b32 	%r46, %r12, 2;
	add.s32 	%r13, %r25, %r46;
	ld.shared.f32 	%f21, [%r13+64];
	ld.shared.f32 	%f22, [%r13];
	setp.gt.f32 	%p32, %f22, %f21;
	xor.pred  	%p33, %p31, %p32;
	@%p33 bra 	$L__BB8_22;
	st.shared.f32 	[%r13], %f21;
	st.shared.f32 	[%r13+64], %f22;
$L__BB8_22:
	bar.sync 	0;
	and.b32  	%r48, %r10, 32;
	setp.eq.s32 	%p34, %r48, 0;
	ld.shared.f32 	%f23, [%r11+32];
	ld.shared.f32 	%f24, [%r11];
	setp.gt.f32 	%p35, %f24, %f23;
	xor.pred  	%p36, %p34, %p35;
	@%p36 bra 	$L__BB8_24;
	st.shared.f32 	[%r11], %f23;
	st.shared.f32 	[%r11+32], %f24;
$L__BB8_24:
	bar.sync 	0;
	and.b32  	%r49, %r8, 32;
	setp.eq.s32 	%p37, %r49, 0;
	ld.shared.f32 	%f25, [%r9+16];
	ld.shared.f32 	%f26, [%r9];
	setp.gt.f32 	%p38, %f26, %f25;
	xor.pred  	%p39, %p37, %p38;
	@%p39 bra 	$L__BB8_26;
	st.shared.f32 	[%r9], %f25;
	st.shared.f32 	[%r9+16], %f26;
$L__BB8_26:
	bar.sync 	0;
	and.b32  	%r50, %r6, 32;
	setp.eq.s32 	%p40, %r50, 0;
	ld.shared.f32 	%f27, [%r7+8];
	ld.shared.f32 	%f28, [%r7];
	setp.gt.f32 	%p41, %f28, %f27;
	xor.pred  	%p42, %p40, %p41;
	@%p42 bra 	$L__BB8_28;
	st.shared.f32 	[%r7], %f27;
	st.shared.f32 	[%r7+8], %f28;
$L__BB8_28:
	bar.sync 	0;
	and.b32  	%r51, %r1, 16;
	setp.eq.s32 	%p43, %r51, 0;
	ld.shared.f32 	%f29, [%r5+4];
	ld.shared.f32 	%f30, [%r5];
	setp.gt.f32 	%p44, %f30, %f29;
	xor.pred  	%p45, %p43, %p44;
	@%p45 bra 	$L__BB8_30;
	st.shared.f32 	[%r5], %f29;
	st.shared.f32 	[%r5+4], %f30;
$L__BB8_30:
	bar.sync 	0;
	and.b32  	%r52, %r1, 31;
	sub.s32 	%r14, %r3, %r52;
	and.b32  	%r53, %r14, 64;
	setp.eq.s32 	%p46, %r53, 0;
	shl.b32 	%r54, %r14, 2;
	add.s32 	%r15, %r25, %r54;
	ld.shared.f32 	%f31, [%r15+128];
	ld.shared.f32 	%f32, [%r15];
	setp.gt.f32 	%p47, %f32, %f31;
	xor.pred  	%p48, %p46, %p47;
	@%p48 bra 	$L__BB8_32;
	st.shared.f32 	[%r15], %f31;
	st.shared.f32 	[%r15+128], %f32;
$L__BB8_32:
	bar.sync 	0;
	and.b32  	%r56, %r12, 64;
	setp.eq.s32 	%p49, %r56, 0;
	ld.shared.f32 	%f33, [%r13+64];
	ld.shared.f32 	%f34, [%r13];
	setp.gt.f32 	%p50, %f34, %f33;
	xor.pred  	%p51, %p49, %p50;
	@%p51 bra 	$L__BB8_34;
	st.shared.f32 	[%r13], %f33;
	st.shared.f32 	[%r13+64], %f34;
$L__BB8_34:
	bar.sync 	0;
	and.b32  	%r57, %r10, 64;
	setp.eq.s32 	%p52, %r57, 0;
	ld.shared.f32 	%f35, [%r11+32];
	ld.shared.f32 	%f36, [%r11];
	setp.gt.f32 	%p53, %f36, %f35;
	xor.pred  	%p54, %p52, %p53;
	@%p54 bra 	$L__BB8_36;
	st.shared.f32 	[%r11], %f35;
	st.shared.f32 	[%r11+32], %f36;
$L__BB8_36:
	bar.sync 	0;
	and.b32  	%r58, %r8, 64;
	setp.eq.s32 	%p55, %r58, 0;
	ld.shared.f32 	%f37, [%r9+16];
	ld.shared.f32 	%f38, [%r9];
	setp.gt.f32 	%p56, %f38, %f37;
	xor.pred  	%p57, %p55, %p56;
)PTX"
R"PTX(	@%p57 bra 	$L__BB8_38;
	st.shared.f32 	[%r9], %f37;
	st.shared.f32 	[%r9+16], %f38;
$L__BB8_38:
	bar.sync 	0;
	and.b32  	%r59, %r6, 64;
	setp.eq.s32 	%p58, %r59, 0;
	ld.shared.f32 	%f39, [%r7+8];
	ld.shared.f32 	%f40, [%r7];
	setp.gt.f32 	%p59, %f40, %f39;
	xor.pred  	%p60, %p58, %p59;
	@%p60 bra 	$L__BB8_40;
	st.shared.f32 	[%r7], %f39;
	st.shared.f32 	[%r7+8], %f40;
$L__BB8_40:
	bar.sync 	0;
	and.b32  	%r60, %r1, 32;
	setp.eq.s32 	%p61, %r60, 0;
	ld.shared.f32 	%f41, [%r5+4];
	ld.shared.f32 	%f42, [%r5];
	setp.gt.f32 	%p62, %f42, %f41;
	xor.pred  	%p63, %p61, %p62;
	@%p63 bra 	$L__BB8_42;
	st.shared.f32 	[%r5], %f41;
	st.shared.f32 	[%r5+4], %f42;
$L__BB8_42:
	bar.sync 	0;
	and.b32  	%r61, %r1, 63;
	sub.s32 	%r16, %r3, %r61;
	and.b32  	%r62, %r16, 128;
	setp.eq.s32 	%p64, %r62, 0;
	shl.b32 	%r63, %r16, 2;
	add.s32 	%r17, %r25, %r63;
	ld.shared.f32 	%f43, [%r17+256];
	ld.shared.f32 	%f44, [%r17];
	setp.gt.f32 	%p65, %f44, %f43;
	xor.pred  	%p66, %p64, %p65;
	@%p66 bra 	$L__BB8_44;
	st.shared.f32 	[%r17], %f43;
	st.shared.f32 	[%r17+256], %f44;
$L__BB8_44:
	bar.sync 	0;
	and.b32  	%r65, %r14, 128;
	setp.eq.s32 	%p67, %r65, 0;
	ld.shared.f32 	%f45, [%r15+128];
	ld.shared.f32 	%f46, [%r15];
	setp.gt.f32 	%p68, %f46, %f45;
	xor.pred  	%p69, %p67, %p68;
	@%p69 bra 	$L__BB8_46;
	st.shared.f32 	[%r15], %f45;
	st.shared.f32 	[%r15+128], %f46;
$L__BB8_46:
	bar.sync 	0;
	and.b32  	%r66, %r12, 128;
	setp.eq.s32 	%p70, %r66, 0;
	ld.shared.f32 	%f47, [%r13+64];
	ld.shared.f32 	%f48, [%r13];
	setp.gt.f32 	%p71, %f48, %f47;
	xor.pred  	%p72, %p70, %p71;
	@%p72 bra 	$L__BB8_48;
	st.shared.f32 	[%r13], %f47;
	st.shared.f32 	[%r13+64], %f48;
$L__BB8_48:
	bar.sync 	0;
	and.b32  	%r67, %r10, 128;
	setp.eq.s32 	%p73, %r67, 0;
	ld.shared.f32 	%f49, [%r11+32];
	ld.shared.f32 	%f50, [%r11];
	setp.gt.f32 	%p74, %f50, %f49;
	xor.pred  	%p75, %p73, %p74;
	@%p75 bra 	$L__BB8_50;
	st.shared.f32 	[%r11], %f49;
	st.shared.f32 	[%r11+32], %f50;
$L__BB8_50:
	bar.sync 	0;
	and.b32  	%r68, %r8, 128;
	setp.eq.s32 	%p76, %r68, 0;
	ld.shared.f32 	%f51, [%r9+16];
	ld.shared.f32 	%f52, [%r9];
	setp.gt.f32 	%p77, %f52, %f51;
	xor.pred  	%p78, %p76, %p77;
	@%p78 bra 	$L__BB8_52;
	st.shared.f32 	[%r9], %f51;
	st.shared.f32 	[%r9+16], %f52;
$L__BB8_52:
	bar.sync 	0;
	and.b32  	%r69, %r6, 128;
	setp.eq.s32 	%p79, %r69, 0;
	ld.shared.f32 	%f53, [%r7+8];
	ld.shared.f32 	%f54, [%r7];
	setp.gt.f32 	%p80, %f54, %f53;
	xor.pred  	%p81, %p79, %p80;
	@%p81 bra 	$L__BB8_54;
	st.shared.f32 	[%r7], %f53;
	st.shared.f32 	[%r7+8], %f54;
$L__BB8_54:
	bar.sync 	0;
	and.b32  	%r70, %r1, 64;
	setp.eq.s32 	%p82, %r70, 0;
	ld.shared.f32 	%f55, [%r5+4];
	ld.shared.f32 	%f56, [%r5];
	setp.gt.f32 	%p83, %f56, %f55;
	xor.pred  	%p84, %p82, %p83;
	@%p84 bra 	$L__BB8_56;
	st.shared.f32 	[%r5], %f55;
	st.shared.f32 	[%r5+4], %f56;
$L__BB8_56:
	bar.sync 	0;
	and.b32  	%r71, %r1, 127;
	sub.s32 	%r18, %r3, %r71;
	and.b32  	%r72, %r18, 256;
	setp.eq.s32 	%p85, %r72, 0;
	shl.b32 	%r73, %r18, 2;
	add.s32 	%r19, %r25, %r73;
	ld.shared.f32 	%f57, [%r19+512];
	ld.shared.f32 	%f58, [%r19];
	setp.gt.f32 	%p86, %f58, %f57;
	xor.pred  	%p87, %p85, %p86;
	@%p87 bra 	$L__BB8_58;
	st.shared.f32 	[%r19], %f57;
	st.shared.f32 	[%r19+512], %f58;
$L__BB8_58:
	bar.sync 	0;
	and.b32  	%r75, %r16, 256;
	setp.eq.s32 	%p88, %r75, 0;
	ld.shared.f32 	%f59, [%r17+256];
	ld.shared.f32 	%f60, [%r17];
	setp.gt.f32 	%p89, %f60, %f59;
	xor.pred  	%p90, %p88, %p89;
	@%p90 bra 	$L__BB8_60;
	st.shared.f32 	[%r17], %f59;
	st.shared.f32 	[%r17+256], %f60;
$L__BB8_60:
	bar.sync 	0;
	and.b32  	%r76, %r14, 256;
	setp.eq.s32 	%p91, %r76, 0;
	ld.shared.f32 	%f61, [%r15+128];
	ld.shared.f32 	%f62, [%r15];
	setp.gt.f32 	%p92, %f62, %f61;
	xor.pred  	%p93, %p91, %p92;
	@%p93 bra 	$L__BB8_62;
	st.shared.f32 	[%r15], %f61;
	st.shared.f32 	[%r15+128], %f62;
$L__BB8_62:
	bar.sync 	0;
	and.b32  	%r77, %r12, 256;
	setp.eq.s32 	%p94, %r77, 0;
	ld.shared.f32 	%f63, [%r13+64];
	ld.shared.f32 	%f64, [%r13];
	setp.gt.f32 	%p95, %f64, %f63;
	xor.pred  	%p96, %p94, %p95;
	@%p96 bra 	$L__BB8_64;
	st.shared.f32 	[%r13], %f63;
	st.shared.f32 	[%r13+64], %f64;
$L__BB8_64:
	bar.sync 	0;
	and.b32  	%r78, %r10, 256;
	setp.eq.s32 	%p97, %r78, 0;
	ld.shared.f32 	%f65, [%r11+32];
	ld.shared.f32 	%f66, [%r11];
	setp.gt.f32 	%p98, %f66, %f65;
	xor.pred  	%p99, %p97, %p98;
	@%p99 bra 	$L__BB8_66;
	st.shared.f32 	[%r11], %f65;
	st.shared.f32 	[%r11+32], %f66;
$L__BB8_66:
	bar.sync 	0;
	and.b32  	%r79, %r8, 256;
	setp.eq.s32 	%p100, %r79, 0;
	ld.shared.f32 	%f67, [%r9+16];
	ld.shared.f32 	%f68, [%r9];
	setp.gt.f32 	%p101, %f68, %f67;
	xor.pred  	%p102, %p100, %p101;
	@%p102 bra 	$L__BB8_68;
	st.shared.f32 	[%r9], %f67;
	st.shared.f32 	[%r9+16], %f68;
$L__BB8_68:
	bar.sync 	0;
	and.b32  	%r80, %r6, 256;
	setp.eq.s32 	%p103, %r80, 0;
	ld.shared.f32 	%f69, [%r7+8];
	ld.shared.f32 	%f70, [%r7];
	setp.gt.f32 	%p104, %f70, %f69;
	xor.pred  	%p105, %p103, %p104;
	@%p105 bra 	$L__BB8_70;
	st.shared.f32 	[%r7], %f69;
	st.shared.f32 	[%r7+8], %f70;
$L__BB8_70:
	bar.sync 	0;
	and.b32  	%r81, %r1, 128;
	setp.eq.s32 	%p106, %r81, 0;
	ld.shared.f32 	%f71, [%r5+4];
	ld.shared.f32 	%f72, [%r5];
	setp.gt.f32 	%p107, %f72, %f71;
	xor.pred  	%p108, %p106, %p107;
	@%p108 bra 	$L__BB8_72;
	st.shared.f32 	[%r5], %f71;
	st.shared.f32 	[%r5+4], %f72;
$L__BB8_72:
	bar.sync 	0;
	and.b32  	%r82, %r1, 255;
	sub.s32 	%r83, %r3, %r82;
	and.b32  	%r84, %r83, 512;
	setp.eq.s32 	%p109, %r84, 0;
	shl.b32 	%r85, %r83, 2;
	add.s32 	%r20, %r25, %r85;
	ld.shared.f32 	%f73, [%r20+1024];
	ld.shared.f32 	%f74, [%r20];
	setp.gt.f32 	%p110, %f74, %f73;
	xor.pred  	%p111, %p109, %p110;
	@%p111 bra 	$L__BB8_74;
	st.shared.f32 	[%r20], %f73;
	st.shared.f32 	[%r20+1024], %f74;
$L__BB8_74:
	bar.sync 	0;
	and.b32  	%r87, %r18, 512;
	setp.eq.s32 	%p112, %r87, 0;
	ld.shared.f32 	%f75, [%r19+512];
	ld.shared.f32 	%f76, [%r19];
	setp.gt.f32 	%p113, %f76, %f75;
	xor.pred  	%p114, %p112, %p113;
	@%p114 bra 	$L__BB8_76;
	st.shared.f32 	[%r19], %f75;
	st.shared.f32 	[%r19+512], %f76;
$L__BB8_76:
	bar.sync 	0;
	and.b32  	%r88, %r16, 512;
	setp.eq.s32 	%p115, %r88, 0;
	ld.shared.f32 	%f77, [%r17+256];
	ld.shared.f32 	%f78, [%r17];
	setp.gt.f32 	%p116, %f78, %f77;
	xor.pred  	%p117, %p115, %p116;
	@%p117 bra 	$L__BB8_78;
	st.shared.f32 	[%r17], %f77;
	st.shared.f32 	[%r17+256], %f78;
$L__BB8_78:
	bar.sync 	0;
	and.b32  	%r89, %r14, 512;
	setp.eq.s32 	%p118, %r89, 0;
	ld.shared.f32 	%f79, [%r15+128];
	ld.shared.f32 	%f80, [%r15];
	setp.gt.f32 	%p119, %f80, %f79;
	xor.pred  	%p120, %p118, %p119;
	@%p120 bra 	$L__BB8_80;
	st.shared.f32 	[%r15], %f79;
	st.shared.f32 	[%r15+128], %f80;
$L__BB8_80:
	bar.sync 	0;
	and.b32  	%r90, %r12, 512;
	setp.eq.s32 	%p121, %r90, 0;
	ld.shared.f32 	%f81, [%r13+64];
	ld.shared.f32 	%f82, [%r13];
	setp.gt.f32 	%p122, %f82, %f81;
	xor.pred  	%p123, %p121, %p122;
	@%p123 bra 	$L__BB8_82;
	st.shared.f32 	[%r13], %f81;
	st.shared.f32 	[%r13+64], %f82;
$L__BB8_82:
	bar.sync 	0;
	and.b32  	%r91, %r10, 512;
	setp.eq.s32 	%p124, %r91, 0;
	ld.shared.f32 	%f83, [%r11+32];
	ld.shared.f32 	%f84, [%r11];
	setp.gt.f32 	%p125, %f84, %f83;
	xor.pred  	%p126, %p124, %p125;
	@%p126 bra 	$L__BB8_84;
	st.shared.f32 	[%r11], %f83;
	st.shared.f32 	[%r11+32], %f84;
$L__BB8_84:
	bar.sync 	0;
	and.b32  	%r92, %r8, 512;
	setp.eq.s32 	%p127, %r92, 0;
	ld.shared.f32 	%f85, [%r9+16];
	ld.shared.f32 	%f86, [%r9];
	setp.gt.f32 	%p128, %f86, %f85;
	xor.pred  	%p129, %p127, %p128;
	@%p129 bra 	$L__BB8_86;
	st.shared.f32 	[%r9], %f85;
	st.shared.f32 	[%r9+16], %f86;
$L__BB8_86:
	bar.sync 	0;
	and.b32  	%r93, %r6, 512;
	setp.eq.s32 	%p130, %r93, 0;
	ld.shared.f32 	%f87, [%r7+8];
	ld.shared.f32 	%f88, [%r7];
	setp.gt.f32 	%p131, %f88, %f87;
	xor.pred  	%p132, %p130, %p131;
	@%p132 bra 	$L__BB8_88;
	st.shared.f32 	[%r7], %f87;
	st.shared.f32 	[%r7+8], %f88;
$L__BB8_88:
	bar.sync 	0;
	and.b32  	%r94, %r1, 256;
	setp.eq.s32 	%p133, %r94, 0;
	ld.shared.f32 	%f89, [%r5+4];
	ld.shared.f32 	%f90, [%r5];
	setp.gt.f32 	%p134, %f90, %f89;
)PTX"
R"PTX(	xor.pred  	%p135, %p133, %p134;
	@%p135 bra 	$L__BB8_90;
	st.shared.f32 	[%r5], %f89;
	st.shared.f32 	[%r5+4], %f90;
$L__BB8_90:
	bar.sync 	0;
	ld.shared.f32 	%f93, [%r2];
	cvta.to.global.u64 	%rd7, %rd2;
	shl.b64 	%rd8, %rd1, 2;
	add.s64 	%rd9, %rd7, %rd8;
	st.global.f32 	[%rd9], %f93;
	ld.shared.f32 	%f94, [%r2+1024];
	st.global.f32 	[%rd9+1024], %f94;
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
	.reg .b16 	%rs<2>;
	.reg .b32 	%r<21>;
	.reg .b64 	%rd<9>;
	// demoted variable
	.shared .align 4 .b8 _ZZ9histogramE3own[1024];
	ld.param.u64 	%rd2, [histogram_param_0];
	ld.param.u64 	%rd3, [histogram_param_1];
	ld.param.u32 	%r7, [histogram_param_2];
	mov.u32 	%r1, %tid.x;
	shl.b32 	%r8, %r1, 2;
	mov.u32 	%r9, _ZZ9histogramE3own;
	add.s32 	%r2, %r9, %r8;
	mov.u32 	%r10, 0;
	st.shared.u32 	[%r2], %r10;
	bar.sync 	0;
	mov.u32 	%r11, %ctaid.x;
	shl.b32 	%r12, %r11, 8;
	add.s32 	%r20, %r12, %r1;
	setp.ge.s32 	%p1, %r20, %r7;
	@%p1 bra 	$L__BB9_3;
	mov.u32 	%r13, %nctaid.x;
	shl.b32 	%r4, %r13, 8;
	cvta.to.global.u64 	%rd1, %rd2;
$L__BB9_2:
	cvt.s64.s32 	%rd4, %r20;
	add.s64 	%rd5, %rd1, %rd4;
	ld.global.u8 	%rs1, [%rd5];
	mul.wide.u16 	%r14, %rs1, 4;
	add.s32 	%r16, %r9, %r14;
	atom.shared.add.u32 	%r17, [%r16], 1;
	add.s32 	%r20, %r20, %r4;
	setp.lt.s32 	%p2, %r20, %r7;
	@%p2 bra 	$L__BB9_2;
$L__BB9_3:
	bar.sync 	0;
	cvta.to.global.u64 	%rd6, %rd3;
	mul.wide.s32 	%rd7, %r1, 4;
	add.s64 	%rd8, %rd6, %rd7;
	ld.shared.u32 	%r18, [%r2];
	atom.global.add.u32 	%r19, [%rd8], %r18;
	ret;
}
	// .globl	scaled_sum
.visible .entry scaled_sum(
	.param .u64 scaled_sum_param_0,
	.param .u64 scaled_sum_param_1,
	.param .f32 scaled_sum_param_2,
	.param .u32 scaled_sum_param_3
)
{
	.reg .pred 	%p<2>;
	.reg .f32 	%f<5>;
	.reg .b32 	%r<6>;
	.reg .b64 	%rd<8>;
	ld.param.u64 	%rd1, [scaled_sum_param_0];
	ld.param.u64 	%rd2, [scaled_sum_param_1];
	ld.param.f32 	%f1, [scaled_sum_param_2];
	ld.param.u32 	%r2, [scaled_sum_param_3];
	mov.u32 	%r3, %ctaid.x;
	shl.b32 	%r4, %r3, 8;
	mov.u32 	%r5, %tid.x;
	add.s32 	%r1, %r4, %r5;
	setp.ge.s32 	%p1, %r1, %r2;
	@%p1 bra 	$L__BB10_2;
	cvta.to.global.u64 	%rd3, %rd2;
	cvta.to.global.u64 	%rd4, %rd1;
	mul.wide.s32 	%rd5, %r1, 4;
	add.s64 	%rd6, %rd4, %rd5;
	ld.global.f32 	%f2, [%rd6];
	add.s64 	%rd7, %rd3, %rd5;
	ld.global.f32 	%f3, [%rd7];
	fma.rn.f32 	%f4, %f2, %f1, %f3;
	st.global.f32 	[%rd7], %f4;
$L__BB10_2:
	ret;
}
)PTX";
// clang-format on

}  // namespace wharf::device::soft
