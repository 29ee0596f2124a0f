#include "wharf/graph/onnx/import.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "wharf/graph/onnx/onnx_text.h"
#include "wharf/graph/operators.h"

namespace wharf::graph {
namespace {

using absl::StatusCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<Graph> Import(const std::string& text, int operator_set = 13, const ImportOptions& options = {}) {
  return ImportOnnx(testing::Bytes(testing::Model(text, operator_set)), options);
}

Graph Imported(const std::string& text, int operator_set = 13) {
  auto graph = Import(text, operator_set);
  EXPECT_TRUE(graph.ok()) << ToString(graph.status());
  return graph.ok() ? *std::move(graph) : Graph();
}

void ExpectRefused(const absl::StatusOr<Graph>& graph, StatusCode code, std::string_view part) {
  EXPECT_EQ(graph.status().code(), code);
  EXPECT_THAT(std::string(Message(graph.status())), HasSubstr(std::string(part)));
}

std::vector<std::string> Names(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes) names.push_back(node.op);
  return names;
}

TEST(OnnxImport, GivesEveryValueItsType) {
  const Graph graph =
      Imported(R"(g (float[2,3,8,8] x, float[4,3,3,3] w) => (float[2,4,6,6] y) { c = Conv (x, w)  y = Relu (c) })");
  EXPECT_THAT(Names(graph), ElementsAre("Conv", "Relu"));
  EXPECT_EQ(graph.Type(graph.nodes[0].outputs[0]).Text(), "float32[2,4,6,6]");
  EXPECT_EQ(graph.inputs.size(), 2U);
  EXPECT_TRUE(Validate(graph).ok());
}

TEST(OnnxImport, FoldsWhatExportersWriteForAReshape) {
  const Graph graph = Imported(R"(g (float[2,3,4] x) => (float[2,12] y) {
    shape = Shape (x)
    zero = Constant <value = int64 {0}> ()
    batch = Gather <axis = 0> (shape, zero)
    axes = Constant <value = int64[1] {0}> ()
    first = Unsqueeze (batch, axes)
    rest = Constant <value = int64[1] {-1}> ()
    target = Concat <axis = 0> (first, rest)
    y = Reshape (x, target)
  })");
  ASSERT_THAT(Names(graph), ElementsAre("Reshape"));
  EXPECT_THAT(*Integers(*graph.ConstantInput(graph.nodes[0], 1)), ElementsAre(2, -1));
  EXPECT_EQ(graph.Type(graph.outputs[0]).Text(), "float32[2,12]");
}

TEST(OnnxImport, FoldsBatchNormsIntoConvolutions) {
  const Graph graph = Imported(R"(g (float[1,1,2,2] x) => (float[1,2,2,2] y) {
    w = Constant <value = float[2,1,1,1] {1.0, 2.0}> ()
    scale = Constant <value = float[2] {2.0, 3.0}> ()
    shift = Constant <value = float[2] {0.5, 0.25}> ()
    mean = Constant <value = float[2] {1.0, 2.0}> ()
    variance = Constant <value = float[2] {4.0, 9.0}> ()
    c = Conv (x, w)
    y = BatchNormalization <epsilon = 0.0> (c, scale, shift, mean, variance)
  })");
  ASSERT_THAT(Names(graph), ElementsAre("Conv"));
  EXPECT_THAT(graph.ConstantInput(graph.nodes[0], 1)->As<float>(), ElementsAre(1.0F, 2.0F));     // * 2 / 2, * 3 / 3
  EXPECT_THAT(graph.ConstantInput(graph.nodes[0], 2)->As<float>(), ElementsAre(-0.5F, -1.75F));  // 0.5 - 1, 0.25 - 2
}

TEST(OnnxImport, KeepsABatchNormWhoseConvolutionOthersRead) {
  const Graph graph = Imported(R"(g (float[1,1,2,2] x, float[1,1,1,1] w) => (float[1,1,2,2] y, float[1,1,2,2] c) {
    one = Constant <value = float[1] {1.0}> ()
    c = Conv (x, w)
    y = BatchNormalization (c, one, one, one, one)
  })");
  EXPECT_THAT(Names(graph), ElementsAre("Conv", "BatchNormalization"));
}

