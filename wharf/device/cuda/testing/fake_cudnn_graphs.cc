// The graph API of the fake cuDNN: descriptors are kept as they are set, and operations are computed in float, one
// after the other, by plain loops: element-wise ones, matrix products, reductions, attention, and the gradient of a
// convolution's filter in two dimensions; convolutions by the software device's primitive. Others are not supported.
//
// The heuristics put an engine first that cannot be had and one that wants too much memory; the third has tensor cores
// and gives other results each time, as it says; the fourth rounds its inputs, the fifth has tensor cores only; the
// fallback has none of it. Convolutions of double have no engine, and those that turn the filter around one that does
// not run. What ran last is told by FakeDnnEngine, how many descriptors there were by FakeDnnDescriptors.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "wharf/device/cuda/testing/fake_cudnn.h"
#include "wharf/device/soft/primitives/primitives.h"

namespace device = wharf::device;

namespace {

constexpr int64_t kUnavailable = 0, kGreedy = 1, kQuick = 2, kRounding = 3, kSteady = 4, kFallback = 5;
constexpr int64_t kWorkspace = 4096;
int last_engine = -1, descriptors = 0;

struct Descriptor {
  struct Value {
    cudnnBackendAttributeType_t type;
    int64_t count;
    std::vector<std::byte> bytes;
    std::vector<std::shared_ptr<Descriptor>> others;
  };
  cudnnBackendDescriptorType_t type;
  bool final = false;
  std::map<int, Value> values;

  template <typename T>
  std::vector<T> All(int name) const {
    const auto found = values.find(name);
    if (found == values.end()) return {};
    std::vector<T> all(found->second.bytes.size() / sizeof(T));
    std::memcpy(all.data(), found->second.bytes.data(), all.size() * sizeof(T));
    return all;
  }
  template <typename T>
  T One(int name, T otherwise) const {
    const std::vector<T> all = All<T>(name);
    return all.empty() ? otherwise : all[0];
  }
  std::vector<std::shared_ptr<Descriptor>> Linked(int name) const {
    const auto found = values.find(name);
    return found == values.end() ? std::vector<std::shared_ptr<Descriptor>>() : found->second.others;
  }
};
using Pointer = std::shared_ptr<Descriptor>;
struct Handle {
  Pointer descriptor;
};
Pointer& Of(cudnnBackendDescriptor_t descriptor) { return static_cast<Handle*>(descriptor)->descriptor; }

size_t BytesOf(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE:
    case CUDNN_TYPE_VOID_PTR:
      return 8;
    case CUDNN_TYPE_BOOLEAN:
      return 1;
    default:
      return 4;
  }
}

bool IsConvolution(const Descriptor& operation) {
  return operation.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR ||
         operation.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR;
}
// Attributes of a convolution's, which are in the same order for both.
enum Part { kAlpha, kBeta, kWindow, kFilter, kX, kY };
int NameOf(const Descriptor& operation, Part part) {
  const int first = operation.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR
                        ? CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA
                        : CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA;
  return first + part;
}

