// EarlyAnswers: what the server answered before it was asked. A push whose operation the program has not made yet is
// kept here until it does, or does something else (docs/replay.md, "Position and deviations").
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/offload/wire.h"

namespace wharf::offload {

struct EarlyAnswer {
  PushHeader push;
  ReplyHeader header;
  std::vector<std::byte> rest, bulk;  // the operation's own Reply, encoded, and its data
};

// Not thread-safe: under the request table's lock.
class EarlyAnswers {
 public:
  // What a server may send before it is asked for.
  static constexpr uint64_t kMaxBytes = 64 << 20;
  static constexpr size_t kMaxAnswers = 16 << 10;

  bool HasRoomFor(uint64_t bytes) const { return bytes <= kMaxBytes - bytes_; }
  // Keeps the answer to the operation at `position`, unless the program has deviated from what the server predicted.
  // kInvalidArgument if there are too many. REQUIRES: HasRoomFor(answer.bulk.size()).
  absl::Status Add(uint64_t position, EarlyAnswer answer);
  // The answer to that operation, made after so many deviations; nullopt if there is none.
  std::optional<EarlyAnswer> Take(uint64_t position, uint64_t deviations);
  // The program has deviated so often now: what is kept is void.
  void Deviate(uint64_t deviations);
  void Clear();

  uint64_t kept() const { return kept_; }    // so far
  uint64_t voided() const { return void_; }  // so far: came too late or were kept in vain

 private:
  std::map<uint64_t, EarlyAnswer> answers_;  // by position
  uint64_t bytes_ = 0;                       // of bulk
  uint64_t deviations_ = 0, kept_ = 0, void_ = 0;
};

}  // namespace wharf::offload
