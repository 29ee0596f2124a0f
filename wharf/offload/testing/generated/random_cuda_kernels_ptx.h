// Made from random_cuda_kernels.cu by make_kernels.sh: do not edit.
#pragma once

#include <string_view>

namespace wharf::offload {

// clang-format off
inline constexpr std::string_view kRandomCudaKernels =
R"PTX(.version 7.0
.target sm_75
.address_size 64
	// .globl	accumulate
.extern .func  (.param .b32 func_retval0) vprintf
(
	.param .b64 vprintf_param_0,
	.param .b64 vprintf_param_1
)
;
.global .align 4 .u32 variable = 3;
.global .align 8 .u64 target;
.global .align 1 .b8 $str[7] = {37, 117, 32, 37, 117, 10};
.visible .entry accumulate(
	.param .u64 accumulate_param_0,
	.param .u64 accumulate_param_1,
	.param .u64 accumulate_param_2,
	.param .u32 accumulate_param_3,
	.param .u32 accumulate_param_4
)
{
	.reg .pred 	%p<2>;
	.reg .b32 	%r<9>;
	.reg .b64 	%rd<8>;
	ld.param.u64 	%rd1, [accumulate_param_0];
	ld.param.u64 	%rd2, [accumulate_param_1];
	ld.param.u32 	%r2, [accumulate_param_3];
	mov.u32 	%r3, %ctaid.x;
	mov.u32 	%r4, %ntid.x;
	mov.u32 	%r5, %tid.x;
	mad.lo.s32 	%r1, %r3, %r4, %r5;
	setp.ge.u32 	%p1, %r1, %r2;
	@%p1 bra 	$L__BB0_2;
	cvta.to.global.u64 	%rd3, %rd2;
	mul.wide.u32 	%rd4, %r1, 4;
	add.s64 	%rd5, %rd3, %rd4;
	cvta.to.global.u64 	%rd6, %rd1;
	add.s64 	%rd7, %rd6, %rd4;
	ld.global.u32 	%r6, [%rd7];
	ld.global.u32 	%r7, [%rd5];
	add.s32 	%r8, %r6, %r7;
	st.global.u32 	[%rd7], %r8;
$L__BB0_2:
	ret;
}
	// .globl	axpy
.visible .entry axpy(
	.param .u64 axpy_param_0,
	.param .u64 axpy_param_1,
	.param .u64 axpy_param_2,
	.param .u32 axpy_param_3,
	.param .u32 axpy_param_4
)
{
	.reg .pred 	%p<2>;
	.reg .b32 	%r<10>;
	.reg .b64 	%rd<11>;
	ld.param.u64 	%rd1, [axpy_param_0];
	ld.param.u64 	%rd2, [axpy_param_1];
	ld.param.u64 	%rd3, [axpy_param_2];
	ld.param.u32 	%r3, [axpy_param_3];
	ld.param.u32 	%r2, [axpy_param_4];
	mov.u32 	%r4, %ctaid.x;
	mov.u32 	%r5, %ntid.x;
	mov.u32 	%r6, %tid.x;
	mad.lo.s32 	%r1, %r4, %r5, %r6;
	setp.ge.u32 	%p1, %r1, %r3;
	@%p1 bra 	$L__BB1_2;
	cvta.to.global.u64 	%rd4, %rd2;
	mul.wide.u32 	%rd5, %r1, 4;
	add.s64 	%rd6, %rd4, %rd5;
	ld.global.u32 	%r7, [%rd6];
	cvta.to.global.u64 	%rd7, %rd3;
	add.s64 	%rd8, %rd7, %rd5;
	ld.global.u32 	%r8, [%rd8];
	mad.lo.s32 	%r9, %r7, %r2, %r8;
	cvta.to.global.u64 	%rd9, %rd1;
	add.s64 	%rd10, %rd9, %rd5;
	st.global.u32 	[%rd10], %r9;
$L__BB1_2:
	ret;
}
	// .globl	copy_words
.visible .entry copy_words(
	.param .u64 copy_words_param_0,
	.param .u64 copy_words_param_1,
	.param .u64 copy_words_param_2,
	.param .u32 copy_words_param_3,
	.param .u32 copy_words_param_4
)
{
	.reg .pred 	%p<2>;
	.reg .b32 	%r<7>;
	.reg .b64 	%rd<8>;
	ld.param.u64 	%rd1, [copy_words_param_0];
	ld.param.u64 	%rd2, [copy_words_param_1];
	ld.param.u32 	%r2, [copy_words_param_3];
	mov.u32 	%r3, %ctaid.x;
	mov.u32 	%r4, %ntid.x;
	mov.u32 	%r5, %tid.x;
	mad.lo.s32 	%r1, %r3, %r4, %r5;
	setp.ge.u32 	%p1, %r1, %r2;
	@%p1 bra 	$L__BB2_2;
	cvta.to.global.u64 	%rd3, %rd2;
	mul.wide.u32 	%rd4, %r1, 4;
	add.s64 	%rd5, %rd3, %rd4;
	ld.global.u32 	%r6, [%rd5];
	cvta.to.global.u64 	%rd6, %rd1;
	add.s64 	%rd7, %rd6, %rd4;
	st.global.u32 	[%rd7], %r6;
$L__BB2_2:
	ret;
}
	// .globl	count
.visible .entry count(
	.param .u64 count_param_0,
	.param .u64 count_param_1,
	.param .u64 count_param_2,
	.param .u32 count_param_3,
	.param .u32 count_param_4
)
{
	.reg .pred 	%p<2>;
	.reg .b32 	%r<8>;
	.reg .b64 	%rd<7>;
	ld.param.u64 	%rd1, [count_param_0];
	ld.param.u64 	%rd2, [count_param_1];
	ld.param.u32 	%r2, [count_param_3];
	mov.u32 	%r3, %ctaid.x;
	mov.u32 	%r4, %ntid.x;
	mov.u32 	%r5, %tid.x;
	mad.lo.s32 	%r1, %r3, %r4, %r5;
	setp.ge.u32 	%p1, %r1, %r2;
	@%p1 bra 	$L__BB3_2;
	cvta.to.global.u64 	%rd3, %rd2;
	mul.wide.u32 	%rd4, %r1, 4;
	add.s64 	%rd5, %rd3, %rd4;
	ld.global.u8 	%r6, [%rd5];
	cvta.to.global.u64 	%rd6, %rd1;
	atom.global.add.u32 	%r7, [%rd6], %r6;
$L__BB3_2:
	ret;
}
	// .globl	histogram
.visible .entry histogram(
	.param .u64 histogram_param_0,
	.param .u64 histogram_param_1,
	.param .u64 histogram_param_2,
	.param .u32 histogram_param_3,
	.param .u32 histogram_param_4
)
{
	.reg .pred 	%p<2>;
	.reg .b32 	%r<10>;
	.reg .b64 	%rd<9>;
	ld.param.u64 	%rd1, [histogram_param_0];
	ld.param.u64 	%rd2, [histogram_param_1];
	ld.param.u32 	%r2, [histogram_param_3];
	ld.param.u32 	%r3, [histogram_param_4];
	mov.u32 	%r4, %ctaid.x;
	mov.u32 	%r5, %ntid.x;
	mov.u32 	%r6, %tid.x;
	mad.lo.s32 	%r1, %r4, %r5, %r6;
	setp.ge.u32 	%p1, %r1, %r2;
	@%p1 bra 	$L__BB4_2;
	cvta.to.global.u64 	%rd3, %rd2;
	mul.wide.u32 	%rd4, %r1, 4;
	add.s64 	%rd5, %rd3, %rd4;
	ld.global.u32 	%r7, [%rd5];
	rem.u32 	%r8, %r7, %r2;
	cvta.to.global.u64 	%rd6, %rd1;
	mul.wide.u32 	%rd7, %r8, 4;
	add.s64 	%rd8, %rd6, %rd7;
	atom.global.add.u32 	%r9, [%rd8], %r3;
$L__BB4_2:
	ret;
}
	// .globl	gather
.visible .entry gather(
	.param .u64 gather_param_0,
	.param .u64 gather_param_1,
	.param .u64 gather_param_2,
	.param .u32 gather_param_3,
	.param .u32 gather_param_4
)
{
	.reg .pred 	%p<2>;
	.reg .b32 	%r<11>;
	.reg .b64 	%rd<12>;
	ld.param.u64 	%rd1, [gather_param_0];
	ld.param.u64 	%rd2, [gather_param_1];
	ld.param.u64 	%rd3, [gather_param_2];
	ld.param.u32 	%r2, [gather_param_3];
	ld.param.u32 	%r3, [gather_param_4];
	mov.u32 	%r4, %ctaid.x;
	mov.u32 	%r5, %ntid.x;
	mov.u32 	%r6, %tid.x;
	mad.lo.s32 	%r1, %r4, %r5, %r6;
	setp.ge.u32 	%p1, %r1, %r2;
	@%p1 bra 	$L__BB5_2;
	cvta.to.global.u64 	%rd4, %rd2;
	mul.wide.u32 	%rd5, %r1, 4;
	add.s64 	%rd6, %rd4, %rd5;
	ld.global.u32 	%r7, [%rd6];
	rem.u32 	%r8, %r7, %r2;
	cvta.to.global.u64 	%rd7, %rd3;
	mul.wide.u32 	%rd8, %r8, 4;
	add.s64 	%rd9, %rd7, %rd8;
	ld.global.u32 	%r9, [%rd9];
	add.s32 	%r10, %r9, %r3;
	cvta.to.global.u64 	%rd10, %rd1;
	add.s64 	%rd11, %rd10, %rd5;
	st.global.u32 	[%rd11], %r10;
$L__BB5_2:
	ret;
}
	// .globl	write_at
.visible .entry write_at(
	.param .u64 write_at_param_0,
	.param .u64 write_at_param_1,
	.param .u64 write_at_param_2,
	.param .u32 write_at_param_3,
	.param .u32 write_at_param_4
)
{
	.reg .pred 	%p<3>;
	.reg .b32 	%r<9>;
	.reg .b64 	%rd<5>;
	ld.param.u64 	%rd1, [write_at_param_0];
	ld.param.u32 	%r4, [write_at_param_3];
	ld.param.u32 	%r3, [write_at_param_4];
	mov.u32 	%r5, %ntid.x;
	mov.u32 	%r6, %ctaid.x;
	mov.u32 	%r7, %tid.x;
	mad.lo.s32 	%r1, %r6, %r5, %r7;
	setp.ge.u32 	%p1, %r1, %r4;
	@%p1 bra 	$L__BB6_3;
	xor.b32  	%r2, %r1, %r3;
	and.b32  	%r8, %r2, 7;
	setp.ne.s32 	%p2, %r8, 0;
	@%p2 bra 	$L__BB6_3;
	cvta.to.global.u64 	%rd2, %rd1;
	mul.wide.u32 	%rd3, %r1, 4;
	add.s64 	%rd4, %rd2, %rd3;
	st.global.u32 	[%rd4], %r2;
$L__BB6_3:
	ret;
}
	// .globl	bump_variable
.visible .entry bump_variable(
	.param .u64 bump_variable_param_0,
	.param .u64 bump_variable_param_1,
	.param .u64 bump_variable_param_2,
	.param .u32 bump_variable_param_3,
	.param .u32 bump_variable_param_4
)
{
	.reg .pred 	%p<2>;
	.reg .b32 	%r<9>;
	ld.param.u32 	%r1, [bump_variable_param_4];
	mov.u32 	%r2, %ctaid.x;
	mov.u32 	%r3, %ntid.x;
	mul.lo.s32 	%r4, %r2, %r3;
	mov.u32 	%r5, %tid.x;
	neg.s32 	%r6, %r5;
	setp.ne.s32 	%p1, %r4, %r6;
	@%p1 bra 	$L__BB7_2;
	ld.global.u32 	%r7, [variable];
	mad.lo.s32 	%r8, %r7, 5, %r1;
	st.global.u32 	[variable], %r8;
$L__BB7_2:
	ret;
}
	// .globl	read_variable
.visible .entry read_variable(
	.param .u64 read_variable_param_0,
	.param .u64 read_variable_param_1,
	.param .u64 read_variable_param_2,
	.param .u32 read_variable_param_3,
	.param .u32 read_variable_param_4
)
{
	.reg .pred 	%p<2>;
	.reg .b32 	%r<8>;
	.reg .b64 	%rd<5>;
	ld.param.u64 	%rd1, [read_variable_param_0];
	ld.param.u32 	%r2, [read_variable_param_3];
	mov.u32 	%r3, %ctaid.x;
	mov.u32 	%r4, %ntid.x;
	mov.u32 	%r5, %tid.x;
	mad.lo.s32 	%r1, %r3, %r4, %r5;
	setp.ge.u32 	%p1, %r1, %r2;
	@%p1 bra 	$L__BB8_2;
	cvta.to.global.u64 	%rd2, %rd1;
	ld.global.u32 	%r6, [variable];
	add.s32 	%r7, %r6, %r1;
	mul.wide.u32 	%rd3, %r1, 4;
	add.s64 	%rd4, %rd2, %rd3;
	st.global.u32 	[%rd4], %r7;
$L__BB8_2:
	ret;
}
	// .globl	reverse
.visible .entry reverse(
	.param .u64 reverse_param_0,
	.param .u64 reverse_param_1,
	.param .u64 reverse_param_2,
	.param .u32 reverse_param_3,
	.param .u32 reverse_param_4
)
{
	.reg .pred 	%p<3>;
	.reg .b32 	%r<21>;
	.reg .b64 	%rd<5>;
	// demoted variable
	.shared .align 4 .b8 _ZZ7reverseE6shared[256];
	ld.param.u64 	%rd2, [reverse_param_0];
	ld.param.u32 	%r4, [reverse_param_3];
)PTX"
R"PTX(	ld.param.u32 	%r5, [reverse_param_4];
	cvta.to.global.u64 	%rd3, %rd2;
	mov.u32 	%r6, %ctaid.x;
	mov.u32 	%r7, %ntid.x;
	mul.lo.s32 	%r8, %r6, %r7;
	sub.s32 	%r9, %r4, %r8;
	min.u32 	%r1, %r7, %r9;
	mov.u32 	%r2, %tid.x;
	add.s32 	%r3, %r8, %r2;
	setp.ge.u32 	%p1, %r3, %r4;
	mul.wide.u32 	%rd4, %r3, 4;
	add.s64 	%rd1, %rd3, %rd4;
	@%p1 bra 	$L__BB9_2;
	ld.global.u32 	%r10, [%rd1];
	shl.b32 	%r11, %r2, 2;
	mov.u32 	%r12, _ZZ7reverseE6shared;
	add.s32 	%r13, %r12, %r11;
	st.shared.u32 	[%r13], %r10;
$L__BB9_2:
	bar.sync 	0;
	@%p1 bra 	$L__BB9_4;
	not.b32 	%r14, %r2;
	add.s32 	%r15, %r1, %r14;
	shl.b32 	%r16, %r15, 2;
	mov.u32 	%r17, _ZZ7reverseE6shared;
	add.s32 	%r18, %r17, %r16;
	ld.shared.u32 	%r19, [%r18];
	add.s32 	%r20, %r19, %r5;
	st.global.u32 	[%rd1], %r20;
$L__BB9_4:
	ret;
}
	// .globl	iterate
