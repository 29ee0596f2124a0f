// Convolutions as matrix products. Forward: the filter, outputs by (inputs of a group, window), times the windows of
// the input, (inputs, window) by places of the result. Transposed: the filter's transpose times the data, added up
// where windows overlap. A tile is some places by some rows, as many as fit into scratch memory.
#include <cblas.h>

#include <algorithm>
#include <memory>
#include <type_traits>
#include <vector>

#include "wharf/device/soft/primitives/blocks.h"
#include "wharf/device/soft/primitives/primitives.h"

namespace wharf::device::soft {
namespace {

constexpr int64_t kLeastPlaces = 64;  // of a tile, as far as there are so many

// Row major: c = op(a) * b + beta * c.
template <typename T>
void Multiply(CBLAS_TRANSPOSE transpose, int64_t m, int64_t n, int64_t k, const T* a, int64_t lda, const T* b,
              int64_t ldb, T beta, T* c, int64_t ldc) {
  const auto im = static_cast<blasint>(m), in = static_cast<blasint>(n), ik = static_cast<blasint>(k);
  const auto ia = static_cast<blasint>(lda), ib = static_cast<blasint>(ldb), ic = static_cast<blasint>(ldc);
  if constexpr (std::is_same_v<T, float>) {
    cblas_sgemm(CblasRowMajor, transpose, CblasNoTrans, im, in, ik, 1.0F, a, ia, b, ib, beta, c, ic);
  } else {
    cblas_dgemm(CblasRowMajor, transpose, CblasNoTrans, im, in, ik, 1.0, a, ia, b, ib, beta, c, ic);
  }
}

// Along one dimension: which element of the input each place of the result has at one place of the window.
struct WindowLine {
  int64_t in = 1, out = 1, window = 1, padding = 0, stride = 1, dilation = 1;
  // May lie outside of [0, in).
  int64_t InputAt(int64_t place, int64_t tap) const { return place * stride - padding + tap * dilation; }
  // The places whose element is inside, within [first, last).
  std::pair<int64_t, int64_t> Inside(int64_t tap, int64_t first, int64_t last) const {
    const int64_t shift = padding - tap * dilation;  // place * stride >= shift and < in + shift
    const int64_t low = shift <= 0 ? 0 : (shift + stride - 1) / stride;
    const int64_t high = in + shift <= 0 ? 0 : (in + shift + stride - 1) / stride;
    const int64_t begin = std::clamp(low, first, last);
    return {begin, std::clamp(high, begin, last)};
  }
};

template <typename T>
class Convolver {
 public:
  explicit Convolver(const Convolution& c)
      : c_(c),
        result_(c.transposed ? c.x : c.y),
        inputs_(c.filter.dims[1]),
        outputs_(c.filter.dims[0] / c.groups),
        window_(PlacesOf(c.filter)),
        rows_(inputs_ * window_),
        places_(PlacesOf(c.y)),
        in_places_(PlacesOf(c.x)) {
    for (int i = 0; i < kSpatialDims; ++i) {
      lines_[i] = {c.x.dims[i + 2], c.y.dims[i + 2], c.filter.dims[i + 2], c.padding[i], c.stride[i], c.dilation[i]};
    }
    LoadFilter();
    if (c.bias != 0) {
      bias_.resize(static_cast<size_t>(result_.dims[1]));
      LoadRow(c.bias_type, c.bias, 1, result_.dims[1], bias_.data());
    }
    tile_places_ = std::min(places_, std::max(kLeastPlaces, kScratchElements / std::max(rows_, outputs_)));
    tile_rows_ = std::min(rows_, std::max<int64_t>(1, kScratchElements / tile_places_));
  }

  void Run() {
    for (int64_t batch = 0; batch < c_.x.dims[0]; ++batch) {
      for (int64_t group = 0; group < c_.groups; ++group) {
        c_.transposed ? RunTransposed(batch, group) : RunForward(batch, group);
      }
    }
  }

 private:
  struct Tile {
    int64_t place = 0, places = 0, row = 0, rows = 0;
  };