TEST(OnnxImport, RemovesWhatDoesNothing) {
  const Graph graph = Imported(R"(g (float[2] x) => (float[2] y) {
    a = Identity (x)  b = Dropout (a)  unused = Exp (a)  y = Neg (b)
  })");
  EXPECT_THAT(Names(graph), ElementsAre("Neg"));
  EXPECT_EQ(graph.nodes[0].inputs[0], graph.inputs[0]);
}

TEST(OnnxImport, ConvertsOldOperatorSets) {
  const Graph graph = Imported("g (float[2,3,4] x) => (float[2,3,4] y) { y = Softmax (x) }", 9);
  EXPECT_THAT(Names(graph), ElementsAre("Flatten", "Softmax", "Reshape"));  // it went over all axes from 1 on, then
}

TEST(OnnxImport, RefusesOperatorsOfSetsThatMeantSomethingElse) {
  ExpectRefused(Import("g (float[1,3,4] x, float[3] s) => (float[1,3,4] y) { y = PRelu (x, s) }", 6),
                StatusCode::kUnimplemented, "PRelu node \"\": supported from operator set 7 on, not in 6");
}

TEST(OnnxImport, SaysNewerOperatorSetsInOlderTerms) {
  EXPECT_THAT(Names(Imported("g (float[2,8] x) => (float[2,8] y) { y = Gelu (x) }", 20)),
              ElementsAre("Gelu"));  // fused
  const Graph graph = Imported(R"(g (float[2,3,4] x) => (float[2,4] y) {
    one = Constant <value = int64[1] {1}> ()
    y = ReduceMean <keepdims = 0> (x, one)
  })",
                               18);
  ASSERT_THAT(Names(graph), ElementsAre("ReduceMean"));
  EXPECT_THAT(graph.nodes[0].Ints("axes", {}), ElementsAre(1));
}

TEST(OnnxImport, TakesFilesOfNewerFormats) {
  onnx::ModelProto model = testing::Model("g (float[2] x) => (float[2] y) { y = Relu (x) }", 17);
  model.set_ir_version(13);
  EXPECT_TRUE(ImportOnnx(testing::Bytes(model), {}).ok());
}

TEST(OnnxImport, SaysWhatToDoAboutNewerForms) {
  const std::string resize = R"(g (float[1,1,4,4] x) => (float[1,1,2,2] y) {
    s = Constant <value = int64[4] {1,1,2,2}> ()
    y = Resize <antialias = 1, mode = "linear"> (x, , , s)
  })";
  ExpectRefused(Import(resize, 18), StatusCode::kUnimplemented,
                "Resize node \"y\": antialias is not supported; export with an opset_version of 17 or without it");
  ExpectRefused(Import("g (float[1,2,4] x, int64[1] a) => (float[1,2,1] y) { y = ReduceMean (x, a) }", 18),
                StatusCode::kUnimplemented, "input 1 must be known at import");
  const std::string attention = R"(g (float[1,2,3,4] q) => (float[1,2,3,4] y) {
    y = Attention <softcap = 2.0> (q, q, q)
  })";
  ExpectRefused(Import(attention, 23), StatusCode::kUnimplemented, "attention with a cache, a cap or a window");
  ExpectRefused(Import("g (float[2] x) => (float[2] y) { y = Gelu (x) }", 19), StatusCode::kUnimplemented,
                "supported from operator set 20 on, not in 19");
}

