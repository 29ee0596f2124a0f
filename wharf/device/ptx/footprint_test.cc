#include "wharf/device/ptx/footprint.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "wharf/device/ptx/test_util.h"

namespace wharf::device::ptx {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint32_t kOut = 0, kIn = 8, kStruct = 24;  // offsets in the parameter buffer

// A kernel k(out, in, n, s): two pointers, a number, 24 bytes of which the second eight are a pointer. The body starts
// with `out` in %rd1, `in` in %rd2, `n` in %r1, the thread's number in %r2 and its byte offset in %rd3. Its first line
// is line 5, `lines` says where the caller's text begins.
constexpr std::string_view kPrologue = R"(
.reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .f32 %f<9>;
ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [in]; ld.param.u32 %r1, [n];
mov.u32 %r2, %tid.x; mul.wide.u32 %rd3, %r2, 4;
)";
constexpr std::string_view kSharedVariables =
    ".shared .align 4 .b8 tile[1024];\n.global .u32 total;\n.const .u32 scale;\n";

absl::StatusOr<KernelFootprint> Analyse(std::string_view body, std::string_view before = "") {
  const auto module =
      MustParse(fmt::format("{}{}\n.entry k(.param .u64 out, .param .u64 in, .param .u32 n, .param .align 8 .b8 s[24]) "
                            "{{{}{}\n}}\n",
                            kSharedVariables, before, kPrologue, body));
  return FootprintOf(*module, "k");
}

KernelFootprint Oblivious(std::string_view body, std::string_view before = "") {
  const auto footprint = Analyse(body, before);
  EXPECT_EQ(footprint.status(), absl::OkStatus());
  if (!footprint.ok()) return {};
  EXPECT_TRUE(footprint->oblivious) << body << "\n" << footprint->reason;
  return *footprint;
}

void ExpectNot(std::string_view body, std::string_view reason, std::string_view before = "") {
  const auto footprint = Analyse(body, before);
  ASSERT_EQ(footprint.status(), absl::OkStatus());
  EXPECT_FALSE(footprint->oblivious) << body;
  EXPECT_THAT(footprint->reason, HasSubstr(std::string(reason))) << body;
  if (footprint->guardable) return;
  EXPECT_THAT(footprint->written_parameters, IsEmpty());
}

TEST(Footprint, ElementwiseKernelWritesItsOutput) {
  const KernelFootprint footprint = Oblivious(R"(
setp.ge.u32 %p1, %r2, %r1;
@%p1 bra END;
cvta.to.global.u64 %rd4, %rd2; add.s64 %rd5, %rd4, %rd3; ld.global.f32 %f1, [%rd5];
cvta.to.global.u64 %rd6, %rd1; add.s64 %rd7, %rd6, %rd3; add.f32 %f2, %f1, %f1; st.global.f32 [%rd7+4], %f2;
END: ret;)");
  EXPECT_THAT(footprint.written_parameters, ElementsAre(kOut));
  EXPECT_THAT(footprint.read_parameters, ElementsAre(kIn));
  EXPECT_THAT(footprint.written_variables, IsEmpty());
  EXPECT_THAT(footprint.reason, IsEmpty());
}

TEST(Footprint, LoopsOverParametersAreFine) {
  const KernelFootprint footprint = Oblivious(R"(
mov.u32 %r3, 0; mov.u64 %rd4, %rd2;
LOOP: ld.global.u32 %r4, [%rd4]; max.u32 %r5, %r4, %r5; add.s64 %rd4, %rd4, 4; add.u32 %r3, %r3, 1;
setp.lt.u32 %p1, %r3, %r1; @%p1 bra LOOP;
st.global.u32 [%rd1], %r5; ret;)");
  EXPECT_THAT(footprint.written_parameters, ElementsAre(kOut));
}

TEST(Footprint, PointersInStructsAreParameters) {
  const KernelFootprint footprint = Oblivious("ld.param.u64 %rd4, [s+8]; st.global.u32 [%rd4], %r1; ret;");
  EXPECT_THAT(footprint.written_parameters, ElementsAre(kStruct + 8));
  const KernelFootprint pair = Oblivious("ld.param.v2.u64 {%rd4, %rd5}, [s+8]; st.global.u64 [%rd5], %rd4; ret;");
  EXPECT_THAT(pair.written_parameters, ElementsAre(kStruct + 16));
}

