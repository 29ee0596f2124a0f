#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "wharf/device/soft/primitives/blocks.h"
#include "wharf/device/soft/primitives/primitives.h"

namespace wharf::device::soft {
namespace {

// The part of a window that lies on the input, along one dimension.
struct Span {
  int64_t begin, end;
};
Span SpanOf(const Pooling& p, int dimension, int64_t place) {
  const int64_t first = place * p.stride[dimension] - p.padding[dimension];
  return {std::max<int64_t>(first, 0), std::min<int64_t>(first + p.window[dimension], p.x.dims[dimension + 2])};
}

template <typename T, typename Visit>
void ForEachIn(const Pooling& p, const T* plane, const Span (&spans)[kSpatialDims], const Visit& visit) {
  for (int64_t z = spans[0].begin; z < spans[0].end; ++z) {
    for (int64_t y = spans[1].begin; y < spans[1].end; ++y) {
      const T* const row = plane + (z * p.x.dims[3] + y) * p.x.dims[4];
      for (int64_t x = spans[2].begin; x < spans[2].end; ++x) visit(row[x]);
    }
  }
}

template <typename T>
T Pooled(const Pooling& p, const T* plane, const Span (&spans)[kSpatialDims]) {
  if (p.kind == PoolingKind::kMax) {
    T most = -std::numeric_limits<T>::infinity();
    bool nan = false;
    ForEachIn(p, plane, spans, [&](T value) {
      nan |= std::isnan(value);
      most = value > most ? value : most;
    });
    return nan && p.propagates_nan ? std::numeric_limits<T>::quiet_NaN() : most;
  }
  T sum{0};
  ForEachIn(p, plane, spans, [&](T value) { sum += value; });
  int64_t count = 1;
  for (int i = 0; i < kSpatialDims; ++i) {
    count *= p.kind == PoolingKind::kAverageWithPadding ? p.window[i] : spans[i].end - spans[i].begin;
  }
  return sum / static_cast<T>(count);
}

template <typename T>
void PoolPlane(const Pooling& p, const T* plane, T* to) {
  for (int64_t z = 0; z < p.y.dims[2]; ++z) {
    for (int64_t y = 0; y < p.y.dims[3]; ++y) {
      for (int64_t x = 0; x < p.y.dims[4]; ++x) {
        const Span spans[kSpatialDims] = {SpanOf(p, 0, z), SpanOf(p, 1, y), SpanOf(p, 2, x)};
        *to++ = Pooled(p, plane, spans);
      }
    }
  }
}

}  // namespace

template <typename T>
void Pool(const Pooling& p) {
  const int64_t channels = p.x.dims[1], in = PlacesOf(p.x), out = PlacesOf(p.y);
  const int64_t at_once = std::clamp<int64_t>(kScratchElements / std::max(in, out), 1, channels);
  std::vector<T> from(static_cast<size_t>(at_once * in)), to(static_cast<size_t>(at_once * out));
  std::vector<T> old(p.beta != 0 ? to.size() : 0);
  const auto alpha = static_cast<T>(p.alpha), beta = static_cast<T>(p.beta);
  for (int64_t batch = 0; batch < p.x.dims[0]; ++batch) {
    for (int64_t channel = 0; channel < channels; channel += at_once) {
      const int64_t count = std::min(at_once, channels - channel);
      LoadBlock(p.x, {batch, channel, count, 0, in}, from.data());
      for (int64_t c = 0; c < count; ++c) PoolPlane(p, from.data() + c * in, to.data() + c * out);
      const BlockRange range{batch, channel, count, 0, out};
      if (p.beta != 0) LoadBlock(p.y, range, old.data());
      for (int64_t i = 0; i < count * out; ++i) to[i] = alpha * to[i] + (p.beta != 0 ? beta * old[i] : T{0});
      StoreBlock(p.y, range, to.data());
    }
  }
}
template void Pool<float>(const Pooling&);
template void Pool<double>(const Pooling&);

}  // namespace wharf::device::soft
