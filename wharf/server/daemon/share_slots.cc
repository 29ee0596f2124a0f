#include "wharf/server/daemon/share_slots.h"

namespace wharf::server {

uint32_t ShareSlots::Take() {
  if (page_ == nullptr) return kNoShareSlot;
  uint32_t slot = 0;
  while (slot < kShareSlots && taken_.contains(slot)) ++slot;
  if (slot == kShareSlots) return kNoShareSlot;
  taken_.insert(slot);
  OpenSlot(page_->Page(), slot);
  return slot;
}

void ShareSlots::Return(uint32_t slot) {
  if (taken_.erase(slot) > 0) CloseSlot(page_->Page(), slot);
}

ShareTotals ShareSlots::Totals(uint32_t slot) const {
  return slot == kNoShareSlot ? ShareTotals() : TotalsOf(page_->Page(), slot);
}

}  // namespace wharf::server