TEST(Footprint, AParameterIndexedAtRunTimeMayBeAnyOfItsWords) {
  const KernelFootprint footprint = Oblivious(
      "mov.b64 %rd4, s; shl.b64 %rd5, %rd3, 1; add.s64 %rd4, %rd4, %rd5; ld.param.u64 %rd6, [%rd4]; "
      "st.global.u32 [%rd6], %r1; ret;");
  EXPECT_THAT(footprint.written_parameters, ElementsAre(kStruct, kStruct + 8, kStruct + 16));
  ExpectNot("mov.b64 %rd4, s; ld.param.u32 %r4, [%rd4]; cvt.u64.u32 %rd6, %r4; st.global.u32 [%rd6], %r1; ret;",
            "comes from no parameter");
  ExpectNot("mov.b64 %rd4, s; st.u32 [%rd4], %r1; ret;", "comes from no parameter");
}

TEST(Footprint, EveryPointerThatMayBeMeantIsNamed) {
  EXPECT_THAT(Oblivious("setp.eq.u32 %p1, %r1, 0; selp.b64 %rd4, %rd1, %rd2, %p1; st.global.u32 [%rd4], %r1; ret;")
                  .written_parameters,
              ElementsAre(kOut, kIn));
  // A difference of pointers, a 64-bit stride, a pointer in two halves.
  EXPECT_THAT(Oblivious("sub.s64 %rd4, %rd1, %rd2; ld.param.u64 %rd5, [s]; add.s64 %rd5, %rd5, %rd4; "
                        "st.global.u32 [%rd5], %r1; ret;")
                  .written_parameters,
              ElementsAre(kOut, kIn, kStruct));
  EXPECT_THAT(Oblivious("mov.b64 {%r3, %r4}, %rd2; mov.b64 %rd4, {%r3, %r4}; st.global.u32 [%rd4], %r1; ret;")
                  .written_parameters,
              ElementsAre(kIn));
  EXPECT_THAT(Oblivious("mov.b64 {%r3, %r4}, %rd2; add.cc.u32 %r3, %r3, 4; addc.u32 %r4, %r4, 0; "
                        "mov.b64 %rd4, {%r3, %r4}; st.global.u32 [%rd4], %r1; ret;")
                  .written_parameters,
              ElementsAre(kIn));
  // Assigned after the store, in a loop.
  EXPECT_THAT(Oblivious("mov.b64 %rd4, %rd1; mov.u32 %r3, 0; L: st.global.u32 [%rd4], %r1; mov.b64 %rd4, %rd2; "
                        "add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 2; @%p1 bra L; ret;")
                  .written_parameters,
              ElementsAre(kOut, kIn));
}

TEST(Footprint, ComparingAPointerDoesNotMakeOne) {
  EXPECT_THAT(Oblivious("set.eq.u32.u64 %r3, %rd1, 0; mul.wide.u32 %rd4, %r3, 4; add.s64 %rd4, %rd2, %rd4; "
                        "ld.global.u32 %r4, [%rd4]; ret;")
                  .read_parameters,
              ElementsAre(kIn));
}

TEST(Footprint, AtomicsReadAndWrite) {
  for (const std::string_view instruction : {"atom.global.add.u32 %r3, [%rd1], 1;", "red.global.add.u32 [%rd1], 1;"}) {
    const KernelFootprint footprint = Oblivious(std::string(instruction) + " ret;");
    EXPECT_THAT(footprint.written_parameters, ElementsAre(kOut));
    EXPECT_THAT(footprint.read_parameters, ElementsAre(kOut));
  }
}