  // One row an output; the window turned around if that is asked for.
  void LoadFilter() {
    const bool dense = c_.filter.dims[0] == 1 || c_.filter.strides[0] == rows_;
    filter_ = c_.flipped || !dense ? nullptr : BlockInPlace<T>(c_.filter, 0, 0);
    if (filter_ != nullptr) return;
    own_filter_.resize(static_cast<size_t>(c_.filter.dims[0] * rows_));
    for (int64_t output = 0; output < c_.filter.dims[0]; ++output) {
      T* const to = own_filter_.data() + output * rows_;
      LoadBlock(c_.filter, {output, 0, inputs_, 0, window_}, to);
      if (!c_.flipped) continue;
      for (int64_t input = 0; input < inputs_; ++input) std::reverse(to + input * window_, to + (input + 1) * window_);
    }
    filter_ = own_filter_.data();
  }
  const T* FilterOf(int64_t group) const { return filter_ + group * outputs_ * rows_; }

  // The whole of it, at `pitch` a channel.
  const T* Load(const Tensor& tensor, int64_t batch, int64_t channel, int64_t channels, std::vector<T>& room) {
    if (const T* const there = BlockInPlace<T>(tensor, batch, channel)) return there;
    room.resize(static_cast<size_t>(channels * PlacesOf(tensor)));
    LoadBlock(tensor, {batch, channel, channels, 0, PlacesOf(tensor)}, room.data());
    return room.data();
  }

  bool IsOneToOne() const {
    return window_ == 1 && std::all_of(lines_.begin(), lines_.end(),
                                       [](const WindowLine& line) { return line.stride == 1 && line.padding == 0; });
  }

  void RunForward(int64_t batch, int64_t group) {
    const T* const input = Load(c_.x, batch, group * inputs_, inputs_, data_);
    sum_.resize(static_cast<size_t>(outputs_ * tile_places_));
    for (int64_t place = 0; place < places_; place += tile_places_) {
      const int64_t count = std::min(tile_places_, places_ - place);
      for (int64_t row = 0; row < rows_; row += tile_rows_) {
        const Tile tile{place, count, row, std::min(tile_rows_, rows_ - row)};
        const T* windows = input + row * in_places_ + place;
        int64_t pitch = in_places_;
        if (!IsOneToOne()) {
          LayOut(input, tile);
          windows = windows_.data();
          pitch = count;
        }
        Multiply<T>(CblasNoTrans, outputs_, count, tile.rows, FilterOf(group) + row, rows_, windows, pitch,
                    T(row == 0 ? 0 : 1), sum_.data(), count);
      }
      Finish({batch, group * outputs_, outputs_, place, count}, sum_);
    }
  }

  void RunTransposed(int64_t batch, int64_t group) {
    const T* const data = Load(c_.y, batch, group * outputs_, outputs_, data_);
    sum_.assign(static_cast<size_t>(inputs_ * in_places_), T{0});
    for (int64_t place = 0; place < places_; place += tile_places_) {
      const int64_t count = std::min(tile_places_, places_ - place);
      for (int64_t row = 0; row < rows_; row += tile_rows_) {
        const Tile tile{place, count, row, std::min(tile_rows_, rows_ - row)};
        windows_.resize(static_cast<size_t>(tile.rows * count));
        Multiply<T>(CblasTrans, tile.rows, count, outputs_, FilterOf(group) + row, rows_, data + place, places_, T{0},
                    windows_.data(), count);
        AddUp(tile);
      }
    }
    Finish({batch, group * inputs_, inputs_, 0, in_places_}, sum_);
  }

