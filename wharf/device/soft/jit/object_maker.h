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

// Fails as Compiler::Compile.
absl::StatusOr<std::unique_ptr<llvm::MemoryBuffer>> MakeObject(const Program& program, const JitEngine& engine,
                                                               const CompilerOptions& options);

}  // namespace wharf::device::soft
