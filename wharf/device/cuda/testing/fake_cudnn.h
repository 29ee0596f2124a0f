// What the parts of the fake cuDNN share.
#pragma once

#include <cudnn.h>

#include <functional>
#include <vector>

struct cudnnContext {
  cudaStream_t stream = nullptr;
};

struct cudnnTensorStruct {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  std::vector<int> dims, strides;
};

// Runs it behind what was queued before; when its graph runs if the stream is captured.
cudnnStatus_t QueueFakeDnn(cudnnHandle_t handle, const std::function<void()>& work);
