// Turns a Program into an LLVM module with one external symbol, kEntrySymbol, which is a LoopEntry or a ThreadEntry.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/device/soft/codegen/program.h"

namespace wharf::device::soft {

inline constexpr char kEntrySymbol[] = "wharf_kernel_entry";
// The function of one thread, which it calls.
inline constexpr char kThreadSymbol[] = "wharf_thread";
// Module-scope variables are external symbols of this prefix and the variable's name.
inline constexpr char kVariablePrefix[] = "ptx.";

// The leading arguments of every generated function; pointers to its .param returns and parameters follow. It returns
// true if the thread has executed `exit`.
enum FixedArgument : unsigned { kBlockArgument, kTidX, kTidY, kTidZ, kThreadArgument, kFixedArguments };

// Marks the parameters of functions, by these attributes, that are the BlockContext and, of a kernel with suspendable
// threads, the ThreadContext. The entry has one of them.
inline constexpr char kBlockAttribute[] = "wharf-block";
inline constexpr char kThreadAttribute[] = "wharf-thread";

// Limits of a block's extents.
inline constexpr uint32_t kMaxBlockX = 1024, kMaxBlockZ = 64;

// For whom code is made.
enum class CodeForm : uint8_t {
  kThread,  // one suspendable thread: the entry is a ThreadEntry
  kLoop,    // the threads of a block, one after the other: a LoopEntry
  kBlock,   // likewise, of blocks of the shape Program::block. Calls that suspend a thread are left for widen/regions.h
};

// What the generators of the functions of one module share.
class ModuleCodegen {
 public:
  ModuleCodegen(const Program& program, CodeForm form, llvm::Module* module);

  absl::Status Build();

  const Program& program() const { return program_; }
  llvm::LLVMContext& context() const { return module_.getContext(); }
  bool suspendable() const { return form_ == CodeForm::kThread; }
  // The extent of a block in this dimension, if it is known.
  std::optional<uint32_t> BlockExtent(size_t dimension) const;

  // The function of this PTX name (aliases followed); null if the program has none.
  llvm::Function* FindFunction(std::string_view name) const;
  llvm::FunctionType* FunctionTypeFor(size_t returns, size_t parameters) const;
  // A function of the runtime or a helper, by its C name.
  llvm::FunctionCallee External(std::string_view name, llvm::Type* result, llvm::ArrayRef<llvm::Type*> arguments);
  // A function that concerns other threads, too: no call of it is made to depend on more, or less, than it does.
  llvm::FunctionCallee ExternalOfThreads(std::string_view name, llvm::Type* result,
                                         llvm::ArrayRef<llvm::Type*> arguments);
  // The address of a module-scope .global or .const variable, as i64.
  llvm::Constant* VariableAddress(std::string_view name);

  // Marks a load of something that does not change while the kernel runs.
  void MarkInvariant(llvm::Instruction* load) const;
  // Marks a load of a pointer to memory of at least `bytes` that is always readable.
  void MarkDereferenceable(llvm::Instruction* load, uint64_t bytes) const;
  void MarkRange(llvm::Instruction* load, uint32_t low, uint32_t high) const;

  // A new number for each activemask in the program.
  uint32_t NextSite() { return site_++; }

 private:
  void Declare();
  void BuildLoopEntry();
  void BuildThreadEntry();
  llvm::Value* LoadField(llvm::IRBuilder<>& builder, llvm::Value* context, size_t offset, uint32_t low, uint32_t high);

  const Program& program_;
  const CodeForm form_;
  llvm::Module& module_;
  std::vector<llvm::Function*> functions_;  // as Program::functions
  uint32_t site_ = 0;
};

}  // namespace wharf::device::soft
