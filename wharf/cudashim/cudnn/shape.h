// The vendor's descriptors as they are kept here, their rules, and how they become tensors of the wire. Pure: nothing
// here needs a session.
#pragma once

#include <cudnn.h>

#include <array>
#include <optional>
#include <string>

#include "wharf/device/primitive.h"

namespace wharf::cudashim {

// A status and, if it is not success, the reason for people.
struct DnnStatus {
  cudnnStatus_t code = CUDNN_STATUS_SUCCESS;
  std::string why;
  bool ok() const { return code == CUDNN_STATUS_SUCCESS; }
};
inline DnnStatus BadParameter(std::string why) { return {CUDNN_STATUS_BAD_PARAM, std::move(why)}; }
inline DnnStatus Refused(std::string why) { return {CUDNN_STATUS_NOT_SUPPORTED, std::move(why)}; }

struct TensorShape {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  int rank = 0;  // 0: not set yet
  std::array<int, CUDNN_DIM_MAX> dims{}, strides{};
};

// nullopt for types that nothing here computes.
std::optional<device::ElementType> ElementTypeOf(cudnnDataType_t type);
// 0 for numbers that are no type.
size_t BytesOf(cudnnDataType_t type);

DnnStatus SetShape(cudnnDataType_t type, int rank, const int dims[], const int strides[], TensorShape* shape);
// Without gaps, in the format's order.
DnnStatus SetPackedShape(cudnnTensorFormat_t format, cudnnDataType_t type, int rank, const int dims[],
                         TensorShape* shape);
// From the first to behind the last element.
size_t SizeInBytes(const TensorShape& shape);

DnnStatus ToTensor(const TensorShape& shape, const void* data, device::Tensor* tensor);

// What convolution and pooling descriptors say of each spatial dimension.
struct WindowShape {
  int rank = 0;  // spatial dimensions; 0: not set yet
  std::array<int, CUDNN_DIM_MAX> window{}, padding{}, stride{}, dilation{};
};
DnnStatus SetWindow(int rank, const int padding[], const int stride[], const int dilation[], WindowShape* shape);
// To the last dimensions of three.
device::Spatial ToSpatial(const std::array<int, CUDNN_DIM_MAX>& values, int rank, int fill);

// Elements along one dimension of the result; below 1 if the window does not fit.
int64_t OutputSize(int64_t in, int64_t window, int64_t padding, int64_t stride, int64_t dilation);

// alpha and beta are double for tensors of double, float for all others.
double ScalarOf(cudnnDataType_t type, const void* scalar);
// An element of a tensor, in host memory; 0 for types that nothing here computes.
double ElementAt(cudnnDataType_t type, const void* element);
// The reverse; nothing for those types.
void StoreElement(cudnnDataType_t type, double value, void* element);

}  // namespace wharf::cudashim
