#include "wharf/device/ptx/guard.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>

#include "wharf/device/ptx/test_util.h"

namespace wharf::device::ptx {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint32_t kOut = 0, kIn = 8;  // offsets in the parameter buffer

// A kernel k(out, in, n), with the pointers in %rd1 and %rd2, `n` in %r1 and an index read from `in` in %r2.
constexpr std::string_view kPrologue = R"(
.reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .f32 %f<9>;
ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [in]; ld.param.u32 %r1, [n];
ld.global.u32 %r2, [%rd2]; mad.wide.u32 %rd3, %r2, 4, %rd1;
)";

absl::StatusOr<GuardedKernel> Guarded(std::string_view body, std::string_view before = "",
                                      std::string_view directives = "") {
  const auto module =
      MustParse(fmt::format("{}\n.entry k(.param .u64 out, .param .u64 in, .param .u32 n) {} {{{}{}\n}}", before,
                            directives, kPrologue, body));
  return GuardKernel(*module, "k");
}

GuardedKernel MustGuard(std::string_view body, std::string_view before = "", std::string_view directives = "") {
  auto guarded = Guarded(body, before, directives);
  EXPECT_EQ(guarded.status(), absl::OkStatus()) << body;
  return guarded.ok() ? *std::move(guarded) : GuardedKernel{};
}

void ExpectRefused(std::string_view body, std::string_view why, std::string_view before = "") {
  const auto guarded = Guarded(body, before);
  ASSERT_FALSE(guarded.ok()) << body;
  EXPECT_EQ(guarded.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(CudaErrorOf(guarded.status()), CudaError::kNotSupported);
  EXPECT_THAT(std::string(Message(guarded.status())), HasSubstr(std::string(why))) << body;
}

// The guarded kernel as written, without the guard's prefix.
std::string TextOf(const GuardedKernel& guarded) {
  std::string text = guarded.ptx;
  const std::string prefix = "wharf_guard_";
  for (size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix, at)) {
    text.erase(at, prefix.size());
  }
  return text;
}

