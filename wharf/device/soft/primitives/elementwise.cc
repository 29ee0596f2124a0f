// Normalization, softmax, and what is done element by element.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "wharf/device/soft/primitives/blocks.h"
#include "wharf/device/soft/primitives/primitives.h"

namespace wharf::device::soft {
namespace {

constexpr int64_t kRow = 4096;  // elements at a time

// y = alpha * values + beta * y.
template <typename T>
void BlendBlock(const Tensor& y, const BlockRange& range, double alpha, double beta, std::vector<T>& values,
                std::vector<T>& old) {
  const size_t count = static_cast<size_t>(range.channels * range.places);
  const auto scale = static_cast<T>(alpha), keep = static_cast<T>(beta);
  if (beta != 0) {
    old.resize(count);
    LoadBlock(y, range, old.data());
  }
  for (size_t i = 0; i < count; ++i) values[i] = scale * values[i] + (beta != 0 ? keep * old[i] : T{0});
  StoreBlock(y, range, values.data());
}

Tensor ParameterAt(const Tensor& parameter, DeviceAddress address) {
  Tensor other = parameter;
  other.address = address;
  return other;
}

// --- softmax ---

// `count` values, `stride` apart.
template <typename T>
void SoftmaxOf(T* values, int64_t count, int64_t stride, bool log) {
  T most = -std::numeric_limits<T>::infinity();
  for (int64_t i = 0; i < count; ++i) most = std::max(most, values[i * stride]);
  T sum{0};
  for (int64_t i = 0; i < count; ++i) {
    T& value = values[i * stride];
    value -= most;
    const T power = std::exp(value);
    sum += power;
    if (!log) value = power;
  }
  const T log_sum = std::log(sum);
  for (int64_t i = 0; i < count; ++i) {
    T& value = values[i * stride];
    value = log ? value - log_sum : value / sum;
  }
}

// --- element by element ---

// The dimensions in which more than one element is, the result's neighbours innermost.
struct Walk {
  int inner = kTensorDims - 1;
  std::vector<int> outer;
};
Walk WalkOf(const Tensor& y) {
  Walk walk;
  int32_t least = std::numeric_limits<int32_t>::max();
  for (int i = 0; i < kTensorDims; ++i) {
    if (y.dims[i] > 1 && y.strides[i] < least) {
      least = y.strides[i];
      walk.inner = i;
    }
  }
  for (int i = 0; i < kTensorDims; ++i) {
    if (i != walk.inner) walk.outer.push_back(i);
  }
  return walk;
}

int64_t StrideIn(const Tensor& tensor, int dimension) {
  return tensor.dims[dimension] == 1 ? 0 : tensor.strides[dimension];
}

bool SameLayout(const Tensor& a, const Tensor& b) { return a.dims == b.dims && a.strides == b.strides; }

template <typename T>
T Combine(PointwiseKind kind, T a, T b) {
  switch (kind) {
    case PointwiseKind::kAdd:
      return a + b;
    case PointwiseKind::kMultiply:
      return a * b;
    case PointwiseKind::kMin:
      return std::min(a, b);
    case PointwiseKind::kMax:
      return std::max(a, b);
    case PointwiseKind::kSubtract:
      return a - b;
    case PointwiseKind::kDivide:
      return a / b;
    case PointwiseKind::kSqrt:
      return std::sqrt(a);
    case PointwiseKind::kConstant:
    case PointwiseKind::kFirst:
      return a;
  }
  return a;
}

template <typename T>
class PointwiseRun {
 public:
  explicit PointwiseRun(const Pointwise& p) : p_(p), a_(kRow), b_(kRow), old_(kRow) {
    std::fill(a_.begin(), a_.end(), static_cast<T>(p.alpha_a));
  }

  void Run() {
    if (IsFlat()) return RunRow({0, 0, 0}, 1, 1, 1, p_.y.Volume());
    const Walk walk = WalkOf(p_.y);
    std::vector<int64_t> at(walk.outer.size(), 0);
    while (true) {
      Offsets offsets;
      for (size_t i = 0; i < at.size(); ++i) {
        offsets.a += at[i] * StrideIn(p_.a, walk.outer[i]);
        offsets.b += at[i] * StrideIn(p_.b, walk.outer[i]);
        offsets.y += at[i] * StrideIn(p_.y, walk.outer[i]);
      }
      RunRow(offsets, StrideIn(p_.a, walk.inner), StrideIn(p_.b, walk.inner), StrideIn(p_.y, walk.inner),
             p_.y.dims[walk.inner]);
      size_t i = at.size();
      while (i > 0 && ++at[i - 1] == p_.y.dims[walk.outer[i - 1]]) at[--i] = 0;
      if (i == 0) return;
    }
  }

 private:
  struct Offsets {
    int64_t a = 0, b = 0, y = 0;
  };

  // All lie alike and without gaps: then their order does not matter.
  bool IsFlat() const {
    const bool packed = static_cast<uint64_t>(p_.y.Volume()) * ElementBytes(p_.y.type) == p_.y.Bytes();
    return packed && (!HasFirst(p_.kind) || SameLayout(p_.a, p_.y)) && (!HasSecond(p_.kind) || SameLayout(p_.b, p_.y));
  }

