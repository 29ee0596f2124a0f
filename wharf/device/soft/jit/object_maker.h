// Object code of kernels, as it is made and stored.
#pragma once

#include <llvm/Support/MemoryBuffer.h>

#include <memory>
#include <string>

#include "wharf/base/status.h"
#include "wharf/device/soft/jit/compiler.h"
#include "wharf/device/soft/jit/engine.h"

namespace wharf::device::soft {

struct Program;  // codegen/program.h

// The name under which a kernel's object is stored: of all that it depends on.
std::string ObjectName(const Program& program, const JitEngine& engine, const CompilerOptions& options);

// How an object came to be as it is.
struct MakeReport {
  bool wide = false;        // threads of a kernel without barriers are in lanes
  absl::Status no_regions;  // why a kernel that GainsByShape is none of regions
  CompileTimes times;
};

// Fails as Compiler::Compile. `report` may be null.
absl::StatusOr<std::unique_ptr<llvm::MemoryBuffer>> MakeObject(const Program& program, const JitEngine& engine,
                                                               const CompilerOptions& options,
                                                               MakeReport* report = nullptr);

}  // namespace wharf::device::soft