  // Calls line(window's elements, input's offset or -1, places, where inside begins and ends, tap) for each line of
  // places of each row of the tile.
  template <typename Line>
  void ForEachLine(const Tile& tile, const Line& line) const {
    const WindowLine &deep = lines_[0], &high = lines_[1], &wide = lines_[2];
    for (int64_t r = 0; r < tile.rows; ++r) {
      const int64_t row = tile.row + r, tap = row % window_;
      const int64_t tap_x = tap % wide.window, tap_y = tap / wide.window % high.window;
      const int64_t tap_z = tap / (wide.window * high.window);
      const int64_t plane = row / window_ * in_places_;
      for (int64_t done = 0; done < tile.places;) {
        const int64_t place = tile.place + done, x = place % wide.out;
        const int64_t count = std::min(wide.out - x, tile.places - done);
        const int64_t in_y = high.InputAt(place / wide.out % high.out, tap_y);
        const int64_t in_z = deep.InputAt(place / (wide.out * high.out), tap_z);
        const bool inside = in_y >= 0 && in_y < high.in && in_z >= 0 && in_z < deep.in;
        const auto [begin, end] = inside ? wide.Inside(tap_x, x, x + count) : std::pair<int64_t, int64_t>(x, x);
        const int64_t from = plane + (in_z * high.in + in_y) * wide.in + wide.InputAt(begin, tap_x);
        line(r * tile.places + done, from, count, begin - x, end - x);
        done += count;
      }
    }
  }

  // The input's windows: a row for each row of the tile, its places one after the other.
  void LayOut(const T* input, const Tile& tile) {
    windows_.resize(static_cast<size_t>(tile.rows * tile.places));
    const int64_t stride = lines_[2].stride;
    ForEachLine(tile, [&](int64_t to, int64_t from, int64_t count, int64_t begin, int64_t end) {
      T* const row = windows_.data() + to;
      std::fill(row, row + begin, T{0});
      if (stride == 1 && begin < end) {
        std::copy_n(input + from, end - begin, row + begin);
      } else {
        for (int64_t i = begin; i < end; ++i) row[i] = input[from + (i - begin) * stride];
      }
      std::fill(row + end, row + count, T{0});
    });
  }

  // The reverse: adds each element to the input it came from.
  void AddUp(const Tile& tile) {
    const int64_t stride = lines_[2].stride;
    ForEachLine(tile, [&](int64_t at, int64_t to, int64_t, int64_t begin, int64_t end) {
      const T* const row = windows_.data() + at;
      for (int64_t i = begin; i < end; ++i) sum_[to + (i - begin) * stride] += row[i];
    });
  }

  void Finish(const BlockRange& range, std::vector<T>& block) {
    const bool adds = c_.added.address != 0 && c_.beta != 0;
    const auto alpha = static_cast<T>(c_.alpha), beta = static_cast<T>(c_.beta);
    if (adds) {
      added_.resize(static_cast<size_t>(range.channels * range.places));
      LoadBlock(c_.added, range, added_.data());
    }
    const bool plain = !adds && bias_.empty() && c_.alpha == 1 && c_.activation.kind == Activation::kNone;
    for (int64_t channel = 0; channel < range.channels && !plain; ++channel) {
      T* const row = block.data() + channel * range.places;
      const T* const more = adds ? added_.data() + channel * range.places : nullptr;
      const T bias = bias_.empty() ? T{0} : bias_[range.channel + channel];
      for (int64_t i = 0; i < range.places; ++i) {
        row[i] = Activate(c_.activation, alpha * row[i] + (adds ? beta * more[i] : T{0}) + bias);
      }
    }
    StoreBlock(result_, range, block.data());
  }

  const Convolution& c_;
  const Tensor& result_;
  const int64_t inputs_, outputs_;  // of a group
  const int64_t window_, rows_;     // places of the window; inputs_ * window_
  const int64_t places_, in_places_;
  std::array<WindowLine, kSpatialDims> lines_;
  int64_t tile_places_ = 0, tile_rows_ = 0;
  const T* filter_ = nullptr;
  std::vector<T> own_filter_, bias_, data_, windows_, sum_, added_;
};

}  // namespace

template <typename T>
void Convolve(const Convolution& convolution) {
  Convolver<T>(convolution).Run();
}
template void Convolve<float>(const Convolution&);
template void Convolve<double>(const Convolution&);

}  // namespace wharf::device::soft
