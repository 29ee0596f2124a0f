#include <gmock/gmock.h>

#include "wharf/device/cuda_error.h"
#include "wharf/device/ptx/parser.h"
#include "wharf/device/ptx/test_util.h"

namespace wharf::device::ptx {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

void ExpectSyntaxError(std::string_view body, std::string_view message) {
  const auto parsed = ParseKernel(body);
  ASSERT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument) << body;
  EXPECT_EQ(CudaErrorOf(parsed.status()), CudaError::kInvalidPtx);
  EXPECT_THAT(std::string(Message(parsed.status())), HasSubstr(std::string(message)));
}

TEST(ParseBody, ReadsAnInstruction) {
  const Body body = MustParseKernel(".reg .f32 %f<4>;\n\n  fma.rn.ftz.f32 \t%f1,\n %f2, %f3, 0f3F800000; // done");
  ASSERT_EQ(body.instructions.size(), 1U);
  const Instruction& fma = body.instructions[0];
  EXPECT_EQ(fma.opcode, "fma");
  EXPECT_THAT(fma.modifiers, ElementsAre("rn", "ftz", "f32"));
  EXPECT_TRUE(fma.Has("ftz"));
  EXPECT_FALSE(fma.Has("sat"));
  EXPECT_EQ(fma.TypeAt(), Type::kF32);
  EXPECT_EQ(fma.TypeAt(1), Type::kNone);
  EXPECT_EQ(fma.line, 7U);
  EXPECT_EQ(fma.text, "fma.rn.ftz.f32 %f1, %f2, %f3, 0f3F800000");
  ASSERT_EQ(fma.operands.size(), 4U);
  EXPECT_EQ(RegisterName(body, fma.operands[0]), "%f1");
  const auto& one = As<FloatOperand>(fma.operands[3]);
  EXPECT_TRUE(one.is_exact);
  EXPECT_TRUE(one.is_single);
  EXPECT_EQ(one.bits, 0x3F800000U);
  EXPECT_EQ(one.value, 1.0);
}

TEST(ParseBody, ReadsGuards) {
  const Body body = MustParseKernel(".reg .pred %p<2>, q; @%p1 ret; @!q exit; ret;");
  ASSERT_EQ(body.instructions.size(), 3U);
  EXPECT_TRUE(body.instructions[0].has_guard);
  EXPECT_EQ(body.registers[body.instructions[0].guard].name, "%p1");
  EXPECT_EQ(body.instructions[0].text, "@%p1 ret");
  EXPECT_TRUE(body.instructions[1].guard_negated);
  EXPECT_FALSE(body.instructions[2].has_guard);
}

TEST(ParseBody, ReadsLiterals) {
  const Body body = MustParseKernel(
      ".reg .b64 r; mov.b64 r, -5; mov.b64 r, 0xFFFFFFFFFFFFFFFF; mov.b64 r, 0b101; mov.b64 r, 017; mov.b64 r, 7U;"
      "mov.b64 r, 0d4000000000000000; mov.b64 r, -1.5e1; mov.b64 r, (1 + 2) * 3 << 2; mov.b64 r, WARP_SZ;"
      "mov.b64 r, ~0; mov.b64 r, !3; mov.b64 r, 1 ? 5 : 6; mov.b64 r, (.s64)7 / -2; mov.b64 r, 0; mov.b64 r, .5;");
  const auto integer = [&body](size_t i) { return As<IntegerOperand>(body.instructions.at(i).operands.at(1)).value; };
  EXPECT_EQ(integer(0), -5);
  EXPECT_EQ(integer(1), -1);
  EXPECT_TRUE(As<IntegerOperand>(body.instructions[1].operands[1]).is_unsigned);
  EXPECT_EQ(integer(2), 5);
  EXPECT_EQ(integer(3), 15);
  EXPECT_TRUE(As<IntegerOperand>(body.instructions[4].operands[1]).is_unsigned);
  EXPECT_EQ(As<FloatOperand>(body.instructions[5].operands[1]).value, 2.0);
  EXPECT_EQ(As<FloatOperand>(body.instructions[6].operands[1]).value, -15.0);
  EXPECT_FALSE(As<FloatOperand>(body.instructions[6].operands[1]).is_exact);
  EXPECT_EQ(integer(7), 36);
  EXPECT_EQ(integer(8), 32);
  EXPECT_EQ(integer(9), -1);
  EXPECT_EQ(integer(10), 0);
  EXPECT_EQ(integer(11), 5);
  EXPECT_EQ(integer(12), -3);
  EXPECT_EQ(integer(13), 0);
  EXPECT_EQ(As<FloatOperand>(body.instructions[14].operands[1]).value, 0.5);
}

