#include "wharf/server/process/fair_share.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <new>

namespace wharf::server {
namespace {

constexpr Nanoseconds kStretch = std::chrono::microseconds(200);
// Whatever the page says. It is the workers' own, and one that has gone wrong must not stop the others for good.
constexpr Nanoseconds kLongestWait = std::chrono::seconds(10);
constexpr Nanoseconds kLongestNap = std::chrono::milliseconds(100);
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

long Futex(std::atomic<uint32_t>& word, int operation, uint32_t value, const timespec* timeout) {
  return syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), operation, value, timeout, nullptr, 0);
}

absl::StatusOr<SharePage*> MapPage(int fd) {
  void* memory = mmap(nullptr, sizeof(SharePage), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return ErrnoStatus(errno, "mapping the page of shares");
  return static_cast<SharePage*>(memory);
}

}  // namespace

absl::StatusOr<std::shared_ptr<SharedPage>> SharedPage::Create() {
  const int fd = memfd_create("wharf-shares", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return ErrnoStatus(errno, "making the page of shares");
  // Sealed: nobody who has it can make another's access fault by cutting it short.
  absl::StatusOr<SharePage*> page = ErrnoStatus(EIO, "making the page of shares");
  if (ftruncate(fd, sizeof(SharePage)) == 0 && fcntl(fd, F_ADD_SEALS, kSeals) == 0) page = MapPage(fd);
  if (!page.ok()) {
    close(fd);
    return page.status();
  }
  return std::shared_ptr<SharedPage>(new SharedPage(fd, new (*page) SharePage));
}

absl::StatusOr<std::shared_ptr<SharedPage>> SharedPage::Map(int fd) {
  struct stat size {};
  absl::StatusOr<SharePage*> page = InvalidArgument("this is no page of shares");
  const bool right = fd >= 0 && fstat(fd, &size) == 0 && size.st_size == static_cast<off_t>(sizeof(SharePage));
  if (right) page = MapPage(fd);
  if (!page.ok()) {
    if (fd >= 0) close(fd);
    return page.status();
  }
  return std::shared_ptr<SharedPage>(new SharedPage(fd, *page));
}

SharedPage::~SharedPage() {
  munmap(page_, sizeof(SharePage));
  close(fd_);
}

void OpenSlot(SharePage& page, uint32_t slot) {
  ShareSlot& opened = page.slot[slot];
  opened.since.store(0);
  opened.paid.store(0);
  opened.used.store(0);
  opened.waited.store(0);
  page.slots.store(std::max(page.slots.load(), slot + 1));
}

void CloseSlot(SharePage& page, uint32_t slot) { page.slot[slot].since.store(0); }

ShareTotals TotalsOf(const SharePage& page, uint32_t slot) {
  return {page.slot[slot].used.load(), page.slot[slot].waited.load()};
}

void FairShare::Begin() {
  if (!account_.TakesPart()) {
    account_.Join(Clock::Real().Now());
  } else if (unsettled_ < kStretch) {
    return;
  }
  Settle();
  AwaitTurn();
}

void FairShare::Idle() {
  if (!account_.TakesPart()) return;
  Settle();
  account_.Leave();
  WakeOthers();
}

void FairShare::Settle() {
  account_.Settle(Clock::Real().Now(), unsettled_);
  unsettled_ = Nanoseconds(0);
  WakeOthers();
}

void FairShare::AwaitTurn() {
  const TimePoint start = Clock::Real().Now();
  SharePage& page = page_->Page();
  TimePoint now = start;
  for (;;) {
    const uint32_t seen = page.changes.load();
    const Nanoseconds wait = account_.Wait(now);
    if (wait.count() == 0 || now - start >= kLongestWait) break;
    Sleep(seen, std::min(wait, kLongestNap));
    now = Clock::Real().Now();
  }
  if (now != start) account_.Waited(now);
}

void FairShare::Sleep(uint32_t seen, Nanoseconds time) {
  SharePage& page = page_->Page();
  const timespec timeout{0, static_cast<long>(time.count())};
  page.waiting.fetch_add(1);
  Futex(page.changes, FUTEX_WAIT, seen, &timeout);
  page.waiting.fetch_sub(1);
}

void FairShare::WakeOthers() {
  SharePage& page = page_->Page();
  page.changes.fetch_add(1);
  if (page.waiting.load() != 0) Futex(page.changes, FUTEX_WAKE, INT_MAX, nullptr);
}

}  // namespace wharf::server
