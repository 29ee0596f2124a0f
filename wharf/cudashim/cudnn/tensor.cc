// Descriptors of tensors and filters.
#include <algorithm>

#include "wharf/cudashim/cudnn/dnn.h"

namespace wharf::cudashim {
namespace {

template <typename Descriptor>
DnnStatus Operand(const char* name, const Descriptor* descriptor, const void* data, device::Tensor* tensor) {
  if (descriptor == nullptr) return NullPointer((std::string("the descriptor of ") + name).c_str());
  if (data == nullptr) return NullPointer(name);
  DnnStatus status = ToTensor(descriptor->shape, data, tensor);
  if (!status.ok()) status.why = std::string(name) + ": " + status.why;
  return status;
}

// As many dimensions as there is room for.
DnnStatus StoreDims(const TensorShape& shape, int wanted, int* rank, int dims[], int strides[]) {
  if (wanted < 0) return BadParameter("a negative number of dimensions is asked for");
  StoreIfWanted(rank, shape.rank);
  const int count = std::min(wanted, shape.rank);
  if (dims != nullptr) std::copy_n(shape.dims.begin(), count, dims);
  if (strides != nullptr) std::copy_n(shape.strides.begin(), count, strides);
  return {};
}

}  // namespace

DnnStatus OperandOf(const char* name, cudnnTensorDescriptor_t descriptor, const void* data, device::Tensor* tensor) {
  return Operand(name, descriptor, data, tensor);
}
DnnStatus OperandOf(const char* name, cudnnFilterDescriptor_t descriptor, const void* data, device::Tensor* tensor) {
  return Operand(name, descriptor, data, tensor);
}

}  // namespace wharf::cudashim

using namespace wharf::cudashim;  // NOLINT

extern "C" {

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* tensor) {
  return WHARF_DNN_LOCAL(cudnnCreateTensorDescriptor, [&] { return CreateNew(tensor); });
}

cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t tensor) {
  return WHARF_DNN_LOCAL(cudnnDestroyTensorDescriptor, [&] { return Destroy(tensor); });
}

cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t tensor, cudnnDataType_t type, int rank,
                                         const int dims[], const int strides[]) {
  return WHARF_DNN_LOCAL(cudnnSetTensorNdDescriptor, [&] {
    return SetShape(type, rank, dims, strides, tensor == nullptr ? nullptr : &tensor->shape);
  });
}

cudnnStatus_t cudnnSetTensorNdDescriptorEx(cudnnTensorDescriptor_t tensor, cudnnTensorFormat_t format,
                                           cudnnDataType_t type, int rank, const int dims[]) {
  return WHARF_DNN_LOCAL(cudnnSetTensorNdDescriptorEx, [&] {
    return SetPackedShape(format, type, rank, dims, tensor == nullptr ? nullptr : &tensor->shape);
  });
}

cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t tensor, cudnnTensorFormat_t format,
                                         cudnnDataType_t type, int n, int c, int h, int w) {
  return WHARF_DNN_LOCAL(cudnnSetTensor4dDescriptor, [&] {
    const int dims[] = {n, c, h, w};
    return SetPackedShape(format, type, 4, dims, tensor == nullptr ? nullptr : &tensor->shape);
  });
}

cudnnStatus_t cudnnSetTensor4dDescriptorEx(cudnnTensorDescriptor_t tensor, cudnnDataType_t type, int n, int c, int h,
                                           int w, int stride_n, int stride_c, int stride_h, int stride_w) {
  return WHARF_DNN_LOCAL(cudnnSetTensor4dDescriptorEx, [&] {
    const int dims[] = {n, c, h, w}, strides[] = {stride_n, stride_c, stride_h, stride_w};
    return SetShape(type, 4, dims, strides, tensor == nullptr ? nullptr : &tensor->shape);
  });
}

cudnnStatus_t cudnnGetTensorNdDescriptor(const cudnnTensorDescriptor_t tensor, int wanted, cudnnDataType_t* type,
                                         int* rank, int dims[], int strides[]) {
  return WHARF_DNN_LOCAL(cudnnGetTensorNdDescriptor, [&] {
    if (tensor == nullptr) return NullPointer("the descriptor");
    StoreIfWanted(type, tensor->shape.type);
    return StoreDims(tensor->shape, wanted, rank, dims, strides);
  });
}