TEST(OnnxImport, RefusesNewerNodesThatContradictThemselves) {
  for (const char* text : {
           "g (float[1,4,3] x, float[4] s) => (float[1,4,3] y) { y = GroupNormalization <num_groups = 3> (x, s, s) }",
           "g (float[1,4,3] x, float[3] s) => (float[1,4,3] y) { y = GroupNormalization <num_groups = 2> (x, s, s) }",
           "g (float[1,4,3] x) => (float[1,4,3] y) { y = GroupNormalization <num_groups = 2> (x) }",
           "g (float[3] x) => (float[1] y) { y, z, u, v = Split <num_outputs = 4> (x) }",
           "g (float[3] x) => (float[1] y) { y, z = Split <num_outputs = -2> (x) }",
           "g (float[3] x) => (float[1] y) { y, z = Split <num_outputs = 3> (x) }",
           "g (float[1,1,4] x) => (float[1,1,4] y) { y = AveragePool <kernel_shape = [3], dilations = [9]> (x) }",
           "g (float[1,1,4] x) => (float[1,1,4] y) { y = AveragePool <kernel_shape = [3,3], dilations = [9,9]> (x) }",
           "g (float[4] x) => (float[4] y) { y = RMSNormalization <axis = 3> (x, x) }",
           "g (float[4] x) => (float[4] y) { y = Mish () }",
           "g (float[4] x) => (float[4] y) { y = Attention (x, x, x) }",
           "g (float[1,4,6] x) => (float[4] y) { y = Attention <q_num_heads = 0> (x, x, x) }",
       }) {
    const auto graph = Import(text, 24);
    EXPECT_EQ(graph.status().code(), StatusCode::kInvalidArgument) << text << ToString(graph.status());
  }
  const std::string twice = R"(g (float[2,2] x) => (float[2,2] y) {
    p = Constant <value = int64[4] {1,1,1,1}> ()
    a = Constant <value = int64[2] {1,-1}> ()
    y = Pad (x, p, , a)
  })";
  ExpectRefused(Import(twice, 18), StatusCode::kInvalidArgument, "axis 1 twice");
}

// How much more memory than before a child process has had at most, in MiB, when it has imported this.
long MemoryToImport(const std::string& text, int operator_set) {  // NOLINT(google-runtime-int): rusage's
  const std::vector<std::byte> bytes = testing::Bytes(testing::Model(text, operator_set));
  const auto most = [] {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    return used.ru_maxrss >> 10;
  };
  int ends[2] = {-1, -1};
  if (pipe(ends) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) {
    const long before = most();  // NOLINT(google-runtime-int)
    ImportOnnx(bytes, {}).IgnoreError();
    const long more = most() - before;  // NOLINT(google-runtime-int)
    _exit(write(ends[1], &more, sizeof(more)) == sizeof(more) ? 0 : 1);
  }
  close(ends[1]);
  long more = -1;  // NOLINT(google-runtime-int)
  if (read(ends[0], &more, sizeof(more)) != sizeof(more)) more = -1;
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return more;
}

// Of some hundred bytes, or a few for each time that a constant is read.
TEST(OnnxImport, TakesNoMemoryForWhatANodeOnlySays) {
  for (const auto& [text, operator_set] : {
           std::pair("g (uint8[400000000] x) => (uint8[1] y) { y, z = Split <num_outputs = 200000000> (x) }", 18),
           std::pair(R"(g (float[1,400000000] x, float[400000000] s) => (float[1] y) {
                       y = GroupNormalization <num_groups = 400000000> (x, s, s) })",
                     21),
       }) {
    ExpectRefused(Import(text, operator_set), StatusCode::kInvalidArgument, "00000 ");
    const long more = MemoryToImport(text, operator_set);  // NOLINT(google-runtime-int)
    EXPECT_TRUE(more >= 0 && more < 64) << more << " MiB: " << text;
  }
  std::string often = "g (int64[1] x) => (int64[2] y) { c = Constant <value = int64[4096] {0";
  for (int i = 1; i < 4096; ++i) often += ",0";
  often += "}> () \n y = Concat <axis = 0> (x";
  for (int i = 0; i < 20'000; ++i) often += ",c";
  often += ") }";
  const long more = MemoryToImport(often, 13);  // NOLINT(google-runtime-int)
  EXPECT_TRUE(more >= 0 && more < 256) << more << " MiB";
}

