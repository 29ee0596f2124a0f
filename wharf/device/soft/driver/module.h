// A loaded module: its variables in device memory and its kernels, compiled at first use. What carries machine code
// only is made of the PTX that packs have for it, and names kernels and variables as its machine code does.
#pragma once

#include <array>
#include <cstddef>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "wharf/base/idle_worker.h"
#include "wharf/base/status.h"
#include "wharf/device/device.h"
#include "wharf/device/pack/match.h"
#include "wharf/device/ptx/ast.h"
#include "wharf/device/ptx/guard.h"
#include "wharf/device/soft/jit/compiler.h"
#include "wharf/device/soft/runtime/child_launches.h"
#include "wharf/device/soft/runtime/memory.h"

namespace wharf::device::soft {

// A kernel rewritten by ptx::GuardKernel, and compiled.
struct GuardedCode {
  ptx::GuardedKernel kernel;
  std::shared_ptr<const CompiledKernel> compiled;
};

// Describe, Compile and Children may be called from any thread, all else from one. `memory`, `compiler` and
// `background` must outlive it.
class LoadedModule {
 public:
  // Allocates and initialises the variables. kNoBinaryForDevice if the image has neither PTX nor kernels in machine
  // code, kInvalidImage or kInvalidPtx if it is malformed, kOutOfMemory beyond the quota. `packs` may be null. If there
  // is machine code for which no PTX is found, the module is loaded and its kernels say why they cannot be used.
  static absl::StatusOr<std::unique_ptr<LoadedModule>> Load(const std::vector<std::byte>& image,
                                                            const pack::PackSet* packs, Memory& memory,
                                                            Compiler& compiler, IdleWorker& background);

  const ptx::Module& ptx() const { return *ptx_; }
  // Where the variables are; 0 if there are none. The owner unmaps it when no queued work uses the module any more.
  DeviceAddress variables_base() const { return base_; }
  uint64_t const_bytes() const { return const_bytes_; }
  // By what name the methods below know the kernel that the program calls `name`. kNotFound if the module defines none;
  // kNoBinaryForDevice, with what to tell the user, if there is no PTX for it.
  absl::StatusOr<std::string> FindKernel(const std::string& name) const;
  // Of the program's name.
  absl::StatusOr<Symbol> FindSymbol(std::string_view name) const;
  // ptx::FootprintOf, its variables found; not oblivious if one of them is missing.
  absl::StatusOr<Footprint> FootprintOf(const std::string& kernel) const;
  // Compiler::Describe's contract. Results, good or bad, are kept.
  absl::StatusOr<std::shared_ptr<const CompiledKernel>> Describe(const std::string& kernel);
  // Compiler::Compile's contract, and kUnsupportedPtx if the kernel uses a variable that could not be initialised. For
  // blocks of this shape. Results, good or bad, are kept.
  absl::StatusOr<std::shared_ptr<const CompiledKernel>> Compile(const std::string& kernel, const Dim3& block);
  // What its kernels can launch. Lives as long as this.
  const ChildKernels& Children();
  // Begins to compile the guarded version in the background. True once CompileGuarded will not wait for that.
  bool PrepareGuarded(const std::string& kernel);
  // ptx::GuardKernel's and Compiler::Compile's contracts. Results, good or bad, are kept; they live as long as this.
  absl::StatusOr<const GuardedCode*> CompileGuarded(const std::string& kernel);

 private:
  LoadedModule(std::shared_ptr<const ptx::Module> ptx, Compiler& compiler, IdleWorker& background)
      : ptx_(std::move(ptx)), compiler_(compiler), background_(background) {}
  // What the machine code of an image without PTX is to the module.
  struct Stood {
    std::set<std::string, std::less<>> kernels;                                    // that the machine code defines
    absl::Status why;                                                              // there is no PTX for them
    std::map<std::string, std::string, std::less<>> kernel_names, variable_names;  // of pack::Match
  };
  // `no_ptx`: what is said of an image that has no machine code either.
  static absl::StatusOr<Stood> StandIn(const std::vector<std::byte>& image, const pack::PackSet* packs,
                                       const absl::Status& no_ptx, std::shared_ptr<const ptx::Module>* ptx);
  absl::StatusOr<Symbol> FindPtxSymbol(std::string_view name) const;
  absl::Status PlaceVariables(Memory& memory);
  void Initialise(const ptx::Variable& variable, DeviceAddress address);
  using Kernel = absl::StatusOr<std::shared_ptr<const CompiledKernel>>;
  Kernel DescribeLocked(const std::string& kernel) ABSL_EXCLUSIVE_LOCKS_REQUIRED(kernels_mutex_);
  Kernel CompileLocked(const std::string& kernel, const Dim3& block) ABSL_EXCLUSIVE_LOCKS_REQUIRED(kernels_mutex_);
  Kernel CompileNow(const std::string& kernel, const Dim3& block);
  using FutureCode = std::shared_future<absl::StatusOr<GuardedCode>>;
  const FutureCode& Guarded(const std::string& kernel);

  std::shared_ptr<const ptx::Module> ptx_;
  std::optional<Stood> stood_;  // if the PTX is a pack's
  Compiler& compiler_;
  IdleWorker& background_;
  DeviceAddress base_ = 0;
  uint64_t const_bytes_ = 0;
  std::map<std::string, Symbol, std::less<>> symbols_;
  std::map<std::string, std::string, std::less<>> unusable_;  // variable -> why no kernel may use it
  using Shape = std::array<uint32_t, 3>;                      // zeros: any
  // Kernels that others launch are looked up while the device runs. Held while one is compiled.
  absl::Mutex kernels_mutex_;
  std::map<std::string, Kernel> described_ ABSL_GUARDED_BY(kernels_mutex_);
  std::map<std::string, std::map<Shape, Kernel>> kernels_ ABSL_GUARDED_BY(kernels_mutex_);
  ChildKernels children_ ABSL_GUARDED_BY(kernels_mutex_);
  std::map<std::string, FutureCode> guarded_;
};

}  // namespace wharf::device::soft
