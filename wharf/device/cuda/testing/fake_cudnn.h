// What the parts of the fake cuDNN share.
#pragma once

#include <cudnn.h>

#include <functional>

struct cudnnContext {
  cudaStream_t stream = nullptr;
};

// Runs it behind what was queued before; when its graph runs if the stream is captured.
cudnnStatus_t QueueFakeDnn(cudnnHandle_t handle, const std::function<void()>& work);
