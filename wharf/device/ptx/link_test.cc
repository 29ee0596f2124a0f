#include "wharf/device/ptx/link.h"

#include <gmock/gmock.h>

#include "wharf/device/cuda_error.h"
#include "wharf/device/ptx/parser.h"

namespace wharf::device::ptx {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Text(std::string_view body, std::string_view version = "8.0") {
  return fmt::format("//\n.version {}\n.target sm_75\n.address_size 64\n{}", version, body);
}

std::shared_ptr<const Module> MustLink(const std::vector<std::string>& texts) {
  const auto linked = Link(texts);
  EXPECT_TRUE(linked.ok()) << linked.status();
  const auto module = Parse(*linked);
  EXPECT_TRUE(module.ok()) << module.status() << *linked;
  return module.value_or(nullptr);
}

TEST(Link, DefinitionsMeetTheirDeclarations) {
  for (const bool definition_first : {false, true}) {
    std::vector<std::string> texts = {
        Text(".extern .func (.param .b32 r) twice (.param .b32 x);\n.extern .global .align 4 .b8 table[16];\n"
             ".visible .entry kernel() { ret; }"),
        Text(".visible .global .align 4 .b8 table[16] = {1, 2};\n"
             ".visible .func (.param .b32 r) twice(.param .b32 x) { ret; }")};
    if (definition_first) std::swap(texts[0], texts[1]);
    const auto module = MustLink(texts);
    EXPECT_TRUE(module->FindFunction("twice")->HasBody());
    EXPECT_TRUE(module->FindFunction("kernel")->is_entry);
    EXPECT_EQ(module->FindVariable("table")->initializer.size(), 2U);
  }
}

TEST(Link, PrivateNamesStayApart) {
  const auto linked = Link(std::vector<std::string>{
      Text(".global .align 1 .b8 $str[2] = {65};\n.func local() { ret; }\n"
           ".visible .entry a() { .reg .b64 %rd<2>; mov.u64 %rd1, $str; call.uni local, (); ret; }"),
      Text(".global .align 1 .b8 $str[2] = {66};\n// $str\n.func local() { ret; }\n"
           ".visible .entry b() { .reg .b64 %rd<2>; mov.u64 %rd1, $str; call.uni local, (); ret; }")});
  ASSERT_TRUE(linked.ok()) << linked.status();
  const auto module = Parse(*linked);
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ((*module)->FindVariable("$str$0")->initializer.at(0).bits, 65U);
  EXPECT_EQ((*module)->FindVariable("$str$1")->initializer.at(0).bits, 66U);
  EXPECT_THAT(std::string((*module)->FindFunction("a")->body_text), HasSubstr("%rd1, $str$0; call.uni local$0,"));
  EXPECT_THAT(std::string((*module)->FindFunction("b")->body_text), HasSubstr("%rd1, $str$1; call.uni local$1,"));
  EXPECT_THAT(*linked, HasSubstr("// $str\n"));
}

TEST(Link, NamesThatNobodyElseUsesStay) {
  const auto module = MustLink({Text(".global .u32 a;\n.visible .entry k() { ret; }"), Text(".global .u32 b;")});
  EXPECT_NE(module->FindVariable("a"), nullptr);
  EXPECT_NE(module->FindVariable("b"), nullptr);
}

TEST(Link, PrivateNamesMakeWayForOthersPublicOnes) {
  const auto module = MustLink({Text(".global .u32 x = 1;"), Text(".visible .global .u32 x = 2;")});
  EXPECT_EQ(module->FindVariable("x")->initializer.at(0).bits, 2U);
  EXPECT_EQ(module->FindVariable("x$0")->initializer.at(0).bits, 1U);
}

TEST(Link, WeakDefinitionsAreOne) {
  const std::string text = Text(".weak .func f() { ret; }\n.weak .global .u32 w = 3;\n.weak .entry k() { ret; }");
  const auto module = MustLink({text, text, text});
  EXPECT_TRUE(module->FindFunction("f")->HasBody());
  EXPECT_EQ(module->FindVariable("w")->initializer.at(0).bits, 3U);
}

// ptxas takes no text that says of a function both that it is extern and what it does, nor two weak definitions.
TEST(Link, WhatIsDefinedIsNotExternAndDefinedOnce) {
  const std::string user = Text(
      ".extern .func (.param .b32 r) twice (.param .b32 x);\n.extern .func vprintf();\n"
      ".weak .func shared() { ret; }\n.weak .entry k() { ret; }\n.weak .global .u32 w;");
  const std::string definer = Text(
      ".visible .func (.param .b32 r) twice(.param .b32 x) { ret; }\n"
      ".visible .func shared() { exit; }");
  const auto linked = Link(std::vector<std::string>{user, user, definer});
  ASSERT_TRUE(linked.ok()) << linked.status();
  const auto count = [&](std::string_view what) {
    size_t times = 0;
    for (size_t at = 0; (at = linked->find(what, at)) != std::string::npos; at += what.size()) ++times;
    return times;
  };
  EXPECT_EQ(count(".extern .func (.param .b32 r) twice"), 0U);
  EXPECT_EQ(count(".visible .func (.param .b32 r) twice"), 3U);
  EXPECT_EQ(count(".extern .func vprintf"), 2U);
  EXPECT_EQ(count(".visible .func shared() ;"), 2U);
  EXPECT_EQ(count(".weak"), 2U);  // k and w
  const auto module = Parse(*linked);
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_TRUE((*module)->FindFunction("twice")->HasBody());
  EXPECT_THAT(std::string((*module)->FindFunction("shared")->body_text), HasSubstr("exit"));
}

TEST(Link, TheNewestVersionCountsAndDebugInformationOfOthersGoes) {
  const auto linked = Link(std::vector<std::string>{
      Text(".file 1 \"old.cu\"\n.visible .entry a() {\n.loc 1 3 0\nret; }\n.section .debug_str { .b8 1 }", "7.5"),
      Text(".file 1 \"new.cu\"\n.visible .entry b() {\n.loc 1 4 0\nret; }\n.section .debug_str { .b8 2 }", "8.5")});
  ASSERT_TRUE(linked.ok()) << linked.status();
  EXPECT_THAT(*linked, HasSubstr(".loc 1 4"));
  EXPECT_THAT(*linked, HasSubstr(".b8 2"));
  EXPECT_THAT(*linked, Not(HasSubstr("old.cu")));
  EXPECT_THAT(*linked, Not(HasSubstr(".loc 1 3")));
  EXPECT_THAT(*linked, Not(HasSubstr(".b8 1")));
  const auto module = Parse(*linked);
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ((*module)->version_minor, 5);
  EXPECT_EQ((*module)->version_major, 8);
  EXPECT_NE((*module)->FindFunction("a"), nullptr);
}

TEST(Link, OneTextIsItself) {
  const std::string text = Text(".visible .entry k() { ret; }\n");
  EXPECT_EQ(Link(std::vector<std::string>{text}).value(), text + "\n");
}

TEST(Link, SaysWhichTextIsWrong) {
  const auto linked = Link(std::vector<std::string>{Text(""), Text(".visible .entry k() {")});
  EXPECT_EQ(linked.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CudaErrorOf(linked.status()), CudaError::kInvalidPtx);
  EXPECT_THAT(std::string(Message(linked.status())), HasSubstr("text 2: line 5"));
}

TEST(Link, WhatIsDefinedTwiceShowsWhenItIsParsed) {
  const std::string text = Text(".visible .func f() { ret; }");
  const auto module = Parse(Link(std::vector<std::string>{text, text}).value());
  EXPECT_THAT(std::string(Message(module.status())), HasSubstr("'f' is defined twice"));
}

void ExpectUnfinished(const std::string& body, const std::string& reason) {
  const absl::Status status = CheckLinked(Text(body));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CudaErrorOf(status), CudaError::kInvalidPtx);
  EXPECT_THAT(std::string(Message(status)), HasSubstr(reason));
}

