// ShareSlots: which slots of the page of shares (share_account.h) belong to sessions.
#pragma once

#include <cstdint>
#include <memory>
#include <set>

#include "wharf/server/process/control.h"
#include "wharf/server/process/fair_share.h"

namespace wharf::server {

// Not thread-safe.
class ShareSlots {
 public:
  // Null: the device is not shared by us, and nobody gets a slot.
  explicit ShareSlots(std::shared_ptr<SharedPage> page) : page_(std::move(page)) {}

  int Descriptor() const { return page_ == nullptr ? -1 : page_->Descriptor(); }
  // For a new session: one that no other has, kNoShareSlot if there are too many.
  uint32_t Take();
  // The session is over. `slot` may be kNoShareSlot.
  void Return(uint32_t slot);
  // Zeros for kNoShareSlot.
  ShareTotals Totals(uint32_t slot) const;

 private:
  const std::shared_ptr<SharedPage> page_;
  std::set<uint32_t> taken_;
};

}  // namespace wharf::server
