#include "wharf/cudashim/cudnn/shape.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <limits>

namespace wharf::cudashim {
namespace {

// The vendor's rules, as its library has them.
constexpr int kLeastRank = 2, kMostWindowRank = CUDNN_DIM_MAX - 2;
// Formats differ from here on.
constexpr int kLeastSpatialRank = 3;

DnnStatus CheckRank(int rank) {
  if (rank < kLeastRank) return BadParameter("a tensor of " + std::to_string(rank) + " dimensions");
  if (rank > CUDNN_DIM_MAX) return Refused("a tensor of " + std::to_string(rank) + " dimensions");
  return {};
}

}  // namespace

std::optional<device::ElementType> ElementTypeOf(cudnnDataType_t type) {
  switch (type) {
    case CUDNN_DATA_FLOAT:
      return device::ElementType::kF32;
    case CUDNN_DATA_DOUBLE:
      return device::ElementType::kF64;
    case CUDNN_DATA_HALF:
      return device::ElementType::kF16;
    case CUDNN_DATA_BFLOAT16:
      return device::ElementType::kBF16;
    default:
      return std::nullopt;
  }
}

size_t BytesOf(cudnnDataType_t type) {
  switch (type) {
    case CUDNN_DATA_DOUBLE:
    case CUDNN_DATA_INT64:
    case CUDNN_DATA_COMPLEX_FP32:
      return 8;
    case CUDNN_DATA_FLOAT:
    case CUDNN_DATA_INT32:
    case CUDNN_DATA_UINT32:
      return 4;
    case CUDNN_DATA_HALF:
    case CUDNN_DATA_BFLOAT16:
      return 2;
    case CUDNN_DATA_INT8:
    case CUDNN_DATA_UINT8:
    case CUDNN_DATA_BOOLEAN:
    case CUDNN_DATA_FP8_E4M3:
    case CUDNN_DATA_FP8_E5M2:
      return 1;
    default:
      return 0;
  }
}

DnnStatus SetShape(cudnnDataType_t type, int rank, const int dims[], const int strides[], TensorShape* shape) {
  if (shape == nullptr || dims == nullptr || strides == nullptr) {
    return BadParameter("a descriptor, its dimensions or its strides are null");
  }
  if (const DnnStatus status = CheckRank(rank); !status.ok()) return status;
  if (BytesOf(type) == 0) return BadParameter("a data type");
  for (int i = 0; i < rank; ++i) {
    if (dims[i] < 1 || (strides[i] == 0 && dims[i] > 1)) return BadParameter("a dimension below 1 or a stride of 0");
  }
  TensorShape set;
  set.type = type;
  set.rank = rank;
  std::copy_n(dims, rank, set.dims.begin());
  std::copy_n(strides, rank, set.strides.begin());
  *shape = set;
  return {};
}

DnnStatus SetPackedShape(cudnnTensorFormat_t format, cudnnDataType_t type, int rank, const int dims[],
                         TensorShape* shape) {
  if (shape == nullptr || dims == nullptr) return BadParameter("a descriptor or its dimensions are null");
  if (const DnnStatus status = CheckRank(rank); !status.ok()) return status;
  if (format == CUDNN_TENSOR_NCHW_VECT_C) return Refused("vectors of channels (CUDNN_TENSOR_NCHW_VECT_C)");
  if (format != CUDNN_TENSOR_NCHW && format != CUDNN_TENSOR_NHWC) return BadParameter("a tensor format");
  std::array<int, CUDNN_DIM_MAX> strides{};
  // The dimensions from the innermost out.
  std::array<int, CUDNN_DIM_MAX> order{};
  for (int i = 0; i < rank; ++i) order[i] = rank - 1 - i;
  if (format == CUDNN_TENSOR_NHWC && rank >= kLeastSpatialRank) {
    order[0] = 1;
    for (int i = 1; i < rank - 1; ++i) order[i] = rank - i;
  }
  int64_t stride = 1;
  for (int i = 0; i < rank; ++i) {
    if (dims[order[i]] < 1) return BadParameter("a dimension below 1");
    strides[order[i]] = static_cast<int>(stride);
    stride *= dims[order[i]];
    if (stride > std::numeric_limits<int>::max()) return Refused("a tensor of more than 2^31 - 1 elements");
  }
  return SetShape(type, rank, dims, strides.data(), shape);
}

size_t SizeInBytes(const TensorShape& shape) {
  size_t extent = 1;
  for (int i = 0; i < shape.rank; ++i) {
    extent += static_cast<size_t>(shape.dims[i] - 1) * static_cast<size_t>(shape.strides[i]);
  }
  return shape.rank == 0 ? 0 : extent * BytesOf(shape.type);
}

DnnStatus ToTensor(const TensorShape& shape, const void* data, device::Tensor* tensor) {
  if (shape.rank == 0) return BadParameter("a descriptor that was never set");
  const auto type = ElementTypeOf(shape.type);
  if (!type) return {CUDNN_STATUS_NOT_SUPPORTED, "tensors of other types than float, double, half and bfloat16"};
  if (shape.rank > device::kTensorDims) return Refused("a tensor of more than five dimensions");
  *tensor = {};
  tensor->address = reinterpret_cast<uint64_t>(data);
  tensor->type = *type;
  for (int i = 0; i < shape.rank; ++i) {
    const int at = i < 2 ? i : device::kTensorDims - shape.rank + i;
    tensor->dims[at] = shape.dims[i];
    tensor->strides[at] = shape.strides[i];
  }
  return {};
}

DnnStatus SetWindow(int rank, const int padding[], const int stride[], const int dilation[], WindowShape* shape) {
  if (shape == nullptr || padding == nullptr || stride == nullptr || dilation == nullptr) {
    return BadParameter("a descriptor or what it gets is null");
  }
  if (rank < 0) return BadParameter("a negative number of dimensions");
  if (rank > kMostWindowRank) return Refused("windows of more than six dimensions");
  WindowShape set;
  set.rank = rank;
  for (int i = 0; i < rank; ++i) {
    if (padding[i] < 0 || stride[i] < 1 || dilation[i] < 1) {
      return BadParameter("a negative padding, or a stride or dilation below 1");
    }
    set.window[i] = 1;
    set.padding[i] = padding[i];
    set.stride[i] = stride[i];
    set.dilation[i] = dilation[i];
  }
  *shape = set;
  return {};
}

device::Spatial ToSpatial(const std::array<int, CUDNN_DIM_MAX>& values, int rank, int fill) {
  device::Spatial spatial{fill, fill, fill};
  for (int i = 0; i < rank && i < device::kSpatialDims; ++i) spatial[device::kSpatialDims - rank + i] = values[i];
  return spatial;
}

int64_t OutputSize(int64_t in, int64_t window, int64_t padding, int64_t stride, int64_t dilation) {
  const int64_t room = in + 2 * padding - (window - 1) * dilation - 1;
  return room < 0 ? 0 : room / stride + 1;
}

double ScalarOf(cudnnDataType_t type, const void* scalar) {
  if (type == CUDNN_DATA_DOUBLE) return *static_cast<const double*>(scalar);
  return static_cast<double>(*static_cast<const float*>(scalar));
}

double ElementAt(cudnnDataType_t type, const void* element) {
  switch (type) {
    case CUDNN_DATA_FLOAT:
      return static_cast<double>(*static_cast<const float*>(element));
    case CUDNN_DATA_DOUBLE:
      return *static_cast<const double*>(element);
    case CUDNN_DATA_HALF:
      return static_cast<double>(__half2float(*static_cast<const __half*>(element)));
    case CUDNN_DATA_BFLOAT16:
      return static_cast<double>(__bfloat162float(*static_cast<const __nv_bfloat16*>(element)));
    default:
      return 0;
  }
}

void StoreElement(cudnnDataType_t type, double value, void* element) {
  switch (type) {
    case CUDNN_DATA_FLOAT:
      *static_cast<float*>(element) = static_cast<float>(value);
      return;
    case CUDNN_DATA_DOUBLE:
      *static_cast<double*>(element) = value;
      return;
    case CUDNN_DATA_HALF:
      *static_cast<__half*>(element) = __double2half(value);
      return;
    case CUDNN_DATA_BFLOAT16:
      *static_cast<__nv_bfloat16*>(element) = __double2bfloat16(value);
      return;
    default:
      return;
  }
}

}  // namespace wharf::cudashim
