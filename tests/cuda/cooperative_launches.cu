// Cooperative launches: grids whose blocks wait for each other, by every call that makes one, and how large they may
// be.
#include <cooperative_groups.h>
#include <cuda.h>

#include "tests/cuda/harness.h"

namespace cg = cooperative_groups;

namespace {

constexpr int kRounds = 6;

// Block b's element i becomes the sum of its neighbours' of the round before: wrong if any block is ahead or behind.
// What each block keeps in shared and local memory over the barriers is its own.
__global__ void Ring(unsigned* data, unsigned* kept) {
  __shared__ unsigned shared[1024];
  const cg::grid_group grid = cg::this_grid();
  const unsigned n = gridDim.x * blockDim.x, b = blockIdx.x, t = threadIdx.x;
  unsigned local[8];
  for (unsigned i = 0; i < 8; ++i) local[(i + t) % 8] = b * 31 + i * t;
  shared[t] = b * 1000 + t;
  for (unsigned round = 0; round < kRounds; ++round) {
    const unsigned* from = data + round % 2 * n;
    unsigned* to = data + (1 - round % 2) * n;
    to[b * blockDim.x + t] =
        from[(b + 1) % gridDim.x * blockDim.x + t] * 3 + from[(b + gridDim.x - 1) % gridDim.x * blockDim.x + t] + round;
    grid.sync();
  }
  kept[b * blockDim.x + t] = shared[(t + 1) % blockDim.x] + local[t % 8];
}

std::vector<unsigned> RingOnHost(unsigned blocks, unsigned threads) {
  const unsigned n = blocks * threads;
  std::vector<unsigned> now(n), next(n);
  for (unsigned i = 0; i < n; ++i) now[i] = i;
  for (unsigned round = 0; round < kRounds; ++round, now.swap(next)) {
    for (unsigned i = 0; i < n; ++i) {
      const unsigned b = i / threads, t = i % threads;
      next[i] = now[(b + 1) % blocks * threads + t] * 3 + now[(b + blocks - 1) % blocks * threads + t] + round;
    }
  }
  return now;
}

unsigned Kept(unsigned b, unsigned t, unsigned threads) {
  return b * 1000 + (t + 1) % threads + b * 31;  // i is 0 where (i + t) % 8 == t % 8
}

struct RingBuffers {
  RingBuffers(unsigned blocks, unsigned threads)
      : blocks(blocks), threads(threads), data(2 * blocks * threads), kept(blocks * threads) {
    std::vector<unsigned> first(2 * blocks * threads);
    for (unsigned i = 0; i < blocks * threads; ++i) first[i] = i;
    data.Set(first);
  }
  void Check() const {
    std::vector<unsigned> got = data.Get();
    got.resize(blocks * threads);  // after an even number of rounds
    EXPECT_SAME(got, RingOnHost(blocks, threads));
    std::vector<unsigned> expected(blocks * threads);
    for (unsigned i = 0; i < blocks * threads; ++i) expected[i] = Kept(i / threads, i % threads, threads);
    EXPECT_SAME(kept.Get(), expected);
  }
  unsigned blocks, threads;
  Buffer<unsigned> data, kept;
};

unsigned BlocksThatFit(const void* kernel, int threads) {
  int each = 0, processors = 0;
  CUDA_OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, threads, 0));
  CUDA_OK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
  return unsigned(each * processors);
}

template <class Launch>
void RunRing(const Launch& launch, unsigned blocks, unsigned threads) {
  const RingBuffers ring(blocks, threads);
  unsigned *data = ring.data, *kept = ring.kept;
  void* arguments[] = {&data, &kept};
  launch(dim3(blocks), dim3(threads), arguments);
  CUDA_OK(cudaDeviceSynchronize());
  ring.Check();
}

void Cooperative(dim3 grid, dim3 block, void** arguments) {
  CUDA_OK(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(Ring), grid, block, arguments, 0, nullptr));
}

}  // namespace

CASE(device_attributes) {
  int value = 0;
  CUDA_OK(cudaDeviceGetAttribute(&value, cudaDevAttrCooperativeLaunch, 0));
  EXPECT_EQ(value, 1);
  cudaDeviceProp properties;
  CUDA_OK(cudaGetDeviceProperties(&properties, 0));
  EXPECT_EQ(properties.cooperativeLaunch, 1);
}