.visible .entry iterate(
	.param .u64 iterate_param_0,
	.param .u64 iterate_param_1,
	.param .u64 iterate_param_2,
	.param .u32 iterate_param_3,
	.param .u32 iterate_param_4
)
{
	.reg .pred 	%p<4>;
	.reg .b32 	%r<18>;
	.reg .b64 	%rd<7>;
	ld.param.u64 	%rd2, [iterate_param_0];
	ld.param.u64 	%rd3, [iterate_param_1];
	ld.param.u32 	%r10, [iterate_param_3];
	ld.param.u32 	%r9, [iterate_param_4];
	mov.u32 	%r11, %ctaid.x;
	mov.u32 	%r12, %ntid.x;
	mov.u32 	%r13, %tid.x;
	mad.lo.s32 	%r1, %r11, %r12, %r13;
	setp.ge.u32 	%p1, %r1, %r10;
	@%p1 bra 	$L__BB10_4;
	cvta.to.global.u64 	%rd4, %rd2;
	mul.wide.u32 	%rd5, %r1, 4;
	add.s64 	%rd1, %rd4, %rd5;
	ld.global.u32 	%r17, [%rd1];
	cvta.to.global.u64 	%rd6, %rd3;
	ld.global.u32 	%r14, [%rd6];
	and.b32  	%r15, %r14, 15;
	setp.eq.s32 	%p2, %r15, 0;
	@%p2 bra 	$L__BB10_3;
$L__BB10_2:
	mad.lo.s32 	%r17, %r17, 1664525, %r9;
	add.s32 	%r15, %r15, -1;
	setp.ne.s32 	%p3, %r15, 0;
	@%p3 bra 	$L__BB10_2;
$L__BB10_3:
	st.global.u32 	[%rd1], %r17;
$L__BB10_4:
	ret;
}
	// .globl	toss
