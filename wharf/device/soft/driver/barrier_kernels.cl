// Kernels whose threads meet, for benchmarks: one text for CUDA C++ (barrier_kernels.cu) and OpenCL C
// (barrier_opencl.cc), which define the words in capitals. After a change run ../../testing/make_kernels.sh.

// Sums of 256, by halves in shared memory.
KERNEL void block_reduction(GLOBAL const float* in, GLOBAL float* out) {
  SHARED float part[256];
  const int t = THREAD_X;
  part[t] = in[BLOCK_X * 256 + t];
  BARRIER();
  for (int width = 128; width > 0; width /= 2) {
    if (t < width) part[t] += part[t + width];
    BARRIER();
  }
  if (t == 0) out[BLOCK_X] = part[0];
}

// The same by warps; without shuffles, a warp's sum goes through shared memory.
KERNEL void warp_reduction(GLOBAL const float* in, GLOBAL float* out) {
  const int t = THREAD_X;
#ifdef SHUFFLE_DOWN
  SHARED float warps[8];
  float sum = in[BLOCK_X * 256 + t];
  for (int by = 16; by > 0; by /= 2) sum += SHUFFLE_DOWN(sum, by);
  if (t % 32 == 0) warps[t / 32] = sum;
  BARRIER();
  if (t >= 32) return;
  sum = t < 8 ? warps[t] : 0;
  for (int by = 4; by > 0; by /= 2) sum += SHUFFLE_DOWN(sum, by);
  if (t == 0) out[BLOCK_X] = sum;
#else
  SHARED float part[256];
  part[t] = in[BLOCK_X * 256 + t];
  BARRIER();
  for (int by = 16; by > 0; by /= 2) {
    if (t % 32 < by) part[t] += part[t + by];
    BARRIER();
  }
  if (t != 0) return;
  float sum = 0;
  for (int warp = 0; warp < 8; ++warp) sum += part[warp * 32];
  out[BLOCK_X] = sum;
#endif
}

// Exclusive sums of 512 by 256 threads, up and down a tree (Blelloch).
KERNEL void scan(GLOBAL const float* in, GLOBAL float* out) {
  SHARED float tree[512];
  const int t = THREAD_X, first = BLOCK_X * 512 + 2 * t;
  tree[2 * t] = in[first];
  tree[2 * t + 1] = in[first + 1];
  int stride = 1;
  for (int nodes = 256; nodes > 0; nodes /= 2) {
    BARRIER();
    if (t < nodes) tree[stride * (2 * t + 2) - 1] += tree[stride * (2 * t + 1) - 1];
    stride *= 2;
  }
  if (t == 0) tree[511] = 0;
  for (int nodes = 1; nodes < 512; nodes *= 2) {
    stride /= 2;
    BARRIER();
    if (t < nodes) {
      const int left = stride * (2 * t + 1) - 1, right = stride * (2 * t + 2) - 1;
      const float sum = tree[left];
      tree[left] = tree[right];
      tree[right] += sum;
    }
  }
  BARRIER();
  out[first] = tree[2 * t];
  out[first + 1] = tree[2 * t + 1];
}

// A row of 1024 by 256 threads, its mean and variance through warps.
KERNEL void layer_norm(GLOBAL const float* in, GLOBAL float* out) {
  const int t = THREAD_X;
  GLOBAL const float* row = in + BLOCK_X * 1024;
  float value[4], sum = 0, squares = 0;
  for (int i = 0; i < 4; ++i) {
    value[i] = row[i * 256 + t];
    sum += value[i];
    squares += value[i] * value[i];
  }
#ifdef SHUFFLE_XOR
  SHARED float sums[8], squared[8];
  for (int by = 16; by > 0; by /= 2) {
    sum += SHUFFLE_XOR(sum, by);
    squares += SHUFFLE_XOR(squares, by);
  }
  if (t % 32 == 0) {
    sums[t / 32] = sum;
    squared[t / 32] = squares;
  }
  BARRIER();
  sum = squares = 0;
  for (int warp = 0; warp < 8; ++warp) {
    sum += sums[warp];
    squares += squared[warp];
  }
#else
  SHARED float sums[256], squared[256];
  sums[t] = sum;
  squared[t] = squares;
  BARRIER();
  for (int width = 128; width > 0; width /= 2) {
    if (t < width) {
      sums[t] += sums[t + width];
      squared[t] += squared[t + width];
    }
    BARRIER();
  }
  sum = sums[0];
  squares = squared[0];
#endif
  const float mean = sum / 1024, scale = RSQRT(squares / 1024 - mean * mean + 1e-5f);
  for (int i = 0; i < 4; ++i) out[BLOCK_X * 1024 + i * 256 + t] = (value[i] - mean) * scale;
}

