// What every body in libcurand.so.10 starts from: generators, which live in the client. Their streams' states live
// where the numbers are wanted, on the device or, for generators of the host, here.
#pragma once

#include <curand.h>

#include <memory>
#include <utility>
#include <vector>

#include "wharf/cudashim/client/library/answer.h"
#include "wharf/cudashim/curand/engines.h"
#include "wharf/cudashim/curand/poisson.h"

namespace wharf::cudashim {

using client::Call;
using device::CudaError;

enum class EngineKind { kXorwow, kMrg32k3a, kPhilox, kMtgp32, kSobol32, kSobol64 };
inline constexpr int kEngines = 6;

// Memory on the device. Whoever has it frees it.
struct DeviceBlock {
  uint64_t address = 0, bytes = 0;
};

// Streams and their words, and what it takes to begin them, but for where they are.
struct StreamsForm {
  uint32_t streams = 0;
  uint64_t words = 0;  // of all streams, and what they share
  uint64_t units = 1;  // of a slot
};

}  // namespace wharf::cudashim

// The program's handle points to one of these. One thread uses a generator at a time, as the vendor asks.
struct curandGenerator_st {
  static constexpr uint64_t kMagic = 0x7768726672616e64;
  uint64_t magic = kMagic;
  curandRngType_t type = CURAND_RNG_PSEUDO_XORWOW;
  bool on_host = false;
  wharf::cudashim::EngineKind engine = wharf::cudashim::EngineKind::kXorwow;
  uint64_t seed = 0;
  uint32_t dimensions = 1;  // of a quasirandom one
  uint64_t position = 0;    // in units, as far as this process knows: a graph that generates is launched without it
  curandOrdering_t ordering = CURAND_ORDERING_PSEUDO_DEFAULT;
  cudaStream_t stream = nullptr;

  bool begun = false;                   // the streams are, and from `position` on
  std::vector<uint32_t> words;          // of a generator of the host
  wharf::cudashim::DeviceBlock memory;  // of the device: position, words, the table they began by

  double poisson_mean = 0;  // of the latest table; 0: none yet
  wharf::rng::PoissonForm poisson;
  wharf::cudashim::DeviceBlock poisson_memory;               // of the device: limits, others
  std::vector<wharf::cudashim::DeviceBlock> kept_by_graphs;  // such tables
};

namespace wharf::cudashim {

StreamsForm FormOf(const curandGenerator_st& generator);

// Begins the streams, if they are not, on the device by a kernel that is put on the generator's stream.
CudaError BeginStreams(curandGenerator_t generator);
// What numbers are to be like: of normals mean and deviation, of Poisson's the mean.
struct Shape {
  double mean = 0, deviation = 1;
};
// Puts `count` numbers at `out`, on the device by kernels.
CudaError Produce(curandGenerator_t generator, rng::Form form, void* out, uint64_t count, const Shape& shape);
void FreeDeviceMemory(curandGenerator_t generator);
// How many numbers a unit is; of a quasirandom generator, a point.
int OutputsOf(const curandGenerator_st& generator, rng::Form form);

curandStatus_t StatusOf(CudaError error);

inline bool IsQuasi(const curandGenerator_st& generator) { return generator.engine >= EngineKind::kSobol32; }
inline bool IsGenerator(curandGenerator_t generator) {
  return generator != nullptr && generator->magic == curandGenerator_st::kMagic;
}

// A call that `body`, which returns a status, answers; it needs the device if `on_device`.
template <typename Body>
curandStatus_t Answer(Call call, bool on_device, Body&& body) {
  return client::Answer(call, on_device, StatusOf, body);
}
template <typename Body>
curandStatus_t WithGenerator(Call call, curandGenerator_t generator, bool on_device, Body&& body) {
  if (!IsGenerator(generator)) return CURAND_STATUS_NOT_INITIALIZED;
  return Answer(call, on_device && !generator->on_host, std::forward<Body>(body));
}
#define WHARF_RAND(function, ...) wharf::cudashim::WithGenerator(wharf::client::Call::k_##function, __VA_ARGS__)

template <typename T>
curandStatus_t StoreTo(T* place, T value) {
  return client::StoreOr(CURAND_STATUS_OUT_OF_RANGE, place, value);
}

}  // namespace wharf::cudashim