.visible .entry toss(
	.param .u64 toss_param_0,
	.param .u64 toss_param_1,
	.param .u64 toss_param_2,
	.param .u32 toss_param_3,
	.param .u32 toss_param_4
)
{
	.reg .pred 	%p<6>;
	.reg .b32 	%r<15>;
	.reg .b64 	%rd<7>;
	ld.param.u64 	%rd1, [toss_param_0];
	ld.param.u64 	%rd2, [toss_param_1];
	ld.param.u32 	%r5, [toss_param_3];
	ld.param.u32 	%r6, [toss_param_4];
	mov.u32 	%r7, %ntid.x;
	mov.u32 	%r8, %ctaid.x;
	mul.lo.s32 	%r9, %r8, %r7;
	mov.u32 	%r10, %tid.x;
	neg.s32 	%r11, %r10;
	setp.ne.s32 	%p1, %r9, %r11;
	@%p1 bra 	$L__BB11_5;
	cvta.to.global.u64 	%rd3, %rd2;
	ld.global.u32 	%r1, [%rd3];
	and.b32  	%r12, %r1, 1;
	setp.eq.b32 	%p2, %r12, 1;
	mov.pred 	%p3, 0;
	xor.pred  	%p4, %p2, %p3;
	not.pred 	%p5, %p4;
	@%p5 bra 	$L__BB11_3;
	bra.uni 	$L__BB11_2;
$L__BB11_3:
	rem.u32 	%r14, %r1, %r5;
	bra.uni 	$L__BB11_4;
$L__BB11_2:
	and.b32  	%r13, %r1, 63;
	or.b32  	%r14, %r13, 200000;
$L__BB11_4:
	cvta.to.global.u64 	%rd4, %rd1;
	mul.wide.u32 	%rd5, %r14, 4;
	add.s64 	%rd6, %rd4, %rd5;
	st.global.u32 	[%rd6], %r6;
$L__BB11_5:
	ret;
}
	// .globl	say