TEST(Footprint, VariablesAreNamed) {
  const KernelFootprint footprint = Oblivious(
      "ld.const.u32 %r3, [scale]; st.global.u32 [total], %r3; mov.u64 %rd4, total; cvta.global.u64 %rd5, %rd4; "
      "atom.add.u32 %r4, [%rd5], 1; ret;");
  EXPECT_THAT(footprint.written_variables, ElementsAre("total"));
  EXPECT_THAT(footprint.read_variables, ElementsAre("scale", "total"));
  EXPECT_THAT(footprint.written_parameters, IsEmpty());
}

TEST(Footprint, SharedAndLocalMemoryAreTheKernelsOwn) {
  const KernelFootprint footprint = Oblivious(R"(
.local .b8 depot[16];
mov.u32 %r3, tile; add.u32 %r4, %r3, %r2; st.shared.u32 [%r4], %r1; bar.sync 0; ld.shared.u32 %r5, [%r4];
mov.u64 %rd4, tile; cvta.shared.u64 %rd5, %rd4; st.u32 [%rd5], %r5; atom.add.u32 %r6, [%rd5+4], %r5;
mov.u64 %rd6, depot; cvta.local.u64 %rd7, %rd6; st.u32 [%rd7], %r5; st.local.u32 [%rd6+4], %r6;
cp.async.ca.shared.global [%r4], [%rd2], 4; cp.async.commit_group; cp.async.wait_group 0;
st.global.u32 [%rd1], %r5; ret;)");
  EXPECT_THAT(footprint.written_parameters, ElementsAre(kOut));
  EXPECT_THAT(footprint.read_parameters, ElementsAre(kIn));
  EXPECT_THAT(footprint.written_variables, IsEmpty());
}

TEST(Footprint, DataMayBeChosenByData) {
  Oblivious(R"(
ld.global.u32 %r3, [%rd2]; setp.gt.u32 %p1, %r3, 5; selp.u32 %r4, %r3, 0, %p1; @%p1 mov.u32 %r4, 7;
shfl.sync.down.b32 %r5, %r4, 1, 31, -1; vote.sync.any.pred %p2, %p1, -1; min.u32 %r6, %r5, %r4;
bar.red.popc.u32 %r7, 0, %p2; redux.sync.add.u32 %r8, %r4, -1; nanosleep.u32 %r8; membar.gl;
st.global.u32 [%rd1], %r6; ret;)");
}

TEST(Footprint, DataMayNotChooseTheAddress) {
  const std::string load = "ld.global.u32 %r3, [%rd2]; ld.global.u64 %rd8, [%rd2+8];\n";
  const std::string reason = "its address depends on loaded data";
  ExpectNot(load + "mul.wide.u32 %rd4, %r3, 4; add.s64 %rd5, %rd1, %rd4; st.global.u32 [%rd5], %r1; ret;", reason);
  ExpectNot(load + "mul.wide.u32 %rd4, %r3, 4; add.s64 %rd5, %rd1, %rd4; ld.global.u32 %r5, [%rd5]; ret;", reason);
  ExpectNot(load + "st.u32 [%rd8], %r1; ret;", reason);
  ExpectNot(load + "st.shared.u32 [%r3], %r1; ret;", reason);
  ExpectNot(load + "setp.eq.u32 %p1, %r3, 0; mov.u64 %rd5, %rd1; @%p1 add.s64 %rd5, %rd5, 4; st.u32 [%rd5], 0; ret;",
            reason);
  ExpectNot(load +
                "add.cc.u32 %r3, %r3, 1; addc.u32 %r4, 0, 0; mul.wide.u32 %rd4, %r4, 4; add.s64 %rd5, %rd1, %rd4; "
                "red.global.add.u32 [%rd5], 1; ret;",
            reason);
  ExpectNot(load + "cp.async.ca.shared.global [%r1], [%rd8], 4; ret;", "what it does depends on loaded data");
  ExpectNot(load + "cp.async.ca.shared.global [%r1], [%rd2], 4, %r3; ret;", "what it does depends on loaded data");
}

TEST(Footprint, TheReasonNamesTheInstruction) {
  ExpectNot("ld.global.u64 %rd4, [%rd2];\nst.global.u32 [%rd4], %r1;\nret;",
            "line 13: `st.global.u32 [%rd4], %r1`: its address depends on loaded data");
}

