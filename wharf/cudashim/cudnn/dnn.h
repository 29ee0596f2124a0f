// What every body in libcudnn.so.9 starts from.
#pragma once

#include <cudnn.h>

#include <string>
#include <utility>
#include <vector>

#include "wharf/cudashim/client/call.h"
#include "wharf/cudashim/client/dnn/primitive.h"
#include "wharf/cudashim/cudnn/shape.h"

// What the program's handle and descriptors point to. One thread uses one at a time, as the vendor asks.
struct cudnnContext {
  static constexpr uint64_t kMagic = 0x7768726664 << 8 | 0x6e;
  uint64_t magic = kMagic;
  cudaStream_t stream = nullptr;
};
struct cudnnTensorStruct {
  wharf::cudashim::TensorShape shape;
};
struct cudnnFilterStruct {
  wharf::cudashim::TensorShape shape;
  cudnnTensorFormat_t format = CUDNN_TENSOR_NCHW;
};
struct cudnnConvolutionStruct {
  wharf::cudashim::WindowShape window;
  cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  cudnnDataType_t compute = CUDNN_DATA_FLOAT;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
  cudnnReorderType_t reorder = CUDNN_DEFAULT_REORDER;
  int groups = 1;
};
struct cudnnPoolingStruct {
  wharf::cudashim::WindowShape window;
  cudnnPoolingMode_t mode = CUDNN_POOLING_MAX;
  cudnnNanPropagation_t nan = CUDNN_NOT_PROPAGATE_NAN;
};
struct cudnnActivationStruct {
  cudnnActivationMode_t mode = CUDNN_ACTIVATION_IDENTITY;
  cudnnNanPropagation_t nan = CUDNN_NOT_PROPAGATE_NAN;
  double coefficient = 0, swish_beta = 1;
};
struct cudnnOpTensorStruct {
  cudnnOpTensorOp_t op = CUDNN_OP_TENSOR_ADD;
  cudnnDataType_t compute = CUDNN_DATA_FLOAT;
  cudnnNanPropagation_t nan = CUDNN_NOT_PROPAGATE_NAN;
};
struct cudnnDropoutStruct {
  float dropout = 0;
  void* states = nullptr;
  unsigned long long seed = 0;  // NOLINT: the vendor's type
};
namespace wharf::cudashim {
// A recurrent network as its descriptor has it.
struct RecurrentForm {
  cudnnRNNAlgo_t algorithm = CUDNN_RNN_ALGO_STANDARD;
  cudnnRNNMode_t cell = CUDNN_RNN_RELU;
  cudnnRNNBiasMode_t bias = CUDNN_RNN_DOUBLE_BIAS;
  cudnnDirectionMode_t direction = CUDNN_UNIDIRECTIONAL;
  cudnnRNNInputMode_t input = CUDNN_LINEAR_INPUT;
  cudnnDataType_t type = CUDNN_DATA_FLOAT, compute = CUDNN_DATA_FLOAT;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
  int32_t inputs = 0, hidden = 0, outputs = 0;
  int32_t layers = 0;  // 0: not set yet
  cudnnDropoutDescriptor_t dropout = nullptr;
  uint32_t flags = 0;
};
}  // namespace wharf::cudashim
struct cudnnRNNStruct {
  wharf::cudashim::RecurrentForm form;
};
struct cudnnRNNDataStruct {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  cudnnRNNDataLayout_t layout = CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED;
  int steps = 0, batch = 0, width = 0;  // batch 0: not set yet
  std::vector<int> lengths;
  bool fills = false;
  double filling = 0;
};

namespace wharf::cudashim {

using client::Call;
using device::CudaError;

// Remembers why, for cudnnGetLastErrorString of this thread.
cudnnStatus_t Return(const char* function, const DnnStatus& status);
DnnStatus ToDnnStatus(CudaError error, std::string why = {});

// A call that is answered here: `body` returns a DnnStatus.
template <typename Body>
cudnnStatus_t Local(Call call, const char* function, Body&& body) {
  DnnStatus status;
  const CudaError error = client::RunLocal(call, [&] {
    status = body();
    return CudaError::kSuccess;
  });
  return Return(function, status.ok() ? ToDnnStatus(error) : status);
}
#define WHARF_DNN_LOCAL(function, ...) wharf::cudashim::Local(wharf::client::Call::k_##function, #function, __VA_ARGS__)

DnnStatus CheckHandle(cudnnHandle_t handle);
// For what it alone computes.
bool ServerHasCudnn();

// A call that computes: `describe(&primitive)` returns a DnnStatus.
template <typename Describe>
cudnnStatus_t Compute(Call call, const char* function, cudnnHandle_t handle, Describe&& describe) {
  DnnStatus status = CheckHandle(handle);
  if (!status.ok()) return Return(function, status);
  const CudaError error = client::Run(call, [&] {
    device::Primitive primitive;
    status = describe(&primitive);
    if (!status.ok()) return CudaError::kSuccess;
    std::string why;
    const CudaError ran = client::RunPrimitive(reinterpret_cast<client::StreamHandle>(handle->stream), primitive, &why);
    status = ToDnnStatus(ran, std::move(why));
    return ran;
  });
  return Return(function, status.ok() ? ToDnnStatus(error) : status);
}
#define WHARF_DNN_COMPUTE(function, handle, ...) \
  wharf::cudashim::Compute(wharf::client::Call::k_##function, #function, handle, __VA_ARGS__)

inline DnnStatus NullPointer(const char* what) { return BadParameter(std::string(what) + " is null"); }
template <typename T>
DnnStatus StoreTo(T* place, T value) {
  if (place == nullptr) return NullPointer("where the answer belongs");
  *place = value;
  return {};
}
// Of getters whose answers the program need not want.
template <typename T>
void StoreIfWanted(T* place, T value) {
  if (place != nullptr) *place = value;
}
template <typename T>
DnnStatus CreateNew(T** place) {
  return place == nullptr ? NullPointer("the place of a descriptor") : StoreTo(place, new T());
}
template <typename T>
DnnStatus Destroy(T* descriptor) {
  delete descriptor;  // of null, as the vendor's, without effect
  return {};
}

#define WHARF_DNN_RETURN_IF_ERROR(expression)                                                            \
  do {                                                                                                   \
    if (wharf::cudashim::DnnStatus wharf_status = (expression); !wharf_status.ok()) return wharf_status; \
  } while (false)

// A tensor with its data; both must be there.
DnnStatus OperandOf(const char* name, cudnnTensorDescriptor_t descriptor, const void* data, device::Tensor* tensor);
DnnStatus OperandOf(const char* name, cudnnFilterDescriptor_t descriptor, const void* data, device::Tensor* tensor);
DnnStatus ActivationOf(cudnnActivationDescriptor_t descriptor, device::ActivationForm* form);

// What convolution is described by its descriptors, without data; `y` is not set.
DnnStatus DescribeConvolution(cudnnConvolutionDescriptor_t convolution, device::Convolution* described);

}  // namespace wharf::cudashim
