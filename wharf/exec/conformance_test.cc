// ONNX's own backend tests (Debian's libonnx-testdata, which nobody here wrote) for every operator that
// graph/operators.h claims: each passes, or is refused for one of the reasons listed here. For operator sets that are
// newer than those tests, cases with what ONNX's reference makes of them (tools/make_onnx_cases.py), and more of the
// kind in the directory that WHARF_ONNX_CASES names.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "wharf/exec/onnx_case.h"
#include "wharf/exec/testing.h"
#include "wharf/graph/onnx/import.h"
#include "wharf/graph/operators.h"

namespace wharf::exec {
namespace {

namespace fs = std::filesystem;
using graph::Constant;
using testing::Bytes;
using testing::Tensors;

bool IsClaimed(const fs::path& test) {
  const auto names = graph::OperatorsOf(Bytes(test / "model.onnx"));
  return names.ok() && std::all_of(names->begin(), names->end(),
                                   [](const std::string& name) { return graph::FindInFiles(name) != nullptr; });
}

std::vector<fs::path> Tests() {
  std::vector<fs::path> tests;
  std::vector<fs::path> suites = {fs::path(WHARF_TESTDATA) / "newer_sets"};
  for (const char* suite : {"node", "simple", "pytorch-operator", "pytorch-converted"}) {
    suites.push_back(fs::path(WHARF_ONNX_TESTS) / suite);
  }
  if (const char* more = std::getenv("WHARF_ONNX_CASES")) suites.emplace_back(more);
  for (const fs::path& suite : suites) {
    for (const auto& entry : fs::directory_iterator(suite)) {
      if (IsClaimed(entry.path())) tests.push_back(entry.path());
    }
  }
  std::sort(tests.begin(), tests.end());
  return tests;
}

// What no claim covers, by what the refusal says.
constexpr std::string_view kReasons[] = {
    "elements of type",  // half, bfloat16, text and unsigned integers beyond 8 bits
    "training mode",
    "supported from operator set 7 on",  // PRelu, once
    "it is no tensor",                   // sequences and optionals
};

// Sizes, axes and the like are inputs in these tests; ours must be known at import.
absl::StatusOr<graph::Graph> Import(const fs::path& test, const std::vector<Constant>& inputs,
                                    std::vector<bool>& known) {
  known.assign(inputs.size(), false);
  const std::vector<std::byte> model = Bytes(test / "model.onnx");
  auto graph = graph::ImportOnnx(model, {});
  if (graph.ok() || !absl::IsUnimplemented(graph.status())) return graph;
  const auto names = graph::InputNames(model);
  graph::ImportOptions options;
  for (size_t i = 0; i < inputs.size() && i < names->size(); ++i) {
    known[i] = inputs[i].type.Rank() <= 1 && (i > 0 || inputs.size() == 1 || inputs[i].type.Rank() == 0);
    if (known[i]) options.known_inputs[(*names)[i]] = inputs[i];
  }
  return graph::ImportOnnx(model, options);
}

class Conformance : public ::testing::TestWithParam<fs::path> {};

TEST_P(Conformance, GivesWhatOnnxSays) {
  const fs::path data = GetParam() / "test_data_set_0";
  const std::vector<Constant> inputs = Tensors(data, "input");
  std::vector<bool> known;
  auto graph = Import(GetParam(), inputs, known);
  if (!graph.ok()) {
    ASSERT_EQ(graph.status().code(), absl::StatusCode::kUnimplemented) << ToString(graph.status());
    const std::string_view message = Message(graph.status());
    ASSERT_TRUE(std::any_of(std::begin(kReasons), std::end(kReasons), [&](std::string_view reason) {
      return message.find(reason) != std::string_view::npos;
    })) << message;
    GTEST_SKIP() << message;
  }
  const auto program = testing::TestEngine().Prepare(*graph);
  ASSERT_TRUE(program.ok()) << ToString(program.status());
  std::vector<TensorPtr> given;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!known[i]) given.push_back(testing::ToTensor(inputs[i]));
  }
  const auto results = RunWhole(**program, given);
  ASSERT_TRUE(results.ok()) << ToString(results.status());
  const std::vector<Constant> expected = Tensors(data, "output");
  ASSERT_FALSE(expected.empty());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(testing::Near(testing::ToConstant(*(*results)[i]), expected[i], 1e-3, 1e-6)) << "output " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Onnx, Conformance, ::testing::ValuesIn(Tests()), testing::CaseName);

TEST(Claims, EveryOperatorThatRunsHasAKernelAndNoOther) {
  std::vector<std::string_view> run;
  for (const graph::OperatorFacts& facts : graph::Operators()) {
    if (facts.kind != graph::OperatorKind::kConstant) run.push_back(facts.name);
  }
  for (const graph::OperatorFacts& facts : graph::FusedOperators()) run.push_back(facts.name);
  std::sort(run.begin(), run.end());
  EXPECT_EQ(run, TorchOperators());
}

TEST(Claims, EveryOperatorIsInATest) {
  std::set<std::string> tested;
  for (const fs::path& test : Tests()) {
    const auto names = graph::OperatorsOf(Bytes(test / "model.onnx"));
    ASSERT_TRUE(names.ok());
    tested.insert(names->begin(), names->end());
  }
  for (const auto facts : {graph::Operators(), graph::NewerOperators()}) {
    for (const graph::OperatorFacts& one : facts) EXPECT_TRUE(tested.contains(std::string(one.name))) << one.name;
  }
}

}  // namespace
}  // namespace wharf::exec