TEST(Footprint, MemoryOfEverySpaceTaints) {
  for (const std::string_view load :
       {"ld.global.u32 %r3, [%rd2];", "ld.u32 %r3, [%rd2];", "ld.shared.u32 %r3, [tile];", "ld.const.u32 %r3, [scale];",
        "ldu.global.u32 %r3, [%rd2];", "atom.global.add.u32 %r3, [%rd2], 1;", "atom.shared.add.u32 %r3, [tile], 1;",
        ".local .b8 d[8]; ld.local.u32 %r3, [d];", "mov.u32 %r3, %clock;", "mov.u32 %r3, %smid;",
        "mov.u32 %r3, %gridid;", "activemask.b32 %r3;", "mov.u32 %r3, %r19;",
        "ld.global.u32 %r4, [%rd2]; shfl.sync.idx.b32 %r3, %r4, 0, 31, -1;",
        "ld.global.u32 %r4, [%rd2]; match.any.sync.b32 %r3, %r4, -1;"}) {
    ExpectNot(std::string(load) + "setp.eq.u32 %p1, %r3, 0;\n@%p1 bra END; st.global.u32 [%rd1], 0; END: ret;",
              "`@%p1 bra END`: whether it runs depends on loaded data");
  }
}

TEST(Footprint, DataMayNotDecideWhatRuns) {
  const std::string data = "ld.global.u32 %r3, [%rd2]; setp.eq.u32 %p1, %r3, 0;\n";
  for (const std::string_view guarded :
       {"@%p1 exit;", "@!%p1 ret;", "@%p1 trap;", "@%p1 st.global.u32 [%rd1], 0;", "@%p1 ld.global.u32 %r4, [%rd1];",
        "@%p1 atom.global.add.u32 %r4, [%rd1], 1;", "@%p1 red.global.add.u32 [%rd1], 1;", "@%p1 bar.sync 0;",
        "@%p1 shfl.sync.idx.b32 %r4, %r1, 0, 31, -1;"}) {
    ExpectNot(data + std::string(guarded) + " ret;", "whether it runs depends on loaded data");
  }
  for (const std::string_view operand :
       {"bar.sync 0, %r3;", "bar.warp.sync %r3;", "shfl.sync.idx.b32 %r4, %r1, 0, 31, %r3;",
        "vote.sync.all.pred %p2, %p1, %r3;", "bar.red.popc.u32 %r4, %r3, %p1;",
        "brx.idx %r3, table; table: .branchtargets A, B; A: B:"}) {
    ExpectNot(data + std::string(operand) + " ret;", "what it does depends on loaded data");
  }
}

TEST(Footprint, AnAddressNeedsABase) {
  ExpectNot("st.global.u32 [%rd3], %r1; ret;", "comes from no parameter or variable");
  ExpectNot("st.global.u32 [4096], %r1; ret;", "comes from no parameter or variable");
  ExpectNot("ld.global.u32 %r3, [%rd3]; ret;", "comes from no parameter or variable");
  ExpectNot("mov.u64 %rd4, tile; st.global.u32 [%rd4], %r1; ret;", "comes from no parameter or variable");
  // A pointer read as two 32-bit words, beside a base that would hide it.
  const std::string halves = "ld.param.v2.u32 {%r3, %r4}, [in]; ";
  ExpectNot(halves + "mov.b64 %rd4, {%r3, %r4}; st.global.u32 [%rd4], %r1; ret;", "put together from pieces");
  ExpectNot(halves +
                "cvt.u64.u32 %rd4, %r3; cvt.u64.u32 %rd5, %r4; shl.b64 %rd5, %rd5, 32; or.b64 %rd4, %rd4, %rd5; "
                "ld.param.u64 %rd6, [s]; add.s64 %rd4, %rd4, %rd6; st.global.u32 [%rd4], %r1; ret;",
            "put together from pieces");
}

