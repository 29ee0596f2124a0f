// Makes the device work of a worker process keep to its session's fair share (share_account.h), and the memory in which
// the processes see each other's accounts.
#pragma once

#include <cstdint>
#include <memory>

#include "wharf/base/status.h"
#include "wharf/device/share.h"
#include "wharf/server/process/share_account.h"

namespace wharf::server {

// A SharePage in memory that processes share. The daemon makes it; a worker gets its descriptor.
class SharedPage {
 public:
  static absl::StatusOr<std::shared_ptr<SharedPage>> Create();
  // Takes ownership of `fd`. kInvalidArgument if it is not what Create makes.
  static absl::StatusOr<std::shared_ptr<SharedPage>> Map(int fd);
  ~SharedPage();
  SharedPage(const SharedPage&) = delete;
  SharedPage& operator=(const SharedPage&) = delete;

  int Descriptor() const { return fd_; }
  SharePage& Page() { return *page_; }

 private:
  SharedPage(int fd, SharePage* page) : fd_(fd), page_(page) {}
  const int fd_;
  SharePage* const page_;
};

// For people: what a session has had.
struct ShareTotals {
  int64_t used_nanoseconds = 0, waited_nanoseconds = 0;
};

// The daemon's side: makes slot `slot` that of a new session. REQUIRES: slot < kShareSlots, and nobody else uses it.
void OpenSlot(SharePage& page, uint32_t slot);
// The session is over, however it ended.
void CloseSlot(SharePage& page, uint32_t slot);
ShareTotals TotalsOf(const SharePage& page, uint32_t slot);

// The worker's side. Accounts are settled every 200 µs of device time, so that most launches cost an addition.
class FairShare final : public device::Share {
 public:
  FairShare(std::shared_ptr<SharedPage> page, uint32_t slot) : page_(std::move(page)), account_(page_->Page(), slot) {}

  void Begin() override;
  void End(Nanoseconds used) override { unsettled_ += used; }
  void Idle() override;

 private:
  void Settle();
  void AwaitTurn();
  // Sleeps until somebody else's account has changed since `seen`, at most for `time`.
  void Sleep(uint32_t seen, Nanoseconds time);
  void WakeOthers();

  const std::shared_ptr<SharedPage> page_;
  ShareAccount account_;
  Nanoseconds unsettled_{0};
};

}  // namespace wharf::server
