#include "wharf/offload/bulk/remembered_payloads.h"

#include <cstring>

namespace wharf::offload {

std::span<const std::byte> RememberedPayloads::Find(const Place& place) const {
  const auto found = by_place_.find(place);
  return found == by_place_.end() ? std::span<const std::byte>() : found->second->payload;
}

std::span<const std::byte> RememberedPayloads::FindLatest(uint64_t bytes) const {
  const auto found = latest_.find(bytes);
  return found == latest_.end() ? std::span<const std::byte>() : Find(found->second);
}

void RememberedPayloads::Remember(const Place& place, std::span<const std::byte> payload) {
  latest_[place.bytes] = place;
  const auto found = by_place_.find(place);
  if (found != by_place_.end()) {
    entries_.splice(entries_.end(), entries_, found->second);
    std::memcpy(found->second->payload.data(), payload.data(), payload.size());
    return;
  }
  while (!entries_.empty() &&
         (bytes_ + payload.size() > kMostRememberedBytes || by_place_.size() >= kMostRememberedPlaces)) {
    const Place& oldest = entries_.front().place;
    bytes_ -= oldest.bytes;
    if (const auto latest = latest_.find(oldest.bytes); latest != latest_.end() && latest->second == oldest) {
      latest_.erase(latest);
    }
    by_place_.erase(oldest);
    entries_.pop_front();
  }
  entries_.push_back({place, {payload.begin(), payload.end()}});
  by_place_.emplace(place, std::prev(entries_.end()));
  bytes_ += payload.size();
}

}  // namespace wharf::offload