TEST(Footprint, MisplacedParameterLoadsAreData) {
  for (const std::string_view load : {"ld.param.u64 %rd4, [s+20];", "ld.param.u64 %rd4, [s+4];",
                                      "ld.param.u64 %rd4, [s+-8];", "ld.param.u64 %rd4, [n];"}) {
    ExpectNot(std::string(load) + "add.s64 %rd4, %rd4, %rd1; st.global.u32 [%rd4], %r1; ret;",
              "depends on loaded data");
  }
}

constexpr std::string_view kFunctions = R"(
.func (.param .b64 result) advance(.param .b64 pointer, .param .b32 count) {
.reg .b64 %rd<3>; .reg .b32 %r<3>;
ld.param.u64 %rd1, [pointer]; ld.param.u32 %r1, [count]; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd1, %rd1, %rd2;
st.param.b64 [result], %rd1; ret; }
.func put(.param .b64 to, .param .b32 value) {
.reg .b64 %rd<3>; .reg .b32 %r<3>; .reg .pred %p<2>;
ld.param.u64 %rd1, [to]; ld.param.u32 %r1, [value]; setp.eq.u32 %p1, %r1, 0; selp.u32 %r2, 1, %r1, %p1;
st.global.u32 [%rd1], %r2; ret; }
.func (.reg .b64 sum) plus(.reg .b64 a, .reg .b64 b) { add.s64 sum, a, b; ret; }
)";

constexpr std::string_view kCallAdvance = R"(
.param .b64 p0; .param .b32 p1; .param .b64 r0;
st.param.b64 [p0], %rd1; st.param.b32 [p1], %r2; call.uni (r0), advance, (p0, p1); ld.param.b64 %rd4, [r0];
)";

TEST(Footprint, FollowsCalls) {
  const std::string call_put =
      ".param .b64 q0; .param .b32 q1; st.param.b64 [q0], %rd4; st.param.b32 [q1], %r3; "
      "call.uni put, (q0, q1); ret;";
  const KernelFootprint footprint =
      Oblivious(fmt::format("{}ld.global.u32 %r3, [%rd2]; {}", kCallAdvance, call_put), kFunctions);
  EXPECT_THAT(footprint.written_parameters, ElementsAre(kOut));
  EXPECT_THAT(footprint.read_parameters, ElementsAre(kIn));
  EXPECT_THAT(Oblivious("call (%rd4), plus, (%rd1, 16); st.global.u32 [%rd4], 0; ret;", kFunctions).written_parameters,
              ElementsAre(kOut));
}

TEST(Footprint, TaintFollowsCalls) {
  ExpectNot("ld.global.u32 %r2, [%rd2]; " + std::string(kCallAdvance) + "st.global.u32 [%rd4], 0; ret;",
            "its address depends on loaded data", kFunctions);
  ExpectNot("ld.global.u64 %rd5, [%rd2]; call (%rd4), plus, (%rd1, %rd5); st.global.u32 [%rd4], 0; ret;",
            "its address depends on loaded data", kFunctions);
  ExpectNot("ld.global.u32 %r3, [%rd2]; setp.eq.u32 %p1, %r3, 0; @%p1 call (%rd4), plus, (%rd1, %rd1); ret;",
            "whether it runs depends on loaded data", kFunctions);
  // Pieces of a pointer through a parameter, and a parameter changed through its address.
  ExpectNot(
      ".param .b64 p0; ld.param.u32 %r3, [s]; st.param.b32 [p0], %r3; st.param.b32 [p0+4], %r3; "
      "ld.param.b64 %rd4, [p0]; add.s64 %rd4, %rd4, %rd1; st.global.u32 [%rd4], 0; ret;",
      "put together from pieces");
  ExpectNot(
      ".param .b64 p0; st.param.b64 [p0], %rd1; mov.b64 %rd4, p0; ld.param.b64 %rd5, [p0]; "
      "st.global.u32 [%rd5], 0; ret;",
      "its address depends on loaded data");
}

TEST(Footprint, CallsOfTheUnknownAreNot) {
  const std::string_view system = ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n";
  ExpectNot(
      ".param .b64 p0; .param .b64 p1; .param .b32 r0; st.param.b64 [p0], %rd1; st.param.b64 [p1], %rd1; "
      "call.uni (r0), vprintf, (p0, p1); ret;",
      "calls what is not in the module", system);
  ExpectNot(
      "mov.u64 %rd4, put; call.uni %rd4, (%rd1, %r1), proto; "
      "proto: .callprototype _ (.param .b64 _, .param .b32 _); ret;",
      "calls what is not in the module", kFunctions);
}

