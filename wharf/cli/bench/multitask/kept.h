// Scores of videos that an earlier run of `wharf bench multitask` has seen: all of them take a day of one core.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "wharf/cli/bench/multitask/rows.h"

namespace wharf::cli {

// A file for each video. Timelines are not kept. Any thread, each video in one.
class KeptVideos {
 public:
  // Of an existing folder; "": nothing is kept. `conditions` says all that scores depend on.
  KeptVideos(std::string folder, std::string conditions)
      : folder_(std::move(folder)), conditions_(std::move(conditions)) {}

  // Nothing: the video was not seen yet. kFailedPrecondition: it was, under other conditions. kInvalidArgument: what is
  // there is not what Keep writes.
  absl::StatusOr<std::optional<MultitaskVideo>> Find(const std::string& category, uint64_t seed) const;
  absl::Status Keep(const MultitaskVideo& video) const;

 private:
  std::string PathOf(const std::string& category, uint64_t seed) const;

  const std::string folder_, conditions_;
};

}  // namespace wharf::cli