cudnnStatus_t cudnnGetTensor4dDescriptor(const cudnnTensorDescriptor_t tensor, cudnnDataType_t* type, int* n, int* c,
                                         int* h, int* w, int* stride_n, int* stride_c, int* stride_h, int* stride_w) {
  return WHARF_DNN_LOCAL(cudnnGetTensor4dDescriptor, [&] {
    if (tensor == nullptr) return NullPointer("the descriptor");
    const TensorShape& shape = tensor->shape;
    if (shape.rank != 4) return BadParameter("the tensor has other than four dimensions");
    StoreIfWanted(type, shape.type);
    int* const dims[] = {n, c, h, w};
    int* const strides[] = {stride_n, stride_c, stride_h, stride_w};
    for (int i = 0; i < 4; ++i) {
      StoreIfWanted(dims[i], shape.dims[i]);
      StoreIfWanted(strides[i], shape.strides[i]);
    }
    return DnnStatus{};
  });
}

cudnnStatus_t cudnnGetTensorSizeInBytes(const cudnnTensorDescriptor_t tensor, size_t* size) {
  return WHARF_DNN_LOCAL(cudnnGetTensorSizeInBytes, [&] {
    return tensor == nullptr ? NullPointer("the descriptor") : StoreTo(size, SizeInBytes(tensor->shape));
  });
}

cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t* filter) {
  return WHARF_DNN_LOCAL(cudnnCreateFilterDescriptor, [&] { return CreateNew(filter); });
}

cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t filter) {
  return WHARF_DNN_LOCAL(cudnnDestroyFilterDescriptor, [&] { return Destroy(filter); });
}

cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t filter, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int rank, const int dims[]) {
  return WHARF_DNN_LOCAL(cudnnSetFilterNdDescriptor, [&] {
    if (filter == nullptr) return NullPointer("the descriptor");
    if (rank < 3) return BadParameter("a filter without a window");
    WHARF_DNN_RETURN_IF_ERROR(SetPackedShape(format, type, rank, dims, &filter->shape));
    return StoreTo(&filter->format, format);
  });
}

cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t filter, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int k, int c, int h, int w) {
  return WHARF_DNN_LOCAL(cudnnSetFilter4dDescriptor, [&] {
    const int dims[] = {k, c, h, w};
    if (filter == nullptr) return NullPointer("the descriptor");
    WHARF_DNN_RETURN_IF_ERROR(SetPackedShape(format, type, 4, dims, &filter->shape));
    return StoreTo(&filter->format, format);
  });
}

cudnnStatus_t cudnnGetFilterNdDescriptor(const cudnnFilterDescriptor_t filter, int wanted, cudnnDataType_t* type,
                                         cudnnTensorFormat_t* format, int* rank, int dims[]) {
  return WHARF_DNN_LOCAL(cudnnGetFilterNdDescriptor, [&] {
    if (filter == nullptr) return NullPointer("the descriptor");
    StoreIfWanted(type, filter->shape.type);
    StoreIfWanted(format, filter->format);
    return StoreDims(filter->shape, wanted, rank, dims, nullptr);
  });
}

cudnnStatus_t cudnnGetFilter4dDescriptor(const cudnnFilterDescriptor_t filter, cudnnDataType_t* type,
                                         cudnnTensorFormat_t* format, int* k, int* c, int* h, int* w) {
  return WHARF_DNN_LOCAL(cudnnGetFilter4dDescriptor, [&] {
    if (filter == nullptr) return NullPointer("the descriptor");
    if (filter->shape.rank != 4) return BadParameter("the filter has other than four dimensions");
    StoreIfWanted(type, filter->shape.type);
    StoreIfWanted(format, filter->format);
    int* const dims[] = {k, c, h, w};
    for (int i = 0; i < 4; ++i) StoreIfWanted(dims[i], filter->shape.dims[i]);
    return DnnStatus{};
  });
}

cudnnStatus_t cudnnGetFilterSizeInBytes(const cudnnFilterDescriptor_t filter, size_t* size) {
  return WHARF_DNN_LOCAL(cudnnGetFilterSizeInBytes, [&] {
    return filter == nullptr ? NullPointer("the descriptor") : StoreTo(size, SizeInBytes(filter->shape));
  });
}

}  // extern "C"
