#include "wharf/device/soft/driver/native_loops.h"

#include <algorithm>
#include <cmath>

namespace wharf::device::soft::native {

void Saxpy(float* y, const float* x, float a, int first, int last) {
  for (int i = first; i < last; ++i) y[i] = a * x[i] + y[i];
}

void StridedSaxpy(float* y, const float* x, float a, int threads, int count) {
  constexpr int kTogether = 16;  // neighbouring threads
  for (int thread = 0; thread < threads; thread += kTogether) {
    for (int i = thread; i < count; i += threads) {
      float sum[kTogether];  // so that vectors need no check whether the arrays overlap
      for (int lane = 0; lane < kTogether; ++lane) sum[lane] = a * x[i + lane] + y[i + lane];
      for (int lane = 0; lane < kTogether; ++lane) y[i + lane] = sum[lane];
    }
  }
}

void BiasRelu(float* out, const float* in, const float* bias, int channels, int first, int last) {
  for (int i = first; i < last; ++i) {
    const float v = in[i] + bias[i / channels];
    out[i] = v > 0 ? v : 0;
  }
}

void Stencil(float* out, const float* in, int width, int height, int first_row, int last_row) {
  for (int y = std::max(1, first_row); y < std::min(height - 1, last_row); ++y) {
    for (int x = 1; x < width - 1; ++x) {
      const float* p = in + y * width + x;
      out[y * width + x] = 0.5F * p[0] + 0.125F * (p[-1] + p[1] + p[-width] + p[width]);
    }
  }
}

void Polynomial(float* out, const float* in, int first, int last) {
  for (int i = first; i < last; ++i) {
    float v = 0.1F;
    for (int k = 0; k < 16; ++k) v = v * in[i] + 0.3F;
    out[i] = v;
  }
}

void Exponential(float* out, const float* in, int first, int last) {
  for (int i = first; i < last; ++i) out[i] = std::exp(in[i]);
}

void Gelu(float* out, const float* in, int first, int last) {
  for (int i = first; i < last; ++i) {
    const float x = in[i];
    out[i] = 0.5F * x * (1.0F + std::tanh(0.79788456F * (x + 0.044715F * x * x * x)));
  }
}

void Gather(float* out, const float* in, const int* index, int count) {
  for (int i = 0; i < count; ++i) out[i] = in[index[i]];
}

void Gather(float* out, const float* in, const long* index, long count) {
  for (long i = 0; i < count; ++i) out[i] = in[index[i]];
}

void SumColumns(float* out, const float* in, long width, int height) {
  for (long x = 0; x < width; ++x) out[x] = 0;
  for (int y = 0; y < height; ++y) {
    for (long x = 0; x < width; ++x) out[x] += in[y * width + x];
  }
}

void LocalHistogram(float* out, const int* index, int count) {
  for (int i = 0; i < count; ++i) {
    int bins[16] = {};
    for (int k = 0; k < 16; ++k) ++bins[(index[i] >> k) & 15];
    out[i] = static_cast<float>(*std::max_element(bins, bins + 16));
  }
}

void SumBlocks(float* out, const float* in, int first, int last) {
  for (int block = first; block < last; ++block) {
    float sum = 0;
    for (int i = 0; i < 256; ++i) sum += in[block * 256 + i];
    out[block] = sum;
  }
}

void Matmul(float* c, const float* a, const float* b, int n, int first_row, int last_row) {
  for (int row = first_row; row < last_row; ++row) {
    std::fill(c + row * n, c + (row + 1) * n, 0.0F);
    for (int k = 0; k < n; ++k) {
      for (int column = 0; column < n; ++column) c[row * n + column] += a[row * n + k] * b[k * n + column];
    }
  }
}

}  // namespace wharf::device::soft::native