CASE(grid_barriers_of_several_shapes) {
  RunRing(Cooperative, 1, 64);
  RunRing(Cooperative, 2, 1);
  RunRing(Cooperative, 2, 1000);
  RunRing(Cooperative, 8, 96);
  RunRing(Cooperative, 5, 33);
  RunRing(Cooperative, 4, 256);
}

// The largest grid there can be; its size, which is the device's, is in no hash.
CASE(as_many_blocks_as_fit) {
  for (const unsigned threads : {32u, 128u, 512u}) {
    const unsigned blocks = BlocksThatFit(reinterpret_cast<const void*>(Ring), int(threads));
    unsigned *data = nullptr, *kept = nullptr;
    CUDA_OK(cudaMalloc(&data, 8 * blocks * threads));
    CUDA_OK(cudaMalloc(&kept, 4 * blocks * threads));
    std::vector<unsigned> now(2 * blocks * threads);
    for (unsigned i = 0; i < blocks * threads; ++i) now[i] = i;
    CUDA_OK(cudaMemcpy(data, now.data(), 4 * now.size(), cudaMemcpyHostToDevice));
    void* arguments[] = {&data, &kept};
    Cooperative(dim3(blocks), dim3(threads), arguments);
    now.resize(blocks * threads);
    CUDA_OK(cudaMemcpy(now.data(), data, 4 * now.size(), cudaMemcpyDeviceToHost));
    EXPECT_SAME(now, RingOnHost(blocks, threads));
    const cudaError_t error = cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(Ring), dim3(blocks + 1),
                                                          dim3(threads), arguments, 0, nullptr);
    EXPECT_EQ(error, cudaErrorCooperativeLaunchTooLarge);
    EXPECT_EQ(cudaGetLastError(), cudaErrorCooperativeLaunchTooLarge);
    CUDA_OK(cudaFree(data));
    CUDA_OK(cudaFree(kept));
  }
}

CASE(too_large_by_any_call) {
  unsigned* none = nullptr;
  void* arguments[] = {&none, &none};
  cudaLaunchConfig_t config = {};
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeCooperative;
  attribute.val.cooperative = 1;
  config.gridDim = dim3(1 << 20), config.blockDim = dim3(1024), config.attrs = &attribute, config.numAttrs = 1;
  EXPECT_EQ(cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(Ring), arguments),
            cudaErrorCooperativeLaunchTooLarge);
  cudaFunction_t function = nullptr;
  CUDA_OK(cudaGetFuncBySymbol(&function, reinterpret_cast<const void*>(Ring)));
  EXPECT_EQ(int(cuLaunchCooperativeKernel(function, 65535, 65535, 1, 32, 1, 1, 0, nullptr, arguments)),
            int(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE));
  (void)cudaGetLastError();
}

CASE(by_the_attribute) {
  RunRing(
      [](dim3 grid, dim3 block, void** arguments) {
        cudaLaunchConfig_t config = {};
        cudaLaunchAttribute attribute;
        attribute.id = cudaLaunchAttributeCooperative;
        attribute.val.cooperative = 1;
        config.gridDim = grid, config.blockDim = block, config.attrs = &attribute, config.numAttrs = 1;
        CUDA_OK(cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(Ring), arguments));
      },
      6, 64);
}

CASE(by_the_driver) {
  cudaFunction_t function = nullptr;
  CUDA_OK(cudaGetFuncBySymbol(&function, reinterpret_cast<const void*>(Ring)));
  RunRing(
      [&](dim3 grid, dim3 block, void** arguments) {
        EXPECT_EQ(int(cuLaunchCooperativeKernel(function, grid.x, 1, 1, block.x, 1, 1, 0, nullptr, arguments)), 0);
      },
      6, 64);
  RunRing(
      [&](dim3 grid, dim3 block, void** arguments) {
        CUlaunchConfig config = {};
        CUlaunchAttribute attribute;
        attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
        attribute.value.cooperative = 1;
        config.gridDimX = grid.x, config.gridDimY = config.gridDimZ = 1;
        config.blockDimX = block.x, config.blockDimY = config.blockDimZ = 1;
        config.attrs = &attribute, config.numAttrs = 1;
        EXPECT_EQ(int(cuLaunchKernelEx(&config, function, arguments, nullptr)), 0);
      },
      6, 64);
}

