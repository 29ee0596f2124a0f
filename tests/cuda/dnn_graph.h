// Descriptors of cuDNN's graph API, which they are made of, and a plan of a graph.
#pragma once

#include <memory>
#include <string>

#include "tests/cuda/dnn.h"

// One descriptor.
struct Descriptor {
  cudnnBackendDescriptor_t descriptor = nullptr;
  explicit Descriptor(cudnnBackendDescriptorType_t type) { DNN_OK(cudnnBackendCreateDescriptor(type, &descriptor)); }
  ~Descriptor() { DNN_OK(cudnnBackendDestroyDescriptor(descriptor)); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  template <class T>
  Descriptor& Set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const std::vector<T>& values) {
    DNN_OK(cudnnBackendSetAttribute(descriptor, name, type, int64_t(values.size()), values.data()));
    return *this;
  }
  Descriptor& Link(cudnnBackendAttributeName_t name, const Descriptor& other) {
    DNN_OK(cudnnBackendSetAttribute(descriptor, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &other.descriptor));
    return *this;
  }
  Descriptor& Finalize() {
    DNN_OK(cudnnBackendFinalize(descriptor));
    return *this;
  }
};

struct Tensor : Descriptor {
  Tensor(const Dims& d, cudnnDataType_t type, bool last, int64_t id, bool is_virtual = false)
      : Descriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR) {
    const std::vector<int64_t> dims{d.n, d.c, d.h, d.w};
    const std::vector<int64_t> strides =
        last ? std::vector<int64_t>{int64_t{d.c} * d.h * d.w, 1, int64_t{d.c} * d.w, d.c}
             : std::vector<int64_t>{int64_t{d.c} * d.h * d.w, int64_t{d.h} * d.w, d.w, 1};
    Set<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, {type});
    Set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, dims);
    Set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, strides);
    Set<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, {id});
    Set<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, {16});
    if (is_virtual) {
      const bool yes = true;
      DNN_OK(cudnnBackendSetAttribute(descriptor, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &yes));
    }
    Finalize();
  }
};

struct Convolution : Descriptor {
  explicit Convolution(const Window& w) : Descriptor(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR) {
    Set<cudnnDataType_t>(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, {CUDNN_DATA_FLOAT});
    Set<cudnnConvolutionMode_t>(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
                                {CUDNN_CROSS_CORRELATION});
    Set<int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, {2});
    Set<int64_t>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, {w.pad_h, w.pad_w});
    Set<int64_t>(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, {w.pad_h, w.pad_w});
    Set<int64_t>(CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, {w.dilation_h, w.dilation_w});
    Set<int64_t>(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, {w.stride_h, w.stride_w});
    Finalize();
  }
};

struct Forward : Descriptor {
  Forward(const Tensor& x, const Tensor& f, const Tensor& y, const Convolution& convolution)
      : Descriptor(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR) {
    Link(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, x);
    Link(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, f);
    Link(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, y);
    Link(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, convolution);
    Set<float>(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, {1});
    Set<float>(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, {0});
    Finalize();
  }
};

struct BackwardData : Descriptor {
  BackwardData(const Tensor& dx, const Tensor& f, const Tensor& dy, const Convolution& convolution)
      : Descriptor(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR) {
    Link(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, dx);
    Link(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, f);
    Link(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, dy);
    Link(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, convolution);
    Set<float>(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, CUDNN_TYPE_FLOAT, {1});
    Set<float>(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, CUDNN_TYPE_FLOAT, {0});
    Finalize();
  }
};

struct Mode : Descriptor {
  explicit Mode(cudnnPointwiseMode_t mode) : Descriptor(CUDNN_BACKEND_POINTWISE_DESCRIPTOR) {
    Set<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, {mode});
    Set<cudnnDataType_t>(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, {CUDNN_DATA_FLOAT});
    Finalize();
  }
};