// What cuDNN demands of a tensor: all that it is; of a convolution, that its parts have as many dimensions, and fit.
bool IsWhole(const Descriptor& tensor, size_t rank) {
  const auto dims = tensor.All<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS);
  const auto strides = tensor.All<int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
  const auto alignment = tensor.One<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 0);
  return tensor.values.contains(CUDNN_ATTR_TENSOR_UNIQUE_ID) && tensor.values.contains(CUDNN_ATTR_TENSOR_DATA_TYPE) &&
         alignment > 0 && (alignment & (alignment - 1)) == 0 && dims.size() == rank && strides.size() == rank &&
         std::all_of(strides.begin(), strides.end(), [](int64_t stride) { return stride > 0; });
}
bool IsWholeConvolution(const Descriptor& operation) {
  for (const Part part : {kWindow, kFilter, kX, kY}) {
    if (operation.Linked(NameOf(operation, part)).size() != 1) return false;
  }
  const Descriptor& window = *operation.Linked(NameOf(operation, kWindow))[0];
  const auto spatial = window.One<int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 0);
  if (spatial < 2 || spatial > 3) return false;
  const auto rank = static_cast<size_t>(spatial) + 2;
  std::vector<int64_t> dims[3], forms[4];
  for (const Part part : {kFilter, kX, kY}) {
    const Descriptor& tensor = *operation.Linked(NameOf(operation, part))[0];
    if (!IsWhole(tensor, rank)) return false;
    dims[part - kFilter] = tensor.All<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS);
  }
  for (int i = 0; i < 4; ++i) {  // dilations, strides, paddings behind and before
    forms[i] = window.All<int64_t>(CUDNN_ATTR_CONVOLUTION_DILATIONS + i);
    if (forms[i].size() != rank - 2) return false;
  }
  const auto& [filter, x, y] = dims;
  for (size_t i = 2; i < rank; ++i) {
    const int64_t room = x[i] + forms[2][i - 2] + forms[3][i - 2] - forms[0][i - 2] * (filter[i] - 1) - 1;
    if (y[i] != room / forms[1][i - 2] + 1) return false;
  }
  const auto compute = window.One<cudnnDataType_t>(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_INT8);
  if (compute != CUDNN_DATA_FLOAT && compute != CUDNN_DATA_DOUBLE) return false;
  for (const Part part : {kAlpha, kBeta}) {
    const auto factor = operation.values.find(NameOf(operation, part));
    if (factor == operation.values.end() ||
        factor->second.type != (compute == CUDNN_DATA_DOUBLE ? CUDNN_TYPE_DOUBLE : CUDNN_TYPE_FLOAT)) {
      return false;
    }
  }
  return window.values.contains(CUDNN_ATTR_CONVOLUTION_CONV_MODE) && x[0] == y[0] && x[1] % filter[1] == 0 &&
         y[1] == filter[0];
}

// Dense, with its own sizes.
struct Values {
  std::vector<int64_t> dims;
  std::vector<float> data;

  explicit Values(std::vector<int64_t> of = {}) : dims(std::move(of)) {
    size_t count = 1;
    for (const int64_t dim : dims) count *= static_cast<size_t>(dim);
    data.resize(count);
  }
  // Where an element of `to` is found; sizes of 1 are repeated.
  float At(const std::vector<int64_t>& place) const {
    size_t index = 0;
    for (size_t i = 0; i < dims.size(); ++i) {
      index = index * static_cast<size_t>(dims[i]) + static_cast<size_t>(dims[i] == 1 ? 0 : place[i]);
    }
    return data[index];
  }
};
template <typename Body>
void ForEach(const std::vector<int64_t>& dims, Body&& body) {
  std::vector<int64_t> place(dims.size());
  const size_t count = Values(dims).data.size();
  for (size_t index = 0; index < count; ++index) {
    body(place, index);
    for (size_t i = dims.size(); i-- > 0 && ++place[i] == dims[i];) place[i] = 0;
  }
}

class Interpreter {
 public:
  explicit Interpreter(std::map<int64_t, void*> pointers) : pointers_(std::move(pointers)) {}

  bool Run(const Descriptor& operation) {
    switch (static_cast<int>(operation.type)) {
      case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
        return Pointwise(operation);
      case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
        Put(operation, CUDNN_ATTR_OPERATION_MATMUL_CDESC,
            Multiply(Get(operation, CUDNN_ATTR_OPERATION_MATMUL_ADESC),
                     Get(operation, CUDNN_ATTR_OPERATION_MATMUL_BDESC)));
        return true;
      case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
        return Reduce(operation);
      case 41:
        return Attend(operation);
      case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
        GradientOfFilter(operation);
        return true;
      case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
      case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
        return Convolve(operation);
      default:
        return false;
    }
  }

