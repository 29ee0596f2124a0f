// Special registers (%tid.x, %laneid, %clock64, …).
#include "wharf/device/soft/codegen/function.h"

namespace wharf::device::soft {
namespace {

// "tid.y" -> 1; -1 if the name has no such suffix.
int Dimension(std::string_view name, std::string_view base) {
  if (name.size() != base.size() + 2 || !name.starts_with(base) || name[base.size()] != '.') return -1;
  const auto d = std::string_view("xyz").find(name.back());
  return d == std::string_view::npos ? -1 : static_cast<int>(d);
}

}  // namespace

llvm::Value* FunctionCodegen::ThreadIndex(size_t dimension) {
  if (module_.BlockExtent(dimension) == 1) return b_.getInt32(0);
  return function_->getArg(kTidX + static_cast<unsigned>(dimension));
}

llvm::Value* FunctionCodegen::BlockExtent(size_t dimension) {
  if (const auto extent = module_.BlockExtent(dimension)) return b_.getInt32(*extent);
  return Field(offsetof(BlockContext, block) + 4 * dimension, b_.getInt32Ty());
}

llvm::Value* FunctionCodegen::Linear() {
  if (module_.suspendable()) return ThreadField(offsetof(ThreadContext, linear), b_.getInt32Ty());
  Value* row = b_.CreateAdd(ThreadIndex(1), b_.CreateMul(BlockExtent(1), ThreadIndex(2)));
  return b_.CreateAdd(ThreadIndex(0), b_.CreateMul(BlockExtent(0), row));
}

llvm::Value* FunctionCodegen::LaneMask(std::string_view which) {
  Value* lane = b_.CreateAnd(Linear(), b_.getInt32(kWarpSize - 1));
  Value* equal = b_.CreateShl(b_.getInt32(1), lane);
  Value* below = b_.CreateSub(equal, b_.getInt32(1));
  if (which == "eq") return equal;
  if (which == "lt") return below;
  if (which == "le") return b_.CreateOr(below, equal);
  if (which == "ge") return b_.CreateNot(below);
  if (which == "gt") return b_.CreateNot(b_.CreateOr(below, equal));
  return nullptr;
}

llvm::Value* FunctionCodegen::SpecialOfThread(std::string_view name) {
  if (int d = Dimension(name, "tid"); d >= 0) return ThreadIndex(static_cast<size_t>(d));
  if (name == "laneid") return b_.CreateAnd(Linear(), b_.getInt32(kWarpSize - 1));
  if (name == "warpid") return b_.CreateLShr(Linear(), 5);
  if (name.starts_with("lanemask_")) return LaneMask(name.substr(9));
  auto call = [&](std::string_view function) { return b_.CreateCall(module_.External(function, b_.getInt64Ty(), {})); };
  if (name == "clock64") return call("wharf_clock");
  if (name == "clock") return b_.CreateTrunc(call("wharf_clock"), b_.getInt32Ty());
  if (name == "clock_hi") return b_.CreateTrunc(b_.CreateLShr(call("wharf_clock"), 32), b_.getInt32Ty());
  if (name == "globaltimer") return call("wharf_global_timer");
  if (name == "globaltimer_lo") return b_.CreateTrunc(call("wharf_global_timer"), b_.getInt32Ty());
  if (name == "globaltimer_hi") return b_.CreateTrunc(b_.CreateLShr(call("wharf_global_timer"), 32), b_.getInt32Ty());
  return nullptr;
}

llvm::Value* FunctionCodegen::SpecialOfGrid(std::string_view name) {
  llvm::Type* i32 = b_.getInt32Ty();
  // A launch without clusters is a grid of clusters of one block.
  if (int d = std::max(Dimension(name, "ctaid"), Dimension(name, "clusterid")); d >= 0) {
    return Field(offsetof(BlockContext, cta) + 4 * static_cast<size_t>(d), i32);
  }
  if (int d = Dimension(name, "ntid"); d >= 0) {
    return BlockExtent(static_cast<size_t>(d));
  }
  if (int d = std::max(Dimension(name, "nctaid"), Dimension(name, "nclusterid")); d >= 0) {
    return Field(offsetof(BlockContext, grid) + 4 * static_cast<size_t>(d), i32);
  }
  if (Dimension(name, "cluster_ctaid") >= 0 || name == "cluster_ctarank") return b_.getInt32(0);
  if (Dimension(name, "cluster_nctaid") >= 0 || name == "cluster_nctarank") return b_.getInt32(1);
  if (name == "is_explicit_cluster") return b_.getFalse();
  if (name == "smid") return Field(offsetof(BlockContext, worker), i32);
  if (name == "nsmid") return Field(offsetof(BlockContext, workers), i32);
  if (name == "gridid") return b_.CreateZExt(Field(offsetof(BlockContext, grid_id), i32), b_.getInt64Ty());
  if (name == "dynamic_smem_size") return Field(offsetof(BlockContext, dynamic_shared_bytes), i32);
  if (name == "total_smem_size" || name == "aggr_smem_size") {
    return Field(offsetof(BlockContext, total_shared_bytes), i32);
  }
  if (name.starts_with("reserved_smem_offset_")) {
    const uint32_t begin = module_.program().reserved_shared_offset, half = kReservedSharedBytes / 2;
    name.remove_prefix(21);
    if (name == "cap") return b_.getInt32(kReservedSharedBytes);
    if (name == "end") return b_.getInt32(begin + kReservedSharedBytes);
    return b_.getInt32(name == "1" ? begin + half : begin);
  }
  if (name == "nwarpid") {
    Value* threads =
        b_.CreateMul(SpecialOfGrid("ntid.x"), b_.CreateMul(SpecialOfGrid("ntid.y"), SpecialOfGrid("ntid.z")));
    return b_.CreateLShr(b_.CreateAdd(threads, b_.getInt32(kWarpSize - 1)), 5);
  }
  if (name == "current_graph_exec") return b_.getInt64(0);
  // Where CUDA's grid barrier finds its workspace.
  if (name == "envreg1" || name == "envreg2") {
    Value* workspace = Field(offsetof(BlockContext, grid_workspace), b_.getInt64Ty());
    return b_.CreateTrunc(name == "envreg1" ? b_.CreateLShr(workspace, 32) : workspace, i32);
  }
  if (name.starts_with("envreg")) return b_.getInt32(0);
  return nullptr;
}

llvm::Value* FunctionCodegen::ReadSpecial(std::string_view name) {
  if (name == "WARP_SZ") return b_.getInt32(kWarpSize);
  if (Value* value = SpecialOfThread(name)) return value;
  if (Value* value = SpecialOfGrid(name)) return value;
  Unsupported(fmt::format("special register %{}", name));
  return nullptr;
}

}  // namespace wharf::device::soft
