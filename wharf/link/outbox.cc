#include "wharf/link/outbox.h"

#include <utility>

#include "wharf/link/threads.h"

namespace wharf::link {

Outbox::Outbox(Channel& channel, size_t limit_bytes) : channel_(channel), limit_bytes_(limit_bytes) {
  thread_ = StartThread("wharf-outbox", [this] { SendAll(); });
}

Outbox::~Outbox() { Close(); }

void Outbox::Put(uint16_t kind, uint64_t tag, std::vector<std::byte> head, std::vector<std::byte> bulk) {
  absl::MutexLock lock(&mutex_);
  if (closed_) return;
  bytes_ += entries_.emplace_back(Entry{kind, tag, std::move(head), std::move(bulk)}).Bytes();
  if (bytes_ <= limit_bytes_) return;
  closed_ = true;
  channel_.Close();  // ends a Send that the peer keeps waiting
}

void Outbox::Close() {
  {
    absl::MutexLock lock(&mutex_);
    closed_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

void Outbox::SendAll() {
  const auto work = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return closed_ || !entries_.empty(); };
  for (;;) {
    Entry entry;
    {
      absl::MutexLock lock(&mutex_, absl::Condition(&work));
      if (closed_) return;
      entry = std::move(entries_.front());
      entries_.pop_front();
      bytes_ -= entry.Bytes();
    }
    if (!channel_.Send(entry.kind, entry.tag, entry.head, entry.bulk, BulkOwnership::kBorrow).ok()) break;
  }
  absl::MutexLock lock(&mutex_);
  closed_ = true;
}

}  // namespace wharf::link
