#include "wharf/device/ptx/parser.h"

#include <gmock/gmock.h>

#include "wharf/device/cuda_error.h"
#include "wharf/device/ptx/test_util.h"

namespace wharf::device::ptx {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

void ExpectSyntaxError(std::string_view declarations, std::string_view message) {
  const auto module = Parse(WithPreamble(declarations));
  ASSERT_EQ(module.status().code(), absl::StatusCode::kInvalidArgument) << declarations;
  EXPECT_EQ(CudaErrorOf(module.status()), CudaError::kInvalidPtx);
  EXPECT_THAT(std::string(Message(module.status())), HasSubstr(std::string(message)));
}

TEST(Parse, ReadsThePreamble) {
  const auto module = Parse("// a comment\n.version 8.7\n.target sm_90a, debug\n.address_size 64\n");
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ((*module)->version_major, 8);
  EXPECT_EQ((*module)->version_minor, 7);
  EXPECT_EQ((*module)->target, "sm_90a");
  EXPECT_EQ((*module)->target_sm, 90U);
}

TEST(Parse, IgnoresZeroBytesAtTheEnd) { EXPECT_TRUE(Parse(WithPreamble("") + std::string(7, '\0')).ok()); }

TEST(Parse, ReadsVariables) {
  const auto module = MustParse(R"(
.visible .global .align 16 .v4 .f32 v[3];
.extern .shared .align 16 .b8 dynamic[];
.weak .const .u32 c = 7, d;
.global .attribute(.managed) .s32 m[2][3];
.common .global .f64 e;
.global .texref t;
)");
  const Variable* v = module->FindVariable("v");
  ASSERT_NE(v, nullptr);
  EXPECT_EQ(v->space, Space::kGlobal);
  EXPECT_EQ(v->type, Type::kF32);
  EXPECT_EQ(v->alignment, 16U);
  EXPECT_EQ(v->vector, 4U);
  EXPECT_EQ(v->Bytes(), 48U);
  EXPECT_TRUE(v->is_visible);
  const Variable* dynamic = module->FindVariable("dynamic");
  ASSERT_NE(dynamic, nullptr);
  EXPECT_EQ(dynamic->space, Space::kShared);
  EXPECT_EQ(dynamic->elements, 0U);
  EXPECT_TRUE(dynamic->is_extern);
  EXPECT_EQ(module->FindVariable("c")->initializer.at(0).bits, 7U);
  EXPECT_TRUE(module->FindVariable("d")->is_weak);
  EXPECT_EQ(module->FindVariable("d")->alignment, 4U);
  EXPECT_TRUE(module->FindVariable("m")->is_managed);
  EXPECT_EQ(module->FindVariable("m")->elements, 6U);
  EXPECT_EQ(module->FindVariable("e")->alignment, 8U);
  EXPECT_EQ(module->FindVariable("t")->opaque, "texref");
  EXPECT_EQ(module->FindVariable("nothing"), nullptr);
}

std::vector<uint64_t> Bits(const Variable* variable) {
  std::vector<uint64_t> bits;
  for (const Initializer& scalar : variable->initializer) bits.push_back(scalar.bits);
  return bits;
}

TEST(Parse, ReadsInitialisers) {
  const auto module = MustParse(R"(
.global .b8 bytes[5] = {1, 0x10, -1, 010};
.global .f32 floats[3] = {0f3F800000, 1.5, 2};
.global .f64 doubles[2] = {0d3FF0000000000000, -0.5};
.global .s32 nested[2][3] = {{1}, {2, 3}};
.global .u16 unsized[] = {1, 2, 3};
.global .v2 .u32 pair[2] = {{1, 2}, {3}};
.global .u64 sum = (1 + 2) * 3 - 1;
.global .u64 single[2] = {1};
.global .f16 half[2] = {1.0, 0f3F800000};
)");
  EXPECT_THAT(Bits(module->FindVariable("bytes")), ElementsAre(1, 16, 255, 8));
  EXPECT_THAT(Bits(module->FindVariable("floats")), ElementsAre(0x3F800000, 0x3FC00000, 0x40000000));
  EXPECT_THAT(Bits(module->FindVariable("doubles")), ElementsAre(0x3FF0000000000000, 0xBFE0000000000000));
  EXPECT_THAT(Bits(module->FindVariable("nested")), ElementsAre(1, 0, 0, 2, 3));
  EXPECT_EQ(module->FindVariable("unsized")->elements, 3U);
  EXPECT_THAT(Bits(module->FindVariable("pair")), ElementsAre(1, 2, 3));
  EXPECT_THAT(Bits(module->FindVariable("sum")), ElementsAre(8));
  EXPECT_THAT(Bits(module->FindVariable("half")), ElementsAre(0x3C00, 0x3C00));
}

// The length that is left out is the number of rows; what a row has counts, too.
TEST(Parse, CountsTheRowsOfAnArrayWithoutAFirstLength) {
  const auto module = MustParse(R"(
.global .u32 rows[][4] = {{1, 2, 3, 4}, {5}};
.global .u32 flat[][4] = {1, 2, 3, 4, 5};
.global .u8 deep[][2][3] = {{{1}, {2}}};
.global .v2 .u32 pairs[] = {{1, 2}, {3}, {4, 5}};
.global .v2 .u32 pair_rows[][2] = {{{1, 2}, {3, 4}}, {{5}}};
)");
  const auto bytes = [&](std::string_view name) { return module->FindVariable(name)->Bytes(); };
  EXPECT_EQ(bytes("rows"), 32U);
  EXPECT_EQ(bytes("flat"), 32U);
  EXPECT_EQ(bytes("deep"), 6U);
  EXPECT_EQ(bytes("pairs"), 24U);
  EXPECT_EQ(bytes("pair_rows"), 32U);
  for (const Variable& variable : module->variables) {
    EXPECT_LE(variable.initializer.size() * SizeOf(variable.type), variable.Bytes()) << variable.name;
  }
}

TEST(Parse, ReadsAddressesInInitialisers) {
  const auto module = MustParse(R"(
.func f() { ret; }
.global .b8 s[8];
.global .u64 table[5] = {s, s + 4, generic(s), generic(s) - 2, f};
.global .b8 split[2] = {0xFF(s), 0xFF00(s + 3)};
)");
  const auto& table = module->FindVariable("table")->initializer;
  ASSERT_EQ(table.size(), 5U);
  EXPECT_EQ(table[0].symbol, "s");
  EXPECT_EQ(table[1].bits, 4U);
  EXPECT_TRUE(table[2].generic);
  EXPECT_EQ(table[3].bits, static_cast<uint64_t>(-2));
  EXPECT_EQ(table[4].symbol, "f");
  const auto& split = module->FindVariable("split")->initializer;
  ASSERT_EQ(split.size(), 2U);
  EXPECT_EQ(split[0].mask, 0xFFU);
  EXPECT_EQ(split[1].mask, 0xFF00U);
  EXPECT_EQ(split[1].bits, 3U);
}

TEST(Parse, ReadsFunctionsAndDirectives) {
  const auto module = MustParse(R"(
.extern .func (.param .b32 r) vprintf(.param .b64 p, .param .b64 q);
.weak .func (.reg .b32 out) regs(.reg .b32 in) { mov.b32 out, in; ret; }
.func stop() .noreturn ;
.visible .entry k(
  .param .u64 .ptr .global .align 4 p,
  .param .align 8 .b8 s[24],
  .param .u8 c
) .maxntid 256, 1, 1 .minnctapersm 2 .maxnreg 64 .pragma "nounroll";
{ ret; }
.alias other, regs;
)");
  const Function* k = module->FindFunction("k");
  ASSERT_NE(k, nullptr);
  EXPECT_TRUE(k->is_entry);
  EXPECT_THAT(k->directives.at("maxntid"), ElementsAre(256, 1, 1));
  EXPECT_THAT(k->directives.at("minnctapersm"), ElementsAre(2));
  EXPECT_EQ(k->body_text, " ret; ");
  ASSERT_EQ(k->parameters.size(), 3U);
  EXPECT_EQ(k->parameters[0].alignment, 8U);  // the .align is the pointee's
  EXPECT_THAT(LayoutParameters(*k), ElementsAre(ParameterLayout{0, 8}, ParameterLayout{8, 24}, ParameterLayout{32, 1}));
  EXPECT_FALSE(module->FindFunction("vprintf")->HasBody());
  EXPECT_TRUE(module->FindFunction("vprintf")->is_extern);
  EXPECT_TRUE(module->FindFunction("regs")->is_weak);
  EXPECT_TRUE(module->FindFunction("stop")->is_noreturn);
  EXPECT_EQ(module->aliases.at("other"), "regs");
}

TEST(Parse, ADefinitionWinsOverItsDeclarations) {
  const auto module = MustParse(R"(
.func f(.param .b32 x);
.func f(.param .b32 x) { ret; }
.func f(.param .b32 x);
.extern .global .u32 g;
.global .u32 g = 5;
.extern .global .u32 g;
)");
  EXPECT_TRUE(module->FindFunction("f")->HasBody());
  EXPECT_FALSE(module->FindVariable("g")->is_extern);
  EXPECT_EQ(module->FindVariable("g")->initializer.size(), 1U);
}

TEST(Parse, DelimitsBodiesDespiteBracesInCommentsAndStrings) {
  const auto module = MustParse(R"(
.func f() { // }
  /* } { */ .pragma "}"; { ret; } }
.func g() { ret; }
)");
  EXPECT_TRUE(module->FindFunction("g")->HasBody());
  EXPECT_EQ(module->FindFunction("g")->body_line, 7U);
}

TEST(Parse, SkipsDebugInformation) {
  const auto module = MustParse(R"(
.file 1 "a.cu", 1700000000, 4711
.loc 1 3 0
.section .debug_str {
$L__info: .b8 1, 2, 123
.b64 .debug_abbrev
}
@@DWARF .byte 0x32
.func f() { ret; }
)");
  EXPECT_NE(module->FindFunction("f"), nullptr);
}

TEST(Parse, NamesTheLineOfASyntaxError) {
  ExpectSyntaxError("\n\n.global u32 x;", "line 6: expected a type, found 'u32'");
  ExpectSyntaxError(".global .u32 x", "line 4: expected ';', found the end");
  ExpectSyntaxError(".func f() {\n{ ret; }\n", "line 4: a block does not end");
  ExpectSyntaxError("/* ", "a comment does not end");
  ExpectSyntaxError(".global .u32 \x80;", "a character that PTX does not have");
  ExpectSyntaxError(".global .b8 x[2] = {1, 2, 3};", "too many elements");
  ExpectSyntaxError(".global .u64 x[][1099511627776] = {{}, {}};", "'x' is too large");
  ExpectSyntaxError(".global .u32 x = {{{1}}};", "too many braces");
  ExpectSyntaxError(".global .u32 x = 1 / 0;", "divided by zero");
  ExpectSyntaxError(".global .u32 x = 12a;", "'12a' is not a number");
  ExpectSyntaxError(".global .u32 x = 99999999999999999999;", "is not a number");
  ExpectSyntaxError(".global .f32 x = 0f3F8;", "is not a number");
  ExpectSyntaxError(".global .u32 x; .global .u32 x;", "'x' is defined twice");
  ExpectSyntaxError(".func f() { } .func f() { }", "'f' is defined twice");
  ExpectSyntaxError(".global .align 3 .u32 x;", "not a power of two");
  ExpectSyntaxError(".reg .u32 x;", "cannot be declared outside a function");
  ExpectSyntaxError(".entry k(.reg .u32 x) { }", "'x' is not a parameter");
  ExpectSyntaxError("hello", "expected a directive, found 'hello'");
  ExpectSyntaxError(".address_size 32", "addresses of 32 bits are not supported");
}

TEST(Parse, RefusesWhatIsNotPtx) {
  for (const std::string text : {"", "\177ELF\2\1\1", "int main() {}", ".version x", ".version 9.0"}) {
    const auto module = Parse(text);
    EXPECT_EQ(module.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_EQ(CudaErrorOf(module.status()), CudaError::kInvalidPtx);
  }
}

TEST(Parse, HostileSizesAreRefusedWithoutAllocating) {
  ExpectSyntaxError(".global .b8 x[1099511627777];", "an array's length is 1099511627777");
  ExpectSyntaxError(".global .u64 x[1099511627776];", "'x' is too large");
  ExpectSyntaxError(".global .b8 x[0][1048576][1048576][2] = {{{{1}}}};", "'x' is too large");
  ExpectSyntaxError(".global .b8 x[2][1073741824] = {{1}, {1}};", "an initialiser is too long");
  ExpectSyntaxError(".entry k(.param .b8 x[70000]) { }", "the parameters of 'k' are too large");
  ExpectSyntaxError(".global .u32 x = " + std::string(100000, '(') + "1;", "nested too deeply");
  ExpectSyntaxError(".global .u32 x = " + std::string(100000, '-') + "1;", "nested too deeply");
  ExpectSyntaxError(
      ".global .u32 x" +
          [] {
            std::string dimensions;
            for (int i = 0; i < 100; ++i) dimensions += "[1]";
            return dimensions;
          }() +
          ";",
      "too many dimensions");
  std::string sparse;
  for (int i = 0; i < 100; ++i) sparse += fmt::format(".global .b8 x{}[2][1000000] = {{{{1}}, {{1}}}};\n", i);
  ExpectSyntaxError(sparse, "an initialiser is too long");
}

TEST(LayoutParameters, AlignsEachParameter) {
  const auto module = MustParse(".entry k(.param .u8 a, .param .u64 b, .param .u16 c, .param .align 16 .b8 d[4]) { }");
  EXPECT_THAT(
      LayoutParameters(*module->FindFunction("k")),
      ElementsAre(ParameterLayout{0, 1}, ParameterLayout{8, 8}, ParameterLayout{16, 2}, ParameterLayout{32, 4}));
}

}  // namespace
}  // namespace wharf::device::ptx
