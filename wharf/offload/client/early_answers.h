// EarlyAnswers: what the server answered before it was asked. A push whose operation the program has not made yet is
// kept here until it does, or has done something else (docs/replay.md, "Position and path").
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
  // The server has taken back what it ran ahead so often: the program did something else, so what it pushed before is
  // void as far as it is kept here.
  void NoteTakenBack(uint64_t times);
  // Keeps the answer to the operation at `position`, unless it is void already. kInvalidArgument if there are too many.
  // REQUIRES: HasRoomFor(answer.bulk.size()).
  absl::Status Add(uint64_t position, EarlyAnswer answer);
  // The program is at `position`, by this path (ProgramPath): the answer to its operation there; nullopt if there is
  // none, or it answers what the program did not do. Positions must ascend.
  std::optional<EarlyAnswer> Take(uint64_t position, uint64_t path);
  void Clear();

  uint64_t kept() const { return kept_; }    // so far
  uint64_t voided() const { return void_; }  // so far: came too late or were kept in vain

 private:
  std::map<uint64_t, EarlyAnswer> answers_;  // by position
  uint64_t bytes_ = 0;                       // of bulk
  uint64_t taken_back_ = 0;
  uint64_t passed_ = 0;  // where the program has been
  uint64_t kept_ = 0, void_ = 0;
};

}  // namespace wharf::offload