TEST(OnnxImport, BindsOpenDimensions) {
  const std::string text = "g (float[batch,3,rows,8] x) => (float[batch,3,rows,8] y) { y = Relu (x) }";
  const auto graph = Import(text, 13, {{{"batch", 4}, {"rows", 6}}, {}});
  ASSERT_TRUE(graph.ok()) << ToString(graph.status());
  EXPECT_EQ(graph->Type(graph->outputs[0]).Text(), "float32[4,3,6,8]");
  ExpectRefused(Import(text), StatusCode::kInvalidArgument, "dimension \"rows\" is left open");
}

TEST(OnnxImport, TakesShapesAsText) {
  const auto model = testing::Bytes(
      testing::Model("g (float[batch,3,rows,columns] x) => (float[batch,3,rows,columns] y) { y = Relu (x) }"));
  for (const char* text : {"x=1,3,48,64", "1,3,48,64"}) {
    const auto shaped = WithInputShape(model, text);
    ASSERT_TRUE(shaped.ok()) << shaped.status();
    const auto graph = ImportOnnx(*shaped, {});
    ASSERT_TRUE(graph.ok()) << graph.status();
    EXPECT_EQ(graph->Type(graph->inputs[0]).Text(), "float32[1,3,48,64]");
  }
  EXPECT_EQ(*WithInputShape(model, ""), model);
  ExpectRefused(ImportOnnx(model, {}), StatusCode::kInvalidArgument, "(--shape x=batch,3,rows,columns)");
  for (const char* wrong : {"z=1,3,4,4", "1,3,4", "x=1,4,4,4", "x=", "x=1,,3,4", "x=1,3,4,", "x=1,3,-4,4", "x=1,3,4,a",
                            "x=1,3,4,99999999999999999999", "x=1,3,1000000000,1000000000"}) {
    EXPECT_EQ(WithInputShape(model, wrong).status().code(), StatusCode::kInvalidArgument) << wrong;
  }
  EXPECT_EQ(Message(WithInputShape(model, "x=1,4,4,4").status()),
            "the model fixes dimension 1 of input \"x\" at 3: 4 needs an export with that dimension open");
  EXPECT_EQ(WithInputShape(std::vector<std::byte>(3, std::byte{7}), "1,2").status().code(),
            StatusCode::kInvalidArgument);
}

TEST(OnnxImport, NamesOperatorAndNodeItDoesNotHave) {
  onnx::ModelProto model = testing::Model("g (float[1,1,4] x) => (float[1,1,4] y) { a = Relu (x)  y = Hardmax (a) }");
  model.mutable_graph()->mutable_node(1)->set_name("odd one");
  ExpectRefused(ImportOnnx(testing::Bytes(model), {}), StatusCode::kUnimplemented,
                "Hardmax node \"odd one\": operator Hardmax is not supported");
}

TEST(OnnxImport, RefusesWhatContradictsItself) {
  ExpectRefused(Import("g (float[1,3,8,8] x, float[4,3,3,3] w) => (float[1] y) { y = Conv <strides = [1]> (x, w) }"),
                StatusCode::kInvalidArgument, "Conv node \"y\"");
  ExpectRefused(Import("g (float[2,3] x, float[4,5] w) => (float[2,5] y) { y = MatMul (x, w) }"),
                StatusCode::kInvalidArgument, "MatMul node \"y\"");
  ExpectRefused(Import("g (float[2] x) => (float[2] y) { y = Relu (nothing) }"), StatusCode::kInvalidArgument,
                "nothing");
  ExpectRefused(Import("g (float[2] x, int32[2] i) => (float[2] y) { y = Add (x, i) }"), StatusCode::kInvalidArgument,
                "Add node \"y\"");
}

TEST(OnnxImport, RefusesFeaturesAndTypesItDoesNotHave) {
  ExpectRefused(Import("g (float16[2] x) => (float16[2] y) { y = Relu (x) }"), StatusCode::kUnimplemented, "FLOAT16");
  ExpectRefused(Import("g (float[2] x) => (float[2] y) { y = Relu (x) }", 29), StatusCode::kUnimplemented,
                "operator set 29: those from 1 to 28 are supported; export again with opset_version=17");
  ExpectRefused(Import(R"(g (float[2,2] x, float[2] s) => (float[2,2] y) {
                  y, m, v = BatchNormalization <training_mode = 1> (x, s, s, s, s) })",
                       15),
                StatusCode::kUnimplemented, "training mode");
  ExpectRefused(Import("g (float[4] x, int64[1] shape) => (float[2,2] y) { y = Reshape (x, shape) }"),
                StatusCode::kUnimplemented, "the shape of output 0 depends on data");
}

