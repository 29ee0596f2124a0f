#include "wharf/server/daemon/arrivals.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

namespace wharf::server {

Arrivals::~Arrivals() {
  for (const Arrival& one : waiting_) close(one.connection);
}

bool Arrivals::Add(int connection, Handshake handshake) {
  absl::MutexLock lock(&mutex_);
  waiting_.push_back({connection, std::move(handshake)});
  return waiting_.size() == 1;
}

std::optional<Arrival> Arrivals::Take() {
  absl::MutexLock lock(&mutex_);
  if (waiting_.empty()) return std::nullopt;
  auto next = std::find_if(waiting_.rbegin(), waiting_.rend(),
                           [](const Arrival& one) { return one.handshake.Kind() == HandshakeKind::kResume; });
  if (next == waiting_.rend()) next = waiting_.rbegin();
  Arrival taken = std::move(*next);
  waiting_.erase(std::next(next).base());
  return taken;
}

bool Arrivals::Empty() const {
  absl::MutexLock lock(&mutex_);
  return waiting_.empty();
}

}  // namespace wharf::server
