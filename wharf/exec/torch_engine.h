// The engine on LibTorch, on this machine's CPU or one of its GPUs. Images lie in memory row by row with their channels
// innermost ("channels last"), so that some rows of an image are one block: cut without a copy.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "wharf/exec/engine.h"

namespace wharf::exec {

struct TorchOptions {
  int threads = 0;          // of one operator, in this process; 0: as LibTorch chooses
  uint64_t gpu_memory = 0;  // bytes that this process's tensors may take of the GPU's memory; 0: all there is
};
// On the CPU.
std::unique_ptr<Engine> MakeTorchEngine(const TorchOptions& options);

// What `wanted` means on this machine. "cpu"; "cuda", its first GPU, or "cuda:N": then "cuda:N"; "auto": the first GPU
// if there is one that can be used, else "cpu". kInvalidArgument: anything else. kFailedPrecondition: no such GPU, or
// LibTorch cannot use any; says what to do.
absl::StatusOr<std::string> FindTorchDevice(const std::string& wanted);
// On `device`, which is as FindTorchDevice takes it, and fails alike. Weights go there when a program is prepared,
// inputs when their tensor is made (MakeTensor), results come from there when they are read (Tensor::Read), and what
// stays between runs stays there. Whatever the engine returns is finished: who reads the clock after Run has timed it.
// kResourceExhausted of MakeTensor, Prepare and Run: the GPU's memory is used up, or the machine's. A GPU that fails
// while a result is read ends the process.
absl::StatusOr<std::unique_ptr<Engine>> MakeTorchEngineOn(const std::string& device, const TorchOptions& options);

// LibTorch and OpenBLAS start threads and take buffers when they are used first, and GPUs load kernels: has them do it
// now. `device`: as FindTorchDevice returns it. kResourceExhausted, kInternal: the GPU has no memory, or fails.
absl::Status WarmUpTorch(const std::string& device);

// "1.13.0".
std::string TorchVersion();
// Of one operator, in this process: what MakeTorchEngine said last.
int TorchThreads();

// The operators there are kernels for, sorted: those of graph/operators.h that run.
std::vector<std::string_view> TorchOperators();

}  // namespace wharf::exec
