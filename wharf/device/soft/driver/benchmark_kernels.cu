// Kernels of the software device's benchmarks. After a change run ../../testing/make_kernels.sh.
extern "C" __global__ void saxpy(float* y, const float* x, float a, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

extern "C" __global__ void saxpy_grid_stride(float* y, const float* x, float a, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = a * x[i] + y[i];
}

extern "C" __global__ void bias_relu(float* out, const float* in, const float* bias, int channels, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    const float v = in[i] + bias[i / channels];
    out[i] = v > 0 ? v : 0;
  }
}

extern "C" __global__ void stencil(float* out, const float* in, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1) return;
  const float* p = in + y * width + x;
  out[y * width + x] = 0.5f * p[0] + 0.125f * (p[-1] + p[1] + p[-width] + p[width]);
}

extern "C" __global__ void polynomial(float* out, const float* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = in[i];
  float v = 0.1f;
  for (int k = 0; k < 16; ++k) v = v * x + 0.3f;
  out[i] = v;
}

extern "C" __global__ void exponential(float* out, const float* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = expf(in[i]);
}

extern "C" __global__ void gelu(float* out, const float* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = in[i];
  out[i] = 0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
}

extern "C" __global__ void sum_blocks(float* out, const float* in) {
  __shared__ float partial[8];
  float v = in[blockIdx.x * blockDim.x + threadIdx.x];
  for (int offset = 16; offset > 0; offset /= 2) v += __shfl_down_sync(~0u, v, offset);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 1; i < 8; ++i) v += partial[i];
    out[blockIdx.x] = v;
  }
}

extern "C" __global__ void matmul(float* c, const float* a, const float* b, int n) {
  __shared__ float ta[16][16], tb[16][16];
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    ta[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
    tb[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + column];
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum += ta[threadIdx.y][i] * tb[i][threadIdx.x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

extern "C" __global__ void gather(float* out, const float* in, const int* index, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[index[i]];
}

// With an index of 64 bits, which may point anywhere.
extern "C" __global__ void gather_wide(float* out, const float* in, const long* index, long n) {
  const long i = static_cast<long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[index[i]];
}

extern "C" __global__ void scatter(float* out, const float* in, const int* index, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[index[i]] = in[i];
}

// One thread a column, whose pointer walks from row to row.
extern "C" __global__ void sum_columns(float* out, const float* in, long width, int height) {
  const float* p = in + blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int y = 0; y < height; ++y, p += width) sum += *p;
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// An array of each thread that no register can hold.
extern "C" __global__ void local_histogram(float* out, const int* index, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int bins[16] = {};
  for (int k = 0; k < 16; ++k) ++bins[(index[i] >> k) & 15];
  int most = 0;
  for (int k = 0; k < 16; ++k) most = max(most, bins[k]);
  out[i] = most;
}
