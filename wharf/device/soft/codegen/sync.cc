// Barriers and warp operations: calls into the runtime, which suspend the thread.
#include "wharf/device/soft/codegen/function.h"
#include "wharf/device/soft/codegen/shuffle.h"

namespace wharf::device::soft {

void FunctionCodegen::AddSyncHandlers(std::map<std::string_view, Handler>* handlers) {
  handlers->insert({{"bar", &FunctionCodegen::Barrier},
                    {"barrier", &FunctionCodegen::Barrier},
                    {"shfl", &FunctionCodegen::Shfl},
                    {"vote", &FunctionCodegen::Vote},
                    {"match", &FunctionCodegen::Match},
                    {"redux", &FunctionCodegen::Redux},
                    {"activemask", &FunctionCodegen::ActiveMask},
                    {"elect", &FunctionCodegen::Elect},
                    {"nanosleep", &FunctionCodegen::Nanosleep}});
}

llvm::Value* FunctionCodegen::Thread() { return function_->getArg(kThreadArgument); }

llvm::Value* FunctionCodegen::CallRuntime(std::string_view name, llvm::Type* result, llvm::ArrayRef<Value*> arguments) {
  std::vector<Value*> all = {Thread()};
  std::vector<llvm::Type*> types = {b_.getPtrTy()};
  for (Value* argument : arguments) {
    all.push_back(argument);
    types.push_back(argument->getType());
  }
  return b_.CreateCall(module_.ExternalOfThreads(name, result, types), all);
}

// Where the runtime puts a second result.
// One for all calls, so that calls in two branches can become one of the same slot.
llvm::Value* FunctionCodegen::ResultSlot() {
  if (result_slot_ == nullptr) {
    result_slot_ = entry_.CreateAlloca(b_.getInt32Ty());
    entry_.CreateStore(b_.getInt32(0), result_slot_);
  }
  return result_slot_;
}

llvm::Value* FunctionCodegen::LoadResult(Value* slot) {
  auto* load = b_.CreateAlignedLoad(b_.getInt32Ty(), slot, llvm::Align(4));
  load->setAtomic(llvm::AtomicOrdering::Monotonic);
  return load;
}

void FunctionCodegen::Barrier() {
  if (modifiers_.Take("cluster")) return ClusterBarrier();
  modifiers_.Take("cta");
  if (modifiers_.Take("warp")) return WarpSync();
  const bool aligned = modifiers_.Take("aligned");
  (void)aligned;  // promises that all threads of a warp execute the same barrier
  if (modifiers_.Take("red")) return BarrierReduce();
  const std::string_view operation = modifiers_.TakeOneOf({"sync", "arrive"});
  if (operation.empty()) return Unsupported("this barrier");
  if (!Expect(operation == "sync" ? 1 : 2, 2)) return;
  Value* threads = Count() > 1 ? Source(1, Type::kB32) : b_.getInt32(0);
  CallRuntime(operation == "sync" ? "wharf_barrier_sync" : "wharf_barrier_arrive", b_.getVoidTy(),
              {Source(0, Type::kB32), threads});
}

// bar.red.op d, barrier{, threads}, {!}p
void FunctionCodegen::BarrierReduce() {
  const std::string_view name = modifiers_.TakeOneOf({"popc", "and", "or"});
  Type type = TypeOrFail();
  if (!Expect(3, 4)) return;
  if (name.empty() || (type == Type::kPred) == (name == "popc")) return Malformed("no such reduction");
  const ReduceOp op = name == "popc" ? ReduceOp::kPopc : name == "and" ? ReduceOp::kAnd : ReduceOp::kOr;
  Value* threads = Count() == 4 ? Source(2, Type::kB32) : b_.getInt32(0);
  Value* predicate = b_.CreateZExt(ReadPredicate(Op(Count() - 1)), b_.getInt32Ty());
  Value* result = CallRuntime("wharf_barrier_reduce", b_.getInt32Ty(),
                              {Source(1, Type::kB32), threads, b_.getInt32(static_cast<uint32_t>(op)), predicate});
  if (type == Type::kPred) result = b_.CreateICmpNE(result, b_.getInt32(0));
  Result(type, result);
}

void FunctionCodegen::WarpSync() {
  if (!modifiers_.Take("sync")) return Malformed("no such barrier");
  if (Expect(1)) CallRuntime("wharf_warp_sync", b_.getVoidTy(), {Source(0, Type::kB32)});
}

// shfl.sync.mode.b32 d{|p}, a, lane, clamp, mask
void FunctionCodegen::Shfl() {
  if (!modifiers_.Take("sync")) return Unsupported("warp operations without .sync");
  const std::string_view name = modifiers_.TakeOneOf({"up", "down", "bfly", "idx"});
  Type type = TypeOrFail();
  const bool predicate = Count() >= 2 && Op(1).after_bar;
  const size_t first = predicate ? 2 : 1;
  if (!Expect(first + 4)) return;
  if (name.empty() || BitsOf(type) != 32) return Malformed("no such shuffle");
  const ShuffleMode mode = name == "up"     ? ShuffleMode::kUp
                           : name == "down" ? ShuffleMode::kDown
                           : name == "bfly" ? ShuffleMode::kBfly
                                            : ShuffleMode::kIdx;
  llvm::Type* i32 = b_.getInt32Ty();
  Value* in_range = llvm::ConstantPointerNull::get(b_.getPtrTy());
  if (predicate && module_.suspendable()) in_range = ResultSlot();
  Value *lane = Source(first + 1, Type::kB32), *clamp = Source(first + 2, Type::kB32);
  Value* result = CallRuntime("wharf_shuffle", i32,
                              {b_.getInt32(static_cast<uint32_t>(mode)), Source(first, Type::kB32), lane, clamp,
                               Source(first + 3, Type::kB32), in_range});
  Value* own_lane = module_.suspendable() ? nullptr : b_.CreateAnd(Linear(), b_.getInt32(kWarpSize - 1));
  Result(type, result);
  if (predicate && !module_.suspendable()) {
    return Write(Op(1), Type::kPred, ShuffleSource(b_, mode, own_lane, lane, clamp).in_range);
  }
  if (predicate) Write(Op(1), Type::kPred, b_.CreateICmpNE(LoadResult(in_range), b_.getInt32(0)));
}

void FunctionCodegen::Vote() {
  if (!modifiers_.Take("sync")) return Unsupported("warp operations without .sync");
  const std::string_view name = modifiers_.TakeOneOf({"all", "any", "uni", "ballot"});
  Type type = TypeOrFail();
  if (!Expect(3)) return;
  if (name.empty() || (type == Type::kPred) == (name == "ballot")) return Malformed("no such vote");
  const VoteMode mode = name == "all"   ? VoteMode::kAll
                        : name == "any" ? VoteMode::kAny
                        : name == "uni" ? VoteMode::kUni
                                        : VoteMode::kBallot;
  Value* predicate = b_.CreateZExt(ReadPredicate(Op(1)), b_.getInt32Ty());
  Value* result = CallRuntime("wharf_vote", b_.getInt32Ty(),
                              {b_.getInt32(static_cast<uint32_t>(mode)), predicate, Source(2, Type::kB32)});
  if (type == Type::kPred) result = b_.CreateICmpNE(result, b_.getInt32(0));
  Result(type, result);
}

// match.any.sync d, a, mask; match.all.sync d{|p}, a, mask
void FunctionCodegen::Match() {
  const std::string_view name = modifiers_.TakeOneOf({"any", "all"});
  if (!modifiers_.Take("sync") || name.empty()) return Unsupported("this match");
  Type type = TypeOrFail();
  const bool predicate = Count() >= 2 && Op(1).after_bar;
  const size_t first = predicate ? 2 : 1;
  if (!Expect(first + 2)) return;
  llvm::Type* i32 = b_.getInt32Ty();
  Value* value = b_.CreateZExt(ToBits(Source(first, type)), b_.getInt64Ty());
  Value* mask = Source(first + 1, Type::kB32);
  if (name == "any") return Result(Type::kB32, CallRuntime("wharf_match_any", i32, {value, mask}));
  if (!module_.suspendable()) {
    Value* same = CallRuntime("wharf_match_all", i32, {value, mask, llvm::ConstantPointerNull::get(b_.getPtrTy())});
    Result(Type::kB32, same);
    if (predicate) Write(Op(1), Type::kPred, b_.CreateICmpNE(same, b_.getInt32(0)));
    return;
  }
  Value* all = ResultSlot();
  Result(Type::kB32, CallRuntime("wharf_match_all", i32, {value, mask, all}));
  if (predicate) Write(Op(1), Type::kPred, b_.CreateICmpNE(LoadResult(all), b_.getInt32(0)));
}

void FunctionCodegen::Redux() {
  if (!modifiers_.Take("sync")) return Malformed("only .sync exists");
  const std::string_view name = modifiers_.TakeOneOf({"add", "min", "max", "and", "or", "xor"});
  Type type = TypeOrFail();
  if (!Expect(3)) return;
  if (name.empty() || BitsOf(type) != 32 || IsFloat(type)) return Unsupported("reduction of this type");
  const ReduceOp op = name == "add"   ? ReduceOp::kAdd
                      : name == "min" ? ReduceOp::kMin
                      : name == "max" ? ReduceOp::kMax
                      : name == "and" ? ReduceOp::kAnd
                      : name == "or"  ? ReduceOp::kOr
                                      : ReduceOp::kXor;
  Result(type, CallRuntime("wharf_redux", b_.getInt32Ty(),
                           {b_.getInt32(static_cast<uint32_t>(op)), b_.getInt32(IsSigned(type) ? 1 : 0),
                            Source(1, type), Source(2, Type::kB32)}));
}

void FunctionCodegen::ActiveMask() {
  Type type = TypeOrFail();
  if (!Expect(1)) return;
  Result(type, CallRuntime("wharf_active_mask", b_.getInt32Ty(), {b_.getInt32(module_.NextSite())}));
}

// The lowest lane of the mask is elected.
void FunctionCodegen::Elect() {
  if (!modifiers_.Take("sync")) return Malformed("only .sync exists");
  const bool predicate = Count() >= 2 && Op(1).after_bar;
  const size_t first = predicate ? 2 : 1;
  if (!Expect(first + 1)) return;
  Value* mask = Source(first, Type::kB32);
  CallRuntime("wharf_warp_sync", b_.getVoidTy(), {mask});
  Value* leader = b_.CreateIntrinsic(llvm::Intrinsic::cttz, {mask->getType()}, {mask, b_.getFalse()});
  Result(Type::kB32, leader);
  Value* lane = b_.CreateAnd(Linear(), b_.getInt32(kWarpSize - 1));
  if (predicate) Write(Op(1), Type::kPred, b_.CreateICmpEQ(lane, leader));
}

void FunctionCodegen::Nanosleep() {
  TypeOrFail();
  if (Expect(1)) CallRuntime("wharf_yield", b_.getVoidTy(), {});
}

}  // namespace wharf::device::soft
