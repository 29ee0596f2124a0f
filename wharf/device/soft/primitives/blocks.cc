#include "wharf/device/soft/primitives/blocks.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <vector>

#include "wharf/device/soft/primitives/half.h"

namespace wharf::device::soft {
namespace {

constexpr int64_t kTransposed = 16;  // places that are turned at a time

DeviceAddress AddressOf(const Tensor& tensor, int64_t elements) {
  return tensor.address + static_cast<uint64_t>(elements) * ElementBytes(tensor.type);
}

// In elements, from the first of the batch's element and channel.
int64_t OffsetOf(const Tensor& tensor, int64_t place) {
  const int64_t width = tensor.dims[4], height = tensor.dims[3];
  return place / (width * height) * tensor.strides[2] + place / width % height * tensor.strides[3] +
         place % width * tensor.strides[4];
}

// Whether neighbouring places are one stride apart, across rows too. That stride, or 0.
int64_t CommonStride(const Tensor& tensor) {
  int64_t common = 0, span = 1;
  for (int i = kTensorDims - 1; i >= 2; --i) {
    if (tensor.dims[i] == 1) continue;
    if (common == 0) {
      common = tensor.strides[i];
    } else if (tensor.strides[i] != common * span) {
      return 0;
    }
    span *= tensor.dims[i];
  }
  return common == 0 ? 1 : common;
}

// Calls move(address, stride, count, offset) for each run of the places of one channel.
template <typename Move>
void ForEachRun(const Tensor& tensor, int64_t first, const BlockRange& range, const Move& move) {
  if (const int64_t common = CommonStride(tensor); common != 0) {
    return move(AddressOf(tensor, first + OffsetOf(tensor, range.place)), common, range.places, 0);
  }
  const int64_t width = tensor.dims[4];
  for (int64_t done = 0; done < range.places;) {
    const int64_t place = range.place + done, count = std::min(width - place % width, range.places - done);
    move(AddressOf(tensor, first + OffsetOf(tensor, place)), int64_t{tensor.strides[4]}, count, done);
    done += count;
  }
}

int64_t FirstOf(const Tensor& tensor, const BlockRange& range) {
  return range.batch * tensor.strides[0] + range.channel * tensor.strides[1];
}

// Channels next to each other, so that a place's are read at once.
bool IsChannelsLast(const Tensor& tensor, const BlockRange& range) {
  return range.channels > 1 && tensor.strides[1] == 1 && tensor.dims[1] > 1 && CommonStride(tensor) != 1;
}

template <typename From, typename To>
void TurnRows(const From* from, int64_t from_pitch, To* to, int64_t to_pitch, int64_t rows, int64_t columns) {
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) to[column * to_pitch + row] = from[row * from_pitch + column];
  }
}

template <typename T>
T At16(ElementType type, const void* base, int64_t index) {
  const uint16_t bits = static_cast<const uint16_t*>(base)[index];
  return static_cast<T>(type == ElementType::kF16 ? HalfToFloat(bits) : BrainToFloat(bits));
}

}  // namespace