TEST(OnnxImport, RefusesDataInOtherFiles) {
  onnx::ModelProto model = testing::Model("g (float[2] x) => (float[2] y) { y = Add (x, w) }");
  onnx::TensorProto* weights = model.mutable_graph()->add_initializer();
  weights->set_name("w");
  weights->set_data_type(onnx::TensorProto::FLOAT);
  weights->add_dims(2);
  weights->set_data_location(onnx::TensorProto::EXTERNAL);
  ExpectRefused(ImportOnnx(testing::Bytes(model), {}), StatusCode::kUnimplemented, "\"w\" lie in another file");
}

TEST(OnnxImport, RefusesHugeAndShortWeights) {
  for (const int64_t elements : {int64_t{1} << 40, int64_t{3}, int64_t{-1}}) {
    onnx::ModelProto model = testing::Model("g (float[2] x) => (float[2] y) { y = Relu (x) }");
    onnx::TensorProto* weights = model.mutable_graph()->add_initializer();
    weights->set_name("w");
    weights->set_data_type(onnx::TensorProto::FLOAT);
    weights->add_dims(elements);
    weights->set_raw_data(std::string(8, '\0'));
    EXPECT_EQ(ImportOnnx(testing::Bytes(model), {}).status().code(), StatusCode::kInvalidArgument) << elements;
  }
}

TEST(OnnxImport, BoundsWhatFoldingMakes) {
  std::string text = "g (float[2] x) => (float[2] y) { n = Constant <value = int64[1] {1000000}> () \n";
  for (int i = 0; i < 20; ++i) text += fmt::format("a{} = ConstantOfShape (n)  b{} = Add (a{}, a{})\n", i, i, i, i);
  ExpectRefused(Import(text + "y = Relu (x) }"), StatusCode::kResourceExhausted, "constants of more than 64 MiB");
}

TEST(OnnxImport, RefusesBytesThatAreNoModel) {
  const std::vector<std::byte> junk(100, std::byte{0x5a});
  ExpectRefused(ImportOnnx(junk, {}), StatusCode::kInvalidArgument, "this is no ONNX model");
  ExpectRefused(ImportOnnx({}, {}), StatusCode::kInvalidArgument, "this is no ONNX model");
  EXPECT_EQ(LoadOnnx("/nowhere/model.onnx", {}).status().code(), StatusCode::kNotFound);
}

TEST(OnnxImport, SurvivesEveryTruncation) {
  const auto bytes =
      testing::Bytes(testing::Model("g (float[1,2] x) => (float[1,2] y) { a = Relu (x)  y = Softmax (a) }"));
  for (size_t size = 0; size < bytes.size(); ++size) {
    const auto graph = ImportOnnx(std::span(bytes).first(size), {});
    EXPECT_TRUE(graph.ok() || graph.status().code() == StatusCode::kInvalidArgument ||
                graph.status().code() == StatusCode::kUnimplemented)
        << size << ToString(graph.status());
  }
}

TEST(Operators, AreSortedAndInTheOperatorSetsClaimed) {
  EXPECT_TRUE(std::is_sorted(Operators().begin(), Operators().end(),
                             [](const auto& a, const auto& b) { return a.name < b.name; }));
  for (const OperatorFacts& facts : Operators()) {
    EXPECT_EQ(FindOperator(facts.name), &facts);
    EXPECT_TRUE(testing::OperatorSetHas(facts.name, kSchemaOperatorSet)) << facts.name;
    EXPECT_TRUE(testing::OperatorSetHas(facts.name, facts.first)) << facts.name;
  }
  EXPECT_EQ(FindOperator("Loop"), nullptr);
}

}  // namespace
}  // namespace wharf::graph
