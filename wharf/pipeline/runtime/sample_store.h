// SampleStore: what a worker holds between the frames that bring it, the computations that read and make it, and the
// frames that take it away. Bounded: what was held for longest makes room, because nobody says when a request is
// dropped.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "wharf/pipeline/stages/stage_runner.h"

namespace wharf::pipeline {

// Thread-safe.
class SampleStore {
 public:
  explicit SampleStore(size_t limit_bytes) : limit_bytes_(limit_bytes) {}
  // In place of what is held under these numbers. REQUIRES: as many numbers as samples.
  void Put(std::span<const uint64_t> numbers, std::vector<Sample> samples);
  // All of them, which are held no more. kNotFound: one is missing; then those there are gone too.
  absl::StatusOr<std::vector<Sample>> Take(std::span<const uint64_t> numbers);
  void Clear();
  size_t Bytes() const;

 private:
  struct Held {
    Sample sample;
    uint64_t order = 0;
  };
  void Erase(uint64_t number) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t limit_bytes_;
  mutable absl::Mutex mutex_;
  absl::flat_hash_map<uint64_t, Held> held_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::pair<uint64_t, uint64_t>> order_ ABSL_GUARDED_BY(mutex_);  // order and number; some are gone
  uint64_t next_order_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace wharf::pipeline
