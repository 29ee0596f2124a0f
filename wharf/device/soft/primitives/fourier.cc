// Fourier transforms: dimension by dimension, line by line. The first dimension goes from input to result, the others
// are transformed where they are; from complex to real the last one does, so that the input is overwritten.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "wharf/device/soft/primitives/blocks.h"
#include "wharf/device/soft/primitives/fourier_line.h"
#include "wharf/device/soft/primitives/primitives.h"

namespace wharf::device::soft {
namespace {

constexpr int kAxes = kFourierDims + 1;  // the batch, and the dimensions
constexpr int64_t kLinesAtOnce = 16;

// Lines' roots take about as long to make as a transform: those of lengths that were used are kept, a few megabytes of
// them.
template <typename Line>
class LineStore {
 public:
  std::unique_ptr<Line> Take(int64_t length, bool inverse) {
    {
      absl::MutexLock lock(&mutex_);
      if (const auto found = lines_.find({length, inverse}); found != lines_.end()) {
        std::unique_ptr<Line> line = std::move(found->second);
        lines_.erase(found);
        bytes_ -= line->Bytes();
        return line;
      }
    }
    return std::make_unique<Line>(length, inverse);
  }
  void Keep(int64_t length, bool inverse, std::unique_ptr<Line> line) {
    constexpr int64_t kMostBytes = int64_t{4} << 20;
    const int64_t bytes = line->Bytes();
    absl::MutexLock lock(&mutex_);
    if (bytes > kMostBytes) return;
    if (bytes_ + bytes > kMostBytes) {
      lines_.clear();
      bytes_ = 0;
    }
    lines_.emplace(std::pair(length, inverse), std::move(line));
    bytes_ += bytes;
  }
  // Of the process; never destroyed.
  static LineStore& Get() {
    static auto* const store = new LineStore();
    return *store;
  }

 private:
  absl::Mutex mutex_;
  std::multimap<std::pair<int64_t, bool>, std::unique_ptr<Line>> lines_ ABSL_GUARDED_BY(mutex_);
  int64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

template <typename Line>
class KeptLine {
 public:
  KeptLine(int64_t length, bool inverse)
      : length_(length), inverse_(inverse), line_(LineStore<Line>::Get().Take(length, inverse)) {}
  ~KeptLine() { LineStore<Line>::Get().Keep(length_, inverse_, std::move(line_)); }
  KeptLine(const KeptLine&) = delete;
  KeptLine& operator=(const KeptLine&) = delete;
  Line* operator->() { return line_.get(); }

 private:
  int64_t length_;
  bool inverse_;
  std::unique_ptr<Line> line_;
};

using Counts = std::array<int64_t, kAxes>;

template <typename Element>
struct View {
  Element* data;
  Counts strides;
};

template <typename Body>
void ForEach(const Counts& counts, Body&& body) {
  Counts at{};
  for (at[0] = 0; at[0] < counts[0]; ++at[0]) {
    for (at[1] = 0; at[1] < counts[1]; ++at[1]) {
      for (at[2] = 0; at[2] < counts[2]; ++at[2]) {
        for (at[3] = 0; at[3] < counts[3]; ++at[3]) body(at);
      }
    }
  }
}

int64_t PlaceOf(const Counts& at, const Counts& strides) {
  return at[0] * strides[0] + at[1] * strides[1] + at[2] * strides[2] + at[3] * strides[3];
}

// Lines along `axis` of both views: `from_length` elements of the one, `to_length` of the other. Of the remaining axes
// there are `counts`.
template <typename From, typename To>
struct Pass {
  View<From> from;
  View<To> to;
  Counts counts;  // of one line along `axis`
  int axis;
  int64_t from_length, to_length;

  template <typename Transform>
  void Run(Transform&& transform) const {
    if (from.strides[axis] <= 1 && to.strides[axis] <= 1 &&
        static_cast<const void*>(from.data) != static_cast<const void*>(to.data)) {
      ForEach(counts, [&](const Counts& at) {
        transform(from.data + PlaceOf(at, from.strides), to.data + PlaceOf(at, to.strides));
      });
    } else {
      RunCopied(transform);
    }
  }

