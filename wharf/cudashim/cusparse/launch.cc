#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "wharf/cudashim/client/module.h"
#include "wharf/cudashim/cusparse/sparse.h"

// The PTX that nvcc made of kernels.cu, for each element type, with a zero behind it.
#define WHARF_PTX(name, file)                   \
  __asm__(                                      \
      ".pushsection .rodata\n"                  \
      ".globl wharf_sparse_" name               \
      "\n"                                      \
      ".hidden wharf_sparse_" name              \
      "\n"                                      \
      "wharf_sparse_" name ":\n.incbin \"" file \
      "\"\n"                                    \
      ".byte 0\n"                               \
      ".popsection\n")
WHARF_PTX("s", WHARF_SPARSE_KERNELS "/kernels_s.ptx");
WHARF_PTX("d", WHARF_SPARSE_KERNELS "/kernels_d.ptx");
WHARF_PTX("c", WHARF_SPARSE_KERNELS "/kernels_c.ptx");
WHARF_PTX("z", WHARF_SPARSE_KERNELS "/kernels_z.ptx");
#undef WHARF_PTX
extern "C" const char wharf_sparse_s[], wharf_sparse_d[], wharf_sparse_c[], wharf_sparse_z[];

namespace wharf::cudashim {
namespace {

const char* PtxOf(ElementType type) {
  switch (type) {
    case ElementType::kF32:
      return wharf_sparse_s;
    case ElementType::kF64:
      return wharf_sparse_d;
    case ElementType::kC32:
      return wharf_sparse_c;
    default:
      return wharf_sparse_z;
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

cusparseStatus_t LaunchSparse(cusparseHandle_t handle, cudaDataType type, const char* kernel, int64_t threads,
                              const void* parameters) {
  constexpr int64_t kMostBlocks = int64_t{1} << 20;
  if (threads <= 0) return CUSPARSE_STATUS_SUCCESS;
  client::Function* function = nullptr;
  const CudaError error = Find(SparseTypeOf(type).value_or(ElementType::kF32), kernel, &function);
  if (error != CudaError::kSuccess) return SparseStatusOf(error);
  client::LaunchShape shape;
  shape.grid = {static_cast<uint32_t>(std::min(kMostBlocks, (threads - 1) / kSparseThreads + 1)), 1, 1};
  shape.block = {kSparseThreads, 1, 1};
  void* arguments[] = {const_cast<void*>(parameters)};
  const auto stream = reinterpret_cast<client::StreamHandle>(handle->stream);
  return SparseStatusOf(client::Launch(function, shape, stream, arguments, nullptr, 0));
}

cusparseStatus_t ReadBack(cusparseHandle_t handle, const void* place, void* to_host, size_t bytes) {
  client::Box to, from;
  to.address = reinterpret_cast<uint64_t>(to_host);
  from.address = reinterpret_cast<uint64_t>(place);
  const auto stream = reinterpret_cast<client::StreamHandle>(handle->stream);
  return SparseStatusOf(client::Copy(stream, to, from, {bytes, 1, 1}, client::CopyKind::kDeviceToHost, false));
}

}  // namespace wharf::cudashim
