// Recurrent networks, at inference.
#include <algorithm>

#include "wharf/cudashim/cudnn/dnn.h"

namespace wharf::cudashim {
namespace {

using device::Recurrent;
using device::RecurrentWeights;

static_assert(static_cast<int>(device::RecurrentCell::kRelu) == CUDNN_RNN_RELU);
static_assert(static_cast<int>(device::RecurrentCell::kTanh) == CUDNN_RNN_TANH);
static_assert(static_cast<int>(device::RecurrentCell::kLstm) == CUDNN_LSTM);
static_assert(static_cast<int>(device::RecurrentCell::kGru) == CUDNN_GRU);
static_assert(static_cast<int>(device::RecurrentBias::kInput) == CUDNN_RNN_SINGLE_INP_BIAS);
static_assert(static_cast<int>(device::RecurrentBias::kBoth) == CUDNN_RNN_DOUBLE_BIAS);
static_assert(static_cast<int>(device::RecurrentBias::kState) == CUDNN_RNN_SINGLE_REC_BIAS);
static_assert(static_cast<int>(device::SequenceLayout::kStepsFirst) == CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED);
static_assert(static_cast<int>(device::SequenceLayout::kPacked) == CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED);
static_assert(static_cast<int>(device::SequenceLayout::kSequencesFirst) == CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED);

template <typename Enumeration>
bool IsBetween(Enumeration value, Enumeration first, Enumeration last) {
  return value >= first && value <= last;
}

DnnStatus Shaped(const Recurrent& network) {
  std::string why;
  const CudaError error = client::CheckNetwork(network, &why);
  return ToDnnStatus(error, std::move(why));
}

// What its descriptor says of a network: without sequences.
DnnStatus Describe(cudnnRNNDescriptor_t descriptor, Recurrent* network) {
  if (descriptor == nullptr) return NullPointer("the network's descriptor");
  const RecurrentForm& form = descriptor->form;
  if (form.layers == 0) return BadParameter("a network's descriptor that was never set");
  const auto type = ElementTypeOf(form.type);
  if (!type) return {CUDNN_STATUS_NOT_SUPPORTED, "networks of other types than float, double, half and bfloat16"};
  *network = {};
  network->cell = static_cast<device::RecurrentCell>(form.cell);
  network->bias = static_cast<device::RecurrentBias>(form.bias);
  network->both_directions = form.direction == CUDNN_BIDIRECTIONAL;
  network->skips_input = form.input == CUDNN_SKIP_INPUT;
  network->tf32 = form.math != CUDNN_FMA_MATH;
  network->type = *type;
  network->inputs = form.inputs;
  network->hidden = form.hidden;
  network->outputs = form.outputs;
  network->layers = form.layers;
  return Shaped(*network);
}

DnnStatus SetNetwork(cudnnRNNDescriptor_t descriptor, const RecurrentForm& form) {
  if (descriptor == nullptr) return NullPointer("the descriptor");
  if (!IsBetween(form.algorithm, CUDNN_RNN_ALGO_STANDARD, CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H) ||
      !IsBetween(form.cell, CUDNN_RNN_RELU, CUDNN_GRU) ||
      !IsBetween(form.bias, CUDNN_RNN_NO_BIAS, CUDNN_RNN_SINGLE_REC_BIAS) ||
      !IsBetween(form.direction, CUDNN_UNIDIRECTIONAL, CUDNN_BIDIRECTIONAL) ||
      !IsBetween(form.input, CUDNN_LINEAR_INPUT, CUDNN_SKIP_INPUT) ||
      !IsBetween(form.math, CUDNN_DEFAULT_MATH, CUDNN_FMA_MATH)) {
    return BadParameter("an algorithm, cell, bias, direction, input or math type");
  }
  if (BytesOf(form.type) == 0 || BytesOf(form.compute) == 0) return BadParameter("a data type");
  if (form.inputs < 1 || form.hidden < 1 || form.outputs < 1 || form.layers < 1) return BadParameter("a size below 1");
  cudnnRNNStruct set{form};
  Recurrent network;
  WHARF_DNN_RETURN_IF_ERROR(Describe(&set, &network));
  *descriptor = set;
  return {};
}

DnnStatus SetSequences(cudnnRNNDataDescriptor_t descriptor, cudnnDataType_t type, cudnnRNNDataLayout_t layout,
                       int steps, int batch, int width, const int lengths[], const void* filling) {
  if (descriptor == nullptr || lengths == nullptr) return NullPointer("the descriptor or the lengths");
  if (BytesOf(type) == 0) return BadParameter("a data type");
  if (!IsBetween(layout, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED, CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED)) {
    return BadParameter("a layout of sequences");
  }
  if (steps < 1 || batch < 1 || width < 1) return BadParameter("a size below 1");
  cudnnRNNDataStruct set;
  set.type = type;
  set.layout = layout;
  set.steps = steps;
  set.batch = batch;
  set.width = width;
  set.lengths.assign(lengths, lengths + batch);
  if (std::any_of(set.lengths.begin(), set.lengths.end(), [&](int n) { return n < 0 || n > steps; })) {
    return BadParameter("a sequence of fewer than 0 or more than the most steps");
  }
  set.fills = filling != nullptr;
  if (set.fills) set.filling = ElementAt(type, filling);
  *descriptor = std::move(set);
  return {};
}

DnnStatus AddSequences(cudnnRNNDataDescriptor_t x, cudnnRNNDataDescriptor_t y, Recurrent* network) {
  if (x == nullptr || y == nullptr) return NullPointer("a descriptor of sequences");
  if (x->batch == 0 || y->batch == 0) return BadParameter("a descriptor of sequences that was never set");
  if (x->layout != y->layout || x->steps != y->steps || x->batch != y->batch || x->lengths != y->lengths) {
    return BadParameter("x and y are of different sequences");
  }
  if (ElementTypeOf(x->type) != network->type || x->type != y->type) {
    return BadParameter("sequences of another type than the network's");
  }
  if (x->width != network->inputs || y->width != int64_t{network->Directions()} * network->outputs) {
    return BadParameter("vectors of " + std::to_string(x->width) + " and " + std::to_string(y->width));
  }
  network->layout = static_cast<device::SequenceLayout>(x->layout);
  network->steps = x->steps;
  network->batch = x->batch;
  if (std::any_of(x->lengths.begin(), x->lengths.end(), [&](int n) { return n != x->steps; })) {
    network->lengths = x->lengths;
  }
  network->fills = y->fills && !network->lengths.empty();
  network->filling = network->fills ? y->filling : 0;
  return Shaped(*network);
}

// States are packed, [layers and directions, batch, size], in a tensor of at least three dimensions.
DnnStatus CheckStates(const char* name, cudnnTensorDescriptor_t descriptor, bool are_there, const Recurrent& network,
                      int size) {
  if (!are_there) return {};
  if (descriptor == nullptr) return NullPointer(name);
  const TensorShape& shape = descriptor->shape;
  const int want[] = {network.layers * network.Directions(), network.batch, size};
  int stride = 1;
  for (int i = shape.rank - 1; i >= 0; --i) {
    const int dim = i < 3 ? want[i] : 1;
    if (shape.dims[i] != dim || (dim > 1 && shape.strides[i] != stride)) {
      return BadParameter(std::string(name) + " is of another shape, or not packed");
    }
    stride *= dim;
  }
  if (shape.rank < 3 || ElementTypeOf(shape.type) != network.type) {
    return BadParameter(std::string(name) + " is of another shape or type");
  }
  return {};
}

size_t WeightBytes(const Recurrent& network) {
  return static_cast<size_t>(client::CountWeights(network)) * device::ElementBytes(network.type);
}

// A tensor of three dimensions, as the vendor's; all are 0 where there is nothing.
void StorePart(const RecurrentWeights::Part& part, cudnnDataType_t type, const void* weights,
               cudnnTensorDescriptor_t descriptor, void** address) {
  const bool is_there = part.rows > 0;
  if (descriptor != nullptr) {
    TensorShape shape;
    shape.type = type;
    shape.rank = 3;
    const int dims[] = {is_there ? 1 : 0, part.rows, part.columns};
    const int strides[] = {part.rows * part.columns, part.columns, is_there ? 1 : 0};
    std::copy_n(dims, 3, shape.dims.begin());
    std::copy_n(strides, 3, shape.strides.begin());
    descriptor->shape = shape;
  }
  const auto base = reinterpret_cast<uint64_t>(weights);
  const uint64_t offset = static_cast<uint64_t>(part.offset) * BytesOf(type);
  StoreIfWanted(address, is_there ? reinterpret_cast<void*>(base + offset) : nullptr);
}

DnnStatus CheckMode(cudnnForwardMode_t mode) {
  if (mode == CUDNN_FWD_MODE_TRAINING) return Refused("training of recurrent networks (CUDNN_FWD_MODE_TRAINING)");
  return mode == CUDNN_FWD_MODE_INFERENCE ? DnnStatus{} : BadParameter("a forward mode");
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

cudnnStatus_t cudnnCreateRNNDescriptor(cudnnRNNDescriptor_t* network) {
  return WHARF_DNN_LOCAL(cudnnCreateRNNDescriptor, [&] { return CreateNew(network); });
}

cudnnStatus_t cudnnDestroyRNNDescriptor(cudnnRNNDescriptor_t network) {
  return WHARF_DNN_LOCAL(cudnnDestroyRNNDescriptor, [&] { return Destroy(network); });
}

cudnnStatus_t cudnnSetRNNDescriptor_v8(cudnnRNNDescriptor_t network, cudnnRNNAlgo_t algorithm, cudnnRNNMode_t cell,
                                       cudnnRNNBiasMode_t bias, cudnnDirectionMode_t direction,
                                       cudnnRNNInputMode_t input, cudnnDataType_t type, cudnnDataType_t compute,
                                       cudnnMathType_t math, int32_t inputs, int32_t hidden, int32_t outputs,
                                       int32_t layers, cudnnDropoutDescriptor_t dropout, uint32_t flags) {
  return WHARF_DNN_LOCAL(cudnnSetRNNDescriptor_v8, [&] {
    return SetNetwork(network, {algorithm, cell, bias, direction, input, type, compute, math, inputs, hidden, outputs,
                                layers, dropout, flags});
  });
}

cudnnStatus_t cudnnGetRNNDescriptor_v8(cudnnRNNDescriptor_t network, cudnnRNNAlgo_t* algorithm, cudnnRNNMode_t* cell,
                                       cudnnRNNBiasMode_t* bias, cudnnDirectionMode_t* direction,
                                       cudnnRNNInputMode_t* input, cudnnDataType_t* type, cudnnDataType_t* compute,
                                       cudnnMathType_t* math, int32_t* inputs, int32_t* hidden, int32_t* outputs,
                                       int32_t* layers, cudnnDropoutDescriptor_t* dropout, uint32_t* flags) {
  return WHARF_DNN_LOCAL(cudnnGetRNNDescriptor_v8, [&] {
    if (network == nullptr) return NullPointer("the descriptor");
    const RecurrentForm& form = network->form;
    StoreIfWanted(algorithm, form.algorithm);
    StoreIfWanted(cell, form.cell);
    StoreIfWanted(bias, form.bias);
    StoreIfWanted(direction, form.direction);
    StoreIfWanted(input, form.input);
    StoreIfWanted(type, form.type);
    StoreIfWanted(compute, form.compute);
    StoreIfWanted(math, form.math);
    StoreIfWanted(inputs, form.inputs);
    StoreIfWanted(hidden, form.hidden);
    StoreIfWanted(outputs, form.outputs);
    StoreIfWanted(layers, form.layers);
    StoreIfWanted(dropout, form.dropout);
    StoreIfWanted(flags, form.flags);
    return DnnStatus{};
  });
}

cudnnStatus_t cudnnCreateRNNDataDescriptor(cudnnRNNDataDescriptor_t* sequences) {
  return WHARF_DNN_LOCAL(cudnnCreateRNNDataDescriptor, [&] { return CreateNew(sequences); });
}

cudnnStatus_t cudnnDestroyRNNDataDescriptor(cudnnRNNDataDescriptor_t sequences) {
  return WHARF_DNN_LOCAL(cudnnDestroyRNNDataDescriptor, [&] { return Destroy(sequences); });
}

cudnnStatus_t cudnnSetRNNDataDescriptor(cudnnRNNDataDescriptor_t sequences, cudnnDataType_t type,
                                        cudnnRNNDataLayout_t layout, int steps, int batch, int width,
                                        const int lengths[], void* filling) {
  return WHARF_DNN_LOCAL(cudnnSetRNNDataDescriptor,
                         [&] { return SetSequences(sequences, type, layout, steps, batch, width, lengths, filling); });
}

cudnnStatus_t cudnnGetRNNDataDescriptor(cudnnRNNDataDescriptor_t sequences, cudnnDataType_t* type,
                                        cudnnRNNDataLayout_t* layout, int* steps, int* batch, int* width, int wanted,
                                        int lengths[], void* filling) {
  return WHARF_DNN_LOCAL(cudnnGetRNNDataDescriptor, [&] {
    if (sequences == nullptr) return NullPointer("the descriptor");
    if (wanted < 0) return BadParameter("a negative number of lengths is asked for");
    StoreIfWanted(type, sequences->type);
    StoreIfWanted(layout, sequences->layout);
    StoreIfWanted(steps, sequences->steps);
    StoreIfWanted(batch, sequences->batch);
    StoreIfWanted(width, sequences->width);
    const auto count = std::min(sequences->lengths.size(), static_cast<size_t>(wanted));
    if (lengths != nullptr) std::copy_n(sequences->lengths.begin(), count, lengths);
    if (filling != nullptr && sequences->fills) StoreElement(sequences->type, sequences->filling, filling);
    return DnnStatus{};
  });
}

cudnnStatus_t cudnnGetRNNWeightSpaceSize(cudnnHandle_t handle, cudnnRNNDescriptor_t descriptor, size_t* bytes) {
  return WHARF_DNN_LOCAL(cudnnGetRNNWeightSpaceSize, [&] {
    WHARF_DNN_RETURN_IF_ERROR(CheckHandle(handle));
    Recurrent network;
    WHARF_DNN_RETURN_IF_ERROR(Describe(descriptor, &network));
    return StoreTo(bytes, WeightBytes(network));
  });
}

cudnnStatus_t cudnnGetRNNWeightParams(cudnnHandle_t handle, cudnnRNNDescriptor_t descriptor, int32_t layer,
                                      size_t bytes, const void* weights, int32_t id,
                                      cudnnTensorDescriptor_t matrix_descriptor, void** matrix,
                                      cudnnTensorDescriptor_t bias_descriptor, void** bias) {
  return WHARF_DNN_LOCAL(cudnnGetRNNWeightParams, [&] {
    WHARF_DNN_RETURN_IF_ERROR(CheckHandle(handle));
    Recurrent network;
    WHARF_DNN_RETURN_IF_ERROR(Describe(descriptor, &network));
    // A network without a projection is asked for its matrix, too.
    if (layer < 0 || layer >= network.layers * network.Directions() || id < 0 || id > 2 * network.Gates()) {
      return BadParameter("there is no layer " + std::to_string(layer) + " with a matrix " + std::to_string(id));
    }
    if (bytes < WeightBytes(network)) return BadParameter("less room than the weights take");
    const cudnnDataType_t type = descriptor->form.type;
    StorePart(client::FindMatrix(network, layer, id), type, weights, matrix_descriptor, matrix);
    StorePart(client::FindBias(network, layer, id), type, weights, bias_descriptor, bias);
    return DnnStatus{};
  });
}

// The library on the server has its own.
cudnnStatus_t cudnnGetRNNTempSpaceSizes(cudnnHandle_t handle, cudnnRNNDescriptor_t descriptor, cudnnForwardMode_t mode,
                                        cudnnRNNDataDescriptor_t x, size_t* work_bytes, size_t* reserve_bytes) {
  return WHARF_DNN_LOCAL(cudnnGetRNNTempSpaceSizes, [&] {
    WHARF_DNN_RETURN_IF_ERROR(CheckHandle(handle));
    WHARF_DNN_RETURN_IF_ERROR(CheckMode(mode));
    Recurrent network;
    WHARF_DNN_RETURN_IF_ERROR(Describe(descriptor, &network));
    if (x == nullptr) return NullPointer("the descriptor of sequences");
    StoreIfWanted(work_bytes, size_t{0});
    StoreIfWanted(reserve_bytes, size_t{0});
    return DnnStatus{};
  });
}

// The lengths on the device are the descriptors' ones; since cuDNN 8.9.1 they are not looked at.
cudnnStatus_t cudnnRNNForward(cudnnHandle_t handle, cudnnRNNDescriptor_t descriptor, cudnnForwardMode_t mode,
                              const int32_t[], cudnnRNNDataDescriptor_t x_descriptor, const void* x,
                              cudnnRNNDataDescriptor_t y_descriptor, void* y, cudnnTensorDescriptor_t h_descriptor,
                              const void* hx, void* hy, cudnnTensorDescriptor_t c_descriptor, const void* cx, void* cy,
                              size_t weight_bytes, const void* weights, size_t, void*, size_t, void*) {
  return WHARF_DNN_COMPUTE(cudnnRNNForward, handle, [&](device::Primitive* primitive) {
    WHARF_DNN_RETURN_IF_ERROR(CheckMode(mode));
    Recurrent r;
    WHARF_DNN_RETURN_IF_ERROR(Describe(descriptor, &r));
    WHARF_DNN_RETURN_IF_ERROR(AddSequences(x_descriptor, y_descriptor, &r));
    if (x == nullptr || y == nullptr || weights == nullptr) return NullPointer("x, y or the weights");
    WHARF_DNN_RETURN_IF_ERROR(CheckStates("h", h_descriptor, hx != nullptr || hy != nullptr, r, r.outputs));
    const bool has_cells = r.cell == device::RecurrentCell::kLstm;
    const bool states = has_cells && (cx != nullptr || cy != nullptr);
    WHARF_DNN_RETURN_IF_ERROR(CheckStates("c", c_descriptor, states, r, r.hidden));
    if (weight_bytes < WeightBytes(r)) return BadParameter("less room than the weights take");
    const auto address = [](const void* pointer) { return reinterpret_cast<device::DeviceAddress>(pointer); };
    r.x = address(x);
    r.y = address(y);
    r.weights = address(weights);
    r.hx = address(hx);
    r.hy = address(hy);
    if (has_cells) r.cx = address(cx), r.cy = address(cy);
    *primitive = std::move(r);
    return DnnStatus{};
  });
}

}  // extern "C"
