// How the values of a thread function differ between neighbouring threads (tid.x, tid.x + 1, …), for widening.
#pragma once

#include <llvm/ADT/BitVector.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/PostDominators.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>

#include <vector>

namespace wharf::device::soft {

// Uniform: the same in all threads. Strided: a multiple of `stride` more in each next thread, apart from wrapping where
// a narrower integer was extended. Varying: anything.
struct Shape {
  enum Kind : uint8_t { kUnknown, kAffine, kVarying } kind = kUnknown;
  int64_t stride = 0;  // of kAffine; 0 is uniform

  bool Uniform() const { return kind == kAffine && stride == 0; }
  bool Strided() const { return kind == kAffine && stride != 0; }
  friend bool operator==(const Shape&, const Shape&) = default;
};

// Which threads are compared.
struct Neighbours {
  unsigned lane = 0;              // the argument that is tid.x
  std::vector<unsigned> varying;  // other arguments that differ; what is not named is the same in all of them
  unsigned lanes = 1;             // as many threads, from a multiple of this on, are compared; a power of two
  bool warp = false;              // they are all the threads of a warp: its operations give all of them the same
};

class ShapeAnalysis {
 public:
  ShapeAnalysis(llvm::Function& function, Neighbours neighbours, const llvm::LoopInfo& loops,
                const llvm::DominatorTree& tree);

  Shape Of(const llvm::Value* value) const;
  // Threads may go different ways at the end of this block.
  bool Diverges(const llvm::BasicBlock* block) const;
  // Threads may leave the loop in different rounds, or apart.
  bool Diverges(const llvm::Loop* loop) const;
  // The first block to which all threads come, whatever way they go at the end of `block`; null if there is none.
  const llvm::BasicBlock* Meeting(const llvm::BasicBlock* block) const;

 private:
  Shape Transfer(const llvm::Instruction& instruction) const;
  Shape OfBinary(const llvm::BinaryOperator& operation) const;
  Shape OfCompare(const llvm::ICmpInst& compare) const;
  Shape OfCall(const llvm::CallInst& call) const;
  // The value of the first thread is a multiple of `lanes`, that of each next one more.
  bool StartsAligned(const llvm::Value* value) const;
  Shape OfAddress(const llvm::GetElementPtrInst& address) const;
  Shape OfPhi(const llvm::PHINode& phi) const;
  bool JoinsDivergence(const llvm::BasicBlock* block) const;
  // Where threads may be that went different ways at the end of `block`, up to Meeting(block) and with it.
  const llvm::BitVector& Apart(const llvm::BasicBlock* block) const;

  const llvm::DataLayout& layout_;
  const Neighbours neighbours_;
  const llvm::LoopInfo& loops_;
  const llvm::DominatorTree& tree_;
  const llvm::PostDominatorTree after_;
  llvm::DenseMap<const llvm::BasicBlock*, unsigned> numbers_;
  mutable llvm::DenseMap<const llvm::BasicBlock*, llvm::BitVector> apart_;  // see Apart
  llvm::DenseSet<const llvm::BasicBlock*> joins_;                           // see JoinsDivergence
  llvm::DenseMap<const llvm::Value*, Shape> shapes_;
};

}  // namespace wharf::device::soft
