// The kernels of one engine, ENGINE: what cuRAND's generators do on the device.
#include "wharf/cudashim/curand/engines.h"

using namespace wharf::rng;

namespace {

__device__ uint64_t Thread() { return static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }

template <class Engine, Form kForm>
__device__ void Run(const Generation& call) {
  if constexpr (kIsQuasi<Engine>) {
    Engine::template Run<kForm>(call, *call.position, Thread(), static_cast<uint64_t>(gridDim.x) * blockDim.x);
  } else {
    Generate<Engine, kForm>(call, *call.position, Thread());
  }
}

}  // namespace

extern "C" {

__global__ void seed(const Seeding seeding) {
  if (Thread() < seeding.streams) Begin<ENGINE>(seeding, static_cast<uint32_t>(Thread()));
}

__global__ void bits(const Generation call) { Run<ENGINE, Form::kBits>(call); }
__global__ void uniform(const Generation call) { Run<ENGINE, Form::kUniform>(call); }
__global__ void uniform_double(const Generation call) { Run<ENGINE, Form::kUniformDouble>(call); }
__global__ void normal(const Generation call) { Run<ENGINE, Form::kNormal>(call); }
__global__ void normal_double(const Generation call) { Run<ENGINE, Form::kNormalDouble>(call); }
__global__ void log_normal(const Generation call) { Run<ENGINE, Form::kLogNormal>(call); }
__global__ void log_normal_double(const Generation call) { Run<ENGINE, Form::kLogNormalDouble>(call); }
__global__ void poisson(const Generation call) { Run<ENGINE, Form::kPoisson>(call); }

// Behind each of these.
__global__ void advance(uint64_t* position, uint64_t units) { *position += units; }

}  // extern "C"