// Five points, from a tile of 16 x 16 and its edges.
KERNEL void tiled_stencil(GLOBAL const float* in, GLOBAL float* out, int width, int height) {
  SHARED float tile[18][18];
  const int tx = THREAD_X + 1, ty = THREAD_Y + 1;
  const int x = BLOCK_X * 16 + THREAD_X, y = BLOCK_Y * 16 + THREAD_Y, at = y * width + x;
  tile[ty][tx] = in[at];
  if (tx == 1) tile[ty][0] = x > 0 ? in[at - 1] : 0;
  if (tx == 16) tile[ty][17] = x + 1 < width ? in[at + 1] : 0;
  if (ty == 1) tile[0][tx] = y > 0 ? in[at - width] : 0;
  if (ty == 16) tile[17][tx] = y + 1 < height ? in[at + width] : 0;
  BARRIER();
  out[at] = 0.5f * tile[ty][tx] +
            0.125f * (tile[ty - 1][tx] + tile[ty + 1][tx] + tile[ty][tx - 1] + tile[ty][tx + 1]);
}

// c = a b, all n x n, tile by tile.
#define TILED_PRODUCT(name, side)                                                                                \
  KERNEL void name(GLOBAL const float* a, GLOBAL const float* b, GLOBAL float* c, int n) {                       \
    SHARED float tile_a[side][side];                                                                             \
    SHARED float tile_b[side][side];                                                                             \
    const int tx = THREAD_X, ty = THREAD_Y, row = BLOCK_Y * side + ty, column = BLOCK_X * side + tx;             \
    float sum = 0;                                                                                               \
    for (int k = 0; k < n; k += side) {                                                                          \
      tile_a[ty][tx] = a[row * n + k + tx];                                                                      \
      tile_b[ty][tx] = b[(k + ty) * n + column];                                                                 \
      BARRIER();                                                                                                 \
      for (int i = 0; i < side; ++i) sum += tile_a[ty][i] * tile_b[i][tx];                                       \
      BARRIER();                                                                                                 \
    }                                                                                                            \
    c[row * n + column] = sum;                                                                                   \
  }
TILED_PRODUCT(product_16, 16)
TILED_PRODUCT(product_32, 32)

// A row of 1024 by 256 threads.
KERNEL void softmax(GLOBAL const float* in, GLOBAL float* out) {
  SHARED float part[256];
  const int t = THREAD_X;
  GLOBAL const float* row = in + BLOCK_X * 1024;
  float greatest = row[t];
  for (int i = 1; i < 4; ++i) greatest = MAXIMUM(greatest, row[i * 256 + t]);
  part[t] = greatest;
  BARRIER();
  for (int width = 128; width > 0; width /= 2) {
    if (t < width) part[t] = MAXIMUM(part[t], part[t + width]);
    BARRIER();
  }
  greatest = part[0];
  BARRIER();
  float value[4], sum = 0;
  for (int i = 0; i < 4; ++i) {
    value[i] = EXPONENTIAL(row[i * 256 + t] - greatest);
    sum += value[i];
  }
  part[t] = sum;
  BARRIER();
  for (int width = 128; width > 0; width /= 2) {
    if (t < width) part[t] += part[t + width];
    BARRIER();
  }
  const float scale = 1 / part[0];
  for (int i = 0; i < 4; ++i) out[BLOCK_X * 1024 + i * 256 + t] = value[i] * scale;
}

// Sorts 512 by 256 threads.
KERNEL void bitonic_sort(GLOBAL const float* in, GLOBAL float* out) {
  SHARED float list[512];
  const int t = THREAD_X, first = BLOCK_X * 512;
  list[t] = in[first + t];
  list[t + 256] = in[first + t + 256];
  BARRIER();
  for (int run = 2; run <= 512; run *= 2) {
    for (int apart = run / 2; apart > 0; apart /= 2) {
      const int i = 2 * t - (t & (apart - 1));
      const int ascending = (i & run) == 0;
      const float a = list[i], b = list[i + apart];
      if ((a > b) == ascending) {
        list[i] = b;
        list[i + apart] = a;
      }
      BARRIER();
    }
  }
  out[first + t] = list[t];
  out[first + t + 256] = list[t + 256];
}

// Of bytes; each block counts its own first.
KERNEL void histogram(GLOBAL const unsigned char* in, GLOBAL unsigned* bins, int count) {
  SHARED unsigned own[256];
  const int t = THREAD_X;
  own[t] = 0;
  BARRIER();
  for (int i = BLOCK_X * 256 + t; i < count; i += BLOCKS_X * 256) ADD_SHARED(&own[in[i]], 1u);
  BARRIER();
  ADD_GLOBAL(&bins[t], own[t]);
}

// Without a barrier.
KERNEL void scaled_sum(GLOBAL const float* in, GLOBAL float* out, float scale, int count) {
  const int i = BLOCK_X * 256 + THREAD_X;
  if (i < count) out[i] = scale * in[i] + out[i];
}
