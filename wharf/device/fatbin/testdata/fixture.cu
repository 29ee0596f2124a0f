// Compiled by nvcc into fat binaries of every compression mode; see nvcc_fatbin_test.cc.
__constant__ float weights[64] = {1, 2, 3, 4};

__global__ void Scale(float* values, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] *= weights[i % 64];
}

__global__ void Reverse(const int* from, int* to, int count) {
  __shared__ int tile[256];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = i < count ? from[i] : 0;
  __syncthreads();
  if (i < count) to[i] = tile[blockDim.x - 1 - threadIdx.x];
}
