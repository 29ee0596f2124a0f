// The kernels of one engine, ENGINE: what cuRAND's generators do on the device.
#include "wharf/cudashim/curand/engines.h"

using namespace wharf::rng;

namespace {

__device__ uint64_t Thread() { return static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }

template <Form kForm>
__device__ void Run(const Generation& call) {
  Generate<ENGINE, kForm>(call, *call.position, Thread());
}

}  // namespace

extern "C" {

__global__ void seed(const Seeding seeding) {
  if (Thread() < seeding.streams) Begin<ENGINE>(seeding, static_cast<uint32_t>(Thread()));
}

__global__ void bits(const Generation call) { Run<Form::kBits>(call); }
__global__ void uniform(const Generation call) { Run<Form::kUniform>(call); }
__global__ void uniform_double(const Generation call) { Run<Form::kUniformDouble>(call); }
__global__ void normal(const Generation call) { Run<Form::kNormal>(call); }
__global__ void normal_double(const Generation call) { Run<Form::kNormalDouble>(call); }
__global__ void log_normal(const Generation call) { Run<Form::kLogNormal>(call); }
__global__ void log_normal_double(const Generation call) { Run<Form::kLogNormalDouble>(call); }

// Behind each of these.
__global__ void advance(uint64_t* position, uint64_t units) { *position += units; }

}  // extern "C"