__global__ void IsValid(int* out) { *out = cg::this_grid().is_valid() ? 1 : 0; }

CASE(only_cooperative_grids_are_valid) {
  Buffer<int> out(1);
  // GPUs find the last cooperative launch's barrier again in the same stream.
  cudaStream_t stream = nullptr;
  CUDA_OK(cudaStreamCreate(&stream));
  IsValid<<<1, 1, 0, stream>>>(out);
  CUDA_OK(cudaStreamSynchronize(stream));
  CUDA_OK(cudaStreamDestroy(stream));
  EXPECT_EQ(out.Get()[0], 0);
  int* pointer = out;
  void* arguments[] = {&pointer};
  CUDA_OK(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(IsValid), dim3(1), dim3(1), arguments, 0, nullptr));
  EXPECT_EQ(out.Get()[0], 1);
}

// Sums over the grid, as NVIDIA's samples do: by blocks, then by one block, many times in one launch.
__global__ void Sums(const int* in, int n, int* partial, int* out, int rounds) {
  const cg::grid_group grid = cg::this_grid();
  const cg::thread_block block = cg::this_thread_block();
  const cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
  for (int round = 0; round < rounds; ++round) {
    int sum = 0;
    for (unsigned long long i = grid.thread_rank(); i < n; i += grid.size()) sum += in[i] ^ round;
    for (int offset = 16; offset > 0; offset /= 2) sum += warp.shfl_down(sum, offset);
    if (block.thread_rank() == 0) partial[blockIdx.x] = 0;
    cg::sync(block);
    if (warp.thread_rank() == 0) atomicAdd(&partial[blockIdx.x], sum);
    cg::sync(grid);
    if (grid.thread_rank() == 0) {
      int all = 0;
      for (unsigned b = 0; b < gridDim.x; ++b) all += partial[b];
      out[round] = all;
    }
    cg::sync(grid);
  }
}

CASE(sums_in_one_launch) {
  int n = 10'007, rounds = 9;
  std::vector<int> in(n), expected(rounds);
  harness::Random random(5);
  for (int& value : in) value = random.Below(1 << 16);
  for (int round = 0; round < rounds; ++round)
    for (const int value : in) expected[round] += value ^ round;
  Buffer<int> data(in), partial(64), out(rounds);
  int *pd = data, *pp = partial, *po = out;
  void* arguments[] = {&pd, &n, &pp, &po, &rounds};
  CUDA_OK(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(Sums), dim3(4), dim3(128), arguments, 0, nullptr));
  EXPECT_SAME(out.Get(), expected);
}

// Blocks may wait for later ones by any means, not only by CUDA's barrier.
__global__ void Relay(volatile int* turn, int* order) {
  if (threadIdx.x == 0) {
    while (*turn != int(gridDim.x - 1 - blockIdx.x)) {
    }
    order[*turn] = int(blockIdx.x);
    __threadfence();
    *turn = *turn + 1;
  }
  __syncthreads();
}

CASE(blocks_wait_for_later_ones) {
  Buffer<int> turn(1), order(8);
  int *pt = turn, *po = order;
  void* arguments[] = {&pt, &po};
  CUDA_OK(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(Relay), dim3(8), dim3(64), arguments, 0, nullptr));
  EXPECT_SAME(order.Get(), std::vector<int>({7, 6, 5, 4, 3, 2, 1, 0}));
}

// The same over and over, which `replay` predicts, with other work between.
CASE(repeated_inferences) {
  const RingBuffers ring(4, 64);
  unsigned *data = ring.data, *kept = ring.kept;
  void* arguments[] = {&data, &kept};
  std::vector<unsigned> first(2 * 256), result(256);
  for (unsigned i = 0; i < 256; ++i) first[i] = i;
  const std::vector<unsigned> expected = RingOnHost(4, 64);
  for (int i = 0; i < 12; ++i) {
    CUDA_OK(cudaMemcpy(data, first.data(), 4 * first.size(), cudaMemcpyHostToDevice));
    CUDA_OK(cudaMemsetAsync(kept, 0, 4 * 256));
    Cooperative(dim3(4), dim3(64), arguments);
    CUDA_OK(cudaMemcpy(result.data(), data, 4 * 256, cudaMemcpyDeviceToHost));
    EXPECT_SAME(result, expected);
  }
  ring.Check();
}

