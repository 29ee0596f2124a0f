// What the parts of the fake cuDNN share.
#pragma once

#include <cudnn.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "wharf/device/primitive.h"

struct cudnnContext {
  cudaStream_t stream = nullptr;
};

struct cudnnTensorStruct {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  std::vector<int> dims, strides;
};

// Element `at` of data of float, double, half or bfloat16.
double LoadElement(cudnnDataType_t type, const void* data, int64_t at);
void StoreElement(cudnnDataType_t type, double value, void* data, int64_t at);

// As the software device's primitives have them; `fill` is of dimensions that are not there.
wharf::device::Tensor TensorOf(const cudnnTensorStruct& from, const void* data);
wharf::device::Spatial SpatialOf(const std::vector<int>& from, int fill);

// Runs it behind what was queued before; when its graph runs if the stream is captured.
cudnnStatus_t QueueFakeDnn(cudnnHandle_t handle, const std::function<void()>& work);
