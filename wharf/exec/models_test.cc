// Whole networks, exported from PyTorch by tools/export_models.py with what PyTorch made of one input: small ones kept
// here (a residual network with batch norms, a mobile one, an encoder of a transformer, a decoder, and some of
// everything), and all in the directory that WHARF_MODELS names.
#include <gtest/gtest.h>

#include <cstdlib>

#include "wharf/exec/onnx_case.h"
#include "wharf/exec/testing.h"

namespace wharf::exec {
namespace {

namespace fs = std::filesystem;
using graph::Constant;

std::vector<fs::path> Models() {
  std::vector<fs::path> directories = {WHARF_TESTDATA}, models;
  if (const char* more = std::getenv("WHARF_MODELS")) directories.emplace_back(more);
  for (const fs::path& directory : directories) {
    for (const auto& entry : fs::directory_iterator(directory)) {
      if (fs::exists(entry.path() / "test_data_set_0" / "output_0.pb")) models.push_back(entry.path());
    }
  }
  std::sort(models.begin(), models.end());
  return models;
}

double Largest(const Constant& constant) {
  double largest = 0;
  for (const double value : graph::Numbers(constant)) largest = std::max(largest, std::abs(value));
  return largest;
}

class ExportedModel : public ::testing::TestWithParam<fs::path> {
 protected:
  std::unique_ptr<Program> Prepared(int64_t batch) const {
    auto graph = graph::LoadOnnx((GetParam() / "model.onnx").string(), {{{"batch", batch}}, {}});
    EXPECT_TRUE(graph.ok()) << ToString(graph.status());
    if (!graph.ok()) return nullptr;
    auto program = testing::TestEngine().Prepare(*std::move(graph));
    EXPECT_TRUE(program.ok()) << ToString(program.status());
    return program.ok() ? *std::move(program) : nullptr;
  }
  // 1e-4 of the largest element: networks add up many terms of either sign.
  static void ExpectEqual(const Tensor& tensor, const Constant& expected) {
    EXPECT_TRUE(testing::Near(testing::ToConstant(tensor), expected, 1e-4, 1e-4 * Largest(expected)));
  }
  const fs::path data_ = GetParam() / "test_data_set_0";
};

TEST_P(ExportedModel, GiveWhatPyTorchGives) {
  const auto program = Prepared(1);
  ASSERT_NE(program, nullptr);
  const Constant input = testing::Tensors(data_, "input").at(0);
  const auto results = RunWhole(*program, {{testing::ToTensor(input)}});
  ASSERT_TRUE(results.ok()) << ToString(results.status());
  const std::vector<Constant> expected = testing::Tensors(data_, "output");
  ASSERT_EQ(results->size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) ExpectEqual(*(*results)[i], expected[i]);
}

TEST_P(ExportedModel, GiveTheSameForEachOfABatch) {
  const auto program = Prepared(2);
  ASSERT_NE(program, nullptr);
  const auto twice = [](const Constant& one) {
    std::vector<std::byte> bytes = *one.bytes;
    bytes.insert(bytes.end(), one.bytes->begin(), one.bytes->end());
    graph::TensorType type = one.type;
    type.shape[0] *= 2;
    return Constant{type, std::make_shared<const std::vector<std::byte>>(std::move(bytes))};
  };
  const auto results = RunWhole(*program, {{testing::ToTensor(twice(testing::Tensors(data_, "input").at(0)))}});
  ASSERT_TRUE(results.ok()) << ToString(results.status());
  ExpectEqual(*(*results)[0], twice(testing::Tensors(data_, "output").at(0)));
}

// The last value that is cut into rows, once whole and once by halves, each from the rows of the input that it needs.
TEST_P(ExportedModel, GivesTheSameByHalves) {
  const auto program = Prepared(1);
  ASSERT_NE(program, nullptr);
  const graph::Graph& graph = program->Graph();
  const auto& axes = program->RowRules().axis;
  int last = graph.inputs[0];
  for (const graph::Node& node : graph.nodes) {
    const int output = node.outputs[0];
    if (output != graph::kAbsent && axes[output] != graph::kNoRows) last = output;
  }
  const Rows all{last, AllRows(*program, last)};
  const Part image{{graph.inputs[0], AllRows(*program, graph.inputs[0])},
                   testing::ToTensor(testing::Tensors(data_, "input").at(0))};
  const auto whole = program->Run({{image}}, {{all}});
  ASSERT_TRUE(whole.ok()) << ToString(whole.status());
  const int middle = all.range.hi / 2;
  for (const graph::RowRange half : {graph::RowRange{0, middle}, graph::RowRange{middle, all.range.hi}}) {
    const std::vector<Rows> wanted = {{last, half}};
    const auto needed = NeededRows(graph, program->RowRules(), wanted, std::vector<bool>(graph.values.size()));
    const auto part = program->Run({{program->Cut(image, needed[graph.inputs[0]])}}, wanted);
    ASSERT_TRUE(part.ok()) << ToString(part.status());
    ExpectEqual(*(*part)[0], testing::ToConstant(*program->Cut({all, (*whole)[0]}, half).tensor));
  }
}

INSTANTIATE_TEST_SUITE_P(PyTorch, ExportedModel, ::testing::ValuesIn(Models()), testing::CaseName);

}  // namespace
}  // namespace wharf::exec