TEST(CheckLinked, AcceptsWhatIsDefinedHereOrByTheSystem) {
  const absl::Status status = CheckLinked(
      Text(".extern .func (.param .b32 r) vprintf(.param .b64 p, .param .b64 q);\n"
           ".extern .shared .align 4 .b8 dynamic[];\n.extern .global .u32 x;\n.visible .global .u32 x = 1;\n"
           ".func f();\n.func f() { ret; }\n.visible .entry k() { ret; }"));
  EXPECT_TRUE(status.ok()) << status;
}

TEST(CheckLinked, KnowsTheDeviceRuntime) {
  for (const char* name : {"__cudaCDP2LaunchDeviceV2", "cudaLaunchDeviceV2"}) {
    EXPECT_TRUE(IsSystemFunction(name));
    EXPECT_EQ(DeviceRuntimeName(name), "LaunchDeviceV2");
  }
  EXPECT_EQ(DeviceRuntimeName("__cudaCDP2Free"), "Free");
  for (const char* name : {"cudaFree", "LaunchDeviceV2", "cudaLaunchDevice", "__cudaCDP2LaunchDevice", "__cudaCDP2"}) {
    EXPECT_EQ(DeviceRuntimeName(name), "") << name;
  }
}

TEST(CheckLinked, NamesWhatIsNotDefined) {
  ExpectUnfinished(".extern .func missing();\n.visible .entry k() { ret; }", "undefined reference to 'missing'");
  ExpectUnfinished(".extern .global .u32 there;\n.visible .entry k() { ret; }", "undefined reference to 'there'");
}

TEST(CheckLinked, ReadsEveryBody) { ExpectUnfinished(".visible .func f() { add.u32 }", "line 5"); }

TEST(Link, SurvivesEveryPrefix) {
  const std::string text = Text(
      ".global .u32 x = 1;\n.visible .entry k(.param .u64 p) .maxntid 32 { ret; }\n"
      ".section .debug_str { .b8 1 }\n.alias a, b;\n.pragma \"x\";");
  for (size_t size = 0; size < text.size(); ++size) {
    (void)Link(std::vector<std::string>{text.substr(0, size), text});
  }
}

}  // namespace
}  // namespace wharf::device::ptx