TEST(ParseBody, ReadsAddresses) {
  const Body body = MustParseKernel(
      ".reg .b64 %rd<3>; .local .b8 depot[8]; ld.u32 %rd1, [%rd2]; ld.u32 %rd1, [%rd2+-8]; ld.u32 %rd1, [depot+4];"
      "ld.param.u32 %rd1, [b+20]; ld.u32 %rd1, [16]; mov.u64 %rd1, depot+4;");
  const auto address = [&body](size_t i) { return As<AddressOperand>(body.instructions.at(i).operands.at(1)); };
  EXPECT_EQ(body.registers[std::get<RegisterOperand>(address(0).base).index].name, "%rd2");
  EXPECT_EQ(address(1).offset, -8);
  EXPECT_EQ(std::get<SymbolOperand>(address(2).base).name, "depot");
  EXPECT_EQ(std::get<SymbolOperand>(address(2).base).offset, 0);
  EXPECT_EQ(address(2).offset, 4);
  EXPECT_EQ(std::get<SymbolOperand>(address(3).base).name, "b");
  EXPECT_EQ(address(3).offset, 20);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(address(4).base));
  EXPECT_EQ(address(4).offset, 16);
  EXPECT_EQ(As<SymbolOperand>(body.instructions[5].operands[1]).offset, 4);
}

TEST(ParseBody, ReadsVectorsPairsSinksAndSelectors) {
  const Body body = MustParseKernel(
      ".reg .b32 %r<5>; .reg .b64 %rd<2>; .reg .pred %p<3>; mov.b64 %rd1, {%r1, %r2}; mov.b64 {%r1, _}, %rd1;"
      "setp.lt.and.s32 %p1|%p2, %r1, %r2, !%p1; shfl.sync.idx.b32 %r1|%p1, %r2, 0, 31, -1; setp.eq.s32 _|%p1, %r1, 0;"
      "vadd.u32.u32.u32 %r0, %r1.b0, -%r2.h1, %r3; tex.2d.v4.f32.f32 {%r0,%r1,%r2,%r3}, [%rd1, {%r0, %r1}];");
  EXPECT_EQ(As<VectorOperand>(body.instructions[0].operands[1]).elements.size(), 2U);
  EXPECT_TRUE(
      std::holds_alternative<SinkOperand>(As<VectorOperand>(body.instructions[1].operands[0]).elements[1].value));
  const auto& setp = body.instructions[2].operands;
  ASSERT_EQ(setp.size(), 5U);
  EXPECT_FALSE(setp[0].after_bar);
  EXPECT_TRUE(setp[1].after_bar);
  EXPECT_TRUE(setp[4].negated);
  EXPECT_TRUE(body.instructions[3].operands[1].after_bar);
  EXPECT_TRUE(std::holds_alternative<SinkOperand>(body.instructions[4].operands[0].value));
  EXPECT_EQ(body.instructions[5].operands[1].selector, "b0");
  EXPECT_EQ(body.instructions[5].operands[2].selector, "h1");
  EXPECT_TRUE(body.instructions[5].operands[2].negated);
  const auto& texture = As<VectorOperand>(body.instructions[6].operands[1]);
  ASSERT_EQ(texture.elements.size(), 2U);
  As<AddressOperand>(texture.elements[0]);
  EXPECT_THAT(body.instructions[6].modifiers, ElementsAre("2d", "v4", "f32", "f32"));
}

TEST(ParseBody, AVectorOfOneIsItsElement) {
  const Body body = MustParseKernel(".reg .b32 r; .reg .b64 rd; st.global.b32 [ rd + 0 ], { r };");
  EXPECT_EQ(RegisterName(body, body.instructions.at(0).operands.at(1)), "r");
}

TEST(ParseBody, ReadsSpecialRegisters) {
  const Body body = MustParseKernel(
      ".reg .b32 r; mov.u32 r, %tid.x; mov.u32 r, %laneid; mov.u32 r, %clock64; mov.u32 r, %envreg3; "
      "mov.u32 r, %cluster_ctarank; ld.global.L1::no_allocate.L2::128B.u32 r, [0];");
  const auto name = [&body](size_t i) { return As<SpecialOperand>(body.instructions.at(i).operands.at(1)).name; };
  EXPECT_EQ(name(0), "tid.x");
  EXPECT_EQ(name(1), "laneid");
  EXPECT_EQ(name(2), "clock64");
  EXPECT_EQ(name(3), "envreg3");
  EXPECT_EQ(name(4), "cluster_ctarank");
  EXPECT_THAT(body.instructions[5].modifiers, ElementsAre("global", "L1::no_allocate", "L2::128B", "u32"));
}

