// RememberedPayloads: what was last sent to which place, as far as it is kept. Both ends of a direction keep the same,
// because the frames say what is to be remembered and come in one order; what does not fit any more goes by the same
// rule on both. Nothing else is ever agreed upon.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <span>
#include <vector>

#include "wharf/offload/bulk/bulk_coding.h"

namespace wharf::offload {

// Not thread-safe.
class RememberedPayloads {
 public:
  // The one of this place; empty if there is none. Valid until the next Remember.
  std::span<const std::byte> Find(const Place& place) const;
  // The one of so many bytes that was remembered last, wherever it went; empty if there is none.
  std::span<const std::byte> FindLatest(uint64_t bytes) const;
  // Replaces the one of this place. Those that were remembered longest ago make room. REQUIRES: payload.size() ==
  // place.bytes, at most kMostRememberedPayload.
  void Remember(const Place& place, std::span<const std::byte> payload);

  size_t bytes() const { return bytes_; }
  size_t places() const { return by_place_.size(); }

 private:
  struct Entry {
    Place place;
    std::vector<std::byte> payload;
  };
  std::list<Entry> entries_;  // the oldest first
  std::map<Place, std::list<Entry>::iterator> by_place_;
  std::map<uint64_t, Place> latest_;  // by size; not if that one is forgotten
  size_t bytes_ = 0;
};

}  // namespace wharf::offload