 private:
  static bool IsTrue(const Descriptor& tensor, int name) { return tensor.One<uint8_t>(name, 0) != 0; }
  static int64_t NumberOf(const Descriptor& tensor) { return tensor.One<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID, 0); }
  template <typename Body>
  static void ForEachElement(const Descriptor& tensor, Body&& body) {
    const auto strides = tensor.All<int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
    ForEach(tensor.All<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS), [&](const std::vector<int64_t>& place, size_t index) {
      int64_t at = 0;
      for (size_t i = 0; i < place.size(); ++i) at += place[i] * strides[i];
      body(at, index);
    });
  }
  Values Get(const Descriptor& operation, int name) {
    const auto linked = operation.Linked(name);
    if (linked.empty()) return Values();
    const Descriptor& tensor = *linked[0];
    if (IsTrue(tensor, CUDNN_ATTR_TENSOR_IS_VIRTUAL)) return virtual_.at(NumberOf(tensor));
    const auto type = tensor.One<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT);
    const void* const from = pointers_.at(NumberOf(tensor));
    Values values(tensor.All<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS));
    ForEachElement(tensor, [&](int64_t at, size_t index) {
      values.data[index] = static_cast<float>(LoadElement(type, from, at));
    });
    return values;
  }
  void Put(const Descriptor& operation, int name, Values values) {
    const auto linked = operation.Linked(name);
    if (linked.empty()) return;
    const Descriptor& tensor = *linked[0];
    if (IsTrue(tensor, CUDNN_ATTR_TENSOR_IS_VIRTUAL)) {
      virtual_[NumberOf(tensor)] = std::move(values);
      return;
    }
    const auto type = tensor.One<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT);
    void* const to = pointers_.at(NumberOf(tensor));
    ForEachElement(
        tensor, [&](int64_t at, size_t index) { StoreElement(type, static_cast<double>(values.data[index]), to, at); });
  }
  static std::vector<int64_t> DimsOf(const Descriptor& operation, int name) {
    return operation.Linked(name)[0]->All<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS);
  }

  bool Pointwise(const Descriptor& operation) {
    const auto mode = operation.Linked(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR)[0]->One<cudnnPointwiseMode_t>(
        CUDNN_ATTR_POINTWISE_MODE, CUDNN_POINTWISE_ADD);
    const Values x = Get(operation, CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
    const Values b = Get(operation, CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
    Values y(DimsOf(operation, CUDNN_ATTR_OPERATION_POINTWISE_YDESC));
    bool known = true;
    ForEach(y.dims, [&](const std::vector<int64_t>& place, size_t index) {
      const float first = x.At(place), second = b.dims.empty() ? 0 : b.At(place);
      float& to = y.data[index];
      if (mode == CUDNN_POINTWISE_ADD) {
        to = first + second;
      } else if (mode == CUDNN_POINTWISE_SUB) {
        to = first - second;
      } else if (mode == CUDNN_POINTWISE_MUL) {
        to = first * second;
      } else if (mode == CUDNN_POINTWISE_DIV) {
        to = first / second;
      } else if (mode == CUDNN_POINTWISE_EXP) {
        to = std::exp(first);
      } else if (mode == CUDNN_POINTWISE_LOG) {
        to = std::log(first);
      } else {
        known = false;
      }
    });
    Put(operation, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, std::move(y));
    return known;
  }

  // Of the last two dimensions.
  static Values Multiply(const Values& a, const Values& b) {
    std::vector<int64_t> dims = a.dims;
    const size_t row = dims.size() - 2, column = dims.size() - 1;
    dims[column] = b.dims[column];
    Values c(dims);
    ForEach(dims, [&](const std::vector<int64_t>& place, size_t index) {
      std::vector<int64_t> at_a = place, at_b = place;
      for (int64_t k = 0; k < a.dims[column]; ++k) {
        at_a[column] = at_b[row] = k;
        c.data[index] += a.At(at_a) * b.At(at_b);
      }
    });
    return c;
  }

  bool Reduce(const Descriptor& operation) {
    const auto how = operation.Linked(CUDNN_ATTR_OPERATION_REDUCTION_DESC)[0]->One<cudnnReduceTensorOp_t>(
        CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_REDUCE_TENSOR_ADD);
    const Values x = Get(operation, CUDNN_ATTR_OPERATION_REDUCTION_XDESC);
    Values y(DimsOf(operation, CUDNN_ATTR_OPERATION_REDUCTION_YDESC));
    if (how == CUDNN_REDUCE_TENSOR_MAX) std::fill(y.data.begin(), y.data.end(), -HUGE_VALF);
    ForEach(x.dims, [&](const std::vector<int64_t>& place, size_t index) {
      size_t at = 0;
      for (size_t i = 0; i < place.size(); ++i) {
        at = at * static_cast<size_t>(y.dims[i]) + static_cast<size_t>(y.dims[i] == 1 ? 0 : place[i]);
      }
      y.data[at] = how == CUDNN_REDUCE_TENSOR_MAX ? std::max(y.data[at], x.data[index]) : y.data[at] + x.data[index];
    });
    Put(operation, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, std::move(y));
    return how == CUDNN_REDUCE_TENSOR_MAX || how == CUDNN_REDUCE_TENSOR_ADD;
  }

  bool Attend(const Descriptor& operation) {
    const Values q = Get(operation, 2800), k = Get(operation, 2801), v = Get(operation, 2802);
    const Values scale = Get(operation, 2805);
    Values transposed({k.dims[0], k.dims[1], k.dims[3], k.dims[2]});
    ForEach(transposed.dims, [&](const std::vector<int64_t>& p, size_t index) {
      transposed.data[index] = k.At({p[0], p[1], p[3], p[2]});
    });
    Values weights = Multiply(q, transposed);
    const auto columns = static_cast<size_t>(weights.dims[3]);
    for (size_t row = 0; row < weights.data.size(); row += columns) {
      float sum = 0;
      for (size_t i = row; i < row + columns; ++i) {
        sum += weights.data[i] = std::exp(weights.data[i] * (scale.dims.empty() ? 1 : scale.data[0]));
      }
      for (size_t i = row; i < row + columns; ++i) weights.data[i] /= sum;
    }
    Put(operation, 2803, Multiply(weights, v));
    return operation.Linked(2804).empty();
  }

  device::Tensor TensorOfPart(const Descriptor& operation, Part part) {
    const Descriptor& tensor = *operation.Linked(NameOf(operation, part))[0];
    return TensorOf({tensor.One<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT),
                     IntsOf(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS), IntsOf(tensor, CUDNN_ATTR_TENSOR_STRIDES)},
                    pointers_.at(NumberOf(tensor)));
  }
  static std::vector<int> IntsOf(const Descriptor& descriptor, int name) {
    const auto all = descriptor.All<int64_t>(name);
    return {all.begin(), all.end()};
  }
  // Of float, halves and bfloat16.
  bool Convolve(const Descriptor& operation) {
    const Descriptor& window = *operation.Linked(NameOf(operation, kWindow))[0];
    device::Convolution c;
    c.transposed = operation.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR;
    c.x = TensorOfPart(operation, kX);
    c.filter = TensorOfPart(operation, kFilter);
    c.y = TensorOfPart(operation, kY);
    c.added = c.transposed ? c.x : c.y;
    c.groups = c.x.dims[1] / c.filter.dims[1];
    c.padding = SpatialOf(IntsOf(window, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS), 0);
    c.stride = SpatialOf(IntsOf(window, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES), 1);
    c.dilation = SpatialOf(IntsOf(window, CUDNN_ATTR_CONVOLUTION_DILATIONS), 1);
    c.alpha = static_cast<double>(operation.One<float>(NameOf(operation, kAlpha), 0));
    c.beta = static_cast<double>(operation.One<float>(NameOf(operation, kBeta), 0));
    if (!device::CheckPrimitive(c, [](uint64_t, uint64_t) { return true; }).ok()) return false;
    device::soft::RunPrimitive(c);
    return true;
  }

  void GradientOfFilter(const Descriptor& operation) {
    const Descriptor& form = *operation.Linked(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC)[0];
    const auto padding = form.All<int64_t>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
    const auto stride = form.All<int64_t>(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
    const Values x = Get(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X);
    const Values dy = Get(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY);
    Values dw(DimsOf(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW));
    ForEach(dw.dims, [&](const std::vector<int64_t>& w, size_t index) {
      ForEach({dy.dims[0], 1, dy.dims[2], dy.dims[3]}, [&](const std::vector<int64_t>& p, size_t) {
        const int64_t row = p[2] * stride[0] + w[2] - padding[0], column = p[3] * stride[1] + w[3] - padding[1];
        if (row < 0 || row >= x.dims[2] || column < 0 || column >= x.dims[3]) return;
        dw.data[index] += x.At({p[0], w[1], row, column}) * dy.At({p[0], w[0], p[2], p[3]});
      });
    });
    Put(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, std::move(dw));
  }

  std::map<int64_t, void*> pointers_;
  std::map<int64_t, Values> virtual_;
};

template <typename T>
void Offer(Descriptor& descriptor, int name, cudnnBackendAttributeType_t type, const std::vector<T>& values) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(values.data());
  descriptor.values[name] = {type, static_cast<int64_t>(values.size()), {bytes, bytes + values.size() * sizeof(T)}, {}};
}