CASE(in_graphs) {
  const RingBuffers ring(4, 64);
  unsigned *data = ring.data, *kept = ring.kept;
  void* arguments[] = {&data, &kept};
  cudaStream_t stream;
  CUDA_OK(cudaStreamCreate(&stream));
  cudaGraph_t graph;
  CUDA_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CUDA_OK(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(Ring), dim3(4), dim3(64), arguments, 0, stream));
  CUDA_OK(cudaStreamEndCapture(stream, &graph));
  cudaGraphNode_t node;
  size_t count = 1;
  CUDA_OK(cudaGraphGetNodes(graph, &node, &count));
  cudaKernelNodeAttrValue value;
  CUDA_OK(cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributeCooperative, &value));
  EXPECT_EQ(value.cooperative, 1);
  cudaGraphExec_t exec;
  CUDA_OK(cudaGraphInstantiate(&exec, graph, 0));
  std::vector<unsigned> first(2 * 256);
  for (unsigned i = 0; i < 256; ++i) first[i] = i;
  for (int i = 0; i < 6; ++i) {
    CUDA_OK(cudaMemcpyAsync(data, first.data(), 4 * first.size(), cudaMemcpyHostToDevice, stream));
    CUDA_OK(cudaGraphLaunch(exec, stream));
  }
  CUDA_OK(cudaStreamSynchronize(stream));
  ring.Check();
  // Parameters that are set anew leave the node what it is; so does an instance.
  const RingBuffers other(3, 32);
  unsigned *other_data = other.data, *other_kept = other.kept;
  void* other_arguments[] = {&other_data, &other_kept};
  cudaKernelNodeParams params = {};
  params.func = reinterpret_cast<void*>(Ring);
  params.gridDim = dim3(3), params.blockDim = dim3(32), params.kernelParams = other_arguments;
  CUDA_OK(cudaGraphExecKernelNodeSetParams(exec, node, &params));
  CUDA_OK(cudaGraphLaunch(exec, stream));
  CUDA_OK(cudaStreamSynchronize(stream));
  other.Check();
  CUDA_OK(cudaGraphExecDestroy(exec));
  CUDA_OK(cudaGraphDestroy(graph));
  // A node becomes one by its attribute.
  const RingBuffers third(5, 64);
  unsigned *third_data = third.data, *third_kept = third.kept;
  void* third_arguments[] = {&third_data, &third_kept};
  CUDA_OK(cudaGraphCreate(&graph, 0));
  params.gridDim = dim3(5), params.blockDim = dim3(64), params.kernelParams = third_arguments;
  CUDA_OK(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &params));
  value.cooperative = 1;
  CUDA_OK(cudaGraphKernelNodeSetAttribute(node, cudaLaunchAttributeCooperative, &value));
  CUDA_OK(cudaGraphInstantiate(&exec, graph, 0));
  CUDA_OK(cudaGraphLaunch(exec, stream));
  CUDA_OK(cudaStreamSynchronize(stream));
  third.Check();
  CUDA_OK(cudaGraphExecDestroy(exec));
  CUDA_OK(cudaGraphDestroy(graph));
  CUDA_OK(cudaStreamDestroy(stream));
}

__global__ void FaultInOneBlock(int* nowhere) {
  if (blockIdx.x == 3) *nowhere = 1;
  cg::this_grid().sync();
}

CHILD(fault_in_one_block) {
  int* nowhere = nullptr;
  void* arguments[] = {&nowhere};
  CUDA_OK(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(FaultInOneBlock), dim3(8), dim3(32), arguments, 0,
                                      nullptr));
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
}

CASE(a_fault_ends_blocks_that_wait) { EXPECT_EQ(harness::RunChild("fault_in_one_block").status, 0); }
