// Descriptors of the graph API: what may be set and when, and which graphs become plans.
#include "wharf/cudashim/cudnn/backend.h"

#include <gtest/gtest.h>

#include <bit>

namespace wharf::cudashim {
namespace {

using Pointer = BackendDescriptor::Pointer;

template <typename T>
void SetNumbers(const Pointer& d, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                const std::vector<T>& values) {
  const DnnStatus status = d->Set(name, type, static_cast<int64_t>(values.size()), values.data(), {});
  ASSERT_EQ(status.code, CUDNN_STATUS_SUCCESS) << status.why;
}
void Link(const Pointer& d, cudnnBackendAttributeName_t name, std::vector<Pointer> others) {
  const auto count = static_cast<int64_t>(others.size());
  const DnnStatus status = d->Set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, nullptr, std::move(others));
  ASSERT_EQ(status.code, CUDNN_STATUS_SUCCESS) << status.why;
}
Pointer Final(Pointer d) {
  const DnnStatus status = d->Finalize();
  EXPECT_EQ(status.code, CUDNN_STATUS_SUCCESS) << status.why;
  return d;
}

Pointer MakeTensor(std::vector<int64_t> dims, int64_t number, bool is_virtual = false,
                   cudnnDataType_t type = CUDNN_DATA_FLOAT) {
  auto d = std::make_shared<BackendDescriptor>(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  std::vector<int64_t> strides(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= dims[i];
  }
  SetNumbers<cudnnDataType_t>(d, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, {type});
  SetNumbers(d, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, dims);
  SetNumbers(d, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, strides);
  SetNumbers<int64_t>(d, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, {number});
  SetNumbers<int64_t>(d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, {16});
  EXPECT_TRUE(d->Set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_virtual, {}).ok());
  return Final(d);
}
Pointer MakeConvolution(std::vector<int64_t> padding = {1, 1}, std::vector<int64_t> behind = {1, 1}) {
  auto d = std::make_shared<BackendDescriptor>(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  const std::vector<int64_t> ones(padding.size(), 1);
  SetNumbers<cudnnDataType_t>(d, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, {CUDNN_DATA_FLOAT});
  SetNumbers<cudnnConvolutionMode_t>(d, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
                                     {CUDNN_CROSS_CORRELATION});
  SetNumbers(d, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, ones);
  SetNumbers(d, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, ones);
  SetNumbers(d, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, padding);
  SetNumbers(d, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, behind);
  return Final(d);
}
Pointer MakeForward(const Pointer& x, const Pointer& w, const Pointer& y, const Pointer& convolution) {
  auto d = std::make_shared<BackendDescriptor>(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
  Link(d, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, {x});
  Link(d, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, {w});
  Link(d, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, {y});
  Link(d, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, {convolution});
  return Final(d);
}
Pointer MakePointwise(cudnnPointwiseMode_t mode, const Pointer& x, const Pointer& b, const Pointer& y,
                      double upper = HUGE_VAL) {
  auto form = std::make_shared<BackendDescriptor>(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  SetNumbers<cudnnPointwiseMode_t>(form, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, {mode});
  SetNumbers<cudnnDataType_t>(form, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, {CUDNN_DATA_FLOAT});
  SetNumbers<double>(form, CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, CUDNN_TYPE_DOUBLE, {upper});
  Final(form);
  auto d = std::make_shared<BackendDescriptor>(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  Link(d, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, {form});
  Link(d, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, {x});
  if (b != nullptr) Link(d, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, {b});
  Link(d, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, {y});
  return Final(d);
}
DnnStatus PlanOf(std::vector<Pointer> operations, Plan* plan) { return MakePlan(operations, plan); }

const std::vector<int64_t> kX{1, 2, 5, 5}, kW{3, 2, 3, 3}, kY{1, 3, 5, 5}, kBias{1, 3, 1, 1};

TEST(BackendDescriptor, IsSetThenFinalThenRead) {
  BackendDescriptor d(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  const int64_t number = 5;
  const BackendDescriptor::Value* value = nullptr;
  EXPECT_EQ(d.Set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_FLOAT, 1, &number, {}).code,
            CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE);
  EXPECT_EQ(d.Set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 2, &number, {}).code, CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(d.Set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &number, {}).code, CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(d.Set(CUDNN_ATTR_TENSOR_RAGGED_OFFSET_DESC, CUDNN_TYPE_CHAR, 1, &number, {}).code,
            CUDNN_STATUS_NOT_SUPPORTED);
  EXPECT_TRUE(d.Set(CUDNN_ATTR_TENSOR_RAGGED_OFFSET_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, nullptr,
                    {MakeTensor({2, 1, 1, 1}, 8)})
                  .ok());
  EXPECT_EQ(d.Get(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, &value).code, CUDNN_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(d.Finalize().code, CUDNN_STATUS_BAD_PARAM);

  const Pointer tensor = MakeTensor(kX, 7);
  EXPECT_EQ(tensor->Set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &number, {}).code, CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(tensor->Finalize().code, CUDNN_STATUS_BAD_PARAM);
  ASSERT_TRUE(tensor->Get(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, &value).ok());
  EXPECT_EQ(tensor->One<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID, 0), 7);
  EXPECT_EQ(tensor->Get(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_FLOAT, &value).code,
            CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE);
}

TEST(BackendDescriptor, LinksOnlyWhatIsFinal) {
  BackendDescriptor d(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
  const auto unfinished = std::make_shared<BackendDescriptor>(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  EXPECT_EQ(
      d.Set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, nullptr, {unfinished}).code,
      CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
}

TEST(BackendDescriptor, WrongTensorsAreNotFinalized) {
  const auto finalize = [](std::vector<int64_t> dims, std::vector<int64_t> strides, cudnnDataType_t type) {
    auto d = std::make_shared<BackendDescriptor>(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    SetNumbers<cudnnDataType_t>(d, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, {type});
    SetNumbers(d, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, dims);
    SetNumbers(d, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, strides);
    SetNumbers<int64_t>(d, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, {1});
    SetNumbers<int64_t>(d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, {4});
    return d->Finalize().code;
  };
  EXPECT_EQ(finalize({1, 2, 3, 4}, {24, 12, 4}, CUDNN_DATA_FLOAT), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(finalize({1, 0, 3, 4}, {24, 12, 4, 1}, CUDNN_DATA_FLOAT), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(finalize({1, -1, 3, 4}, {24, 12, 4, 1}, CUDNN_DATA_FLOAT), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(finalize({1, 2, 3, 4}, {24, 12, 4, 1}, CUDNN_DATA_INT8), CUDNN_STATUS_SUCCESS);
}

TEST(BackendPlan, AConvolutionAndWhatFollowsBecomeOnePrimitive) {
  const Pointer x = MakeTensor(kX, 1), w = MakeTensor(kW, 2), z = MakeTensor(kY, 3), b = MakeTensor(kBias, 4),
                y = MakeTensor(kY, 5);
  const Pointer first = MakeTensor(kY, 10, true), second = MakeTensor(kY, 11, true), third = MakeTensor(kY, 12, true);
  Plan plan;
  const DnnStatus status =
      PlanOf({MakePointwise(CUDNN_POINTWISE_RELU_FWD, third, nullptr, y, 6.0),
              MakePointwise(CUDNN_POINTWISE_ADD, b, second, third),
              MakePointwise(CUDNN_POINTWISE_ADD, first, z, second), MakeForward(x, w, first, MakeConvolution())},
             &plan);
  ASSERT_EQ(status.code, CUDNN_STATUS_SUCCESS) << status.why;
  std::map<int64_t, const void*> pointers;
  for (int64_t i = 1; i <= 5; ++i) pointers[i] = reinterpret_cast<const void*>(i * 0x1000);
  device::Primitive primitive;
  ASSERT_TRUE(Bind(plan, pointers, &primitive).ok());
  const auto& c = std::get<device::Convolution>(primitive);
  EXPECT_EQ(c.x.address, 0x1000u);
  EXPECT_EQ(c.filter.address, 0x2000u);
  EXPECT_EQ(c.added.address, 0x3000u);
  EXPECT_EQ(c.beta, 1);
  EXPECT_EQ(c.bias, 0x4000u);
  EXPECT_EQ(c.y.address, 0x5000u);
  EXPECT_EQ(c.activation.kind, device::Activation::kClippedRelu);
  EXPECT_EQ(c.activation.coefficient, 6);
  EXPECT_EQ(c.padding, (device::Spatial{0, 1, 1}));
  pointers.erase(4);
  EXPECT_EQ(Bind(plan, pointers, &primitive).code, CUDNN_STATUS_BAD_PARAM);
}

TEST(BackendPlan, GraphsThatAreNoSuchThingAreRefused) {
  const Pointer x = MakeTensor(kX, 1), w = MakeTensor(kW, 2), y = MakeTensor(kY, 5), b = MakeTensor(kBias, 4),
                other = MakeTensor(kY, 6);
  const Pointer middle = MakeTensor(kY, 10, true), last = MakeTensor(kY, 11, true);
  const Pointer convolution = MakeForward(x, w, middle, MakeConvolution());
  Plan plan;
  EXPECT_EQ(PlanOf({convolution}, &plan).code, CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN);  // its result is virtual
  EXPECT_EQ(PlanOf({convolution, MakeForward(x, w, y, MakeConvolution())}, &plan).code,
            CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN);
  EXPECT_EQ(PlanOf({convolution, MakePointwise(CUDNN_POINTWISE_MUL, middle, b, y)}, &plan).code,
            CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN);
  EXPECT_EQ(PlanOf({convolution, MakePointwise(CUDNN_POINTWISE_RELU_FWD, other, nullptr, y)}, &plan).code,
            CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN);
  EXPECT_EQ(PlanOf({convolution, MakePointwise(CUDNN_POINTWISE_RELU_FWD, middle, nullptr, last),
                    MakePointwise(CUDNN_POINTWISE_ADD, last, b, y)},
                   &plan)
                .code,
            CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN);
  EXPECT_EQ(PlanOf({MakePointwise(CUDNN_POINTWISE_SIN, other, nullptr, y)}, &plan).code,
            CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN);
  EXPECT_EQ(PlanOf({x}, &plan).code, CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE);
  const Pointer huge = MakeTensor({1, 1, int64_t{1} << 40, 1}, 7);
  EXPECT_EQ(PlanOf({MakePointwise(CUDNN_POINTWISE_RELU_FWD, huge, nullptr, huge)}, &plan).code,
            CUDNN_STATUS_NOT_SUPPORTED);
  const Pointer bytes = MakeTensor(kY, 8, false, CUDNN_DATA_INT8);
  EXPECT_EQ(PlanOf({MakePointwise(CUDNN_POINTWISE_RELU_FWD, bytes, nullptr, bytes)}, &plan).code,
            CUDNN_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(PlanOf({MakeForward(x, w, y, MakeConvolution({1, 1}, {0, 1}))}, &plan).code, CUDNN_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(PlanOf({MakeForward(x, w, y, MakeConvolution({1}, {1}))}, &plan).code, CUDNN_STATUS_BAD_PARAM);
}

TEST(BackendPlan, HeuristicsOfferAnEngineWithTf32AndOneWithout) {
  const Pointer x = MakeTensor(kX, 1), w = MakeTensor(kW, 2), y = MakeTensor(kY, 5);
  auto graph = std::make_shared<BackendDescriptor>(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  Link(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, {MakeForward(x, w, y, MakeConvolution())});
  Final(graph);
  auto heuristics = std::make_shared<BackendDescriptor>(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  Link(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, {graph});
  SetNumbers<cudnnBackendHeurMode_t>(heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, {CUDNN_HEUR_MODE_B});
  Final(heuristics);
  const BackendDescriptor::Value* results = nullptr;
  ASSERT_TRUE(heuristics->Get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, &results).ok());
  ASSERT_EQ(results->count, 2);
  for (const bool tf32 : {true, false}) {
    const BackendDescriptor& configuration = *results->descriptors[tf32 ? 0 : 1];
    EXPECT_EQ(std::get<device::Convolution>(configuration.plan()->primitive).tf32, tf32);
    const BackendDescriptor& engine = *configuration.Linked(CUDNN_ATTR_ENGINECFG_ENGINE);
    const auto notes = engine.All<cudnnBackendNumericalNote_t>(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE);
    EXPECT_EQ(notes.size(), tf32 ? 1u : 0u);
    for (const auto note : notes) EXPECT_EQ(note, CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
  }
  auto plan = std::make_shared<BackendDescriptor>(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  Link(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, {results->descriptors[0]});
  // Who knows more of what can be computed has a say.
  EXPECT_EQ(plan->Finalize([](const Plan&) { return Refused("no"); }).code, CUDNN_STATUS_NOT_SUPPORTED);
  EXPECT_FALSE(plan->finalized());
  Final(plan);
  ASSERT_NE(plan->plan(), nullptr);
  EXPECT_EQ(plan->One<int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, -1), 0);
}

// --- graphs that pass ---

Pointer MakeScalar(int64_t number) {
  auto d = std::make_shared<BackendDescriptor>(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  const bool by_value = true;
  SetNumbers<cudnnDataType_t>(d, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, {CUDNN_DATA_FLOAT});
  SetNumbers<int64_t>(d, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, {1, 1, 1});
  SetNumbers<int64_t>(d, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, {1, 1, 1});
  SetNumbers<int64_t>(d, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, {number});
  SetNumbers<int64_t>(d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, {4});
  EXPECT_TRUE(d->Set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &by_value, {}).ok());
  return Final(d);
}
// y = scale (a b), tensors 3, 4, 1 and 2; with the handle, which is the program's.
Pointer MakeScaledProduct() {
  const std::vector<int64_t> dims{1, 2, 2};
  const Pointer product = MakeTensor(dims, 9, true);
  auto form = std::make_shared<BackendDescriptor>(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  SetNumbers<cudnnDataType_t>(form, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, {CUDNN_DATA_FLOAT});
  SetNumbers<double>(form, CUDNN_ATTR_MATMUL_PADDING_VALUE, CUDNN_TYPE_DOUBLE, {-1.5});
  auto multiply = std::make_shared<BackendDescriptor>(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  Link(multiply, CUDNN_ATTR_OPERATION_MATMUL_ADESC, {MakeTensor(dims, 1)});
  Link(multiply, CUDNN_ATTR_OPERATION_MATMUL_BDESC, {MakeTensor(dims, 2)});
  Link(multiply, CUDNN_ATTR_OPERATION_MATMUL_CDESC, {product});
  Link(multiply, CUDNN_ATTR_OPERATION_MATMUL_DESC, {Final(form)});
  auto graph = std::make_shared<BackendDescriptor>(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  SetNumbers<cudnnHandle_t>(graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, {nullptr});
  Link(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS,
       {Final(multiply), MakePointwise(CUDNN_POINTWISE_MUL, product, MakeScalar(3), MakeTensor(dims, 4))});
  return graph;
}

TEST(PassedGraph, IsRefusedByNameWhereTheServerHasNoCudnn) {
  const Pointer graph = MakeScaledProduct();
  const DnnStatus status = graph->Finalize({}, [] { return false; });
  EXPECT_EQ(status.code, CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN);
  EXPECT_EQ(status.why, "a matrix product");
  EXPECT_FALSE(graph->finalized());
}

TEST(PassedGraph, IsDescribedAsItIs) {
  const Pointer graph = MakeScaledProduct();
  ASSERT_TRUE(graph->Finalize({}, [] { return true; }).ok());
  const auto& passed = std::get<device::DnnGraph>(graph->plan()->primitive);
  const auto description = device::DnnDescription::Parse(passed.description);
  ASSERT_TRUE(description.ok()) << description.status();
  const auto descriptors = description->descriptors();
  ASSERT_EQ(descriptors.size(), 10u);  // five tensors, two operations with their forms, the graph
  EXPECT_EQ(descriptors.back().Find(CUDNN_ATTR_OPERATIONGRAPH_HANDLE), nullptr);
  const auto operations = descriptors.back().Find(CUDNN_ATTR_OPERATIONGRAPH_OPS)->numbers;
  ASSERT_EQ(operations.size(), 2u);
  const auto& multiply = descriptors[static_cast<size_t>(operations[0])];
  EXPECT_EQ(multiply.type, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  const auto& form = descriptors[static_cast<size_t>(multiply.One(CUDNN_ATTR_OPERATION_MATMUL_DESC, -1))];
  EXPECT_EQ(std::bit_cast<double>(form.One(CUDNN_ATTR_MATMUL_PADDING_VALUE, 0)), -1.5);
  const auto& second = descriptors[static_cast<size_t>(multiply.One(CUDNN_ATTR_OPERATION_MATMUL_BDESC, -1))];
  EXPECT_EQ(second.One(CUDNN_ATTR_TENSOR_UNIQUE_ID, 0), 2);
  // The product is one descriptor, for both operations.
  const auto& scale = descriptors[static_cast<size_t>(operations[1])];
  EXPECT_EQ(scale.One(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, -1), multiply.One(CUDNN_ATTR_OPERATION_MATMUL_CDESC, -2));
}

TEST(PassedGraph, IsBoundWithAddressesAndWithValuesOfTheMoment) {
  const Pointer graph = MakeScaledProduct();
  ASSERT_TRUE(graph->Finalize({}, [] { return true; }).ok());
  float value = 0.5f;
  std::map<int64_t, const void*> pointers{{3, &value}};
  for (const int64_t i : {1, 2, 4}) pointers[i] = reinterpret_cast<const void*>(i * 0x1000);
  device::Primitive primitive;
  for (const float now : {0.5f, 2.0f}) {
    value = now;
    ASSERT_TRUE(Bind(*graph->plan(), pointers, &primitive).ok());
    const auto& bound = std::get<device::DnnGraph>(primitive);
    ASSERT_EQ(bound.scalars.size(), 1u);
    EXPECT_EQ(bound.scalars[0].tensor, 3);
    EXPECT_EQ(bound.scalars[0].value, std::bit_cast<uint32_t>(now));
    const auto tensors = device::DnnTensorsOf(bound);
    ASSERT_TRUE(tensors.ok()) << tensors.status();
    ASSERT_EQ(tensors->size(), 3u);
    EXPECT_EQ((*tensors)[2].address, 0x4000u);
    EXPECT_TRUE((*tensors)[2].written);
  }
  pointers.erase(2);
  EXPECT_EQ(Bind(*graph->plan(), pointers, &primitive).code, CUDNN_STATUS_BAD_PARAM);
}

TEST(PassedGraph, HasEnginesForWhatProgramsAskOf) {
  const Pointer graph = MakeScaledProduct();
  ASSERT_TRUE(graph->Finalize({}, [] { return true; }).ok());
  auto heuristics = std::make_shared<BackendDescriptor>(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  Link(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, {graph});
  SetNumbers<cudnnBackendHeurMode_t>(heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, {CUDNN_HEUR_MODE_A});
  Final(heuristics);
  const BackendDescriptor::Value* results = nullptr;
  ASSERT_TRUE(heuristics->Get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, &results).ok());
  ASSERT_EQ(results->count, 4);
  for (const auto& configuration : results->descriptors) {
    const auto notes = configuration->Linked(CUDNN_ATTR_ENGINECFG_ENGINE)
                           ->All<cudnnBackendNumericalNote_t>(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE);
    const auto has = [&](cudnnBackendNumericalNote_t note) {
      return std::count(notes.begin(), notes.end(), note) == 1;
    };
    const auto& passed = std::get<device::DnnGraph>(configuration->plan()->primitive);
    EXPECT_EQ(passed.tensor_cores, has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE));
    EXPECT_EQ(passed.deterministic, !has(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC));
    EXPECT_EQ(configuration->One<int64_t>(CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, -1), 0);
    EXPECT_EQ(configuration->One<int32_t>(CUDNN_ATTR_ENGINECFG_SHARED_MEMORY_USED, -1), 0);
  }
  EXPECT_TRUE(std::get<device::DnnGraph>(results->descriptors[0]->plan()->primitive).tensor_cores);
  EXPECT_FALSE(std::get<device::DnnGraph>(results->descriptors[0]->plan()->primitive).deterministic);
}

TEST(PassedGraph, WhatIsKnownHereDoesNotPass) {
  auto graph = std::make_shared<BackendDescriptor>(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  Link(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS,
       {MakeForward(MakeTensor(kX, 1), MakeTensor(kW, 2), MakeTensor(kY, 5), MakeConvolution())});
  ASSERT_TRUE(graph->Finalize({}, [] { return true; }).ok());
  EXPECT_TRUE(std::holds_alternative<device::Convolution>(graph->plan()->primitive));
}

}  // namespace
}  // namespace wharf::cudashim