TEST(Footprint, RecursionEnds) {
  Oblivious("call down, (%r1); st.global.u32 [%rd1], 0; ret;",
            ".func down(.reg .b32 n) { .reg .pred p; .reg .b32 m; setp.eq.u32 p, n, 0; @p ret; sub.u32 m, n, 1; "
            "call down, (m); ret; }\n");
}

TEST(Footprint, UnknownInstructionsAreNot) {
  ExpectNot("tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r1}]; ret;", "is not analysed");
  ExpectNot("mbarrier.init.shared.b64 [tile], 1; ret;", "is not analysed");
  ExpectNot("cp.async.bulk.wait_group 0; ret;", "is not analysed");
  ExpectNot("barrier.cluster.arrive; ret;", "is not analysed");
}

TEST(Footprint, MalformedInputIsRefused) {
  const auto module = MustParse(".entry k() { call f, (1); }\n.func f() { ret; }\n.entry bad() { add.s32 x; }\n");
  EXPECT_EQ(FootprintOf(*module, "none").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(FootprintOf(*module, "f").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(FootprintOf(*module, "bad").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(FootprintOf(*module, "k").status().code(), absl::StatusCode::kInvalidArgument);
  // Too few operands everywhere.
  for (const std::string_view body : {"ld.global.u32 %r1;", "st.global.u32;", "add.s32;", "bar.red.popc.u32 %r1;",
                                      "atom.global.add.u32 %r1;", "shfl.sync.idx.b32;", "cvta.u64 %rd1;", "red;"}) {
    EXPECT_EQ(Analyse(std::string(body) + " ret;").status(), absl::OkStatus()) << body;
  }
}

TEST(Footprint, HostileSizesAreBounded) {
  std::string chain = "mov.u32 %q0, %r1;";
  for (int i = 500; i > 0; --i) chain += fmt::format("mov.u32 %q{}, %q{};\n", i, i - 1);
  ExpectNot(".reg .b32 %q<501>;" + chain + "ret;", "too deep to analyse");
  std::string variables, uses;
  for (int i = 0; i < 3000; ++i) {
    variables += fmt::format(".global .u32 g{};\n", i);
    uses += fmt::format("mov.u32 %q{}, g{};\n", i, i);
  }
  for (int i = 3000; i < 100000; ++i) uses += fmt::format("mov.u32 %q{}, 0;\n", i);
  ExpectNot(".reg .b32 %q<100000>;" + uses + "ret;", "too large to analyse", variables);
}

// Textures and surfaces are memory that no parameter names: what a kernel with them touches is not known.
TEST(Footprint, TexturesAndSurfacesAreNotAnalysed) {
  for (const std::string_view body :
       {"tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd2, {%r2}]; st.global.f32 [%rd1], %f1; ret;",
        "tex.level.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd2, {%f5, %f6}], %f7; ret;",
        "tld4.r.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd2, {%f5, %f6}]; ret;",
        "suld.b.1d.b32.trap {%r3}, [%rd2, {%r2}]; st.global.u32 [%rd1], %r3; ret;",
        "sust.b.1d.b32.trap [%rd2, {%r2}], {%r1}; ret;", "sust.p.1d.b32.trap [%rd2, {%r2}], {%r1}; ret;",
        "sured.b.add.1d.u32.trap [%rd2, {%r2}], %r1; ret;", "txq.width.b32 %r3, [%rd2]; ret;"}) {
    ExpectNot(body, "this instruction is not analysed; not guardable");
    const auto footprint = Analyse(body);
    ASSERT_TRUE(footprint.ok());
    EXPECT_FALSE(footprint->guardable) << body;
    EXPECT_THAT(footprint->read_parameters, IsEmpty());
  }
}

}  // namespace
}  // namespace wharf::device::ptx
