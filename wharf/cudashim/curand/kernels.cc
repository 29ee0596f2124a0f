#include "wharf/cudashim/curand/kernels.h"

#include <array>
#include <map>
#include <mutex>
#include <string>

#include "wharf/cudashim/client/module.h"

// The PTX that nvcc made of kernels.cu, for each engine, with a zero behind it.
#define WHARF_PTX(name)                                                  \
  __asm__(                                                               \
      ".pushsection .rodata\n"                                           \
      ".globl wharf_random_" name                                        \
      "\n"                                                               \
      ".hidden wharf_random_" name                                       \
      "\n"                                                               \
      "wharf_random_" name ":\n.incbin \"" WHARF_RANDOM_KERNELS "/" name \
      ".ptx\"\n"                                                         \
      ".byte 0\n"                                                        \
      ".popsection\n")
WHARF_PTX("Xorwow");
WHARF_PTX("Mrg32k3a");
WHARF_PTX("Philox");
WHARF_PTX("Mtgp32");
WHARF_PTX("Sobol32");
WHARF_PTX("Sobol64");
#undef WHARF_PTX
extern "C" const char wharf_random_Xorwow[], wharf_random_Mrg32k3a[], wharf_random_Philox[], wharf_random_Mtgp32[],
    wharf_random_Sobol32[], wharf_random_Sobol64[];

namespace wharf::cudashim {
namespace {

constexpr uint32_t kThreads = 128;  // of a block

// Loaded once in a process, when one of the engine's kernels is first launched.
CudaError Find(EngineKind engine, const char* name, client::Function** function) {
  constexpr std::array<const char*, kEngines> kPtx = {wharf_random_Xorwow, wharf_random_Mrg32k3a, wharf_random_Philox,
                                                      wharf_random_Mtgp32, wharf_random_Sobol32,  wharf_random_Sobol64};
  static std::mutex* const mutex = new std::mutex();
  static auto* const modules = new std::array<client::Module*, kEngines>();
  static auto* const functions = new std::array<std::map<std::string, client::Function*>, kEngines>();
  const auto number = static_cast<size_t>(engine);
  const std::lock_guard lock(*mutex);
  client::Module*& module = (*modules)[number];
  client::Function*& found = (*functions)[number][name];
  CudaError error = CudaError::kSuccess;
  if (module == nullptr) error = client::LoadModule(kPtx[number], &module);
  if (error == CudaError::kSuccess && found == nullptr) error = client::FindFunction(module, name, &found);
  *function = found;
  return error;
}

}  // namespace

CudaError LaunchRandom(const curandGenerator_st& generator, const char* kernel, uint64_t threads,
                       void* const* arguments) {
  client::Function* function = nullptr;
  const CudaError error = Find(generator.engine, kernel, &function);
  if (error != CudaError::kSuccess) return error;
  client::LaunchShape shape;
  shape.grid = {static_cast<uint32_t>((threads + kThreads - 1) / kThreads), 1, 1};
  shape.block = {kThreads, 1, 1};
  if (threads == 1) shape.block.x = 1;
  return client::Launch(function, shape, StreamOf(generator), arguments, nullptr, 0);
}

}  // namespace wharf::cudashim
