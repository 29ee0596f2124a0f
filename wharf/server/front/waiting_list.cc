#include "wharf/server/front/waiting_list.h"

#include <sys/resource.h>

#include <algorithm>
#include <utility>

namespace wharf::server {

WaitingLimits WaitingLimitsOfProcess(Nanoseconds time) {
  constexpr size_t kMost = 8192, kLeast = 16;
  rlimit descriptors{kMost, kMost};
  if (getrlimit(RLIMIT_NOFILE, &descriptors) == 0 && descriptors.rlim_cur < descriptors.rlim_max) {
    const rlimit all{descriptors.rlim_max, descriptors.rlim_max};
    if (setrlimit(RLIMIT_NOFILE, &all) == 0) descriptors = all;
  }
  const size_t half = static_cast<size_t>(std::min<rlim_t>(descriptors.rlim_cur, 2 * kMost)) / 2;
  WaitingLimits limits;
  limits.in_all = std::max(half, kLeast);
  limits.per_address = std::max(half / 8, kLeast);
  limits.time = time;
  return limits;
}

WaitingList::Entered WaitingList::Enter(int socket, const std::string& address, TimePoint now) {
  Entered entered;
  const auto make_room = [&](uint64_t number) { entered.left_out.push_back(Leave(number)->socket); };
  const auto same = of_address_.find(address);
  if (!address.empty() && same != of_address_.end() && same->second.size() >= limits_.per_address) {
    make_room(*same->second.begin());
  }
  if (places_.size() >= limits_.in_all) make_room(places_.begin()->first);
  entered.number = ++last_number_;
  places_[entered.number] = {socket, address, now + limits_.time};
  of_address_[address].insert(entered.number);
  return entered;
}

std::optional<WaitingList::Place> WaitingList::Leave(uint64_t number) {
  const auto found = places_.find(number);
  if (found == places_.end()) return std::nullopt;
  Place place = std::move(found->second);
  places_.erase(found);
  const auto same = of_address_.find(place.address);
  same->second.erase(number);
  if (same->second.empty()) of_address_.erase(same);
  return place;
}

std::vector<int> WaitingList::TakeLate(TimePoint now) {
  std::vector<int> late;
  while (!places_.empty() && places_.begin()->second.until <= now) {
    late.push_back(Leave(places_.begin()->first)->socket);
  }
  return late;
}

std::vector<int> WaitingList::TakeAll() {
  std::vector<int> all;
  while (!places_.empty()) all.push_back(Leave(places_.begin()->first)->socket);
  return all;
}

std::optional<TimePoint> WaitingList::NextDeadline() const {
  if (places_.empty()) return std::nullopt;
  return places_.begin()->second.until;
}

}  // namespace wharf::server
