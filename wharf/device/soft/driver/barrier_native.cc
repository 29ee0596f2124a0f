#include "wharf/device/soft/driver/barrier_native.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace wharf::device::soft::native {

void SumsOf256(float* out, const float* in, int sums) {
#pragma omp parallel for schedule(static)
  for (int i = 0; i < sums; ++i) {
    float sum = 0;
    for (int j = 0; j < 256; ++j) sum += in[i * 256 + j];
    out[i] = sum;
  }
}

void Product512(float* c, const float* a, const float* b) {
  constexpr int kSide = 512, kRows = 4;
#pragma omp parallel for schedule(static)
  for (int first = 0; first < kSide; first += kRows) {
    float sum[kRows][kSide] = {};
    for (int k = 0; k < kSide; ++k) {
      for (int row = 0; row < kRows; ++row) {
        const float factor = a[(first + row) * kSide + k];
        for (int column = 0; column < kSide; ++column) sum[row][column] += factor * b[k * kSide + column];
      }
    }
    std::memcpy(c + first * kSide, sum, sizeof sum);
  }
}

void Stencil5(float* out, const float* in, int width, int height) {
#pragma omp parallel for schedule(static)
  for (int y = 0; y < height; ++y) {
    const float* row = in + y * width;
    const float* above = row - (y > 0 ? width : 0);
    const float* below = row + (y + 1 < height ? width : 0);
    const float from_above = y > 0 ? 0.125F : 0, from_below = y + 1 < height ? 0.125F : 0;
    const auto edge = [&](int x, float beside) {
      out[y * width + x] = 0.5F * row[x] + from_above * above[x] + from_below * below[x] + 0.125F * beside;
    };
    edge(0, row[1]);
    for (int x = 1; x < width - 1; ++x) {
      out[y * width + x] =
          0.5F * row[x] + from_above * above[x] + from_below * below[x] + 0.125F * (row[x - 1] + row[x + 1]);
    }
    edge(width - 1, row[width - 2]);
  }
}

void SoftmaxRows(float* out, const float* in, int rows) {
#pragma omp parallel for schedule(static)
  for (int row = 0; row < rows; ++row) {
    const float* from = in + row * 1024;
    float* to = out + row * 1024;
    float greatest = from[0];
    for (int i = 1; i < 1024; ++i) greatest = std::max(greatest, from[i]);
    float sum = 0;
    for (int i = 0; i < 1024; ++i) {
      to[i] = std::exp(from[i] - greatest);
      sum += to[i];
    }
    const float scale = 1 / sum;
    for (int i = 0; i < 1024; ++i) to[i] *= scale;
  }
}

void LayerNormRows(float* out, const float* in, int rows) {
#pragma omp parallel for schedule(static)
  for (int row = 0; row < rows; ++row) {
    const float* from = in + row * 1024;
    float sum = 0, squares = 0;
    for (int i = 0; i < 1024; ++i) {
      sum += from[i];
      squares += from[i] * from[i];
    }
    const float mean = sum / 1024, scale = 1 / std::sqrt(squares / 1024 - mean * mean + 1e-5F);
    for (int i = 0; i < 1024; ++i) out[row * 1024 + i] = (from[i] - mean) * scale;
  }
}

void ScanBlocks(float* out, const float* in, int blocks) {
#pragma omp parallel for schedule(static)
  for (int block = 0; block < blocks; ++block) {
    float sum = 0;
    for (int i = block * 512; i < (block + 1) * 512; ++i) {
      const float value = in[i];
      out[i] = sum;
      sum += value;
    }
  }
}

void SortBlocks(float* out, const float* in, int blocks) {
#pragma omp parallel for schedule(static)
  for (int block = 0; block < blocks; ++block) {
    float list[512];
    std::memcpy(list, in + block * 512, sizeof list);
    for (int run = 2; run <= 512; run *= 2) {
      for (int apart = run / 2; apart > 0; apart /= 2) {
        for (int first = 0; first < 512; first += 2 * apart) {
          const bool ascending = (first & run) == 0;
          for (int i = first; i < first + apart; ++i) {
            const float least = std::min(list[i], list[i + apart]), most = std::max(list[i], list[i + apart]);
            list[i] = ascending ? least : most;
            list[i + apart] = ascending ? most : least;
          }
        }
      }
    }
    std::memcpy(out + block * 512, list, sizeof list);
  }
}

void Histogram(uint32_t* bins, const uint8_t* in, int count) {
  std::fill(bins, bins + 256, 0);
#pragma omp parallel
  {
    uint32_t own[4][256] = {};  // so that equal neighbours do not wait for each other
#pragma omp for schedule(static)
    for (int i = 0; i < count / 4; ++i) {
      for (int j = 0; j < 4; ++j) ++own[j][in[4 * i + j]];
    }
#pragma omp critical
    for (int i = 0; i < 256; ++i) bins[i] += own[0][i] + own[1][i] + own[2][i] + own[3][i];
  }
}

void ScaledSum(float* out, const float* in, float scale, int count) {
#pragma omp parallel for schedule(static)
  for (int i = 0; i < count; ++i) out[i] = scale * in[i] + out[i];
}

}  // namespace wharf::device::soft::native
