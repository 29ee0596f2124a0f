#include "wharf/server/process/share_account.h"

#include <algorithm>

namespace wharf::server {
namespace {

int64_t Count(TimePoint at) { return at.since_epoch.count(); }

void RaiseTo(std::atomic<int64_t>& value, int64_t least) {
  int64_t seen = value.load(std::memory_order_relaxed);
  while (seen < least && !value.compare_exchange_weak(seen, least)) {
  }
}

}  // namespace

ShareAccount::Others ShareAccount::SeeOthers(TimePoint now) const {
  const uint32_t slots = std::min(page_.slots.load(), kShareSlots);
  std::array<const ShareSlot*, kShareSlots> active;
  Others others;
  for (uint32_t i = 0; i < slots; ++i) {
    const ShareSlot& slot = page_.slot[i];
    if (&slot != &slot_ && slot.since.load() != 0) active[others.count++] = &slot;
  }
  for (int64_t i = 0; i < others.count; ++i) {
    const int64_t since = active[i]->since.load();
    // One that leaves in between is seen as it was.
    const int64_t part = since == 0 ? 0 : std::max<int64_t>(0, Count(now) - since) / (others.count + 1);
    const int64_t paid = active[i]->paid.load() + part;
    others.least = i == 0 ? paid : std::min(others.least, paid);
  }
  return others;
}

void ShareAccount::Join(TimePoint now) {
  const Others others = SeeOthers(now);
  RaiseTo(slot_.paid, others.count != 0 ? others.least : page_.furthest.load());
  slot_.since.store(Count(now));
}

void ShareAccount::Settle(TimePoint now, Nanoseconds used) {
  const int64_t part = (Count(now) - slot_.since.load(std::memory_order_relaxed)) / (SeeOthers(now).count + 1);
  slot_.paid.fetch_add(std::max<int64_t>(used.count(), part));
  slot_.used.fetch_add(used.count());
  slot_.since.store(Count(now));
}

void ShareAccount::Leave() {
  RaiseTo(page_.furthest, slot_.paid.load(std::memory_order_relaxed));
  slot_.since.store(0);
}

Nanoseconds ShareAccount::Wait(TimePoint now) const {
  const Others others = SeeOthers(now);
  if (others.count == 0) return Nanoseconds(0);
  const int64_t ahead = slot_.paid.load(std::memory_order_relaxed) - others.least - kShareLead.count();
  return Nanoseconds(std::max<int64_t>(0, ahead));
}

void ShareAccount::Waited(TimePoint now) {
  slot_.waited.fetch_add(Count(now) - slot_.since.load(std::memory_order_relaxed));
  slot_.since.store(Count(now));
}

}  // namespace wharf::server
