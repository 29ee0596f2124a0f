// What the parts of the fake driver share.
#pragma once

#include <functional>
#include <vector>

#include "wharf/device/cuda/driver/driver_api.h"

#define FAKE extern "C" __attribute__((visibility("default"))) Result

namespace wharf::device::cuda::fake {

// Queues `run`, or records it if the stream is captured; waits for it unless all host memory it touches is page-locked.
Result Queue(StreamHandle stream, bool asynchronous, std::function<void()> run);
// What was recorded since capturing began, which ends. False if it had not begun.
bool BeginRecording(StreamHandle stream);
bool EndRecording(StreamHandle stream, std::vector<std::function<void()>>* recorded);
// What a launch, a copy does when its turn comes; null if the arguments are wrong.
std::function<void()> KernelAction(FunctionHandle function, void** extra);
std::function<void()> CopyAction(const Copy3D& copy);
bool IsMapped(DevicePointer address, size_t bytes);
// The bytes of an array from its slice `z` on, from a row to the next, and the rows of a slice.
std::byte* ArrayBytes(void* array, size_t z, size_t* pitch, size_t* rows);
// The fault the context has been left with.
Result Sticky();

}  // namespace wharf::device::cuda::fake
