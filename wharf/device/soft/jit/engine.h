// LLVM's part of the compiler: optimises a module, makes object code of it and links object code into this process.
#pragma once

#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/MemoryBuffer.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/device/soft/codegen/module.h"
#include "wharf/device/soft/jit/compiler.h"

namespace wharf::device::soft {

struct AbsoluteSymbol {
  std::string name;
  uint64_t address = 0;
};

// Adds what the calling thread takes to one phase after the other; to none if there are no times.
class PhaseClock {
 public:
  explicit PhaseClock(CompileTimes* times) : times_(times) { since_ = Now(); }

  // What passed since the phase before.
  void End(Nanoseconds CompileTimes::*phase) {
    if (times_ == nullptr) return;
    const Nanoseconds now = Now();
    times_->*phase += now - since_;
    since_ = now;
  }

 private:
  static Nanoseconds Now() { return ProcessorTime(CLOCK_THREAD_CPUTIME_ID); }

  CompileTimes* const times_;
  Nanoseconds since_{0};
};

// Thread-safe.
class JitEngine {
 public:
  static absl::StatusOr<std::unique_ptr<JitEngine>> Create();

  // CPU and features the code is for; part of the cache key.
  const std::string& target() const { return target_; }

  // Gives the module this engine's data layout and triple; call it before generating code.
  void Prepare(llvm::Module* module) const;
  struct CompileOptions {
    CodeForm form = CodeForm::kThread;  // that the module was made with
    Dim3 block{0, 0, 0};                // of CodeForm::kBlock
    bool large = false;                 // a kernel so long that compile time matters more than the last bit of speed
    bool narrow = false;                // for blocks that are not worth lanes: of CodeForm::kLoop
    bool confine = true;                // see confine.h; without it code can do anything
    bool* wide = nullptr;               // if set: whether CodeForm::kLoop came to have its threads in lanes
    CompileTimes* times = nullptr;      // if set: what it takes is added, whether or not it succeeds
  };
  // kUnimplemented, with the reason: the threads of a block cannot be executed together, as CodeForm::kBlock asks for,
  // or a frame is larger than can be watched (confine.h).
  absl::StatusOr<std::unique_ptr<llvm::MemoryBuffer>> Compile(llvm::Module* module,
                                                              const CompileOptions& options) const;
  struct Code {
    void* entry = nullptr;
    ExecutionMode mode = ExecutionMode::kLoop;  // what the entry is
    bool wide = false;                          // CompiledKernel::wide
    uint64_t local_stack_bytes = 0;             // kLocalStackSymbol (confine.h)
  };
  // Links an object of Compile in a symbol space of its own. The code stays for the engine's lifetime; it is never
  // writable and executable at once.
  absl::StatusOr<Code> Link(std::unique_ptr<llvm::MemoryBuffer> object, const std::vector<AbsoluteSymbol>& symbols);

 private:
  JitEngine() = default;

  std::unique_ptr<llvm::orc::JITTargetMachineBuilder> machine_;
  std::unique_ptr<llvm::orc::LLJIT> jit_;
  llvm::orc::JITDylib* helpers_ = nullptr;
  std::string target_;
  unsigned lanes_ = 0;
  std::atomic<uint64_t> next_{0};
};

}  // namespace wharf::device::soft