.visible .entry say(
	.param .u64 say_param_0,
	.param .u64 say_param_1,
	.param .u64 say_param_2,
	.param .u32 say_param_3,
	.param .u32 say_param_4
)
{
	.local .align 8 .b8 	__local_depot12[8];
	.reg .b64 	%SP;
	.reg .b64 	%SPL;
	.reg .pred 	%p<2>;
	.reg .b32 	%r<9>;
	.reg .b64 	%rd<7>;
	mov.u64 	%SPL, __local_depot12;
	cvta.local.u64 	%SP, %SPL;
	ld.param.u64 	%rd1, [say_param_1];
	ld.param.u32 	%r1, [say_param_4];
	mov.u32 	%r2, %ntid.x;
	mov.u32 	%r3, %ctaid.x;
	mul.lo.s32 	%r4, %r3, %r2;
	mov.u32 	%r5, %tid.x;
	neg.s32 	%r6, %r5;
	setp.ne.s32 	%p1, %r4, %r6;
	@%p1 bra 	$L__BB12_2;
	add.u64 	%rd2, %SP, 0;
	add.u64 	%rd3, %SPL, 0;
	cvta.to.global.u64 	%rd4, %rd1;
	ld.global.u32 	%r7, [%rd4];
	st.local.v2.u32 	[%rd3], {%r1, %r7};
	mov.u64 	%rd5, $str;
	cvta.global.u64 	%rd6, %rd5;
	{ // callseq 0, 0
	.reg .b32 temp_param_reg;
	.param .b64 param0;
	st.param.b64 	[param0+0], %rd6;
	.param .b64 param1;
	st.param.b64 	[param1+0], %rd2;
	.param .b32 retval0;
	call.uni (retval0), 
	vprintf, 
	(
	param0, 
	param1
	);
	ld.param.b32 	%r8, [retval0+0];
	} // callseq 0
$L__BB12_2:
	ret;
}
	// .globl	check