Pointer MakeConfiguration(const Pointer& graph, int64_t number) {
  const auto engine = std::make_shared<Descriptor>();
  engine->type = CUDNN_BACKEND_ENGINE_DESCRIPTOR;
  engine->values[CUDNN_ATTR_ENGINE_OPERATION_GRAPH] = {CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, {}, {graph}};
  Offer<int64_t>(*engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, {number});
  std::vector<cudnnBackendNumericalNote_t> notes;
  if (number == kQuick) notes = {CUDNN_NUMERICAL_NOTE_TENSOR_CORE, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC};
  if (number == kRounding) notes = {CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS};
  if (number == kSteady) notes = {CUDNN_NUMERICAL_NOTE_TENSOR_CORE};
  Offer(*engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, notes);
  const auto configuration = std::make_shared<Descriptor>();
  configuration->type = CUDNN_BACKEND_ENGINECFG_DESCRIPTOR;
  configuration->values[CUDNN_ATTR_ENGINECFG_ENGINE] = {CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, {}, {engine}};
  engine->final = configuration->final = true;
  return configuration;
}

const Pointer& EngineOf(const Descriptor& plan) {
  return plan.values.at(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG)
      .others[0]
      ->values.at(CUDNN_ATTR_ENGINECFG_ENGINE)
      .others[0];
}
int64_t NumberOfEngine(const Descriptor& plan) {
  return EngineOf(plan)->One<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, -1);
}