struct Pointwise : Descriptor {
  Pointwise(const Mode& mode, const Tensor& x, const Tensor* b, const Tensor& y, float alpha1 = 1, float alpha2 = 1)
      : Descriptor(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR) {
    Link(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, mode);
    Link(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
    if (b != nullptr) Link(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b);
    Link(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
    Set<float>(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, CUDNN_TYPE_FLOAT, {alpha1});
    if (b != nullptr) Set<float>(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, CUDNN_TYPE_FLOAT, {alpha2});
    Finalize();
  }
};

struct Graph : Descriptor {
  Graph(cudnnHandle_t handle, const std::vector<const Descriptor*>& operations)
      : Descriptor(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) {
    std::vector<cudnnBackendDescriptor_t> all;
    for (const Descriptor* operation : operations) all.push_back(operation->descriptor);
    Set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, all);
    Set<cudnnHandle_t>(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, {handle});
  }
};

// A plan of the first of the heuristics' configurations, then of those for others' sake, that cuDNN can build and that
// needs no more than a gigabyte. Each is looked at as PyTorch does.
struct Plan {
  static constexpr int kMostConfigurations = 16;
  static constexpr int64_t kMostWorkspace = int64_t{1} << 30;
  std::vector<std::unique_ptr<Descriptor>> configurations;
  std::unique_ptr<Descriptor> plan;
  int64_t workspace = -1;  // none: there is no plan
  std::string why;         // there is none
  explicit Plan(Graph& graph) {
    graph.Finalize();
    for (cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
      Ask(graph, mode);
      for (const auto& configuration : configurations) {
        Look(*configuration);
        if (Build(*configuration)) return;
      }
    }
  }
  void Execute(cudnnHandle_t handle, const std::vector<int64_t>& ids, const std::vector<void*>& pointers) {
    Buffer<char> scratch(static_cast<size_t>(workspace));
    Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack.Set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, pointers);
    pack.Set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, ids);
    pack.Set<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, {scratch.get()});
    pack.Finalize();
    DNN_OK(cudnnBackendExecute(handle, plan->descriptor, pack.descriptor));
    CUDA_OK(cudaDeviceSynchronize());
  }

 private:
  void Ask(const Graph& graph, cudnnBackendHeurMode_t mode) {
    Descriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    heuristics.Link(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
    heuristics.Set<cudnnBackendHeurMode_t>(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, {mode});
    configurations.clear();
    const bool has_any = cudnnBackendFinalize(heuristics.descriptor) == CUDNN_STATUS_SUCCESS;
    EXPECT(has_any || mode == CUDNN_HEUR_MODE_FALLBACK);
    if (!has_any) return;
    int64_t count = 0;
    DNN_OK(cudnnBackendGetAttribute(heuristics.descriptor, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                    0, &count, nullptr));
    EXPECT(count >= 1 || mode == CUDNN_HEUR_MODE_FALLBACK);
    std::vector<cudnnBackendDescriptor_t> places;
    for (int i = 0; i < kMostConfigurations; ++i) {
      configurations.push_back(std::make_unique<Descriptor>(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
      places.push_back(configurations.back()->descriptor);
    }
    DNN_OK(cudnnBackendGetAttribute(heuristics.descriptor, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                    kMostConfigurations, &count, places.data()));
    // The heuristics count what they then do not give.
    configurations.resize(size_t(std::min<int64_t>(count, kMostConfigurations)));
  }
  static void Look(const Descriptor& configuration) {
    Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    int64_t count = 0;
    DNN_OK(cudnnBackendGetAttribute(configuration.descriptor, CUDNN_ATTR_ENGINECFG_ENGINE,
                                    CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &engine.descriptor));
    cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
    DNN_OK(cudnnBackendGetAttribute(engine.descriptor, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                    CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &count, notes));
    cudnnBackendBehaviorNote_t behaviour[CUDNN_BEHAVIOR_NOTE_TYPE_COUNT];
    DNN_OK(cudnnBackendGetAttribute(engine.descriptor, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE,
                                    CUDNN_BEHAVIOR_NOTE_TYPE_COUNT, &count, behaviour));
    int64_t index = -1;
    DNN_OK(cudnnBackendGetAttribute(engine.descriptor, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &count,
                                    &index));
    EXPECT(index >= 0);
  }
  bool Build(const Descriptor& configuration) {
    plan = std::make_unique<Descriptor>(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    plan->Link(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
    if (cudnnBackendFinalize(plan->descriptor) != CUDNN_STATUS_SUCCESS) {  // which heuristics cannot know
      char said[256] = {};
      cudnnGetLastErrorString(said, sizeof(said));
      why = said;
      return false;
    }
    int64_t count = 0, needed = -1;
    DNN_OK(cudnnBackendGetAttribute(plan->descriptor, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1,
                                    &count, &needed));
    EXPECT(needed >= 0);
    if (needed < 0 || needed > kMostWorkspace) return false;
    workspace = needed;
    return true;
  }
};