.visible .entry check(
	.param .u64 check_param_0,
	.param .u64 check_param_1,
	.param .u64 check_param_2,
	.param .u32 check_param_3,
	.param .u32 check_param_4
)
{
	.reg .pred 	%p<3>;
	.reg .b32 	%r<10>;
	.reg .b64 	%rd<10>;
	ld.param.u64 	%rd2, [check_param_0];
	ld.param.u64 	%rd3, [check_param_1];
	ld.param.u32 	%r3, [check_param_3];
	ld.param.u32 	%r2, [check_param_4];
	mov.u32 	%r4, %ntid.x;
	mov.u32 	%r5, %ctaid.x;
	mov.u32 	%r6, %tid.x;
	mad.lo.s32 	%r1, %r5, %r4, %r6;
	setp.ge.u32 	%p1, %r1, %r3;
	@%p1 bra 	$L__BB13_4;
	cvta.to.global.u64 	%rd4, %rd3;
	cvt.u64.u32 	%rd1, %r1;
	mul.wide.u32 	%rd5, %r1, 4;
	add.s64 	%rd6, %rd4, %rd5;
	ld.global.u32 	%r7, [%rd6];
	setp.ne.s32 	%p2, %r7, %r2;
	@%p2 bra 	$L__BB13_3;
	// begin inline asm
	trap;
	// end inline asm
$L__BB13_3:
	cvta.to.global.u64 	%rd7, %rd2;
	shl.b64 	%rd8, %rd1, 2;
	add.s64 	%rd9, %rd7, %rd8;
	ld.global.u32 	%r8, [%rd9];
	xor.b32  	%r9, %r8, %r2;
	st.global.u32 	[%rd9], %r9;
$L__BB13_4:
	ret;
}
	// .globl	aim
