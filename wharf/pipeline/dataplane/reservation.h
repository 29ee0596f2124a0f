// Reservations: when each virtual GPU and both ends of each host's link are in use, now and as far ahead as batches
// have been promised (thesis 4.5.5, Algorithm 3).
//
//   Path path;
//   reservations.Probe(pipeline, batch, now, path);          // the earliest finish, stage by stage
//   if (path.finish <= deadline) reservations.Reserve(path); // what was promised is now nobody else's
//   ...
//   reservations.Finish(slot, end);                          // feedback: it was really over at `end`
//
// The order in which a resource is used is fixed when a slot is reserved; the times follow: a slot begins as soon as
// what it waits for is over (the batch's slot before it, and the slots before it on each of its resources). So when
// feedback says that a slot ended earlier or later than promised, everything that waits for it moves, and the tables
// say again what will happen. A slot that should be over and was not reported is taken to last a
// little longer than until now. Slots are forgotten when they are reported: the tables hold nothing of the past.
//
// Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "wharf/base/clock.h"
#include "wharf/pipeline/dataplane/deployment.h"

namespace wharf::pipeline {

using SlotId = uint64_t;  // never used again
inline constexpr SlotId kNoSlot = 0;

// What one stage of a batch takes.
struct PathStep {
  int vgpu = -1;
  TimePoint send;  // from the GPU of the step before; of the first step, and within a host, transfer is 0
  Nanoseconds transfer{0};
  TimePoint start;
  Nanoseconds compute{0};
  SlotId transfer_slot = kNoSlot, compute_slot = kNoSlot;  // once reserved
};

struct Path {
  int pipeline = -1, batch = 0;
  std::vector<PathStep> steps;
  TimePoint entered, finish;
  Nanoseconds wait{0};  // for resources, all steps together
};

class Reservations {
 public:
  // `deployment` must outlive it.
  explicit Reservations(const Deployment& deployment);

  // The path of a batch that enters `pipeline` at `now`: stage by stage, the virtual GPU that has it done first. False
  // if some stage has no usable GPU. REQUIRES: 1 <= batch <= the pipeline's. O(virtual GPUs of the pipeline × slots
  // reserved on one).
  bool Probe(int pipeline, int batch, TimePoint now, Path& path) const;

  // Reserves what Probe found, and names the slots. REQUIRES: nothing was called since Probe but Probe.
  void Reserve(Path& path);

  // A slot was over at `end`. Its resources are free from then on, and what waited for it moves, earlier or later.
  // Ignored if the slot is not there any more.
  void Finish(SlotId slot, TimePoint end);

  // Gives up the slot and those of the batch that follow it: they will not be used after `now`.
  void Cancel(SlotId slot, TimePoint now);

  // What should be over by `now` and is not lasts a little longer. To be called before Probe.
  void Advance(TimePoint now);

  // The slots whose batch is there and whose resources are free; and of computations also the next one after that, so
  // that a virtual GPU knows what comes when it is done. Each is returned once.
  std::vector<SlotId> TakeReady();

  // No path leads over a virtual GPU that is not usable. Slots reserved on it stay until cancelled.
  void SetUsable(int vgpu, bool usable) { usable_[vgpu] = usable; }
  bool Usable(int vgpu) const { return usable_[vgpu] != 0; }

  struct Times {
    TimePoint start, end;
  };
  // As promised now; REQUIRES: the slot is reserved and neither finished nor cancelled.
  Times Promised(SlotId slot) const;
  size_t ReservedSlots() const { return slots_.size() - free_.size(); }
  // Of a resource in the order of use. Resources are the virtual GPUs, then the hosts' uplinks, then their downlinks.
  std::vector<Times> TimesOf(int resource) const;
  int Resources() const { return static_cast<int>(tables_.size()); }

 private:
  static constexpr int kNone = -1;
  struct Slot {
    SlotId id = kNoSlot;
    TimePoint floor;  // not before: when it was reserved, and the end of what it waited for and is over
    TimePoint start, end;
    Nanoseconds duration{0};
    std::array<int, 2> resources = {kNone, kNone};
    int before = kNone, after = kNone;  // of the same batch
    bool announced = false;             // by TakeReady
  };
  using Table = std::vector<int>;  // indices into slots_, in the order of use

  // The first time from `from` on at which the resource, or both, are free for `duration`.
  TimePoint EarliestFree(const Table& table, TimePoint from, Nanoseconds duration) const;
  TimePoint EarliestFree(const Table& first, const Table& second, TimePoint from, Nanoseconds duration) const;
  bool ProbeStage(const DeployedStage& stage, int batch, int from_vgpu, TimePoint ready, PathStep& best) const;
  bool Sooner(const PathStep& a, TimePoint a_finish, const PathStep& b, TimePoint b_finish) const;
  int Add(TimePoint floor, TimePoint start, Nanoseconds duration, std::array<int, 2> resources, int before);
  int Find(SlotId id) const;
  void Remove(int index, TimePoint end);
  TimePoint EarliestStart(int index) const;
  void Await(int index);
  void AwaitFollowers(int index);
  void Retime();
  bool Ready(int index) const;
  bool IsNext(int index) const;

  int Uplink(int vgpu) const { return static_cast<int>(usable_.size()) + deployment_.vgpus[vgpu].host; }
  int Downlink(int vgpu) const { return Uplink(vgpu) + static_cast<int>(deployment_.hosts.size()); }

  const Deployment& deployment_;
  std::vector<Table> tables_;  // by resource
  std::vector<char> usable_;   // by virtual GPU
  std::vector<Slot> slots_;
  std::vector<int> free_;         // of slots_
  std::vector<int> maybe_ready_;  // since TakeReady; some are gone
  std::vector<int> to_retime_;
  uint64_t made_ = 0;
};

}  // namespace wharf::pipeline
