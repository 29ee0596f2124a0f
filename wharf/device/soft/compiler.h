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

#include "wharf/base/status.h"
#include "wharf/device/device.h"
#include "wharf/device/ptx/ast.h"
#include "wharf/device/soft/kernel_abi.h"

namespace wharf::device::soft {

struct CompiledKernel {
  ExecutionMode mode = ExecutionMode::kLoop;
  LoopEntry loop_entry = nullptr;      // mode kLoop
  ThreadEntry thread_entry = nullptr;  // mode kSuspendable
  uint32_t static_shared_bytes = 0;    // dynamic shared memory starts here (already aligned to 16)
  uint32_t local_bytes = 0;            // stack one thread needs for .local arrays, including callees
  uint32_t parameter_bytes = 0;
  uint32_t required_block[3] = {0, 0, 0};  // .reqntid, 0 if none
  uint32_t max_threads = 0;                // .maxntid product, 0 if none
  std::vector<ParameterLayout> parameters;
};

// Where module-scope .global and .const variables live; nullptr if there is no such variable.
using SymbolResolver = std::function<void*(std::string_view name)>;

// What a function pointer to this function holds: a number made from its name, the same in every kernel. An initialiser
// that names a function (a table of function pointers, a class's virtual functions) gets this value. It is no address
// of anything; an indirect call compares it with the functions it may reach.
uint64_t FunctionAddress(std::string_view name);

// Thread-safe.
class Compiler {
 public:
  // `cache_directory` "" = no disk cache.
  static absl::StatusOr<std::unique_ptr<Compiler>> Create(std::string cache_directory);
  virtual ~Compiler() = default;

  // The returned code lives as long as the Compiler. kNotFound: no such entry; kUnimplemented with
  // CudaError::kUnsupportedPtx: "kernel K: line N: `instruction` is not supported …"; kInvalidArgument with
  // kInvalidPtx: malformed PTX.
  virtual absl::StatusOr<std::shared_ptr<const CompiledKernel>> Compile(const ptx::Module& module,
                                                                        std::string_view kernel,
                                                                        const SymbolResolver& symbols) = 0;
};

}  // namespace wharf::device::soft
