// Fft: Fourier transforms through the vendor's cuFFT, opened at the first use. Plans are made for what is asked for,
// and kept.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "wharf/device/fourier.h"

namespace wharf::device::cuda {

// Not thread-safe.
class Fft {
 public:
  // cuFFT of CUDA 13, of CUDA 12.
  static const std::vector<std::string>& Libraries();
  // The first of `libraries` that is here; kNotSupported if none is. REQUIRES: the context is current, also for Run and
  // destruction.
  static absl::StatusOr<std::unique_ptr<Fft>> Create(const std::vector<std::string>& libraries = Libraries());
  ~Fft();
  // Queues it on a stream of the driver's. kNotSupported for what cuFFT does not have. REQUIRES: CheckShape accepts it.
  absl::Status Run(const Fourier& fourier, void* stream);
  size_t plans() const { return plans_.size(); }

  // Plans that are kept at most, each with the memory it works in.
  static constexpr size_t kMostPlans = 32;

 private:
  struct Functions;
  // All of a transform but its addresses, and the stream: what works at the same time has memory of its own.
  using Key = std::vector<int64_t>;
  struct Plan {
    int handle = 0;
    uint64_t used = 0;
  };
  Fft();
  absl::Status Find(void* library);
  absl::StatusOr<int> PlanOf(const Fourier& fourier, void* stream);
  absl::StatusOr<int> MakePlan(const Fourier& fourier, void* stream) const;

  std::unique_ptr<Functions> functions_;
  std::map<Key, Plan> plans_;
  uint64_t uses_ = 0;
};

}  // namespace wharf::device::cuda
