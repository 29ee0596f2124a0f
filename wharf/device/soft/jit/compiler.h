// Compiles one kernel of a PTX module to this CPU with LLVM ORC.
//
// Method: each PTX function becomes an LLVM function whose registers are stack slots (promoted by the optimiser); a
// kernel without barriers, warp operations or spin loops becomes loops over the block's threads, neighbouring threads
// in the lanes of vectors where possible; any other kernel is compiled for one thread and executed on suspendable
// threads. Object code is cached in memory and, if a directory is given, on disk (key: PTX of
// everything the kernel reaches, target CPU, compiler version).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "wharf/base/clock.h"
#include "wharf/base/status.h"
#include "wharf/device/ptx/ast.h"
#include "wharf/device/soft/check/checks.h"
#include "wharf/device/soft/runtime/compiled_kernel.h"

namespace wharf::device::soft {

// Where module-scope .global and .const variables live; nullptr if there is no such variable.
using SymbolResolver = std::function<void*(std::string_view name)>;

struct CompilerOptions {
  // Kernels cannot leave their memory (confine.h). Benchmarks compare with what they would cost if they could.
  bool confine = true;
  // Of the code of all kernels, which stays as long as the compiler: their objects, and kLinkedKernelBytes for each.
  uint64_t code_bytes = uint64_t{1} << 30;
  // To be looked for while kernels run: then they run on suspendable threads, and tell of their accesses to memory.
  check::Checks checks = 0;
};

// What a kernel takes beside its object: pages of its own, and what LLVM knows of it.
inline constexpr uint64_t kLinkedKernelBytes = 64 << 10;

// Thread-safe.
class Compiler {
 public:
  // `cache_directory` "" = no disk cache.
  static absl::StatusOr<std::unique_ptr<Compiler>> Create(std::string cache_directory, CompilerOptions options = {});
  // The same, but what is not in the cache is compiled by another process, which stores it there: this one writes
  // nothing. Owns `socket`, the client's end (compile_service.h).
  static absl::StatusOr<std::unique_ptr<Compiler>> CreateElsewhere(std::string cache_directory, int socket,
                                                                   CompilerOptions options = {});
  virtual ~Compiler() = default;

  // The returned code lives as long as the Compiler. kNotFound: no such entry; kUnimplemented with
  // CudaError::kUnsupportedPtx: "kernel K: line N: `instruction` is not supported …"; kInvalidArgument with
  // kInvalidPtx: malformed PTX; kResourceExhausted with kOutOfMemory: there is too much code.
  // `block`: the code is for blocks of this shape only, and may then be much faster; zeros: of any.
  virtual absl::StatusOr<std::shared_ptr<const CompiledKernel>> Compile(const ptx::Module& module,
                                                                        std::string_view kernel,
                                                                        const SymbolResolver& symbols,
                                                                        const Dim3& block = {0, 0, 0}) = 0;
  // What is known of a kernel without compiling it: all but its code. Fails as Compile, but for instructions that are
  // not supported.
  virtual absl::StatusOr<std::shared_ptr<const CompiledKernel>> Describe(const ptx::Module& module,
                                                                         std::string_view kernel) const;
};

// What compiling a kernel takes, phase by phase, of processor time.
struct CompileTimes {
  Nanoseconds generate{0};  // PTX to LLVM's code
  Nanoseconds simplify{0};  // before threads are put in lanes
  Nanoseconds widen{0};     // regions and lanes
  Nanoseconds optimize{0};
  Nanoseconds emit{0};  // walls and machine code

  Nanoseconds Total() const { return generate + simplify + widen + optimize + emit; }
};

// How the threads of a kernel are executed, from the fastest way to the slowest, and why not in a faster one.
struct KernelForm {
  enum Way : uint8_t {
    kLanes,        // in the lanes of vectors
    kRegions,      // the same, from barrier to barrier
    kOneByOne,     // one after another
    kSuspendable,  // on suspendable threads, each with a stack of its own
  };
  Way way = kLanes;
  std::string reason;  // for people; "" for the first two
  CompileTimes times;  // what compiling it took, forms that it cannot have included
};

// In blocks of this shape. Compiles the kernel, with all that this takes. Fails as Compiler::Compile.
absl::StatusOr<KernelForm> Explain(const ptx::Module& module, std::string_view kernel, const Dim3& block);

// "16.0.6".
std::string LlvmVersion();

// Finds out what kernels are compiled for: on AArch64 a file says it, and who is confined opens none.
void ReadProcessor();

}  // namespace wharf::device::soft