template <typename T>
void LoadRow(ElementType type, DeviceAddress from, int64_t stride, int64_t count, T* to) {
  const auto* const base = reinterpret_cast<const void*>(from);
  switch (type) {
    case ElementType::kF32:
      for (int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(static_cast<const float*>(base)[i * stride]);
      return;
    case ElementType::kF64:
      for (int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(static_cast<const double*>(base)[i * stride]);
      return;
    default:
      break;
  }
  if constexpr (std::is_same_v<T, float>) {
    const auto* const bits = static_cast<const uint16_t*>(base);
    if (stride == 1 && type == ElementType::kF16) return HalfToFloat(bits, to, static_cast<size_t>(count));
    if (stride == 1) return BrainToFloat(bits, to, static_cast<size_t>(count));
  }
  for (int64_t i = 0; i < count; ++i) to[i] = At16<T>(type, base, i * stride);
}

template <typename T>
void StoreRow(ElementType type, DeviceAddress to, int64_t stride, int64_t count, const T* from) {
  auto* const base = reinterpret_cast<void*>(to);
  switch (type) {
    case ElementType::kF32:
      for (int64_t i = 0; i < count; ++i) static_cast<float*>(base)[i * stride] = static_cast<float>(from[i]);
      return;
    case ElementType::kF64:
      for (int64_t i = 0; i < count; ++i) static_cast<double*>(base)[i * stride] = static_cast<double>(from[i]);
      return;
    default:
      break;
  }
  auto* const bits = static_cast<uint16_t*>(base);
  const bool half = type == ElementType::kF16;
  if constexpr (std::is_same_v<T, float>) {
    if (stride == 1 && half) return FloatToHalf(from, bits, static_cast<size_t>(count));
    if (stride == 1) return FloatToBrain(from, bits, static_cast<size_t>(count));
  }
  for (int64_t i = 0; i < count; ++i) {
    const auto value = static_cast<float>(from[i]);
    bits[i * stride] = half ? FloatToHalf(value) : FloatToBrain(value);
  }
}

template <typename T>
void LoadBlock(const Tensor& tensor, const BlockRange& range, T* to) {
  const int64_t first = FirstOf(tensor, range);
  if (IsChannelsLast(tensor, range)) {
    std::vector<T> rows(static_cast<size_t>(kTransposed * range.channels));
    for (int64_t done = 0; done < range.places; done += kTransposed) {
      const int64_t count = std::min(kTransposed, range.places - done);
      for (int64_t i = 0; i < count; ++i) {
        const int64_t offset = first + OffsetOf(tensor, range.place + done + i);
        LoadRow(tensor.type, AddressOf(tensor, offset), 1, range.channels, rows.data() + i * range.channels);
      }
      TurnRows(rows.data(), range.channels, to + done, range.places, count, range.channels);
    }
    return;
  }
  for (int64_t c = 0; c < range.channels; ++c) {
    T* const plane = to + c * range.places;
    ForEachRun(tensor, first + c * tensor.strides[1], range,
               [&](DeviceAddress address, int64_t stride, int64_t count, int64_t offset) {
                 LoadRow(tensor.type, address, stride, count, plane + offset);
               });
  }
}

template <typename T>
void StoreBlock(const Tensor& tensor, const BlockRange& range, const T* from) {
  const int64_t first = FirstOf(tensor, range);
  if (IsChannelsLast(tensor, range)) {
    std::vector<T> rows(static_cast<size_t>(kTransposed * range.channels));
    for (int64_t done = 0; done < range.places; done += kTransposed) {
      const int64_t count = std::min(kTransposed, range.places - done);
      TurnRows(from + done, range.places, rows.data(), range.channels, range.channels, count);
      for (int64_t i = 0; i < count; ++i) {
        const int64_t offset = first + OffsetOf(tensor, range.place + done + i);
        StoreRow(tensor.type, AddressOf(tensor, offset), 1, range.channels, rows.data() + i * range.channels);
      }
    }
    return;
  }
  for (int64_t c = 0; c < range.channels; ++c) {
    const T* const plane = from + c * range.places;
    ForEachRun(tensor, first + c * tensor.strides[1], range,
               [&](DeviceAddress address, int64_t stride, int64_t count, int64_t offset) {
                 StoreRow(tensor.type, address, stride, count, plane + offset);
               });
  }
}

template <typename T>
const T* BlockInPlace(const Tensor& tensor, int64_t batch, int64_t channel) {
  constexpr ElementType kType = std::is_same_v<T, float> ? ElementType::kF32 : ElementType::kF64;
  if (tensor.type != kType || CommonStride(tensor) != 1) return nullptr;
  if (tensor.dims[1] > 1 && tensor.strides[1] != PlacesOf(tensor)) return nullptr;
  return reinterpret_cast<const T*>(AddressOf(tensor, batch * tensor.strides[0] + channel * tensor.strides[1]));
}

template <typename T>
T Activate(const ActivationForm& form, T value) {
  const auto coefficient = static_cast<T>(form.coefficient);
  const T zero{0}, one{1}, half{0.5};
  switch (form.kind) {
    case Activation::kNone:
      return value;
    case Activation::kRelu:
      return value < zero ? zero : value;  // NaN stays
    case Activation::kClippedRelu:
      return value < zero ? zero : value > coefficient ? coefficient : value;
    case Activation::kSigmoid:
      return one / (one + std::exp(-value));
    case Activation::kTanh:
      return std::tanh(value);
    case Activation::kElu:
      return value < zero ? coefficient * std::expm1(value) : value;
    case Activation::kSwish:
      return value / (one + std::exp(-coefficient * value));
    case Activation::kGelu:
      return half * value * (one + std::erf(value * static_cast<T>(0.70710678118654752)));
    case Activation::kGeluTanh:
      return half * value *
             (one + std::tanh(static_cast<T>(0.79788456080286536) *
                              (value + static_cast<T>(0.044715) * value * value * value)));
  }
  return value;
}

#define WHARF_BLOCKS(T)                                                           \
  template void LoadRow(ElementType, DeviceAddress, int64_t, int64_t, T*);        \
  template void StoreRow(ElementType, DeviceAddress, int64_t, int64_t, const T*); \
  template void LoadBlock(const Tensor&, const BlockRange&, T*);                  \
  template void StoreBlock(const Tensor&, const BlockRange&, const T*);           \
  template const T* BlockInPlace(const Tensor&, int64_t, int64_t);                \
  template T Activate(const ActivationForm&, T)
WHARF_BLOCKS(float);
WHARF_BLOCKS(double);
#undef WHARF_BLOCKS

}  // namespace wharf::device::soft
