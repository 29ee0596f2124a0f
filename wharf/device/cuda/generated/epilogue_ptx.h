// Made by make_epilogue.sh from epilogue.cu; do not edit.
#pragma once

namespace wharf::device::cuda {

// clang-format off
inline constexpr char kEpiloguePtx[] = R"PTX(
.version 7.0
.target sm_75
.address_size 64
	// .globl	wharf_epilogue_f32
.visible .entry wharf_epilogue_f32(
	.param .u64 wharf_epilogue_f32_param_0,
	.param .u64 wharf_epilogue_f32_param_1,
	.param .u64 wharf_epilogue_f32_param_2,
	.param .u64 wharf_epilogue_f32_param_3,
	.param .u64 wharf_epilogue_f32_param_4,
	.param .u64 wharf_epilogue_f32_param_5,
	.param .u64 wharf_epilogue_f32_param_6,
	.param .u32 wharf_epilogue_f32_param_7
)
{
	.reg .pred 	%p<18>;
	.reg .f32 	%f<73>;
	.reg .b32 	%r<13>;
	.reg .b64 	%rd<70>;
	ld.param.u64 	%rd40, [wharf_epilogue_f32_param_0];
	ld.param.u64 	%rd35, [wharf_epilogue_f32_param_1];
	ld.param.u64 	%rd36, [wharf_epilogue_f32_param_2];
	ld.param.u64 	%rd37, [wharf_epilogue_f32_param_3];
	ld.param.u64 	%rd41, [wharf_epilogue_f32_param_4];
	ld.param.u64 	%rd38, [wharf_epilogue_f32_param_5];
	ld.param.u64 	%rd39, [wharf_epilogue_f32_param_6];
	ld.param.u32 	%r1, [wharf_epilogue_f32_param_7];
	cvta.to.global.u64 	%rd1, %rd35;
	cvta.to.global.u64 	%rd2, %rd40;
	mov.u32 	%r2, %ctaid.y;
	cvt.u64.u32 	%rd61, %r2;
	mul.lo.s64 	%rd4, %rd41, %rd37;
	setp.le.s64 	%p1, %rd4, %rd61;
	@%p1 bra 	$L__BB0_22;
	mov.u32 	%r3, %ctaid.x;
	mov.u32 	%r4, %ntid.x;
	mul.wide.u32 	%rd42, %r3, %r4;
	mov.u32 	%r5, %tid.x;
	cvt.u64.u32 	%rd43, %r5;
	add.s64 	%rd5, %rd42, %rd43;
	mov.u32 	%r6, %nctaid.x;
	mul.wide.u32 	%rd6, %r6, %r4;
	mov.u32 	%r7, %nctaid.y;
	cvt.u64.u32 	%rd7, %r7;
	shl.b64 	%rd8, %rd6, 2;
	shl.b64 	%rd44, %rd5, 2;
	add.s64 	%rd9, %rd1, %rd44;
	cvt.u32.u64 	%r8, %rd37;
$L__BB0_2:
	.pragma "nounroll";
	or.b64  	%rd45, %rd61, %rd37;
	and.b64  	%rd46, %rd45, -4294967296;
	setp.eq.s64 	%p2, %rd46, 0;
	@%p2 bra 	$L__BB0_4;
	div.s64 	%rd62, %rd61, %rd37;
	mul.lo.s64 	%rd47, %rd62, %rd37;
	sub.s64 	%rd63, %rd61, %rd47;
	bra.uni 	$L__BB0_5;
$L__BB0_4:
	cvt.u32.u64 	%r9, %rd61;
	div.u32 	%r10, %r9, %r8;
	mul.lo.s32 	%r11, %r10, %r8;
	sub.s32 	%r12, %r9, %r11;
	cvt.u64.u32 	%rd62, %r10;
	cvt.u64.u32 	%rd63, %r12;
$L__BB0_5:
	mul.lo.s64 	%rd17, %rd63, %rd38;
	mul.lo.s64 	%rd18, %rd62, %rd39;
	add.s64 	%rd19, %rd17, %rd18;
	setp.ge.s64 	%p3, %rd5, %rd36;
	@%p3 bra 	$L__BB0_21;
	setp.eq.s64 	%p4, %rd35, 0;
	@%p4 bra 	$L__BB0_14;
	setp.eq.s32 	%p5, %r1, 1;
	@%p5 bra 	$L__BB0_12;
	bra.uni 	$L__BB0_8;
$L__BB0_12:
	mov.u64 	%rd67, %rd5;
$L__BB0_13:
	.pragma "nounroll";
	add.s64 	%rd51, %rd19, %rd67;
	shl.b64 	%rd52, %rd51, 2;
	add.s64 	%rd53, %rd2, %rd52;
	shl.b64 	%rd54, %rd67, 2;
	add.s64 	%rd55, %rd1, %rd54;
	ld.global.f32 	%f37, [%rd55];
	ld.global.f32 	%f38, [%rd53];
	add.f32 	%f39, %f38, %f37;
	max.f32 	%f40, %f39, 0f00000000;
	st.global.f32 	[%rd53], %f40;
	add.s64 	%rd67, %rd67, %rd6;
	setp.lt.s64 	%p10, %rd67, %rd36;
	@%p10 bra 	$L__BB0_13;
	bra.uni 	$L__BB0_21;
$L__BB0_14:
	setp.eq.s32 	%p11, %r1, 1;
	@%p11 bra 	$L__BB0_19;
	bra.uni 	$L__BB0_15;
$L__BB0_19:
	mov.u64 	%rd69, %rd5;
$L__BB0_20:
	.pragma "nounroll";
	add.s64 	%rd58, %rd19, %rd69;
	shl.b64 	%rd59, %rd58, 2;
	add.s64 	%rd60, %rd2, %rd59;
	ld.global.f32 	%f69, [%rd60];
	max.f32 	%f70, %f69, 0f00000000;
	st.global.f32 	[%rd60], %f70;
	add.s64 	%rd69, %rd69, %rd6;
	setp.lt.s64 	%p16, %rd69, %rd36;
	@%p16 bra 	$L__BB0_20;
	bra.uni 	$L__BB0_21;
$L__BB0_8:
	add.s64 	%rd48, %rd5, %rd18;
	add.s64 	%rd49, %rd48, %rd17;
	shl.b64 	%rd50, %rd49, 2;
	add.s64 	%rd65, %rd2, %rd50;
	mov.u64 	%rd64, %rd9;
	mov.u64 	%rd66, %rd5;
$L__BB0_9:
	.pragma "nounroll";
	ld.global.f32 	%f7, [%rd64];
	ld.global.f32 	%f8, [%rd65];
	add.f32 	%f71, %f8, %f7;
	setp.ne.s32 	%p6, %r1, 2;
	@%p6 bra 	$L__BB0_11;
	mul.f32 	%f9, %f71, 0f3F000000;
	mul.f32 	%f10, %f71, 0f3D372713;
	mul.f32 	%f11, %f71, %f10;
	fma.rn.f32 	%f12, %f71, %f11, %f71;
	mul.f32 	%f13, %f12, 0f3F4C422A;
	abs.f32 	%f14, %f13;
	mul.f32 	%f15, %f14, 0f4038AA3B;
	ex2.approx.ftz.f32 	%f16, %f15;
	add.f32 	%f17, %f16, 0f3F800000;
	mov.f32 	%f18, 0f3F800000;
	rcp.approx.ftz.f32 	%f19, %f17;
	mov.f32 	%f20, 0fC0000000;
	fma.rn.f32 	%f21, %f19, %f20, %f18;
	setp.ge.f32 	%p7, %f14, 0f41102CB4;
	selp.f32 	%f22, 0f3F800000, %f21, %p7;
	copysign.f32 	%f23, %f13, %f22;
	mul.f32 	%f24, %f13, %f13;
	mov.f32 	%f25, 0fBD563CAE;
	mov.f32 	%f26, 0f3C80F082;
	fma.rn.f32 	%f27, %f26, %f24, %f25;
	mov.f32 	%f28, 0f3E085941;
	fma.rn.f32 	%f29, %f27, %f24, %f28;
	mov.f32 	%f30, 0fBEAAA9ED;
	fma.rn.f32 	%f31, %f29, %f24, %f30;
	mov.f32 	%f32, 0f00000000;
	fma.rn.f32 	%f33, %f31, %f24, %f32;
	fma.rn.f32 	%f34, %f33, %f13, %f13;
	setp.ge.f32 	%p8, %f14, 0f3F19999A;
	selp.f32 	%f35, %f23, %f34, %p8;
	add.f32 	%f36, %f35, 0f3F800000;
	mul.f32 	%f71, %f9, %f36;
$L__BB0_11:
	st.global.f32 	[%rd65], %f71;
	add.s64 	%rd65, %rd65, %rd8;
	add.s64 	%rd64, %rd64, %rd8;
	add.s64 	%rd66, %rd66, %rd6;
	setp.lt.s64 	%p9, %rd66, %rd36;
	@%p9 bra 	$L__BB0_9;
	bra.uni 	$L__BB0_21;
$L__BB0_15:
	mov.u64 	%rd68, %rd5;
$L__BB0_16:
	.pragma "nounroll";
	add.s64 	%rd56, %rd19, %rd68;
	shl.b64 	%rd57, %rd56, 2;
	add.s64 	%rd30, %rd2, %rd57;
	ld.global.f32 	%f72, [%rd30];
	setp.ne.s32 	%p12, %r1, 2;
	@%p12 bra 	$L__BB0_18;
	mul.f32 	%f41, %f72, 0f3F000000;
	mul.f32 	%f42, %f72, 0f3D372713;
	mul.f32 	%f43, %f72, %f42;
	fma.rn.f32 	%f44, %f72, %f43, %f72;
	mul.f32 	%f45, %f44, 0f3F4C422A;
	abs.f32 	%f46, %f45;
	mul.f32 	%f47, %f46, 0f4038AA3B;
	ex2.approx.ftz.f32 	%f48, %f47;
	add.f32 	%f49, %f48, 0f3F800000;
	mov.f32 	%f50, 0f3F800000;
	rcp.approx.ftz.f32 	%f51, %f49;
	mov.f32 	%f52, 0fC0000000;
	fma.rn.f32 	%f53, %f51, %f52, %f50;
	setp.ge.f32 	%p13, %f46, 0f41102CB4;
	selp.f32 	%f54, 0f3F800000, %f53, %p13;
	copysign.f32 	%f55, %f45, %f54;
	mul.f32 	%f56, %f45, %f45;
	mov.f32 	%f57, 0fBD563CAE;
	mov.f32 	%f58, 0f3C80F082;
	fma.rn.f32 	%f59, %f58, %f56, %f57;
	mov.f32 	%f60, 0f3E085941;
	fma.rn.f32 	%f61, %f59, %f56, %f60;
	mov.f32 	%f62, 0fBEAAA9ED;
	fma.rn.f32 	%f63, %f61, %f56, %f62;
	mov.f32 	%f64, 0f00000000;
	fma.rn.f32 	%f65, %f63, %f56, %f64;
	fma.rn.f32 	%f66, %f65, %f45, %f45;
	setp.ge.f32 	%p14, %f46, 0f3F19999A;
	selp.f32 	%f67, %f55, %f66, %p14;
	add.f32 	%f68, %f67, 0f3F800000;
	mul.f32 	%f72, %f41, %f68;
$L__BB0_18:
	st.global.f32 	[%rd30], %f72;
	add.s64 	%rd68, %rd68, %rd6;
	setp.lt.s64 	%p15, %rd68, %rd36;
	@%p15 bra 	$L__BB0_16;
$L__BB0_21:
	add.s64 	%rd61, %rd61, %rd7;
	setp.lt.s64 	%p17, %rd61, %rd4;
	@%p17 bra 	$L__BB0_2;
$L__BB0_22:
	ret;
}
	// .globl	wharf_epilogue_f64
.visible .entry wharf_epilogue_f64(
	.param .u64 wharf_epilogue_f64_param_0,
	.param .u64 wharf_epilogue_f64_param_1,
	.param .u64 wharf_epilogue_f64_param_2,
	.param .u64 wharf_epilogue_f64_param_3,
	.param .u64 wharf_epilogue_f64_param_4,
	.param .u64 wharf_epilogue_f64_param_5,
	.param .u64 wharf_epilogue_f64_param_6,
	.param .u32 wharf_epilogue_f64_param_7
)
{
	.reg .pred 	%p<16>;
	.reg .f32 	%f<9>;
	.reg .b32 	%r<20>;
	.reg .f64 	%fd<165>;
	.reg .b64 	%rd<62>;
	ld.param.u64 	%rd35, [wharf_epilogue_f64_param_0];
	ld.param.u64 	%rd30, [wharf_epilogue_f64_param_1];
	ld.param.u64 	%rd31, [wharf_epilogue_f64_param_2];
	ld.param.u64 	%rd32, [wharf_epilogue_f64_param_3];
	ld.param.u64 	%rd36, [wharf_epilogue_f64_param_4];
	ld.param.u32 	%r3, [wharf_epilogue_f64_param_7];
	cvta.to.global.u64 	%rd1, %rd35;
	mov.u32 	%r4, %ctaid.y;
	cvt.u64.u32 	%rd55, %r4;
	mul.lo.s64 	%rd3, %rd36, %rd32;
	setp.le.s64 	%p1, %rd3, %rd55;
	@%p1 bra 	$L__BB1_26;
	mov.u32 	%r5, %ctaid.x;
	mov.u32 	%r6, %ntid.x;
	mul.wide.u32 	%rd37, %r5, %r6;
	mov.u32 	%r7, %tid.x;
	cvt.u64.u32 	%rd38, %r7;
	add.s64 	%rd4, %rd37, %rd38;
	mov.u32 	%r8, %nctaid.x;
	mul.wide.u32 	%rd5, %r8, %r6;
	mov.u32 	%r9, %nctaid.y;
	cvt.u64.u32 	%rd6, %r9;
	shl.b64 	%rd7, %rd5, 3;
	cvta.to.global.u64 	%rd39, %rd30;
	shl.b64 	%rd40, %rd4, 3;
	add.s64 	%rd8, %rd39, %rd40;
$L__BB1_2:
	.pragma "nounroll";
	or.b64  	%rd41, %rd55, %rd32;
	and.b64  	%rd42, %rd41, -4294967296;
	setp.eq.s64 	%p2, %rd42, 0;
	@%p2 bra 	$L__BB1_4;
	div.s64 	%rd56, %rd55, %rd32;
	mul.lo.s64 	%rd43, %rd56, %rd32;
	sub.s64 	%rd57, %rd55, %rd43;
	bra.uni 	$L__BB1_5;
$L__BB1_4:
	cvt.u32.u64 	%r19, %rd32;
	cvt.u32.u64 	%r11, %rd55;
	div.u32 	%r12, %r11, %r19;
	mul.lo.s32 	%r13, %r12, %r19;
	sub.s32 	%r14, %r11, %r13;
	cvt.u64.u32 	%rd56, %r12;
	cvt.u64.u32 	%rd57, %r14;
$L__BB1_5:
	ld.param.u64 	%rd50, [wharf_epilogue_f64_param_6];
	ld.param.u64 	%rd49, [wharf_epilogue_f64_param_5];
	mul.lo.s64 	%rd16, %rd57, %rd49;
	mul.lo.s64 	%rd17, %rd56, %rd50;
	setp.ge.s64 	%p3, %rd4, %rd31;
	@%p3 bra 	$L__BB1_25;
	ld.param.u64 	%rd51, [wharf_epilogue_f64_param_1];
	setp.eq.s64 	%p4, %rd51, 0;
	@%p4 bra 	$L__BB1_16;
	add.s64 	%rd44, %rd4, %rd17;
	add.s64 	%rd45, %rd44, %rd16;
	shl.b64 	%rd46, %rd45, 3;
	add.s64 	%rd59, %rd1, %rd46;
	mov.u64 	%rd58, %rd8;
	mov.u64 	%rd60, %rd4;
$L__BB1_8:
	.pragma "nounroll";
	ld.global.f64 	%fd19, [%rd58];
	ld.global.f64 	%fd20, [%rd59];
	add.f64 	%fd162, %fd20, %fd19;
	setp.eq.s32 	%p5, %r3, 1;
	@%p5 bra 	$L__BB1_14;
	setp.ne.s32 	%p6, %r3, 2;
	@%p6 bra 	$L__BB1_15;
	mul.f64 	%fd21, %fd162, 0d3FA6E4E26D4801F7;
	mul.f64 	%fd22, %fd162, %fd21;
	fma.rn.f64 	%fd23, %fd162, %fd22, %fd162;
	mul.f64 	%fd2, %fd23, 0d3FE9884533D43651;
	{
	.reg .b32 %temp;
	mov.b64 	{%temp, %r15}, %fd2;
	}
	and.b32  	%r1, %r15, 2147483647;
	{
	.reg .b32 %temp;
	mov.b64 	{%r16, %temp}, %fd2;
	}
	mov.b64 	%fd3, {%r16, %r1};
	setp.ltu.f64 	%p7, %fd3, 0d3FE4F92224DD2F1A;
	@%p7 bra 	$L__BB1_12;
	bra.uni 	$L__BB1_11;
$L__BB1_12:
	mul.f64 	%fd65, %fd2, %fd2;
	mov.f64 	%fd66, 0d3F14359F420AFC3D;
	mov.f64 	%fd67, 0dBEF0BC46E2F5E964;
	fma.rn.f64 	%fd68, %fd67, %fd65, %fd66;
	mov.f64 	%fd69, 0dBF2DF9F0728C5D84;
	fma.rn.f64 	%fd70, %fd68, %fd65, %fd69;
	mov.f64 	%fd71, 0d3F4337D1CEC4F033;
	fma.rn.f64 	%fd72, %fd70, %fd65, %fd71;
	mov.f64 	%fd73, 0dBF57D6E9674335B3;
	fma.rn.f64 	%fd74, %fd72, %fd65, %fd73;
	mov.f64 	%fd75, 0d3F6D6D000D7AAD3D;
	fma.rn.f64 	%fd76, %fd74, %fd65, %fd75;
	mov.f64 	%fd77, 0dBF8226E1F3CF1EF5;
	fma.rn.f64 	%fd78, %fd76, %fd65, %fd77;
	mov.f64 	%fd79, 0d3F9664F47EC0C8CF;
	fma.rn.f64 	%fd80, %fd78, %fd65, %fd79;
	mov.f64 	%fd81, 0dBFABA1BA1B80AB40;
	fma.rn.f64 	%fd82, %fd80, %fd65, %fd81;
	mov.f64 	%fd83, 0d3FC111111110FA4A;
	fma.rn.f64 	%fd84, %fd82, %fd65, %fd83;
	mov.f64 	%fd85, 0dBFD5555555555550;
	fma.rn.f64 	%fd86, %fd84, %fd65, %fd85;
	mov.f64 	%fd87, 0d0000000000000000;
	fma.rn.f64 	%fd88, %fd86, %fd65, %fd87;
	fma.rn.f64 	%fd161, %fd88, %fd2, %fd2;
	bra.uni 	$L__BB1_13;
$L__BB1_14:
	max.f64 	%fd162, %fd162, 0d0000000000000000;
	bra.uni 	$L__BB1_15;
$L__BB1_11:
	add.f64 	%fd24, %fd3, %fd3;
	mov.f64 	%fd25, 0d4000000000000000;
	cvt.rn.f32.f64 	%f1, %fd24;
	mul.f32 	%f2, %f1, 0f3FB8AA3B;
	cvt.rni.f32.f32 	%f3, %f2;
	cvt.f64.f32 	%fd26, %f3;
	neg.f64 	%fd27, %fd26;
	mov.f64 	%fd28, 0d3FE62E42FEFA39EF;
	fma.rn.f64 	%fd29, %fd27, %fd28, %fd24;
	mov.f64 	%fd30, 0d3E928A27F89B6999;
	mov.f64 	%fd31, 0d3E5AE904A4741B81;
	fma.rn.f64 	%fd32, %fd31, %fd29, %fd30;
	mov.f64 	%fd33, 0d3EC71DE715FF7E07;
	fma.rn.f64 	%fd34, %fd32, %fd29, %fd33;
	mov.f64 	%fd35, 0d3EFA019A6B0AC45A;
	fma.rn.f64 	%fd36, %fd34, %fd29, %fd35;
	mov.f64 	%fd37, 0d3F2A01A017EED94F;
	fma.rn.f64 	%fd38, %fd36, %fd29, %fd37;
	mov.f64 	%fd39, 0d3F56C16C17F2A71B;
	fma.rn.f64 	%fd40, %fd38, %fd29, %fd39;
	mov.f64 	%fd41, 0d3F811111111173C4;
	fma.rn.f64 	%fd42, %fd40, %fd29, %fd41;
	mov.f64 	%fd43, 0d3FA555555555211A;
	fma.rn.f64 	%fd44, %fd42, %fd29, %fd43;
	mov.f64 	%fd45, 0d3FC5555555555540;
	fma.rn.f64 	%fd46, %fd44, %fd29, %fd45;
	mov.f64 	%fd47, 0d3FE0000000000005;
	fma.rn.f64 	%fd48, %fd46, %fd29, %fd47;
	mul.f64 	%fd49, %fd29, %fd48;
	fma.rn.f64 	%fd50, %fd49, %fd29, %fd29;
	ex2.approx.ftz.f32 	%f4, %f3;
	cvt.f64.f32 	%fd51, %f4;
	mov.f64 	%fd52, 0d3FF0000000000000;
	sub.f64 	%fd53, %fd52, %fd51;
	neg.f64 	%fd54, %fd50;
	fma.rn.f64 	%fd55, %fd54, %fd51, %fd53;
	sub.f64 	%fd56, %fd25, %fd55;
	rcp.approx.ftz.f64 	%fd57, %fd56;
	neg.f64 	%fd58, %fd56;
	fma.rn.f64 	%fd59, %fd58, %fd57, %fd52;
	fma.rn.f64 	%fd60, %fd59, %fd59, %fd59;
	fma.rn.f64 	%fd61, %fd60, %fd57, %fd57;
	neg.f64 	%fd62, %fd61;
	fma.rn.f64 	%fd63, %fd25, %fd62, %fd52;
	setp.gt.u32 	%p8, %r1, 1077088193;
	selp.f64 	%fd64, 0d3FF0000000000000, %fd63, %p8;
	copysign.f64 	%fd161, %fd2, %fd64;
$L__BB1_13:
	add.f64 	%fd89, %fd161, 0d3FF0000000000000;
	mul.f64 	%fd90, %fd162, 0d3FE0000000000000;
	mul.f64 	%fd162, %fd90, %fd89;
$L__BB1_15:
	st.global.f64 	[%rd59], %fd162;
	add.s64 	%rd59, %rd59, %rd7;
	add.s64 	%rd58, %rd58, %rd7;
	add.s64 	%rd60, %rd60, %rd5;
	setp.lt.s64 	%p9, %rd60, %rd31;
	@%p9 bra 	$L__BB1_8;
	bra.uni 	$L__BB1_25;
$L__BB1_16:
	add.s64 	%rd25, %rd16, %rd17;
	mov.u64 	%rd61, %rd4;
$L__BB1_17:
	.pragma "nounroll";
	add.s64 	%rd47, %rd25, %rd61;
	shl.b64 	%rd48, %rd47, 3;
	add.s64 	%rd27, %rd1, %rd48;
	ld.global.f64 	%fd164, [%rd27];
	setp.eq.s32 	%p10, %r3, 1;
	@%p10 bra 	$L__BB1_23;
	setp.ne.s32 	%p11, %r3, 2;
	@%p11 bra 	$L__BB1_24;
	mul.f64 	%fd91, %fd164, 0d3FA6E4E26D4801F7;
	mul.f64 	%fd92, %fd164, %fd91;
	fma.rn.f64 	%fd93, %fd164, %fd92, %fd164;
	mul.f64 	%fd11, %fd93, 0d3FE9884533D43651;
	{
	.reg .b32 %temp;
	mov.b64 	{%temp, %r17}, %fd11;
	}
	and.b32  	%r2, %r17, 2147483647;
	{
	.reg .b32 %temp;
	mov.b64 	{%r18, %temp}, %fd11;
	}
	mov.b64 	%fd12, {%r18, %r2};
	setp.ltu.f64 	%p12, %fd12, 0d3FE4F92224DD2F1A;
	@%p12 bra 	$L__BB1_21;
	bra.uni 	$L__BB1_20;
$L__BB1_21:
	mul.f64 	%fd135, %fd11, %fd11;
	mov.f64 	%fd136, 0d3F14359F420AFC3D;
	mov.f64 	%fd137, 0dBEF0BC46E2F5E964;
	fma.rn.f64 	%fd138, %fd137, %fd135, %fd136;
	mov.f64 	%fd139, 0dBF2DF9F0728C5D84;
	fma.rn.f64 	%fd140, %fd138, %fd135, %fd139;
	mov.f64 	%fd141, 0d3F4337D1CEC4F033;
	fma.rn.f64 	%fd142, %fd140, %fd135, %fd141;
	mov.f64 	%fd143, 0dBF57D6E9674335B3;
	fma.rn.f64 	%fd144, %fd142, %fd135, %fd143;
	mov.f64 	%fd145, 0d3F6D6D000D7AAD3D;
	fma.rn.f64 	%fd146, %fd144, %fd135, %fd145;
	mov.f64 	%fd147, 0dBF8226E1F3CF1EF5;
	fma.rn.f64 	%fd148, %fd146, %fd135, %fd147;
	mov.f64 	%fd149, 0d3F9664F47EC0C8CF;
	fma.rn.f64 	%fd150, %fd148, %fd135, %fd149;
	mov.f64 	%fd151, 0dBFABA1BA1B80AB40;
	fma.rn.f64 	%fd152, %fd150, %fd135, %fd151;
	mov.f64 	%fd153, 0d3FC111111110FA4A;
	fma.rn.f64 	%fd154, %fd152, %fd135, %fd153;
	mov.f64 	%fd155, 0dBFD5555555555550;
	fma.rn.f64 	%fd156, %fd154, %fd135, %fd155;
	mov.f64 	%fd157, 0d0000000000000000;
	fma.rn.f64 	%fd158, %fd156, %fd135, %fd157;
	fma.rn.f64 	%fd163, %fd158, %fd11, %fd11;
	bra.uni 	$L__BB1_22;
$L__BB1_23:
	max.f64 	%fd164, %fd164, 0d0000000000000000;
	bra.uni 	$L__BB1_24;
$L__BB1_20:
	add.f64 	%fd94, %fd12, %fd12;
	mov.f64 	%fd95, 0d4000000000000000;
	cvt.rn.f32.f64 	%f5, %fd94;
	mul.f32 	%f6, %f5, 0f3FB8AA3B;
	cvt.rni.f32.f32 	%f7, %f6;
	cvt.f64.f32 	%fd96, %f7;
	neg.f64 	%fd97, %fd96;
	mov.f64 	%fd98, 0d3FE62E42FEFA39EF;
	fma.rn.f64 	%fd99, %fd97, %fd98, %fd94;
	mov.f64 	%fd100, 0d3E928A27F89B6999;
	mov.f64 	%fd101, 0d3E5AE904A4741B81;
	fma.rn.f64 	%fd102, %fd101, %fd99, %fd100;
	mov.f64 	%fd103, 0d3EC71DE715FF7E07;
	fma.rn.f64 	%fd104, %fd102, %fd99, %fd103;
	mov.f64 	%fd105, 0d3EFA019A6B0AC45A;
	fma.rn.f64 	%fd106, %fd104, %fd99, %fd105;
	mov.f64 	%fd107, 0d3F2A01A017EED94F;
	fma.rn.f64 	%fd108, %fd106, %fd99, %fd107;
	mov.f64 	%fd109, 0d3F56C16C17F2A71B;
	fma.rn.f64 	%fd110, %fd108, %fd99, %fd109;
	mov.f64 	%fd111, 0d3F811111111173C4;
	fma.rn.f64 	%fd112, %fd110, %fd99, %fd111;
	mov.f64 	%fd113, 0d3FA555555555211A;
	fma.rn.f64 	%fd114, %fd112, %fd99, %fd113;
	mov.f64 	%fd115, 0d3FC5555555555540;
	fma.rn.f64 	%fd116, %fd114, %fd99, %fd115;
	mov.f64 	%fd117, 0d3FE0000000000005;
	fma.rn.f64 	%fd118, %fd116, %fd99, %fd117;
	mul.f64 	%fd119, %fd99, %fd118;
	fma.rn.f64 	%fd120, %fd119, %fd99, %fd99;
	ex2.approx.ftz.f32 	%f8, %f7;
	cvt.f64.f32 	%fd121, %f8;
	mov.f64 	%fd122, 0d3FF0000000000000;
	sub.f64 	%fd123, %fd122, %fd121;
	neg.f64 	%fd124, %fd120;
	fma.rn.f64 	%fd125, %fd124, %fd121, %fd123;
	sub.f64 	%fd126, %fd95, %fd125;
	rcp.approx.ftz.f64 	%fd127, %fd126;
	neg.f64 	%fd128, %fd126;
	fma.rn.f64 	%fd129, %fd128, %fd127, %fd122;
	fma.rn.f64 	%fd130, %fd129, %fd129, %fd129;
	fma.rn.f64 	%fd131, %fd130, %fd127, %fd127;
	neg.f64 	%fd132, %fd131;
	fma.rn.f64 	%fd133, %fd95, %fd132, %fd122;
	setp.gt.u32 	%p13, %r2, 1077088193;
	selp.f64 	%fd134, 0d3FF0000000000000, %fd133, %p13;
	copysign.f64 	%fd163, %fd11, %fd134;
$L__BB1_22:
	add.f64 	%fd159, %fd163, 0d3FF0000000000000;
	mul.f64 	%fd160, %fd164, 0d3FE0000000000000;
	mul.f64 	%fd164, %fd160, %fd159;
$L__BB1_24:
	add.s64 	%rd54, %rd25, %rd61;
	shl.b64 	%rd53, %rd54, 3;
	add.s64 	%rd52, %rd1, %rd53;
	st.global.f64 	[%rd52], %fd164;
	add.s64 	%rd61, %rd61, %rd5;
	setp.lt.s64 	%p14, %rd61, %rd31;
	@%p14 bra 	$L__BB1_17;
$L__BB1_25:
	add.s64 	%rd55, %rd55, %rd6;
	setp.lt.s64 	%p15, %rd55, %rd3;
	@%p15 bra 	$L__BB1_2;
$L__BB1_26:
	ret;
}
	// .globl	wharf_epilogue_f16
.visible .entry wharf_epilogue_f16(
	.param .u64 wharf_epilogue_f16_param_0,
	.param .u64 wharf_epilogue_f16_param_1,
	.param .u64 wharf_epilogue_f16_param_2,
	.param .u64 wharf_epilogue_f16_param_3,
	.param .u64 wharf_epilogue_f16_param_4,
	.param .u64 wharf_epilogue_f16_param_5,
	.param .u64 wharf_epilogue_f16_param_6,
	.param .u32 wharf_epilogue_f16_param_7
)
{
	.reg .pred 	%p<18>;
	.reg .b16 	%rs<11>;
	.reg .f32 	%f<76>;
	.reg .b32 	%r<13>;
	.reg .b64 	%rd<62>;
	ld.param.u64 	%rd32, [wharf_epilogue_f16_param_0];
	ld.param.u64 	%rd27, [wharf_epilogue_f16_param_1];
	ld.param.u64 	%rd28, [wharf_epilogue_f16_param_2];
	ld.param.u64 	%rd29, [wharf_epilogue_f16_param_3];
	ld.param.u64 	%rd33, [wharf_epilogue_f16_param_4];
	ld.param.u64 	%rd30, [wharf_epilogue_f16_param_5];
	ld.param.u64 	%rd31, [wharf_epilogue_f16_param_6];
	ld.param.u32 	%r1, [wharf_epilogue_f16_param_7];
	cvta.to.global.u64 	%rd1, %rd27;
	cvta.to.global.u64 	%rd2, %rd32;
	mov.u32 	%r2, %ctaid.y;
	cvt.u64.u32 	%rd55, %r2;
	mul.lo.s64 	%rd4, %rd33, %rd29;
	setp.le.s64 	%p1, %rd4, %rd55;
	@%p1 bra 	$L__BB2_22;
	mov.u32 	%r3, %ctaid.x;
	mov.u32 	%r4, %ntid.x;
	mul.wide.u32 	%rd34, %r3, %r4;
	mov.u32 	%r5, %tid.x;
	cvt.u64.u32 	%rd35, %r5;
	add.s64 	%rd5, %rd34, %rd35;
	mov.u32 	%r6, %nctaid.x;
	mul.wide.u32 	%rd6, %r6, %r4;
	mov.u32 	%r7, %nctaid.y;
	cvt.u64.u32 	%rd7, %r7;
	cvt.u32.u64 	%r8, %rd29;
$L__BB2_2:
	.pragma "nounroll";
	or.b64  	%rd36, %rd55, %rd29;
	and.b64  	%rd37, %rd36, -4294967296;
	setp.eq.s64 	%p2, %rd37, 0;
	@%p2 bra 	$L__BB2_4;
	div.s64 	%rd56, %rd55, %rd29;
	mul.lo.s64 	%rd38, %rd56, %rd29;
	sub.s64 	%rd57, %rd55, %rd38;
	bra.uni 	$L__BB2_5;
$L__BB2_4:
	cvt.u32.u64 	%r9, %rd55;
	div.u32 	%r10, %r9, %r8;
	mul.lo.s32 	%r11, %r10, %r8;
	sub.s32 	%r12, %r9, %r11;
	cvt.u64.u32 	%rd56, %r10;
	cvt.u64.u32 	%rd57, %r12;
$L__BB2_5:
	mul.lo.s64 	%rd39, %rd57, %rd30;
	mul.lo.s64 	%rd40, %rd56, %rd31;
	add.s64 	%rd15, %rd39, %rd40;
	setp.ge.s64 	%p3, %rd5, %rd28;
	@%p3 bra 	$L__BB2_21;
	setp.eq.s64 	%p4, %rd27, 0;
	@%p4 bra 	$L__BB2_14;
	setp.eq.s32 	%p5, %r1, 1;
	@%p5 bra 	$L__BB2_12;
	bra.uni 	$L__BB2_8;
$L__BB2_12:
	mov.u64 	%rd59, %rd5;
$L__BB2_13:
	.pragma "nounroll";
	add.s64 	%rd45, %rd15, %rd59;
	shl.b64 	%rd46, %rd45, 1;
	add.s64 	%rd47, %rd2, %rd46;
	ld.global.u16 	%rs4, [%rd47];
	// begin inline asm
	{  cvt.f32.f16 %f38, %rs4;}
	// end inline asm
	shl.b64 	%rd48, %rd59, 1;
	add.s64 	%rd49, %rd1, %rd48;
	ld.global.u16 	%rs5, [%rd49];
	// begin inline asm
	{  cvt.f32.f16 %f39, %rs5;}
	// end inline asm
	add.f32 	%f41, %f38, %f39;
	max.f32 	%f40, %f41, 0f00000000;
	// begin inline asm
	{  cvt.rn.f16.f32 %rs6, %f40;}
	// end inline asm
	st.global.u16 	[%rd47], %rs6;
	add.s64 	%rd59, %rd59, %rd6;
	setp.lt.s64 	%p10, %rd59, %rd28;
	@%p10 bra 	$L__BB2_13;
	bra.uni 	$L__BB2_21;
$L__BB2_14:
	setp.eq.s32 	%p11, %r1, 1;
	@%p11 bra 	$L__BB2_19;
	bra.uni 	$L__BB2_15;
$L__BB2_19:
	mov.u64 	%rd61, %rd5;
$L__BB2_20:
	.pragma "nounroll";
	add.s64 	%rd52, %rd15, %rd61;
	shl.b64 	%rd53, %rd52, 1;
	add.s64 	%rd54, %rd2, %rd53;
	ld.global.u16 	%rs9, [%rd54];
	// begin inline asm
	{  cvt.f32.f16 %f72, %rs9;}
	// end inline asm
	max.f32 	%f73, %f72, 0f00000000;
	// begin inline asm
	{  cvt.rn.f16.f32 %rs10, %f73;}
	// end inline asm
	st.global.u16 	[%rd54], %rs10;
	add.s64 	%rd61, %rd61, %rd6;
	setp.lt.s64 	%p16, %rd61, %rd28;
	@%p16 bra 	$L__BB2_20;
	bra.uni 	$L__BB2_21;
$L__BB2_8:
	mov.u64 	%rd58, %rd5;
$L__BB2_9:
	.pragma "nounroll";
	add.s64 	%rd41, %rd15, %rd58;
	shl.b64 	%rd42, %rd41, 1;
	add.s64 	%rd17, %rd2, %rd42;
	ld.global.u16 	%rs1, [%rd17];
	// begin inline asm
	{  cvt.f32.f16 %f7, %rs1;}
	// end inline asm
	shl.b64 	%rd43, %rd58, 1;
	add.s64 	%rd44, %rd1, %rd43;
	ld.global.u16 	%rs2, [%rd44];
	// begin inline asm
	{  cvt.f32.f16 %f8, %rs2;}
	// end inline asm
	add.f32 	%f74, %f7, %f8;
	setp.ne.s32 	%p6, %r1, 2;
	@%p6 bra 	$L__BB2_11;
	mul.f32 	%f9, %f74, 0f3F000000;
	mul.f32 	%f10, %f74, 0f3D372713;
	mul.f32 	%f11, %f74, %f10;
	fma.rn.f32 	%f12, %f74, %f11, %f74;
	mul.f32 	%f13, %f12, 0f3F4C422A;
	abs.f32 	%f14, %f13;
	mul.f32 	%f15, %f14, 0f4038AA3B;
	ex2.approx.ftz.f32 	%f16, %f15;
	add.f32 	%f17, %f16, 0f3F800000;
	mov.f32 	%f18, 0f3F800000;
	rcp.approx.ftz.f32 	%f19, %f17;
	mov.f32 	%f20, 0fC0000000;
	fma.rn.f32 	%f21, %f19, %f20, %f18;
	setp.ge.f32 	%p7, %f14, 0f41102CB4;
	selp.f32 	%f22, 0f3F800000, %f21, %p7;
	copysign.f32 	%f23, %f13, %f22;
	mul.f32 	%f24, %f13, %f13;
	mov.f32 	%f25, 0fBD563CAE;
	mov.f32 	%f26, 0f3C80F082;
	fma.rn.f32 	%f27, %f26, %f24, %f25;
	mov.f32 	%f28, 0f3E085941;
	fma.rn.f32 	%f29, %f27, %f24, %f28;
	mov.f32 	%f30, 0fBEAAA9ED;
	fma.rn.f32 	%f31, %f29, %f24, %f30;
	mov.f32 	%f32, 0f00000000;
	fma.rn.f32 	%f33, %f31, %f24, %f32;
	fma.rn.f32 	%f34, %f33, %f13, %f13;
	setp.ge.f32 	%p8, %f14, 0f3F19999A;
	selp.f32 	%f35, %f23, %f34, %p8;
	add.f32 	%f36, %f35, 0f3F800000;
	mul.f32 	%f74, %f9, %f36;
$L__BB2_11:
	// begin inline asm
	{  cvt.rn.f16.f32 %rs3, %f74;}
	// end inline asm
	st.global.u16 	[%rd17], %rs3;
	add.s64 	%rd58, %rd58, %rd6;
	setp.lt.s64 	%p9, %rd58, %rd28;
	@%p9 bra 	$L__BB2_9;
	bra.uni 	$L__BB2_21;
$L__BB2_15:
	mov.u64 	%rd60, %rd5;
$L__BB2_16:
	.pragma "nounroll";
	add.s64 	%rd50, %rd15, %rd60;
	shl.b64 	%rd51, %rd50, 1;
	add.s64 	%rd22, %rd2, %rd51;
	ld.global.u16 	%rs7, [%rd22];
	// begin inline asm
	{  cvt.f32.f16 %f75, %rs7;}
	// end inline asm
	setp.ne.s32 	%p12, %r1, 2;
	@%p12 bra 	$L__BB2_18;
	mul.f32 	%f43, %f75, 0f3F000000;
	mul.f32 	%f44, %f75, 0f3D372713;
	mul.f32 	%f45, %f75, %f44;
	fma.rn.f32 	%f46, %f75, %f45, %f75;
	mul.f32 	%f47, %f46, 0f3F4C422A;
	abs.f32 	%f48, %f47;
	mul.f32 	%f49, %f48, 0f4038AA3B;
	ex2.approx.ftz.f32 	%f50, %f49;
	add.f32 	%f51, %f50, 0f3F800000;
	mov.f32 	%f52, 0f3F800000;
	rcp.approx.ftz.f32 	%f53, %f51;
	mov.f32 	%f54, 0fC0000000;
	fma.rn.f32 	%f55, %f53, %f54, %f52;
	setp.ge.f32 	%p13, %f48, 0f41102CB4;
	selp.f32 	%f56, 0f3F800000, %f55, %p13;
	copysign.f32 	%f57, %f47, %f56;
	mul.f32 	%f58, %f47, %f47;
	mov.f32 	%f59, 0fBD563CAE;
	mov.f32 	%f60, 0f3C80F082;
	fma.rn.f32 	%f61, %f60, %f58, %f59;
	mov.f32 	%f62, 0f3E085941;
	fma.rn.f32 	%f63, %f61, %f58, %f62;
	mov.f32 	%f64, 0fBEAAA9ED;
	fma.rn.f32 	%f65, %f63, %f58, %f64;
	mov.f32 	%f66, 0f00000000;
	fma.rn.f32 	%f67, %f65, %f58, %f66;
	fma.rn.f32 	%f68, %f67, %f47, %f47;
	setp.ge.f32 	%p14, %f48, 0f3F19999A;
	selp.f32 	%f69, %f57, %f68, %p14;
	add.f32 	%f70, %f69, 0f3F800000;
	mul.f32 	%f75, %f43, %f70;
$L__BB2_18:
	// begin inline asm
	{  cvt.rn.f16.f32 %rs8, %f75;}
	// end inline asm
	st.global.u16 	[%rd22], %rs8;
	add.s64 	%rd60, %rd60, %rd6;
	setp.lt.s64 	%p15, %rd60, %rd28;
	@%p15 bra 	$L__BB2_16;
$L__BB2_21:
	add.s64 	%rd55, %rd55, %rd7;
	setp.lt.s64 	%p17, %rd55, %rd4;
	@%p17 bra 	$L__BB2_2;
$L__BB2_22:
	ret;
}
	// .globl	wharf_epilogue_bf16
.visible .entry wharf_epilogue_bf16(
	.param .u64 wharf_epilogue_bf16_param_0,
	.param .u64 wharf_epilogue_bf16_param_1,
	.param .u64 wharf_epilogue_bf16_param_2,
	.param .u64 wharf_epilogue_bf16_param_3,
	.param .u64 wharf_epilogue_bf16_param_4,
	.param .u64 wharf_epilogue_bf16_param_5,
	.param .u64 wharf_epilogue_bf16_param_6,
	.param .u32 wharf_epilogue_bf16_param_7
)
{
	.reg .pred 	%p<35>;
	.reg .b16 	%rs<24>;
	.reg .f32 	%f<73>;
	.reg .b32 	%r<28>;
	.reg .b64 	%rd<58>;
	ld.param.u64 	%rd29, [wharf_epilogue_bf16_param_0];
	ld.param.u64 	%rd23, [wharf_epilogue_bf16_param_1];
	ld.param.u64 	%rd24, [wharf_epilogue_bf16_param_2];
	ld.param.u64 	%rd25, [wharf_epilogue_bf16_param_3];
	ld.param.u64 	%rd26, [wharf_epilogue_bf16_param_4];
	ld.param.u64 	%rd27, [wharf_epilogue_bf16_param_5];
	ld.param.u64 	%rd28, [wharf_epilogue_bf16_param_6];
	ld.param.u32 	%r4, [wharf_epilogue_bf16_param_7];
	cvta.to.global.u64 	%rd1, %rd29;
	mov.u32 	%r5, %ctaid.y;
	cvt.u64.u32 	%rd52, %r5;
	mul.lo.s64 	%rd30, %rd26, %rd25;
	setp.le.s64 	%p1, %rd30, %rd52;
	@%p1 bra 	$L__BB3_30;
	mov.u32 	%r6, %ctaid.x;
	mov.u32 	%r7, %ntid.x;
	mul.wide.u32 	%rd31, %r6, %r7;
	mov.u32 	%r8, %tid.x;
	cvt.u64.u32 	%rd32, %r8;
	add.s64 	%rd3, %rd31, %rd32;
	mov.u32 	%r9, %nctaid.x;
	mul.wide.u32 	%rd4, %r9, %r7;
	cvt.u32.u64 	%r10, %rd25;
$L__BB3_2:
	.pragma "nounroll";
	or.b64  	%rd33, %rd52, %rd25;
	and.b64  	%rd34, %rd33, -4294967296;
	setp.eq.s64 	%p2, %rd34, 0;
	@%p2 bra 	$L__BB3_4;
	div.s64 	%rd53, %rd52, %rd25;
	mul.lo.s64 	%rd35, %rd53, %rd25;
	sub.s64 	%rd54, %rd52, %rd35;
	bra.uni 	$L__BB3_5;
$L__BB3_4:
	cvt.u32.u64 	%r11, %rd52;
	div.u32 	%r12, %r11, %r10;
	mul.lo.s32 	%r13, %r12, %r10;
	sub.s32 	%r14, %r11, %r13;
	cvt.u64.u32 	%rd53, %r12;
	cvt.u64.u32 	%rd54, %r14;
$L__BB3_5:
	mul.lo.s64 	%rd36, %rd54, %rd27;
	mul.lo.s64 	%rd37, %rd53, %rd28;
	add.s64 	%rd12, %rd36, %rd37;
	setp.ge.s64 	%p3, %rd3, %rd24;
	@%p3 bra 	$L__BB3_29;
	setp.eq.s64 	%p4, %rd23, 0;
	@%p4 bra 	$L__BB3_20;
	setp.eq.s32 	%p5, %r4, 1;
	@%p5 bra 	$L__BB3_15;
	bra.uni 	$L__BB3_8;
$L__BB3_15:
	mov.u64 	%rd56, %rd3;
$L__BB3_16:
	.pragma "nounroll";
	add.s64 	%rd43, %rd12, %rd56;
	shl.b64 	%rd44, %rd43, 1;
	add.s64 	%rd17, %rd1, %rd44;
	ld.global.u16 	%rs14, [%rd17];
	// begin inline asm
	{ mov.b32 %f38, {0,%rs14};}
	// end inline asm
	cvta.to.global.u64 	%rd45, %rd23;
	shl.b64 	%rd46, %rd56, 1;
	add.s64 	%rd47, %rd45, %rd46;
	ld.global.u16 	%rs15, [%rd47];
	// begin inline asm
	{ mov.b32 %f39, {0,%rs15};}
	// end inline asm
	add.f32 	%f40, %f38, %f39;
	max.f32 	%f41, %f40, 0f00000000;
	mov.b32 	%r19, %f41;
	and.b32  	%r20, %r19, 2147483647;
	setp.gt.u32 	%p16, %r20, 2139095040;
	shl.b32 	%r21, %r19, 16;
	shr.u32 	%r22, %r19, 16;
	cvt.u16.u32 	%rs16, %r22;
	selp.b32 	%r2, 0, %r21, %p16;
	selp.b16 	%rs22, 32767, %rs16, %p16;
	setp.gt.u32 	%p17, %r2, -2147483648;
	@%p17 bra 	$L__BB3_18;
	setp.ne.s32 	%p18, %r2, -2147483648;
	and.b16  	%rs17, %rs22, 1;
	setp.eq.b16 	%p19, %rs17, 1;
	not.pred 	%p20, %p19;
	or.pred  	%p21, %p18, %p20;
	@%p21 bra 	$L__BB3_19;
$L__BB3_18:
	add.s16 	%rs22, %rs22, 1;
$L__BB3_19:
	st.global.u16 	[%rd17], %rs22;
	add.s64 	%rd56, %rd56, %rd4;
	setp.lt.s64 	%p22, %rd56, %rd24;
	@%p22 bra 	$L__BB3_16;
	bra.uni 	$L__BB3_29;
$L__BB3_20:
	mov.u64 	%rd57, %rd3;
$L__BB3_21:
	.pragma "nounroll";
	add.s64 	%rd48, %rd12, %rd57;
	shl.b64 	%rd49, %rd48, 1;
	add.s64 	%rd20, %rd1, %rd49;
	ld.global.u16 	%rs18, [%rd20];
	// begin inline asm
	{ mov.b32 %f72, {0,%rs18};}
	// end inline asm
	setp.eq.s32 	%p23, %r4, 1;
	@%p23 bra 	$L__BB3_24;
	setp.ne.s32 	%p24, %r4, 2;
	@%p24 bra 	$L__BB3_25;
	mul.f32 	%f43, %f72, 0f3F000000;
	mul.f32 	%f44, %f72, 0f3D372713;
	mul.f32 	%f45, %f72, %f44;
	fma.rn.f32 	%f46, %f72, %f45, %f72;
	mul.f32 	%f47, %f46, 0f3F4C422A;
	abs.f32 	%f48, %f47;
	mul.f32 	%f49, %f48, 0f4038AA3B;
	ex2.approx.ftz.f32 	%f50, %f49;
	add.f32 	%f51, %f50, 0f3F800000;
	mov.f32 	%f52, 0f3F800000;
	rcp.approx.ftz.f32 	%f53, %f51;
	mov.f32 	%f54, 0fC0000000;
	fma.rn.f32 	%f55, %f53, %f54, %f52;
	setp.ge.f32 	%p25, %f48, 0f41102CB4;
	selp.f32 	%f56, 0f3F800000, %f55, %p25;
	copysign.f32 	%f57, %f47, %f56;
	mul.f32 	%f58, %f47, %f47;
	mov.f32 	%f59, 0fBD563CAE;
	mov.f32 	%f60, 0f3C80F082;
	fma.rn.f32 	%f61, %f60, %f58, %f59;
	mov.f32 	%f62, 0f3E085941;
	fma.rn.f32 	%f63, %f61, %f58, %f62;
	mov.f32 	%f64, 0fBEAAA9ED;
	fma.rn.f32 	%f65, %f63, %f58, %f64;
	mov.f32 	%f66, 0f00000000;
	fma.rn.f32 	%f67, %f65, %f58, %f66;
	fma.rn.f32 	%f68, %f67, %f47, %f47;
	setp.ge.f32 	%p26, %f48, 0f3F19999A;
	selp.f32 	%f69, %f57, %f68, %p26;
	add.f32 	%f70, %f69, 0f3F800000;
	mul.f32 	%f72, %f43, %f70;
	bra.uni 	$L__BB3_25;
$L__BB3_24:
	max.f32 	%f72, %f72, 0f00000000;
$L__BB3_25:
	mov.b32 	%r23, %f72;
	and.b32  	%r24, %r23, 2147483647;
	setp.gt.u32 	%p27, %r24, 2139095040;
	shl.b32 	%r25, %r23, 16;
	shr.u32 	%r26, %r23, 16;
	cvt.u16.u32 	%rs19, %r26;
	selp.b32 	%r3, 0, %r25, %p27;
	selp.b16 	%rs23, 32767, %rs19, %p27;
	setp.gt.u32 	%p28, %r3, -2147483648;
	@%p28 bra 	$L__BB3_27;
	setp.ne.s32 	%p29, %r3, -2147483648;
	and.b16  	%rs20, %rs23, 1;
	setp.eq.b16 	%p30, %rs20, 1;
	not.pred 	%p31, %p30;
	or.pred  	%p32, %p29, %p31;
	@%p32 bra 	$L__BB3_28;
$L__BB3_27:
	add.s16 	%rs23, %rs23, 1;
$L__BB3_28:
	st.global.u16 	[%rd20], %rs23;
	add.s64 	%rd57, %rd57, %rd4;
	setp.lt.s64 	%p33, %rd57, %rd24;
	@%p33 bra 	$L__BB3_21;
	bra.uni 	$L__BB3_29;
$L__BB3_8:
	mov.u64 	%rd55, %rd3;
$L__BB3_9:
	.pragma "nounroll";
	add.s64 	%rd38, %rd12, %rd55;
	shl.b64 	%rd39, %rd38, 1;
	add.s64 	%rd14, %rd1, %rd39;
	ld.global.u16 	%rs10, [%rd14];
	// begin inline asm
	{ mov.b32 %f8, {0,%rs10};}
	// end inline asm
	cvta.to.global.u64 	%rd40, %rd23;
	shl.b64 	%rd41, %rd55, 1;
	add.s64 	%rd42, %rd40, %rd41;
	ld.global.u16 	%rs11, [%rd42];
	// begin inline asm
	{ mov.b32 %f9, {0,%rs11};}
	// end inline asm
	add.f32 	%f71, %f8, %f9;
	setp.ne.s32 	%p6, %r4, 2;
	@%p6 bra 	$L__BB3_11;
	mul.f32 	%f10, %f71, 0f3F000000;
	mul.f32 	%f11, %f71, 0f3D372713;
	mul.f32 	%f12, %f71, %f11;
	fma.rn.f32 	%f13, %f71, %f12, %f71;
	mul.f32 	%f14, %f13, 0f3F4C422A;
	abs.f32 	%f15, %f14;
	mul.f32 	%f16, %f15, 0f4038AA3B;
	ex2.approx.ftz.f32 	%f17, %f16;
	add.f32 	%f18, %f17, 0f3F800000;
	mov.f32 	%f19, 0f3F800000;
	rcp.approx.ftz.f32 	%f20, %f18;
	mov.f32 	%f21, 0fC0000000;
	fma.rn.f32 	%f22, %f20, %f21, %f19;
	setp.ge.f32 	%p7, %f15, 0f41102CB4;
	selp.f32 	%f23, 0f3F800000, %f22, %p7;
	copysign.f32 	%f24, %f14, %f23;
	mul.f32 	%f25, %f14, %f14;
	mov.f32 	%f26, 0fBD563CAE;
	mov.f32 	%f27, 0f3C80F082;
	fma.rn.f32 	%f28, %f27, %f25, %f26;
	mov.f32 	%f29, 0f3E085941;
	fma.rn.f32 	%f30, %f28, %f25, %f29;
	mov.f32 	%f31, 0fBEAAA9ED;
	fma.rn.f32 	%f32, %f30, %f25, %f31;
	mov.f32 	%f33, 0f00000000;
	fma.rn.f32 	%f34, %f32, %f25, %f33;
	fma.rn.f32 	%f35, %f34, %f14, %f14;
	setp.ge.f32 	%p8, %f15, 0f3F19999A;
	selp.f32 	%f36, %f24, %f35, %p8;
	add.f32 	%f37, %f36, 0f3F800000;
	mul.f32 	%f71, %f10, %f37;
$L__BB3_11:
	mov.b32 	%r15, %f71;
	and.b32  	%r16, %r15, 2147483647;
	setp.gt.u32 	%p9, %r16, 2139095040;
	shl.b32 	%r17, %r15, 16;
	shr.u32 	%r18, %r15, 16;
	cvt.u16.u32 	%rs12, %r18;
	selp.b32 	%r1, 0, %r17, %p9;
	selp.b16 	%rs21, 32767, %rs12, %p9;
	setp.gt.u32 	%p10, %r1, -2147483648;
	@%p10 bra 	$L__BB3_13;
	setp.ne.s32 	%p11, %r1, -2147483648;
	and.b16  	%rs13, %rs21, 1;
	setp.eq.b16 	%p12, %rs13, 1;
	not.pred 	%p13, %p12;
	or.pred  	%p14, %p11, %p13;
	@%p14 bra 	$L__BB3_14;
$L__BB3_13:
	add.s16 	%rs21, %rs21, 1;
$L__BB3_14:
	st.global.u16 	[%rd14], %rs21;
	add.s64 	%rd55, %rd55, %rd4;
	setp.lt.s64 	%p15, %rd55, %rd24;
	@%p15 bra 	$L__BB3_9;
$L__BB3_29:
	mov.u32 	%r27, %nctaid.y;
	cvt.u64.u32 	%rd50, %r27;
	add.s64 	%rd52, %rd52, %rd50;
	setp.lt.s64 	%p34, %rd52, %rd30;
	@%p34 bra 	$L__BB3_2;
$L__BB3_30:
	ret;
}
)PTX";
// clang-format on

}  // namespace wharf::device::cuda