TEST(ParseBody, ExpandsVectorRegisters) {
  const Body body = MustParseKernel(".reg .v4 .f32 v; .reg .f32 x; mov.f32 x, v.y; mov.v4.f32 v, {x, x, x, v.a};");
  EXPECT_EQ(RegisterName(body, body.instructions[0].operands[1]), "v.y");
  const auto& whole = As<VectorOperand>(body.instructions[1].operands[0]);
  ASSERT_EQ(whole.elements.size(), 4U);
  EXPECT_EQ(RegisterName(body, whole.elements[3]), "v.w");
  EXPECT_EQ(RegisterName(body, As<VectorOperand>(body.instructions[1].operands[1]).elements[3]), "v.w");
}

TEST(ParseBody, MaterialisesOnlyTheRegistersThatAreUsed) {
  const Body body =
      MustParseKernel(".reg .b32 %r<4000000000>, %r1<20>; mov.b32 %r3999999999, %r119; mov.b32 %r7, %r7;");
  ASSERT_EQ(body.registers.size(), 3U);
  EXPECT_EQ(body.registers[0].name, "%r3999999999");
  EXPECT_EQ(body.registers[1].name, "%r119");
}

TEST(ParseBody, LabelsPointAtTheNextInstruction) {
  const Body body = MustParseKernel("bra end; start: .loc 1 2 3\n $L1: ret; bra start; end:");
  EXPECT_EQ(body.labels.at("start"), 1U);
  EXPECT_EQ(body.labels.at("$L1"), 1U);
  EXPECT_EQ(body.labels.at("end"), 3U);
  EXPECT_EQ(As<SymbolOperand>(body.instructions[0].operands[0]).name, "end");
}

TEST(ParseBody, ScopesGetUniqueNames) {
  const Body body = MustParseKernel(R"(
.reg .b32 x;
{ .reg .b64 x; .param .b32 param0; L: st.param.b32 [param0], x; bra L; }
{ .param .b64 param0; st.param.b64 [param0+0], x; bra L; L: ret; }
{ .local .b8 a[4]; .param .b32 g; ld.u32 x, [a]; ld.u32 x, [g]; }
ld.param.u32 x, [a]; ld.u32 x, [g]; bra L; L:
)",
                                    ".global .u32 g;\n");
  ASSERT_EQ(body.variables.size(), 4U);
  EXPECT_EQ(body.variables[0].name, "param0");
  EXPECT_EQ(body.variables[1].name, "param0.1");
  const auto base = [&body](size_t i, size_t operand) {
    return std::get<SymbolOperand>(As<AddressOperand>(body.instructions.at(i).operands.at(operand)).base).name;
  };
  EXPECT_EQ(base(0, 0), "param0");
  EXPECT_EQ(base(2, 0), "param0.1");
  EXPECT_EQ(body.registers[As<RegisterOperand>(body.instructions[0].operands[1]).index].type, Type::kB64);
  EXPECT_EQ(body.registers[As<RegisterOperand>(body.instructions[2].operands[1]).index].type, Type::kB32);
  EXPECT_EQ(base(5, 1), body.variables[2].name);
  EXPECT_EQ(base(6, 1), body.variables[3].name);
  EXPECT_NE(body.variables[2].name, "a");  // the kernel's parameter
  EXPECT_NE(body.variables[3].name, "g");  // the module's variable
  EXPECT_EQ(base(7, 1), "a");
  EXPECT_EQ(base(8, 1), "g");
  const auto target = [&body](size_t i) { return As<SymbolOperand>(body.instructions.at(i).operands.at(0)).name; };
  EXPECT_EQ(body.labels.at(target(1)), 0U);
  EXPECT_EQ(body.labels.at(target(3)), 4U);
  EXPECT_EQ(body.labels.at(target(9)), 10U);
}

