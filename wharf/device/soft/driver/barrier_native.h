// The work of barrier_kernels.cl as one would write it for a processor, compiled at -O3 -march=native -ffast-math, on
// all cores by OpenMP.
#pragma once

#include <cstdint>

namespace wharf::device::soft::native {

void SumsOf256(float* out, const float* in, int sums);
// c = a b, n x n each. REQUIRES: n is 512.
void Product512(float* c, const float* a, const float* b);
void Stencil5(float* out, const float* in, int width, int height);
void SoftmaxRows(float* out, const float* in, int rows);    // of 1024
void LayerNormRows(float* out, const float* in, int rows);  // of 1024
void ScanBlocks(float* out, const float* in, int blocks);   // of 512
// By the same network of comparisons, whose inner loops are vectors.
void SortBlocks(float* out, const float* in, int blocks);  // of 512
void Histogram(uint32_t* bins, const uint8_t* in, int count);
void ScaledSum(float* out, const float* in, float scale, int count);

}  // namespace wharf::device::soft::native
