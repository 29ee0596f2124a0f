// Which memory an operation touches, as far as that is known before it runs.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "wharf/device/device.h"
#include "wharf/offload/replay/step_op.h"
#include "wharf/offload/replay/undo_log.h"

namespace wharf::offload {

struct Access {
  // It may touch any memory.
  bool anything = false;
  // It can only run on the server: see AccessFinder.
  bool only_remote = false;
  // What must be valid where it runs, and what is valid only there afterwards. What it may write in part is in both.
  std::vector<MemoryRange> needs, writes;
  // The memory that its arguments name, whatever is known of what it does to it.
  std::vector<MemoryRange> named;
};

// What the client's side knows of the program's memory and code, and what follows from it. Not thread-safe.
//
// On the server only can run: what touches memory the client's device has no room for, or memory that is no allocation
// (variables of modules, whose addresses the program has from the server; invalid addresses, which the server refuses);
// kernels that the client's device cannot run or analyse; cooperative launches, of which it may hold fewer blocks; and
// kernels that write variables of their modules or read such as may have changed, as the server alone has these after
// loading.
class AccessFinder {
 public:
  // --- the program's objects ---
  void AddAllocation(device::DeviceAddress address, uint64_t size, bool on_both);
  bool Overlaps(const MemoryRange& range) const;
  // Its range; empty if there is none.
  MemoryRange RemoveAllocation(device::DeviceAddress address);
  bool OnBoth(device::DeviceAddress address) const;
  // The first that has `size` bytes or more; empty if there is none.
  MemoryRange AllocationOf(uint64_t size) const;
  void AddFunction(device::FunctionId function, device::ModuleId module, device::Footprint footprint);
  // Does nothing for one that is not known.
  void RemoveModule(device::ModuleId module);
  // The program has a pointer to a variable. `here`: where the client's device has it.
  void NoteVariable(device::DeviceAddress local) { changed_variables_.insert(local); }

  // --- its operations ---
  Access Find(const CopyToDevice& op) const;
  Access Find(const CopyToHost& op) const;
  Access Find(const CopyOnDevice& op) const;
  Access Find(const Fill& op) const;
  Access Find(const Launch& op) const;
  Access Find(const RunGemm& op) const;
  template <RunsPrimitive Op>
  Access Find(const Op& op) const {
    return FindPrimitive(op.primitive);
  }
  // It will run: what it does to variables is remembered.
  void NoteRun(const Launch& op);

  // --- what launches write exactly (coverage.h) ---
  // The allocations that the launch writes, if it writes the same bytes every time and reads none of them nor changes
  // anything else, so that it can be repeated; empty otherwise, or if what it writes is known.
  std::vector<MemoryRange> ToBeCovered(const Launch& op) const;
  // It writes these bytes, all of them, and no others.
  void NoteCovered(const Launch& op, std::vector<MemoryRange> written);

 private:
  struct Allocation {
    uint64_t size = 0;
    bool on_both = false;
  };
  struct Function {
    device::ModuleId module = 0;
    device::Footprint footprint;
    bool Analysed() const { return footprint.oblivious || footprint.guardable; }
  };
  using Allocations = std::map<device::DeviceAddress, Allocation>;
  Allocations::const_iterator Holding(device::DeviceAddress address) const;
  // Adds the allocation that holds `address`; only_remote if there is none. Those that touch it are parts of the same:
  // what the program put together itself.
  void AddWhole(device::DeviceAddress address, bool written, Access& access) const;
  void AddBox(const device::Region& box, const device::Extent& extent, bool written, Access& access) const;
  Access FindPrimitive(const device::Primitive& primitive) const;
  void AddGemmResult(const device::Gemm& gemm, Access& access) const;
  bool AddParameters(const Launch& op, const std::vector<uint32_t>& offsets, bool written, Access& access) const;
  bool ReadsChangedVariables(const Function& function) const;
  // What was learnt of it; null if nothing.
  const std::vector<MemoryRange>* Covered(const Launch& op) const;

  Allocations allocations_;
  std::map<device::FunctionId, Function> functions_;
  std::set<device::DeviceAddress> changed_variables_;                  // where the client's device has them
  std::set<device::ModuleId> changed_modules_;                         // any variable of these
  std::unordered_map<std::string, std::vector<MemoryRange>> covered_;  // by launch, its stream aside
};

}  // namespace wharf::offload