TEST(ParseBody, ReadsCalls) {
  const Body body = MustParseKernel(R"(
.reg .b64 %rd<2>; .reg .b32 %r<3>; .param .b32 p; .param .b32 q;
call.uni (p), f, (q, p);
call f, (q);
call f;
call.uni (p), %rd1, (q), proto;
proto: .callprototype (.param .b32 _) _ (.param .align 4 .b8 _[12], .param .b64 _) .noreturn;
call (%r1), f, (%r2, 4), targets;
targets: .calltargets f;
)",
                                    ".func f() { ret; }\n");
  ASSERT_EQ(body.instructions.size(), 5U);
  const Instruction& first = body.instructions[0];
  EXPECT_EQ(As<SymbolOperand>(first.operands.at(0)).name, "f");
  ASSERT_EQ(first.call_returns.size(), 1U);
  ASSERT_EQ(first.call_arguments.size(), 2U);
  EXPECT_EQ(As<SymbolOperand>(first.call_arguments[0]).name, "q");
  EXPECT_TRUE(body.instructions[2].call_arguments.empty());
  EXPECT_EQ(body.instructions[3].call_prototype, "proto");
  EXPECT_EQ(RegisterName(body, body.instructions[3].operands.at(0)), "%rd1");
  const auto& prototype = body.prototypes.at("proto");
  EXPECT_TRUE(prototype.noreturn);
  EXPECT_EQ(prototype.returns.at(0).Bytes(), 4U);
  ASSERT_EQ(prototype.parameters.size(), 2U);
  EXPECT_EQ(prototype.parameters[0].Bytes(), 12U);
  EXPECT_EQ(As<IntegerOperand>(body.instructions[4].call_arguments.at(1)).value, 4);
  EXPECT_THAT(body.call_targets.at("targets"), ElementsAre("f"));
}

TEST(ParseBody, ReadsBranchTables) {
  const Body body =
      MustParseKernel(".reg .b32 %r<2>; brx.idx %r1, table; table: .branchtargets A, B,\n A; A: ret; B: ret;");
  EXPECT_THAT(body.branch_targets.at("table"), ElementsAre("A", "B", "A"));
  EXPECT_FALSE(body.labels.contains("table"));
}

TEST(ParseBody, RegisterParametersAreRegisters) {
  const auto module = MustParse(".func (.reg .b32 out) f(.reg .b32 in) { add.s32 out, in, 1; ret; }");
  const auto body = ParseBody(*module, *module->FindFunction("f"));
  ASSERT_TRUE(body.ok()) << body.status();
  ASSERT_EQ(body->registers.size(), 2U);
  EXPECT_EQ(body->registers[0].name, "out");
  EXPECT_EQ(RegisterName(*body, body->instructions[0].operands[1]), "in");
}

TEST(ParseBody, NamesTheLineOfASyntaxError) {
  ExpectSyntaxError("\nadd.s32 %r1, %r2, 1;", "line 6: '%r1' is not declared");
  ExpectSyntaxError("ret", "line 6: expected an operand, found the end");
  ExpectSyntaxError(".reg .b32 r; add.s32 r r;", "expected ',' or ';', found 'r'");
  ExpectSyntaxError(".reg .b32 %r<10>; add.s32 %r10, 1;", "'%r10' is not declared");
  ExpectSyntaxError(".reg .b32 %r<10>; add.s32 %r01, 1;", "'%r01' is not declared");
  ExpectSyntaxError(".reg .b32 r; .reg .b64 r;", "register 'r' is declared twice");
  ExpectSyntaxError(".reg .b32 r; @r ret;", "'r' is not a predicate");
  ExpectSyntaxError(".local .b8 x; .local .b8 x;", "'x' is declared twice");
  ExpectSyntaxError("L: ret; L: ret;", "label 'L' is defined twice");
  ExpectSyntaxError("bra M;", "'M' is not declared");
  ExpectSyntaxError("{ M: ret; } bra M;", "'M' is not declared");
  ExpectSyntaxError(".reg .v2 .f32 v; .reg .f32 x; mov.f32 x, v.z;", "expected a component of the vector");
  ExpectSyntaxError(".reg .b32 r; mov.b32 r, %tid.q;", "expected a component, found '.q'");
  ExpectSyntaxError("ret; \xC3\xA4", "a character that PTX does not have");
  ExpectSyntaxError(".reg .b32 %r<0>;", "expected a number of registers");
  ExpectSyntaxError(".reg .b32 %r<5000000000>;", "expected a number of registers");
}

TEST(ParseBody, NestingIsCapped) {
  ExpectSyntaxError(std::string(100000, '{') + std::string(100000, '}'), "nested too deeply");
  ExpectSyntaxError("mov.b32 " + std::string(100000, '{') + std::string(100000, '}'), "nested too deeply");
}

TEST(ParseBody, ADeclarationHasNoBody) {
  const auto module = MustParse(".extern .func f();");
  EXPECT_EQ(ParseBody(*module, *module->FindFunction("f")).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(ParseBody, LongInstructionsAreCutInMessages) {
  const std::string name(300, 'r');
  const Body body = MustParseKernel(".reg .b32 " + name + "; mov.b32 " + name + ", 1;");
  EXPECT_EQ(body.instructions.at(0).text.size(), 200U);
}

}  // namespace
}  // namespace wharf::device::ptx
