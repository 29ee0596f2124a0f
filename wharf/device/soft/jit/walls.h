// The confined range, in the code of one function.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/IRBuilder.h>

#include <optional>

#include "wharf/base/status.h"

namespace wharf::device::soft {

// kInternal: "generated code cannot be confined: " and `what`.
absl::Status CannotConfine(const llvm::Value& what);

// What a pointer of the compiled code itself, not one computed by the kernel, points to.
enum class Place : uint8_t {
  kElsewhere,  // anywhere: it has to be confined
  kBlock,      // the BlockContext
  kThread,     // the ThreadContext
  kConfined,   // inside the confined range
  kSlot,       // a variable on the stack
};

class Walls {
 public:
  // Loads the bounds at the start of `function`. It must have one of the contexts as a parameter, or no memory accesses
  // that need confining.
  explicit Walls(llvm::Function* function);

  llvm::Function* function() const { return function_; }
  Place PlaceOf(const llvm::Value* pointer) const;
  // The contexts' addresses, null if the function has them not.
  llvm::Value* block() const { return block_; }
  llvm::Value* thread() const { return thread_; }
  // The first instruction after the bounds are there. REQUIRES: block() is not null.
  llvm::Instruction* Start() const { return begin_->getNextNode(); }

  // The address, a pointer or 64-bit integer, or a vector of these, as a pointer inside the range; a vector stays one.
  // REQUIRES: block() is not null.
  llvm::Value* Confine(llvm::IRBuilder<>& b, llvm::Value* address);
  // The same, computed once, where `address` is defined.
  llvm::Value* ConfineAtDefinition(llvm::Value* address);
  // Where `value` is there.
  llvm::Instruction* After(llvm::Value* value) const;

 private:
  llvm::Function* const function_;
  llvm::Value *block_ = nullptr, *thread_ = nullptr;
  llvm::Value *memory_ = nullptr, *span_ = nullptr;
  llvm::Instruction* begin_ = nullptr;
  llvm::DenseSet<const llvm::Value*> confined_;
  llvm::DenseMap<llvm::Value*, llvm::Value*> at_definition_;
};

}  // namespace wharf::device::soft
