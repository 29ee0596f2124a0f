// PTX as nvcc prints it for testdata/features.cu, plain and with debug information.
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>

#include "wharf/device/ptx/test_util.h"

namespace wharf::device::ptx {
namespace {

using ::testing::ElementsAre;

std::shared_ptr<const Module> ParseFile(const std::string& name) {
  std::ifstream file(std::string(WHARF_FIXTURES "/") + name, std::ios::binary);
  EXPECT_TRUE(file) << name;
  auto module = Parse(std::string(std::istreambuf_iterator<char>(file), {}));
  EXPECT_TRUE(module.ok()) << module.status();
  return module.ok() ? *std::move(module) : std::make_shared<Module>();
}

Body ParseFunction(const Module& module, std::string_view name) {
  const Function* function = module.FindFunction(name);
  if (function == nullptr) {
    ADD_FAILURE() << "no function " << name;
    return {};
  }
  auto body = ParseBody(module, *function);
  EXPECT_TRUE(body.ok()) << body.status();
  return body.ok() ? *std::move(body) : Body{};
}

size_t Count(const Body& body, std::string_view opcode) {
  return static_cast<size_t>(std::count_if(body.instructions.begin(), body.instructions.end(),
                                           [opcode](const Instruction& i) { return i.opcode == opcode; }));
}

class NvccPtx : public ::testing::TestWithParam<const char*> {};

TEST_P(NvccPtx, EveryBodyParses) {
  const auto module = ParseFile(GetParam());
  size_t bodies = 0;
  for (const Function& function : module->functions) {
    if (!function.HasBody()) continue;
    const auto body = ParseBody(*module, function);
    EXPECT_TRUE(body.ok()) << function.name << ": " << body.status();
    ++bodies;
  }
  EXPECT_GE(bodies, 5U);
}

TEST_P(NvccPtx, ParametersAreLaidOutAsInTheSource) {
  const auto module = ParseFile(GetParam());
  const Function* features = module->FindFunction("features");
  ASSERT_NE(features, nullptr);
  EXPECT_TRUE(features->is_entry);
  EXPECT_THAT(LayoutParameters(*features),
              ElementsAre(ParameterLayout{0, 8}, ParameterLayout{8, 8}, ParameterLayout{16, 1}, ParameterLayout{18, 2},
                          ParameterLayout{24, 24}));
  EXPECT_EQ(features->directives.at("maxntid").at(0), 256U);
  EXPECT_THAT(features->directives.at("minnctapersm"), ElementsAre(2));
  EXPECT_TRUE(features->directives.contains("maxntid"));
}

TEST_P(NvccPtx, ModuleVariablesHaveTheirInitialisers) {
  const auto module = ParseFile(GetParam());
  const Variable* table = module->FindVariable("table");
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(table->space, Space::kConst);
  EXPECT_EQ(table->Bytes(), 16U);
  ASSERT_EQ(table->initializer.size(), 16U);
  EXPECT_EQ(table->initializer[2].bits, 0x80U);
  EXPECT_EQ(table->initializer[3].bits, 0x3FU);  // 1.0f
  const Variable* counter = module->FindVariable("counter");
  ASSERT_NE(counter, nullptr);
  EXPECT_EQ(counter->initializer.at(0).bits, 42U);
  const Variable* greeting = module->FindVariable("greeting");
  ASSERT_NE(greeting, nullptr);
  ASSERT_EQ(greeting->initializer.size(), 1U);
  EXPECT_TRUE(greeting->initializer[0].generic);
  EXPECT_NE(module->FindVariable(greeting->initializer[0].symbol), nullptr);
  const Variable* functions = module->FindVariable("functions");
  ASSERT_NE(functions, nullptr);
  ASSERT_EQ(functions->initializer.size(), 2U);
  EXPECT_NE(module->FindFunction(functions->initializer[1].symbol), nullptr);
  const Variable* dynamic = module->FindVariable("dynamic");
  ASSERT_NE(dynamic, nullptr);
  EXPECT_TRUE(dynamic->is_extern);
  EXPECT_EQ(dynamic->Bytes(), 0U);
}

TEST_P(NvccPtx, BodiesHoldWhatTheSourceSays) {
  const auto module = ParseFile(GetParam());
  const Body features = ParseFunction(*module, "features");
  EXPECT_GE(Count(features, "call"), 4U);  // Weigh, a pointer, __assertfail, vprintf; more without optimisation
  EXPECT_EQ(Count(features, "bar"), 1U);
  EXPECT_EQ(features.prototypes.size(), 1U);
  EXPECT_TRUE(std::any_of(features.variables.begin(), features.variables.end(), [](const Variable& variable) {
    return variable.space == Space::kShared && variable.Bytes() == 1024;
  }));
  std::set<std::string> names;
  for (const Variable& variable : features.variables) EXPECT_TRUE(names.insert(variable.name).second) << variable.name;
  const auto& call = *std::find_if(features.instructions.begin(), features.instructions.end(),
                                   [](const Instruction& i) { return !i.call_prototype.empty(); });
  EXPECT_TRUE(features.prototypes.contains(call.call_prototype));
}

TEST_P(NvccPtx, LabelsResolve) {
  const auto module = ParseFile(GetParam());
  const Body branches = ParseFunction(*module, "branches");
  EXPECT_GE(branches.labels.size(), 12U);
  for (const Instruction& instruction : branches.instructions) {
    if (instruction.opcode != "bra") continue;
    EXPECT_TRUE(branches.labels.contains(As<SymbolOperand>(instruction.operands.at(0)).name)) << instruction.text;
  }
  // The two inline blocks declare the same label; each jumps to its own.
  EXPECT_TRUE(branches.labels.contains("DONE"));
  EXPECT_TRUE(branches.labels.contains("DONE.1"));
  EXPECT_LT(branches.labels.at("DONE"), branches.labels.at("DONE.1"));
}

INSTANTIATE_TEST_SUITE_P(Options, NvccPtx,
                         ::testing::Values("plain.ptx", "lineinfo.ptx", "debug.ptx", "relocatable.ptx", "newest.ptx"));

}  // namespace
}  // namespace wharf::device::ptx