size_t Count(std::string_view text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Guard, StoresGoToTheRangeOfTheirParameter) {
  const GuardedKernel guarded = MustGuard("st.global.u32 [%rd3+8], %r1; ret;");
  EXPECT_THAT(guarded.written_parameters, ElementsAre(kOut));
  EXPECT_THAT(guarded.read_parameters, ElementsAre(kIn));
  EXPECT_THAT(TextOf(guarded), HasSubstr(R"(
add.s64 %at64, %rd3, 8;
sub.s64 %from64, %at64, %begin0;
setp.lt.u64 %one, %from64, %size0;
sub.s64 %from64, %size0, %from64;
setp.ge.u64 %other, %from64, 4;
and.pred %inside, %one, %other;
and.b64 %from64, %at64, 3;
setp.eq.u64 %one, %from64, 0;
and.pred %inside, %inside, %one;
not.pred %outside, %inside;
@%outside st.global.u32 [%violation], 1;
@%inside st.global.u32 [%at64], %r1;
)"));
}

TEST(Guard, LoadsLeftOutGiveZero) {
  const std::string text = TextOf(MustGuard(R"(
ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd3];
ld.volatile.global.u8 %h1, [%rd3+1];
ld.global.nc.u64 %rd3, [%rd3];
atom.global.add.u32 %r3, [%rd1], 1;
red.global.add.u32 [%rd1], 1; ret;)"));
  EXPECT_THAT(text, HasSubstr("@%inside ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%at64];\n"
                              "@%outside mov.b32 %f1, 0;\n@%outside mov.b32 %f2, 0;\n@%outside mov.b32 %f3, 0;\n"
                              "@%outside mov.b32 %f4, 0;\n"));
  EXPECT_THAT(text, HasSubstr("and.b64 %from64, %at64, 15;"));
  EXPECT_THAT(text, HasSubstr("@%inside ld.volatile.global.u8 %h1, [%at64];\n@%outside mov.b16 %h1, 0;"));
  EXPECT_THAT(text, HasSubstr("@%inside ld.global.nc.u64 %rd3, [%at64];\n@%outside mov.b64 %rd3, 0;"));
  EXPECT_THAT(text, HasSubstr("@%inside atom.global.add.u32 %r3, [%at64], 1;\n@%outside mov.b32 %r3, 0;"));
  EXPECT_THAT(text, HasSubstr("@%inside red.global.add.u32 [%at64], 1;\n ret;"));
}

TEST(Guard, BracketsInCommentsAreNoAddress) {
  const std::string text = TextOf(MustGuard(R"(
ld.global.u32 /* [ */ %r3, [%rd3];
ld.global.u32 %r3 /* ] */, [%rd3]; // [
st.global.u32 // [%rd1]
  [%rd3 /* ] */ + 4], %r1; ret;)"));
  EXPECT_THAT(text, HasSubstr("@%inside ld.global.u32 /* [ */ %r3, [%at64];\n@%outside mov.b32 %r3, 0;"));
  EXPECT_THAT(text, HasSubstr("@%inside ld.global.u32 %r3 /* ] */, [%at64];\n@%outside mov.b32 %r3, 0;"));
  EXPECT_THAT(text, HasSubstr("@%inside st.global.u32 // [%rd1]\n  [%at64], %r1;\n ret;"));
}

TEST(Guard, TheInstructionsOwnGuardCountsToo) {
  EXPECT_THAT(TextOf(MustGuard("setp.eq.u32 %p1, %r1, 1; @%p1 st.global.u8 [%rd3], 1; ret;")), HasSubstr(R"(
not.pred %outside, %inside;
and.pred %inside, %inside, %p1;
and.pred %outside, %outside, %p1;
@%outside st.global.u32 [%violation], 1;
@%inside st.global.u8 [%at64], 1;
)"));
  EXPECT_THAT(TextOf(MustGuard("setp.eq.u32 %p1, %r1, 1; @!%p1 st.global.u8 [%rd3], 1; ret;")),
              HasSubstr("not.pred %other, %p1;\nand.pred %outside, %outside, %other;"));
}

TEST(Guard, AnAddressOfSeveralParametersMayLieInAnyOfTheirRanges) {
  const GuardedKernel guarded =
      MustGuard("setp.eq.u32 %p1, %r1, 1; selp.b64 %rd4, %rd1, %rd2, %p1; st.u16 [%rd4], %h1; ret;");
  EXPECT_THAT(guarded.written_parameters, ElementsAre(kOut, kIn));
  const std::string text = TextOf(guarded);
  EXPECT_THAT(text, HasSubstr("and.pred %inside, %one, %other;\nsub.s64 %from64, %at64, %begin1;"));
  EXPECT_THAT(text, HasSubstr("and.pred %one, %one, %other;\nor.pred %inside, %inside, %one;"));
}

TEST(Guard, LoopsBurnFuelIfAnyBranchDependsOnData) {
  const std::string text = TextOf(MustGuard(R"(
L: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, %r2; setp.eq.u32 %p2, %r1, 9;
@%p1 bra L;
@!%p2 bra L;
bra E;
E: ret;)"));
  EXPECT_THAT(text, HasSubstr(R"(
setp.eq.u64 %outside, %fuel, 0;
and.pred %outside, %outside, %p1;
@%outside st.global.u32 [%violation], 1;
@%outside exit;
@%p1 sub.s64 %fuel, %fuel, 1;
@%p1 bra L;
)"));
  EXPECT_THAT(text, HasSubstr("@!%p2 sub.s64 %fuel, %fuel, 1;\n@!%p2 bra L;\n"));
  EXPECT_EQ(Count(text, "exit;"), 2u);  // not for the jump forward

  const std::string counted =
      TextOf(MustGuard("L: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 7; @%p1 bra L; st.global.u32 [%rd3], 0; ret;"));
  EXPECT_THAT(counted, Not(HasSubstr("sub.s64 %fuel")));
}

TEST(Guard, SharedAndLocalMemoryIsThatOfTheKernelsVariables) {
  const std::string before = ".shared .align 4 .b8 outer[64];\n.extern .shared .align 16 .b8 dynamic[];\n";
  const std::string text = TextOf(MustGuard(R"(
.shared .align 4 .b8 tile[128]; .local .align 8 .b8 depot[16];
mov.u32 %r3, tile; mov.u32 %r4, dynamic; mov.u32 %r5, outer; shl.b32 %r6, %r2, 2; add.u32 %r7, %r4, %r6;
st.shared.u32 [%r7+-4], %r1;
mov.u64 %rd4, depot; ld.local.u32 %r8, [%rd4+4];
st.shared.u32 [tile+124], %r1;
bar.sync 0; ret;)",
                                            before));
  EXPECT_THAT(text, HasSubstr("\n.shared .align 4 .b8 outer[64];\n"));
  EXPECT_THAT(text, HasSubstr("\n.extern .shared .align 16 .b8 dynamic[];\n"));
  EXPECT_THAT(text, HasSubstr("add.s32 %at32, %r7, -4;\nmov.u32 %from32, tile;\nsub.s32 %from32, %at32, %from32;\n"
                              "mov.u32 %size32, 128;\n"));
  EXPECT_THAT(text, HasSubstr("mov.u32 %from32, dynamic;\nsub.s32 %from32, %at32, %from32;\n"
                              "mov.u32 %size32, %dynamic_smem_size;\n"));
  EXPECT_THAT(text, HasSubstr("mov.u64 %from64, depot;"));
  EXPECT_THAT(text, HasSubstr("\nst.shared.u32 [tile+124], %r1;\nbar.sync 0;"));  // as it was: it lies in the variable
}

TEST(Guard, TheRestStaysAsItIs) {
  const GuardedKernel guarded =
      MustGuard(R"(
.pragma "nounroll";
	.loc	1 5 3, function_name $L__info_string0, inlined_at 1 7 9
{ .reg .b32 %t; mov.u32 %t, 5; // a remark
.loc 1 6 3
st.global.u32 [%rd3], %t; }
ret;)",
                ".file 1 \"a.cu\"\n.global .u32 unused;\n.func f() { ret; }\n", ".maxntid 256, 1, 1 .minnctapersm 2");
  EXPECT_THAT(guarded.ptx, AllOf(HasSubstr(".maxntid 256, 1, 1\n"), HasSubstr(".minnctapersm 2\n"),
                                 HasSubstr(".pragma \"nounroll\";"), HasSubstr("mov.u32 %t, 5;")));
  EXPECT_THAT(guarded.ptx, AllOf(Not(HasSubstr(".loc")), Not(HasSubstr(".file")), Not(HasSubstr("unused"))));
  const auto module = Parse(guarded.ptx);
  ASSERT_EQ(module.status(), absl::OkStatus());
  EXPECT_EQ((*module)->functions.size(), 1u);
  EXPECT_NE((*module)->FindFunction("k"), nullptr);
  EXPECT_EQ((*module)->target, "sm_75");
}

TEST(Guard, WhatWaitsForOthersNeedsBranchesWithoutData) {
  const std::string body =
      ".shared .u32 s; st.shared.u32 [s], 1; {} bar.sync 0; shfl.sync.idx.b32 %r3, %r1, 0, 31, -1; "
      "st.global.u32 [%rd3], %r3; E: ret;";
  const auto with = [&](std::string_view what) { return std::string(body).replace(body.find("{}"), 2, what); };
  EXPECT_EQ(MustGuard(with("setp.eq.u32 %p1, %r1, 0; @%p1 bra E;")).written_parameters, std::vector<uint32_t>{kOut});
  ExpectRefused(with("setp.eq.u32 %p1, %r2, 0; @%p1 bra E;"), "bar.sync 0`: whether it is reached by all it waits for");
  ExpectRefused("setp.eq.u32 %p1, %r2, 0; @%p1 exit; vote.sync.any.pred %p2, %p1, -1; ret;", "vote.sync.any.pred");
  ExpectRefused("setp.eq.u32 %p1, %r2, 0; @%p1 bar.sync 0; ret;", "bar.sync 0`: whether it is reached");
  ExpectRefused("bar.sync %r2; ret;", "bar.sync %r2`: whether it is reached");
  ExpectRefused("shfl.sync.idx.b32 %r3, %r1, 0, 31, %r2; ret;", "shfl.sync.idx.b32");
  // Who takes part may be anything if nobody waits; what is reduced may be anything too.
  MustGuard("setp.eq.u32 %p1, %r2, 0; @%p1 bra E; activemask.b32 %r3; E: ret;");
  MustGuard("setp.eq.u32 %p1, %r2, 0; bar.red.popc.u32 %r3, 0, %p1; ret;");
}

TEST(Guard, ReasonsNameTheInstruction) {
  ExpectRefused("trap;", "line 9: `trap`: this instruction is not guarded");
  ExpectRefused("brkpt;", "this instruction is not guarded");
  ExpectRefused("call f; ret;", "`call f`: it names a function", ".func f() { ret; }\n");
  ExpectRefused("mov.u64 %rd4, total; ret;", "it names a variable of the module", ".global .u32 total;\n");
  ExpectRefused("ld.const.u32 %r3, [scale]; ret;", "it names a variable of the module", ".const .u32 scale;\n");
  ExpectRefused(".global .u32 own; ret;", "its variable own outlives a launch");
  ExpectRefused("{ .shared .u32 s; } { .shared .u32 s; } ret;", "it declares s twice");
  ExpectRefused("ld.global.u64 %rd4, [%rd2]; st.global.u32 [%rd4], 1; ret;",
                "`st.global.u32 [%rd4], 1`: its address "
                "comes from no parameter");
  ExpectRefused("st.global.u32 [64], 1; ret;", "it is not understood");
  ExpectRefused("mov.b64 %rd4, out; add.u64 %rd4, %rd4, %rd3; ld.param.u64 %rd5, [%rd4]; ret;",
                "which parameter it reads is decided at run time");
  ExpectRefused("mov.b64 %rd4, out; cvta.param.u64 %rd4, %rd4; ld.u64 %rd5, [%rd4]; ret;",
                "of a variable or a parameter");
  ExpectRefused(".shared .u32 s; mov.u64 %rd4, s; cvta.shared.u64 %rd4, %rd4; st.u32 [%rd4], 1; ret;",
                "it may be shared or local memory");
  ExpectRefused("mov.b64 %rd4, {%r1, %r1}; add.u64 %rd4, %rd4, %rd1; st.global.u32 [%rd4], 1; ret;",
                "put together from pieces");
  ExpectRefused("st.shared.u32 [%r2], 1; ret;", "its address comes from no variable");
  ExpectRefused(".shared .align 4 .b8 s[8]; st.shared.u32 [s+8], 1; ret;", "it does not lie in its variable");
  ExpectRefused(".shared .align 4 .b8 s[8]; ld.shared.u32 %r3, [s+-4]; ret;", "it does not lie in its variable");
  ExpectRefused(".reg .b8 %c; ld.global.u8 %c, [%rd3]; ret;", "registers like that of its result");
  ExpectRefused(".reg .v2 .b32 %v; ld.global.v2.u32 %v, [%rd3]; ret;", "registers like that of its result");
  ExpectRefused("cp.async.ca.shared.global [%r1], [%rd3], 4; ret;", "this instruction is not guarded");
  ExpectRefused(".reg .b64 %wharf_guard_at64; ret;", "names of the guard's own");
  // The name is hidden where the guard would need it.
  ExpectRefused("{ .shared .align 4 .b8 s[8]; mov.u32 %r3, s; } st.shared.u32 [%r3], 1; ret;",
                "its guarded version is no kernel");
}

TEST(Guard, HostileSizesAreBounded) {
  const auto declare = [](int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += fmt::format(".shared .u32 s{};\n", i);
    return text;
  };
  ExpectRefused(declare(300) + "ret;", "it has too many variables");
  std::string body = declare(200), names;
  for (int i = 0; i < 100; ++i) body += "st.shared.u32 [%r1], 1;";
  ExpectRefused(body + "ret;", "it has too many accesses to check");
  for (int i = 0; i < 300; ++i) names += fmt::format("mov.u32 %r1, s{};\n", i);
  ExpectRefused(names + "ret;", "it has too many variables", declare(300));
}

TEST(Guard, ObstaclesOfTheAnalysisAreReasons) {
  ExpectRefused("call vprintf; ret;", "calls what is not in the module", ".extern .func vprintf();\n");
  const auto module = MustParse(".entry k(.param .texref t) { ret; }");
  EXPECT_THAT(std::string(Message(GuardKernel(*module, "k").status())), HasSubstr("its parameter t is a texref"));
  EXPECT_EQ(GuardKernel(*module, "none").status().code(), absl::StatusCode::kNotFound);
}

uint64_t WordAt(const std::vector<std::byte>& bytes, size_t at) {
  uint64_t word = 0;
  std::memcpy(&word, bytes.data() + at, sizeof word);
  return word;
}

TEST(Guard, TheGuardFollowsTheKernelsOwnParameters) {
  const GuardedKernel guarded = MustGuard("st.global.u32 [%rd3], %r1; ret;");
  EXPECT_EQ(guarded.own_bytes, 20u);
  EXPECT_EQ(guarded.guard_offset, 24u);
  device::Guard guard{.ranges = {{kIn, 0x2000, 64}, {100, 1, 1}}, .violation = 0x3000, .fuel = 7};
  const auto parameters = guarded.Parameters(std::vector<std::byte>(20, std::byte{1}), guard);
  ASSERT_EQ(parameters.status(), absl::OkStatus());
  ASSERT_EQ(parameters->size(), 24u + 6 * 8);
  EXPECT_EQ((*parameters)[19], std::byte{1});
  std::vector<uint64_t> words;
  for (size_t at = guarded.guard_offset; at < parameters->size(); at += 8) words.push_back(WordAt(*parameters, at));
  EXPECT_THAT(words, ElementsAre(0, 0, 0x2000, 64, 7, 0x3000));  // `out` points nowhere

  EXPECT_EQ(CudaErrorOf(guarded.Parameters(std::vector<std::byte>(19), guard).status()), CudaError::kInvalidValue);
  guard.ranges.push_back({kIn, 0, 0});
  EXPECT_EQ(CudaErrorOf(guarded.Parameters(std::vector<std::byte>(20), guard).status()), CudaError::kInvalidValue);
}

}  // namespace
}  // namespace wharf::device::ptx
