// The primitives of neural networks, Fourier transforms, and LAPACK's routines (OpenBLAS), on processors. Convolutions
// are matrix products of the filter with the input's windows, which are laid out tile by tile (OpenBLAS); so are most
// of recurrent networks; the rest is loops. Everything is computed in float, or in double for double, in blocks of
// bounded size, whatever the tensors' types and layouts.
#pragma once

#include "wharf/device/primitive.h"

namespace wharf::device::soft {

// kNotSupported for what would take more memory here than its tensors are worth. REQUIRES: CheckPrimitive accepted it.
absl::Status CheckLimits(const Primitive& primitive);
// REQUIRES: CheckPrimitive and CheckLimits accepted it, and the memory that it names is there.
void RunPrimitive(const Primitive& primitive);

// Whether it takes about as long as waking a thread does, and uses one thread only. REQUIRES: CheckPrimitive accepted
// it.
bool IsBrief(const Primitive& primitive);

// --- the parts: T is float or double ---
template <typename T>
void Convolve(const Convolution& convolution);
template <typename T>
void Pool(const Pooling& pooling);
template <typename T>
void Normalize(const BatchNorm& norm);
template <typename T>
void RunSoftmax(const Softmax& softmax);
template <typename T>
void RunPointwise(const Pointwise& pointwise);
template <typename T>
void RunRecurrent(const Recurrent& network);
template <typename T>
void RunFourier(const Fourier& fourier);
void RunLapack(const Lapack& lapack);
absl::Status CheckLapackLimits(const Lapack& lapack);

}  // namespace wharf::device::soft
