// Blocks of tensors in float or double: some channels of one element of the batch at some places, which are numbered
// along depth, height and width. Whatever the tensor's type and strides, a block is packed: channel by channel.
#pragma once

#include <cstdint>

#include "wharf/device/primitive.h"

namespace wharf::device::soft {

// Elements that blocks and other scratch memory have about; in all a few of them are there at a time.
inline constexpr int64_t kScratchElements = int64_t{1} << 20;

struct BlockRange {
  int64_t batch = 0, channel = 0, channels = 0, place = 0, places = 0;
};

// Places of an element of the batch.
inline int64_t PlacesOf(const Tensor& tensor) { return int64_t{tensor.dims[2]} * tensor.dims[3] * tensor.dims[4]; }

// `count` elements, `stride` apart. T is float or double; double only for tensors of double.
template <typename T>
void LoadRow(ElementType type, DeviceAddress from, int64_t stride, int64_t count, T* to);
template <typename T>
void StoreRow(ElementType type, DeviceAddress to, int64_t stride, int64_t count, const T* from);

// Channel c's places are at c * range.places of the block.
template <typename T>
void LoadBlock(const Tensor& tensor, const BlockRange& range, T* to);
template <typename T>
void StoreBlock(const Tensor& tensor, const BlockRange& range, const T* from);

// The tensor's memory itself, if a block of all its places lies there as LoadBlock would lay it out; else null.
template <typename T>
const T* BlockInPlace(const Tensor& tensor, int64_t batch, int64_t channel);

template <typename T>
T Activate(const ActivationForm& form, T value);

}  // namespace wharf::device::soft
