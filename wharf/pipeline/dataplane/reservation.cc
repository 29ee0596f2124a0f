#include "wharf/pipeline/dataplane/reservation.h"

#include <algorithm>

namespace wharf::pipeline {
namespace {

constexpr int kIndexBits = 24;  // of a SlotId; the rest counts
// What is overdue is taken to last this share of its time longer: less would let it look as free as an idle resource.
constexpr int kOverdueShare = 16;

}  // namespace

Reservations::Reservations(const Deployment& deployment)
    : deployment_(deployment),
      tables_(deployment.vgpus.size() + 2 * deployment.hosts.size()),
      usable_(deployment.vgpus.size(), true) {}

TimePoint Reservations::EarliestFree(const Table& table, TimePoint from, Nanoseconds duration) const {
  for (const int index : table) {
    const Slot& slot = slots_[index];
    if (slot.end <= from) continue;
    if (slot.start >= from + duration) break;
    from = slot.end;
  }
  return from;
}

TimePoint Reservations::EarliestFree(const Table& first, const Table& second, TimePoint from,
                                     Nanoseconds duration) const {
  while (true) {
    const TimePoint one = EarliestFree(first, from, duration), both = EarliestFree(second, one, duration);
    if (both == one) return both;
    from = both;
  }
}

bool Reservations::Sooner(const PathStep& a, TimePoint a_finish, const PathStep& b, TimePoint b_finish) const {
  if (a_finish != b_finish) return a_finish < b_finish;
  // Both would do: let the one send whose link has less to carry.
  const auto link_free = [this](const PathStep& step) {
    const Table& uplink = tables_[Uplink(step.vgpu)];
    return uplink.empty() ? TimePoint() : slots_[uplink.back()].end;
  };
  return link_free(a) < link_free(b);
}

bool Reservations::ProbeStage(const DeployedStage& stage, int batch, int from_vgpu, TimePoint ready,
                              PathStep& best) const {
  best.vgpu = -1;
  TimePoint best_finish, arrived = ready;
  PathStep step;
  step.compute = stage.compute[batch - 1];
  step.send = ready;
  int host = -1;
  for (const int vgpu : stage.vgpus) {
    if (!usable_[vgpu]) continue;
    step.vgpu = vgpu;
    if (from_vgpu >= 0 && deployment_.vgpus[vgpu].host != host) {
      host = deployment_.vgpus[vgpu].host;
      step.transfer = deployment_.TransferTime(deployment_.vgpus[from_vgpu].host, host, batch * stage.input_bytes);
      step.send = step.transfer.count() == 0
                      ? ready
                      : EarliestFree(tables_[Uplink(from_vgpu)], tables_[Downlink(vgpu)], ready, step.transfer);
      arrived = step.send + step.transfer;
    }
    if (best.vgpu >= 0 && arrived + step.compute > best_finish) continue;
    step.start = EarliestFree(tables_[vgpu], arrived, step.compute);
    const TimePoint finish = step.start + step.compute;
    if (best.vgpu >= 0 && !Sooner(step, finish, best, best_finish)) continue;
    best = step;
    best_finish = finish;
  }
  return best.vgpu >= 0;
}

bool Reservations::Probe(int pipeline, int batch, TimePoint now, Path& path) const {
  const std::vector<DeployedStage>& stages = deployment_.pipelines[pipeline].stages;
  path.pipeline = pipeline;
  path.batch = batch;
  path.steps.resize(stages.size());
  path.wait = Nanoseconds(0);
  path.entered = path.finish = now;
  int from = -1;
  for (size_t s = 0; s < stages.size(); ++s) {
    PathStep& step = path.steps[s];
    if (!ProbeStage(stages[s], batch, from, path.finish, step)) return false;
    const TimePoint finish = step.start + step.compute;
    path.wait += finish - path.finish - step.transfer - step.compute;
    path.finish = finish;
    from = step.vgpu;
  }
  return true;
}

int Reservations::Add(TimePoint floor, TimePoint start, Nanoseconds duration, std::array<int, 2> resources,
                      int before) {
  if (free_.empty()) {
    free_.push_back(static_cast<int>(slots_.size()));
    slots_.emplace_back();
  }
  const int index = free_.back();
  free_.pop_back();
  slots_[index] = {++made_ << kIndexBits | static_cast<SlotId>(index),
                   floor,
                   start,
                   start + duration,
                   duration,
                   resources,
                   before,
                   kNone,
                   false};
  if (before != kNone) slots_[before].after = index;
  for (const int resource : resources) {
    if (resource == kNone) continue;
    Table& table = tables_[resource];
    const auto place =
        std::find_if(table.rbegin(), table.rend(), [&](int other) { return slots_[other].start < start; });
    table.insert(place.base(), index);
  }
  return index;
}

void Reservations::Reserve(Path& path) {
  int before = kNone;
  for (size_t s = 0; s < path.steps.size(); ++s) {
    PathStep& step = path.steps[s];
    step.transfer_slot = kNoSlot;
    if (step.transfer.count() > 0) {
      const int from = path.steps[s - 1].vgpu;
      before = Add(path.entered, step.send, step.transfer, {Uplink(from), Downlink(step.vgpu)}, before);
      step.transfer_slot = slots_[before].id;
    }
    before = Add(path.entered, step.start, step.compute, {step.vgpu, kNone}, before);
    step.compute_slot = slots_[before].id;
    if (s == 0) maybe_ready_.push_back(before);
  }
}

int Reservations::Find(SlotId id) const {
  const auto index = static_cast<size_t>(id & ((SlotId{1} << kIndexBits) - 1));
  return id != kNoSlot && index < slots_.size() && slots_[index].id == id ? static_cast<int>(index) : kNone;
}

// What waited for it waits for `end` instead.
void Reservations::Remove(int index, TimePoint end) {
  Slot& slot = slots_[index];
  const auto release = [&](int follower) {
    slots_[follower].floor = std::max(slots_[follower].floor, end);
    Await(follower);
    maybe_ready_.push_back(follower);
  };
  for (const int resource : slot.resources) {
    if (resource == kNone) continue;
    Table& table = tables_[resource];
    const auto next = table.erase(std::find(table.begin(), table.end(), index));
    if (next == table.end()) continue;
    release(*next);
    if (next + 1 != table.end()) maybe_ready_.push_back(*(next + 1));
  }
  if (slot.before != kNone) slots_[slot.before].after = kNone;
  if (slot.after != kNone) {
    slots_[slot.after].before = kNone;
    release(slot.after);
  }
  slot.id = kNoSlot;
  free_.push_back(index);
}

void Reservations::Finish(SlotId id, TimePoint end) {
  const int index = Find(id);
  if (index == kNone) return;
  Remove(index, end);
  Retime();
}

void Reservations::Cancel(SlotId id, TimePoint now) {
  for (int index = Find(id); index != kNone;) {
    const int after = slots_[index].after;
    Remove(index, now);
    index = after;
  }
  Retime();
}

void Reservations::Advance(TimePoint now) {
  for (const Table& table : tables_) {
    if (table.empty() || slots_[table.front()].end >= now || !Ready(table.front())) continue;
    Slot& overdue = slots_[table.front()];
    overdue.end = now + overdue.duration / kOverdueShare;
    AwaitFollowers(table.front());
  }
  Retime();
}

TimePoint Reservations::EarliestStart(int index) const {
  const Slot& slot = slots_[index];
  TimePoint start = slot.floor;
  if (slot.before != kNone) start = std::max(start, slots_[slot.before].end);
  for (const int resource : slot.resources) {
    if (resource == kNone) continue;
    const Table& table = tables_[resource];
    const auto place = std::find(table.begin(), table.end(), index);
    if (place != table.begin()) start = std::max(start, slots_[*(place - 1)].end);
  }
  return start;
}

// By their starts before the change, which is an order in which nothing comes before what it waits for: each slot is
// moved at most once.
void Reservations::Retime() {
  const auto later = [this](int a, int b) { return slots_[a].start > slots_[b].start; };
  std::make_heap(to_retime_.begin(), to_retime_.end(), later);
  while (!to_retime_.empty()) {
    std::pop_heap(to_retime_.begin(), to_retime_.end(), later);
    const int index = to_retime_.back();
    to_retime_.pop_back();
    Slot& slot = slots_[index];
    if (slot.id == kNoSlot) continue;
    const TimePoint start = EarliestStart(index);
    if (start == slot.start) continue;
    slot.start = start;
    slot.end = start + slot.duration;
    const size_t before = to_retime_.size();
    AwaitFollowers(index);
    for (size_t size = before + 1; size <= to_retime_.size(); ++size) {
      std::push_heap(to_retime_.begin(), to_retime_.begin() + static_cast<ptrdiff_t>(size), later);
    }
  }
}

void Reservations::Await(int index) { to_retime_.push_back(index); }

void Reservations::AwaitFollowers(int index) {
  const Slot& slot = slots_[index];
  if (slot.after != kNone) Await(slot.after);
  for (const int resource : slot.resources) {
    if (resource == kNone) continue;
    const Table& table = tables_[resource];
    const auto next = std::find(table.begin(), table.end(), index) + 1;
    if (next != table.end()) Await(*next);
  }
}

bool Reservations::Ready(int index) const {
  const Slot& slot = slots_[index];
  if (slot.before != kNone) return false;
  for (const int resource : slot.resources) {
    if (resource != kNone && tables_[resource].front() != index) return false;
  }
  return true;
}

// No gap is left before it that a later reservation could take: the batch is there, so it follows at once.
bool Reservations::IsNext(int index) const {
  const Slot& slot = slots_[index];
  const Table& table = tables_[slot.resources[0]];
  return slot.before == kNone && slot.resources[1] == kNone && table.size() > 1 && table[1] == index &&
         slots_[table[0]].announced;
}

std::vector<SlotId> Reservations::TakeReady() {
  std::vector<SlotId> ready;
  for (size_t i = 0; i < maybe_ready_.size(); ++i) {  // grows meanwhile
    const int index = maybe_ready_[i];
    Slot& slot = slots_[index];
    if (slot.id == kNoSlot || slot.announced || !(Ready(index) || IsNext(index))) continue;
    slot.announced = true;
    ready.push_back(slot.id);
    const Table& table = tables_[slot.resources[0]];
    if (table.front() == index && table.size() > 1) maybe_ready_.push_back(table[1]);
  }
  maybe_ready_.clear();
  return ready;
}

Reservations::Times Reservations::Promised(SlotId slot) const {
  const Slot& found = slots_[Find(slot)];
  return {found.start, found.end};
}

std::vector<Reservations::Times> Reservations::TimesOf(int resource) const {
  std::vector<Times> times;
  for (const int index : tables_[resource]) times.push_back({slots_[index].start, slots_[index].end});
  return times;
}

}  // namespace wharf::pipeline