bool HasEngine(const Descriptor& operation) {
  if (!IsConvolution(operation)) return true;
  return operation.Linked(NameOf(operation, kX))[0]->One<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE,
                                                                          CUDNN_DATA_FLOAT) != CUDNN_DATA_DOUBLE;
}
// If it is a convolution: its tensors are where the plan was told, and its filter is not turned around.
bool CanRun(const Descriptor& operation, const std::map<int64_t, void*>& pointers) {
  if (!IsConvolution(operation)) return true;
  for (const Part part : {kFilter, kX, kY}) {
    const Descriptor& tensor = *operation.Linked(NameOf(operation, part))[0];
    const auto found = pointers.find(tensor.One<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID, 0));
    if (found == pointers.end()) return false;
    const auto alignment = static_cast<uint64_t>(tensor.One<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 1));
    if (reinterpret_cast<uint64_t>(found->second) % alignment != 0) return false;
  }
  const Descriptor& window = *operation.Linked(NameOf(operation, kWindow))[0];
  return window.One<cudnnConvolutionMode_t>(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CROSS_CORRELATION) ==
         CUDNN_CROSS_CORRELATION;
}

}  // namespace

extern "C" {

int FakeDnnEngine() { return last_engine; }
int FakeDnnDescriptors() { return descriptors; }

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t* descriptor) {
  auto* const handle = new Handle{std::make_shared<Descriptor>()};
  handle->descriptor->type = type;
  *descriptor = handle;
  ++descriptors;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  delete static_cast<Handle*>(descriptor);
  return CUDNN_STATUS_SUCCESS;
}
void cudnnGetLastErrorString(char* text, size_t size) {
  if (size > 0) text[0] = '\0';
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count, const void* elements) {
  if (Of(descriptor)->final) return CUDNN_STATUS_BAD_PARAM;
  Descriptor::Value value{type, count, {}, {}};
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    for (int64_t i = 0; i < count; ++i) {
      value.others.push_back(Of(static_cast<const cudnnBackendDescriptor_t*>(elements)[i]));
      if (!value.others.back()->final) return CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED;
    }
  } else {
    const auto* const bytes = static_cast<const std::byte*>(elements);
    value.bytes.assign(bytes, bytes + static_cast<size_t>(count) * BytesOf(type));
  }
  Of(descriptor)->values[name] = std::move(value);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t wanted, int64_t* count,
                                       void* elements) {
  const auto found = Of(descriptor)->values.find(name);
  if (found == Of(descriptor)->values.end() || found->second.type != type) return CUDNN_STATUS_BAD_PARAM;
  const Descriptor::Value& value = found->second;
  *count = value.count;
  const int64_t given = std::min(wanted, value.count);
  if (type != CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    if (given > 0) std::memcpy(elements, value.bytes.data(), static_cast<size_t>(given) * BytesOf(type));
    return CUDNN_STATUS_SUCCESS;
  }
  for (int64_t i = 0; i < given; ++i) {
    Of(static_cast<cudnnBackendDescriptor_t*>(elements)[i]) = value.others[static_cast<size_t>(i)];
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t of) {
  Descriptor& descriptor = *Of(of);
  if (descriptor.final) return CUDNN_STATUS_BAD_PARAM;
  if (descriptor.type == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR &&
      (descriptor.One<cudnnHandle_t>(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, nullptr) == nullptr ||
       descriptor.Linked(CUDNN_ATTR_OPERATIONGRAPH_OPS).empty())) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  if (IsConvolution(descriptor) && !IsWholeConvolution(descriptor)) return CUDNN_STATUS_BAD_PARAM;
  if (descriptor.type == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR) {
    const Pointer graph = descriptor.Linked(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH)[0];
    for (const Pointer& operation : graph->Linked(CUDNN_ATTR_OPERATIONGRAPH_OPS)) {
      if (!HasEngine(*operation)) return CUDNN_STATUS_NOT_SUPPORTED;
    }
    const auto mode = descriptor.One<cudnnBackendHeurMode_t>(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_HEUR_MODE_A);
    std::vector<Pointer> results;
    if (mode == CUDNN_HEUR_MODE_FALLBACK) {
      results = {MakeConfiguration(graph, kFallback)};
    } else {
      for (const int64_t engine : {kUnavailable, kGreedy, kQuick, kRounding, kSteady}) {
        results.push_back(MakeConfiguration(graph, engine));
      }
    }
    descriptor.values[CUDNN_ATTR_ENGINEHEUR_RESULTS] = {
        CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<int64_t>(results.size()), {}, results};
  }
  if (descriptor.type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
    const int64_t engine = NumberOfEngine(descriptor);
    if (engine == kUnavailable) return CUDNN_STATUS_NOT_SUPPORTED;
    Offer<int64_t>(descriptor, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64,
                   {engine == kGreedy ? int64_t{1} << 40 : kWorkspace});
  }
  descriptor.final = true;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t pack) {
  const auto numbers = Of(pack)->All<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto data = Of(pack)->All<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  if (Of(pack)->One<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, nullptr) == nullptr) return CUDNN_STATUS_BAD_PARAM;
  std::map<int64_t, void*> pointers;
  for (size_t i = 0; i < numbers.size(); ++i) pointers[numbers[i]] = data[i];
  last_engine = static_cast<int>(NumberOfEngine(*Of(plan)));
  const auto operations =
      EngineOf(*Of(plan))->Linked(CUDNN_ATTR_ENGINE_OPERATION_GRAPH)[0]->Linked(CUDNN_ATTR_OPERATIONGRAPH_OPS);
  for (const Pointer& operation : operations) {
    if (!CanRun(*operation, pointers)) return CUDNN_STATUS_NOT_SUPPORTED;
  }
  const auto known = std::make_shared<bool>(true);  // whatever runs later, in a graph, is
  const cudnnStatus_t queued = QueueFakeDnn(handle, [=] {
    Interpreter interpreter(pointers);
    for (const Pointer& operation : operations) *known = *known && interpreter.Run(*operation);
  });
  return *known ? queued : CUDNN_STATUS_NOT_SUPPORTED;
}

}  // extern "C"