.visible .entry aim(
	.param .u64 aim_param_0,
	.param .u64 aim_param_1,
	.param .u64 aim_param_2,
	.param .u32 aim_param_3,
	.param .u32 aim_param_4
)
{
	.reg .pred 	%p<2>;
	.reg .b32 	%r<6>;
	.reg .b64 	%rd<2>;
	ld.param.u64 	%rd1, [aim_param_0];
	mov.u32 	%r1, %ctaid.x;
	mov.u32 	%r2, %ntid.x;
	mul.lo.s32 	%r3, %r1, %r2;
	mov.u32 	%r4, %tid.x;
	neg.s32 	%r5, %r4;
	setp.ne.s32 	%p1, %r3, %r5;
	@%p1 bra 	$L__BB14_2;
	st.global.u64 	[target], %rd1;
$L__BB14_2:
	ret;
}
	// .globl	shoot
.visible .entry shoot(
	.param .u64 shoot_param_0,
	.param .u64 shoot_param_1,
	.param .u64 shoot_param_2,
	.param .u32 shoot_param_3,
	.param .u32 shoot_param_4
)
{
	.reg .pred 	%p<4>;
	.reg .b32 	%r<9>;
	.reg .b64 	%rd<5>;
	ld.param.u32 	%r3, [shoot_param_3];
	ld.param.u32 	%r2, [shoot_param_4];
	mov.u32 	%r4, %ctaid.x;
	mov.u32 	%r5, %ntid.x;
	mov.u32 	%r6, %tid.x;
	mad.lo.s32 	%r1, %r4, %r5, %r6;
	setp.ge.u32 	%p1, %r1, %r3;
	ld.global.u64 	%rd1, [target];
	setp.eq.s64 	%p2, %rd1, 0;
	or.pred  	%p3, %p1, %p2;
	@%p3 bra 	$L__BB15_2;
	cvta.to.global.u64 	%rd2, %rd1;
	mul.wide.u32 	%rd3, %r1, 4;
	add.s64 	%rd4, %rd2, %rd3;
	ld.global.u32 	%r7, [%rd4];
	add.s32 	%r8, %r7, %r2;
	st.global.u32 	[%rd4], %r8;
$L__BB15_2:
	ret;
}
	// .globl	poke
.visible .entry poke(
	.param .u64 poke_param_0,
	.param .u64 poke_param_1,
	.param .u64 poke_param_2,
	.param .u32 poke_param_3,
	.param .u32 poke_param_4
)
{
	.reg .b32 	%r<2>;
	.reg .b64 	%rd<4>;
	ld.param.u32 	%r1, [poke_param_3];
	ld.param.u32 	%rd1, [poke_param_4];
	and.b64  	%rd2, %rd1, 63;
	cvta.to.global.u64 	%rd3, %rd2;
	st.volatile.global.u32 	[%rd3], %r1;
	ret;
}
)PTX";
// clang-format on

}  // namespace wharf::offload