  static DeviceAddress Place(const Tensor& tensor, int64_t offset) {
    return tensor.address + static_cast<uint64_t>(offset) * ElementBytes(tensor.type);
  }

  static void LoadScaled(const Tensor& tensor, int64_t offset, int64_t stride, int64_t count, double scale,
                         std::vector<T>& to) {
    LoadRow(tensor.type, Place(tensor, offset), stride, count, to.data());
    const auto factor = static_cast<T>(scale);
    for (int64_t i = 0; i < count; ++i) to[i] *= factor;
  }

  void RunRow(const Offsets& offsets, int64_t stride_a, int64_t stride_b, int64_t stride_y, int64_t count) {
    const auto alpha = static_cast<T>(p_.alpha), beta = static_cast<T>(p_.beta);
    for (int64_t done = 0; done < count; done += kRow) {
      const int64_t now = std::min(kRow, count - done), at_y = offsets.y + done * stride_y;
      if (HasFirst(p_.kind)) LoadScaled(p_.a, offsets.a + done * stride_a, stride_a, now, p_.alpha_a, a_);
      if (HasSecond(p_.kind)) LoadScaled(p_.b, offsets.b + done * stride_b, stride_b, now, p_.alpha_b, b_);
      if (p_.beta != 0) LoadRow(p_.y.type, Place(p_.y, at_y), stride_y, now, old_.data());
      for (int64_t i = 0; i < now; ++i) {
        const T value = alpha * Activate(p_.activation, Combine(p_.kind, a_[i], b_[i]));
        old_[i] = p_.beta != 0 ? value + beta * old_[i] : value;
      }
      StoreRow(p_.y.type, Place(p_.y, at_y), stride_y, now, old_.data());
    }
  }

  const Pointwise& p_;
  std::vector<T> a_, b_, old_;
};

}  // namespace

template <typename T>
void Normalize(const BatchNorm& n) {
  const int64_t channels = n.x.dims[1], places = PlacesOf(n.x), parameter_places = PlacesOf(n.scale);
  const int64_t at_once = std::clamp<int64_t>(kScratchElements / channels, 1, places);
  std::vector<T> values(static_cast<size_t>(channels * at_once)), old;
  const DeviceAddress addresses[] = {n.scale.address, n.shift, n.mean, n.variance};
  std::vector<T> parameters[4];
  for (int64_t place = 0; place < places; place += at_once) {
    const int64_t count = std::min(at_once, places - place);
    const bool by_place = parameter_places > 1 || places == 1;
    const BlockRange of_parameters{0, 0, channels, by_place ? place : 0, by_place ? count : 1};
    for (int i = 0; i < 4; ++i) {
      parameters[i].resize(static_cast<size_t>(channels * of_parameters.places));
      LoadBlock(ParameterAt(n.scale, addresses[i]), of_parameters, parameters[i].data());
    }
    for (int64_t batch = 0; batch < n.x.dims[0]; ++batch) {
      const BlockRange range{batch, 0, channels, place, count};
      LoadBlock(n.x, range, values.data());
      for (int64_t i = 0; i < channels * count; ++i) {
        const int64_t at = by_place ? i : i / count;
        values[i] = parameters[0][at] * (values[i] - parameters[2][at]) /
                        std::sqrt(parameters[3][at] + static_cast<T>(n.epsilon)) +
                    parameters[1][at];
      }
      BlendBlock(n.y, range, n.alpha, n.beta, values, old);
    }
  }
}
template void Normalize<float>(const BatchNorm&);
template void Normalize<double>(const BatchNorm&);

template <typename T>
void RunSoftmax(const Softmax& s) {
  const int64_t channels = s.x.dims[1], places = PlacesOf(s.x);
  const int64_t at_once = s.over_all ? places : std::clamp<int64_t>(kScratchElements / channels, 1, places);
  std::vector<T> values(static_cast<size_t>(channels * at_once)), old;
  for (int64_t batch = 0; batch < s.x.dims[0]; ++batch) {
    for (int64_t place = 0; place < places; place += at_once) {
      const BlockRange range{batch, 0, channels, place, std::min(at_once, places - place)};
      LoadBlock(s.x, range, values.data());
      if (s.over_all) {
        SoftmaxOf(values.data(), channels * range.places, 1, s.log);
      } else {
        for (int64_t i = 0; i < range.places; ++i) SoftmaxOf(values.data() + i, channels, range.places, s.log);
      }
      BlendBlock(s.y, range, s.alpha, s.beta, values, old);
    }
  }
}
template void RunSoftmax<float>(const Softmax&);
template void RunSoftmax<double>(const Softmax&);

template <typename T>
void RunPointwise(const Pointwise& pointwise) {
  PointwiseRun<T>(pointwise).Run();
}
template void RunPointwise<float>(const Pointwise&);
template void RunPointwise<double>(const Pointwise&);

}  // namespace wharf::device::soft