 private:
  // Neighbouring lines are copied together where that saves memory accesses: along the axis on which they are closest.
  int Neighbours() const {
    int nearest = axis;
    for (int other = 0; other < kAxes; ++other) {
      if (counts[other] > 1 && from.strides[other] < from.strides[nearest]) nearest = other;
    }
    return nearest;
  }
  template <typename Transform>
  void RunCopied(Transform&& transform) const {
    const int across = Neighbours();
    const int64_t neighbours = across == axis ? 1 : counts[across];
    const int64_t at_once =
        std::clamp<int64_t>(kScratchElements / std::max(from_length, to_length), 1, std::min(neighbours, kLinesAtOnce));
    std::vector<From> in(static_cast<size_t>(at_once * from_length));
    std::vector<To> out(static_cast<size_t>(at_once * to_length));
    const int64_t from_stride = from.strides[axis], to_stride = to.strides[axis];
    const int64_t from_step = from.strides[across], to_step = to.strides[across];
    Counts outer = counts;
    outer[across] = 1;
    ForEach(outer, [&](const Counts& at) {
      for (int64_t first = 0; first < neighbours; first += at_once) {
        const int64_t lines = std::min(at_once, neighbours - first);
        const From* const source = from.data + PlaceOf(at, from.strides) + first * from_step;
        To* const target = to.data + PlaceOf(at, to.strides) + first * to_step;
        for (int64_t i = 0; i < from_length; ++i) {
          for (int64_t n = 0; n < lines; ++n) in[n * from_length + i] = source[i * from_stride + n * from_step];
        }
        for (int64_t n = 0; n < lines; ++n) transform(in.data() + n * from_length, out.data() + n * to_length);
        for (int64_t i = 0; i < to_length; ++i) {
          for (int64_t n = 0; n < lines; ++n) target[i * to_stride + n * to_step] = out[n * to_length + i];
        }
      }
    });
  }
};

template <typename T>
class FourierRun {
 public:
  using Complex = std::complex<T>;
  explicit FourierRun(const Fourier& f) : f_(f) {}

  void Run() const {
    const Counts in_strides = StridesOf(f_.in, f_.InSizes(), f_.batch);
    const Counts out_strides = StridesOf(f_.out, f_.OutSizes(), f_.batch);
    const int64_t length = f_.sizes[2], half = length / 2 + 1;
    switch (f_.kind) {
      case FourierKind::kComplex: {
        const View<Complex> in{At<Complex>(f_.in), in_strides}, out{At<Complex>(f_.out), out_strides};
        TransformAlong(3, in, out, length);
        TransformAlong(2, out, out, length);
        TransformAlong(1, out, out, length);
        return;
      }
      case FourierKind::kRealToComplex: {
        const View<Complex> out{At<Complex>(f_.out), out_strides};
        KeptLine<RealLine<T>> line(length, false);
        Pass<T, Complex>{{At<T>(f_.in), in_strides}, out, CountsAcross(3, length), 3, length, half}.Run(
            [&](const T* from, Complex* to) { line->Forward(from, to); });
        TransformAlong(2, out, out, half);
        TransformAlong(1, out, out, half);
        return;
      }
      case FourierKind::kComplexToReal: {
        const View<Complex> in{At<Complex>(f_.in), in_strides};
        TransformAlong(1, in, in, half);
        TransformAlong(2, in, in, half);
        KeptLine<RealLine<T>> line(length, true);
        Pass<Complex, T>{in, {At<T>(f_.out), out_strides}, CountsAcross(3, half), 3, half, length}.Run(
            [&](const Complex* from, T* to) { line->Inverse(from, to); });
        return;
      }
    }
  }

 private:
  template <typename Element>
  static Element* At(const FourierSide& side) {
    return reinterpret_cast<Element*>(side.address);
  }
  Counts CountsAcross(int axis, int64_t innermost) const {
    Counts counts{f_.batch, f_.sizes[0], f_.sizes[1], innermost};
    counts[axis] = 1;
    return counts;
  }
  // `innermost`: elements along the last dimension. A dimension of one element is as it is, where it lies already.
  void TransformAlong(int axis, const View<Complex>& from, const View<Complex>& to, int64_t innermost) const {
    const int64_t length = axis == 3 ? innermost : f_.sizes[axis - 1];
    if (length == 1 && from.data == to.data && from.strides == to.strides) return;
    KeptLine<ComplexLine<T>> line(length, f_.IsInverse());
    Pass<Complex, Complex>{from, to, CountsAcross(axis, innermost), axis, length, length}.Run(
        [&](const Complex* source, Complex* target) { line->Run(source, target); });
  }

  const Fourier& f_;
};

}  // namespace

template <typename T>
void RunFourier(const Fourier& fourier) {
  FourierRun<T>(fourier).Run();
}
template void RunFourier<float>(const Fourier&);
template void RunFourier<double>(const Fourier&);

}  // namespace wharf::device::soft
