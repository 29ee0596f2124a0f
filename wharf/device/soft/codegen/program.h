// What one kernel reaches: its functions, variables and shared memory layout, and how it has to be executed. No LLVM
// here: this much is needed to look a kernel up in the cache.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/device/device.h"
#include "wharf/device/ptx/ast.h"
#include "wharf/device/soft/check/checks.h"
#include "wharf/device/soft/runtime/compiled_kernel.h"
#include "wharf/device/soft/runtime/kernel_abi.h"

namespace wharf::device::soft {

// What NVIDIA's compiler reserves of a block's shared memory from compute capability 8.0 on (%reserved_smem_offset_…).
// CUDA's cooperative groups keep the state of tiles of several warps there. Here kernels have it that ask where it is.
inline constexpr uint32_t kReservedSharedBytes = 1024;

struct ReachedFunction {
  const ptx::Function* function = nullptr;
  ptx::Body body;
  // Instructions (branches backwards) that close a loop which may wait for another thread.
  std::set<uint32_t> spin_edges;
  bool address_taken = false;
  uint32_t first_instruction = 0;  // its number, counted over all functions
};

struct Program {
  const ptx::Module* module = nullptr;
  std::deque<ReachedFunction> functions;                        // the kernel first; elements never move
  std::map<std::string, uint32_t, std::less<>> index;           // function name -> functions[]
  std::set<std::string> globals;                                // module-scope .global and .const variables
  std::map<std::string, uint32_t, std::less<>> shared_offsets;  // SharedKey() -> offset in the shared window
  uint32_t static_shared_bytes = 0;
  bool has_reserved_shared = false;  // some function asks for where kReservedSharedBytes lie: at this offset
  uint32_t reserved_shared_offset = 0;
  uint32_t local_bytes = 0;
  uint32_t instructions = 0;  // over all functions
  bool has_local = false;     // some function has addressable .local memory
  bool has_indirect_call = false;
  bool has_alloca = false;
  bool launches_kernels = false;
  ExecutionMode mode = ExecutionMode::kLoop;
  bool spins = false;        // some loop may wait for another thread
  Dim3 block{0, 0, 0};       // the shape of blocks that code is made for; zeros: any
  check::Checks checks = 0;  // whose code tells of its accesses to memory
  std::string key;           // everything the generated code depends on, but the target

  const ReachedFunction& Kernel() const { return functions.front(); }
};

// Names of function-scope .shared variables are unique within their function only.
std::string SharedKey(const ptx::Function& function, std::string_view variable);

// kNotFound: no such entry; kInvalidArgument with kInvalidPtx: malformed.
absl::StatusOr<Program> Analyze(const ptx::Module& module, std::string_view kernel);

// Has the kernel's code made so that these can be looked for, on suspendable threads.
void AddChecks(check::Checks checks, Program* program);

// Code of a kernel that needs suspendable threads may be better for blocks of one shape (widen/regions.h).
bool GainsByShape(const Program& program);

// Of the code for such blocks, for Program::block: their own shape where that gains, kNarrow for narrow ones of a
// kernel that is a loop over threads, else kAnyBlock.
Dim3 CodeShape(const Program& program, const Dim3& block);

}  // namespace wharf::device::soft
