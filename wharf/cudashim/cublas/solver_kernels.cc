#include "wharf/cudashim/cublas/solver_kernels.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "wharf/cudashim/client/module.h"

// The PTX that nvcc made of solvers.cu, for each element type, with a zero behind it.
#define WHARF_PTX(name, file)                    \
  __asm__(                                       \
      ".pushsection .rodata\n"                   \
      ".globl wharf_solvers_" name               \
      "\n"                                       \
      ".hidden wharf_solvers_" name              \
      "\n"                                       \
      "wharf_solvers_" name ":\n.incbin \"" file \
      "\"\n"                                     \
      ".byte 0\n"                                \
      ".popsection\n")
WHARF_PTX("s", WHARF_SOLVERS "/solvers_s.ptx");
WHARF_PTX("d", WHARF_SOLVERS "/solvers_d.ptx");
WHARF_PTX("c", WHARF_SOLVERS "/solvers_c.ptx");
WHARF_PTX("z", WHARF_SOLVERS "/solvers_z.ptx");
#undef WHARF_PTX
extern "C" const char wharf_solvers_s[], wharf_solvers_d[], wharf_solvers_c[], wharf_solvers_z[];

namespace wharf::cudashim {
namespace {

const char* PtxOf(ElementType type) {
  switch (type) {
    case ElementType::kF32:
      return wharf_solvers_s;
    case ElementType::kF64:
      return wharf_solvers_d;
    case ElementType::kC32:
      return wharf_solvers_c;
    default:
      return wharf_solvers_z;
  }
}

// Loaded once in a process, when it is first launched.
CudaError Find(ElementType type, const char* name, client::Function** function) {
  static std::mutex* const mutex = new std::mutex();
  static auto* const modules = new std::map<ElementType, client::Module*>();
  static auto* const functions = new std::map<std::pair<ElementType, std::string>, client::Function*>();
  const std::lock_guard lock(*mutex);
  client::Function*& found = (*functions)[{type, name}];
  client::Module*& module = (*modules)[type];
  CudaError error = CudaError::kSuccess;
  if (module == nullptr) error = client::LoadModule(PtxOf(type), &module);
  if (error == CudaError::kSuccess && found == nullptr) error = client::FindFunction(module, name, &found);
  *function = found;
  return error;
}

}  // namespace

CudaError LaunchSolver(cublasHandle_t handle, ElementType type, const char* kernel, const SolverGrid& grid,
                       const void* parameters) {
  constexpr int64_t kMostInY = 65535;
  client::Function* function = nullptr;
  const CudaError error = Find(type, kernel, &function);
  if (error != CudaError::kSuccess) return error;
  const int64_t blocks = std::clamp<int64_t>((grid.lines + kSolverThreads - 1) / kSolverThreads, 1, kMostInY);
  client::LaunchShape shape;
  shape.grid = {static_cast<uint32_t>(grid.batch), static_cast<uint32_t>(blocks), 1};
  shape.block = {kSolverThreads, 1, 1};
  void* arguments[] = {const_cast<void*>(parameters)};
  return client::Launch(function, shape, StreamOf(handle), arguments, nullptr, 0);
}

}  // namespace wharf::cudashim
