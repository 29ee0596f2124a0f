// The benchmark's kernels as plain loops over [first, last), compiled at -O3 -march=native.
#pragma once

namespace wharf::device::soft::native {

void Saxpy(float* y, const float* x, float a, int first, int last);
// In the order of a kernel whose `threads` threads stride through the arrays, 16 neighbours at a time. REQUIRES:
// `threads` and `count` are multiples of 16.
void StridedSaxpy(float* y, const float* x, float a, int threads, int count);
void BiasRelu(float* out, const float* in, const float* bias, int channels, int first, int last);
void Stencil(float* out, const float* in, int width, int height, int first_row, int last_row);
void Polynomial(float* out, const float* in, int first, int last);
void Exponential(float* out, const float* in, int first, int last);
void Gelu(float* out, const float* in, int first, int last);
void Gather(float* out, const float* in, const int* index, int count);
void Gather(float* out, const float* in, const long* index, long count);
void SumColumns(float* out, const float* in, long width, int height);
void LocalHistogram(float* out, const int* index, int count);
void SumBlocks(float* out, const float* in, int first, int last);
void Matmul(float* c, const float* a, const float* b, int n, int first_row, int last_row);

}  // namespace wharf::device::soft::native
