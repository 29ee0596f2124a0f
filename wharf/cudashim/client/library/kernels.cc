#include "wharf/cudashim/client/library/kernels.h"

namespace wharf::client {

CudaError LibraryKernels::Find(int variant, const char* name, Function** function) {
  const std::lock_guard lock(mutex_);
  Function*& found = functions_[{variant, name}];
  Module*& module = modules_[variant];
  CudaError error = CudaError::kSuccess;
  if (module == nullptr) error = LoadModule(ptx_[variant], &module);
  if (error == CudaError::kSuccess && found == nullptr) error = FindFunction(module, name, &found);
  *function = found;
  return error;
}

}  // namespace wharf::client
