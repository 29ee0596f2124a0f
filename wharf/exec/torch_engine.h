// The engine on LibTorch, on this machine's CPU. Images lie in memory row by row with their channels innermost
// ("channels last"), so that some rows of an image are one block: cut without a copy.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "wharf/exec/engine.h"

namespace wharf::exec {

struct TorchOptions {
  int threads = 0;  // of one operator, in this process; 0: as LibTorch chooses
};
std::unique_ptr<Engine> MakeTorchEngine(const TorchOptions& options);

// LibTorch and OpenBLAS start threads and take buffers when they are used first: has them do it now.
void WarmUpTorch();

// "1.13.0".
std::string TorchVersion();
// Of one operator, in this process: what MakeTorchEngine said last.
int TorchThreads();

// The operators there are kernels for, sorted: those of graph/operators.h that run.
std::vector<std::string_view> TorchOperators();

}  // namespace wharf::exec
