// Recurrent networks: some sequences at a time, layer by layer and, within a layer, direction by direction. The
// products of a layer's inputs are made for many steps at once; those of its state step by step. Sequences that are
// shorter than others are computed along with them, but their states stay as they are and nothing of it is kept.
#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "wharf/device/soft/primitives/blocks.h"
#include "wharf/device/soft/primitives/primitives.h"

namespace wharf::device::soft {
namespace {

// Row major: c += a * b', without gaps.
template <typename T>
void AddProduct(int64_t m, int64_t n, int64_t k, const T* a, const T* b, T* c) {
  const auto im = static_cast<blasint>(m), in = static_cast<blasint>(n), ik = static_cast<blasint>(k);
  if constexpr (std::is_same_v<T, float>) {
    if (m == 1) return cblas_sgemv(CblasRowMajor, CblasNoTrans, in, ik, 1.0F, b, ik, a, 1, 1.0F, c, 1);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, im, in, ik, 1.0F, a, ik, b, ik, 1.0F, c, in);
  } else {
    if (m == 1) return cblas_dgemv(CblasRowMajor, CblasNoTrans, in, ik, 1.0, b, ik, a, 1, 1.0, c, 1);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, im, in, ik, 1.0, a, ik, b, ik, 1.0, c, in);
  }
}

template <typename T>
T Sigmoid(T value) {
  return T{1} / (T{1} + std::exp(-value));
}

template <typename T>
class RecurrentRun {
 public:
  explicit RecurrentRun(const Recurrent& r)
      : r_(r),
        weights_(r),
        is_gru_(r.cell == RecurrentCell::kGru),
        gates_(int64_t{r.Gates()} * r.hidden),
        width_(int64_t{r.Directions()} * r.outputs),
        steps_(r.LongestSequence()),
        at_once_(std::clamp<int64_t>(kScratchElements / std::max({steps_ * width_, gates_, int64_t{r.inputs}}), 1,
                                     r.batch)) {
    if (r.layout != SequenceLayout::kPacked || r.lengths.empty()) return;
    // Where the vectors of each step begin: there is one for each sequence that has it.
    rows_.resize(static_cast<size_t>(steps_) + 1);
    int64_t sequences = r.batch;
    for (int64_t step = 0; step < steps_; ++step) {
      while (r.lengths[sequences - 1] <= step) --sequences;
      rows_[step + 1] = rows_[step] + sequences;
    }
  }

  void Run() {
    for (first_ = 0; first_ < r_.batch; first_ += count_) {
      count_ = std::min<int64_t>(at_once_, r_.batch - first_);
      for (int32_t layer = 0; layer < r_.layers; ++layer) {
        below_.swap(outputs_);
        outputs_.assign(static_cast<size_t>(steps_ * count_ * width_), T{0});
        for (int32_t direction = 0; direction < r_.Directions(); ++direction) RunLayer(layer, direction);
      }
      StoreOutputs();
    }
  }

 private:
  DeviceAddress Place(DeviceAddress base, int64_t elements) const {
    return base + static_cast<uint64_t>(elements) * ElementBytes(r_.type);
  }
  // The row of x and y.
  int64_t RowOf(int64_t step, int64_t sequence) const {
    if (!rows_.empty()) return rows_[step] + sequence;
    return r_.layout == SequenceLayout::kSequencesFirst ? sequence * r_.steps + step : step * r_.batch + sequence;
  }
  bool Has(int64_t sequence, int64_t step) const { return step < r_.LengthOf(static_cast<int32_t>(sequence)); }

  // In memory as it is, if that is what is computed with.
  const T* Weights(int64_t offset, int64_t count, std::vector<T>& room) const {
    const DeviceAddress place = Place(r_.weights, offset);
    if (r_.type == (std::is_same_v<T, float> ? ElementType::kF32 : ElementType::kF64)) {
      return reinterpret_cast<const T*>(place);
    }
    room.resize(static_cast<size_t>(count));
    LoadRow(r_.type, place, 1, count, room.data());
    return room.data();
  }
  const T* Matrices(int32_t layer, int32_t id, int32_t count, std::vector<T>& room) const {
    const RecurrentWeights::Part part = weights_.Matrix(layer, id);
    return part.rows == 0 ? nullptr : Weights(part.offset, part.Elements() * count, room);
  }
  // Of all gates; zeros where there are none. A GRU's of the state are apart.
  std::vector<T> Biases(int32_t layer, int32_t id) const {
    std::vector<T> biases(static_cast<size_t>(gates_));
    const RecurrentWeights::Part part = weights_.Bias(layer, id);
    if (part.rows > 0) LoadRow(r_.type, Place(r_.weights, part.offset), 1, gates_, biases.data());
    return biases;
  }
  void LoadState(DeviceAddress from, int32_t layer, int64_t size, std::vector<T>& state) const {
    state.assign(static_cast<size_t>(count_ * size), T{0});
    if (from != 0) LoadRow(r_.type, StateOf(from, layer, size), 1, count_ * size, state.data());
  }
  void StoreState(DeviceAddress to, int32_t layer, int64_t size, const std::vector<T>& state) const {
    if (to != 0) StoreRow(r_.type, StateOf(to, layer, size), 1, count_ * size, state.data());
  }
  DeviceAddress StateOf(DeviceAddress base, int32_t layer, int64_t size) const {
    return Place(base, (int64_t{layer} * r_.batch + first_) * size);
  }

  void RunLayer(int32_t layer, int32_t direction) {
    const int32_t number = layer * r_.Directions() + direction;  // of the layer and direction
    of_input_ = Matrices(number, 0, r_.Gates(), input_room_);
    of_state_ = Matrices(number, r_.Gates(), r_.Gates(), state_room_);
    projection_ = r_.Projects() ? Matrices(number, 2 * r_.Gates(), 1, projection_room_) : nullptr;
    input_biases_ = Biases(number, 0);
    state_biases_ = Biases(number, r_.Gates());
    if (!is_gru_) {
      for (int64_t i = 0; i < gates_; ++i) input_biases_[i] += state_biases_[i];
    }
    LoadState(r_.hx, number, r_.outputs, h_);
    if (r_.cell == RecurrentCell::kLstm) LoadState(r_.cx, number, r_.hidden, c_);
    hidden_.resize(static_cast<size_t>(count_ * r_.hidden));
    const int64_t inputs = layer == 0 ? r_.inputs : width_;
    const int64_t steps = std::clamp<int64_t>(kScratchElements / (count_ * std::max(gates_, inputs)), 1, steps_);
    for (int64_t done = 0; done < steps_; done += steps) {
      const int64_t now = std::min(steps, steps_ - done), begin = direction == 0 ? done : steps_ - done - now;
      MultiplyInputs(layer, begin, now, inputs);
      for (int64_t i = 0; i < now; ++i) {
        const int64_t at = direction == 0 ? i : now - 1 - i;
        Step(begin + at, sums_.data() + at * count_ * gates_, direction);
      }
    }
    StoreState(r_.hy, number, r_.outputs, h_);
    if (r_.cell == RecurrentCell::kLstm) StoreState(r_.cy, number, r_.hidden, c_);
  }

  // sums_ for `steps` steps from `begin` on: a row for each step and sequence.
  void MultiplyInputs(int32_t layer, int64_t begin, int64_t steps, int64_t inputs) {
    const int64_t rows = steps * count_;
    const T* from = nullptr;
    if (layer > 0) {
      from = below_.data() + begin * count_ * width_;
    } else {
      inputs_.assign(static_cast<size_t>(rows * inputs), T{0});
      for (int64_t row = 0; row < rows; ++row) {
        const int64_t step = begin + row / count_, sequence = first_ + row % count_;
        if (!Has(sequence, step)) continue;
        LoadRow(r_.type, Place(r_.x, RowOf(step, sequence) * inputs), 1, inputs, inputs_.data() + row * inputs);
      }
      from = inputs_.data();
    }
    sums_.resize(static_cast<size_t>(rows * gates_));
    for (int64_t row = 0; row < rows; ++row) {
      T* const sums = sums_.data() + row * gates_;
      std::copy(input_biases_.begin(), input_biases_.end(), sums);
      for (int64_t i = 0; of_input_ == nullptr && i < gates_; ++i) sums[i] += from[row * inputs + i % inputs];
    }
    if (of_input_ != nullptr) AddProduct(rows, gates_, inputs, from, of_input_, sums_.data());
  }

  void Step(int64_t step, T* sums, int32_t direction) {
    if (is_gru_) {
      state_sums_.resize(static_cast<size_t>(count_ * gates_));
      for (int64_t i = 0; i < count_; ++i) {
        std::copy(state_biases_.begin(), state_biases_.end(), state_sums_.data() + i * gates_);
      }
    }
    T* const of_state = is_gru_ ? state_sums_.data() : sums;
    AddProduct(count_, gates_, int64_t{r_.outputs}, h_.data(), of_state_, of_state);
    for (int64_t i = 0; i < count_; ++i) {
      if (Has(first_ + i, step)) Cell(i, sums + i * gates_, of_state + i * gates_);
    }
    if (projection_ != nullptr) {
      projected_.assign(static_cast<size_t>(count_ * r_.outputs), T{0});
      AddProduct(count_, int64_t{r_.outputs}, int64_t{r_.hidden}, hidden_.data(), projection_, projected_.data());
    }
    const std::vector<T>& results = projection_ != nullptr ? projected_ : hidden_;
    for (int64_t i = 0; i < count_; ++i) {
      if (!Has(first_ + i, step)) continue;
      const T* const result = results.data() + i * r_.outputs;
      std::copy_n(result, r_.outputs, h_.data() + i * r_.outputs);
      std::copy_n(result, r_.outputs, outputs_.data() + (step * count_ + i) * width_ + direction * r_.outputs);
    }
  }

  // The new hidden_ of sequence i of those that are computed now, and c_.
  void Cell(int64_t i, const T* sums, const T* of_state) {
    const int64_t size = r_.hidden;
    T* const hidden = hidden_.data() + i * size;
    switch (r_.cell) {
      case RecurrentCell::kRelu:
        for (int64_t j = 0; j < size; ++j) hidden[j] = Activate(ActivationForm{Activation::kRelu}, sums[j]);
        return;
      case RecurrentCell::kTanh:
        for (int64_t j = 0; j < size; ++j) hidden[j] = std::tanh(sums[j]);
        return;
      case RecurrentCell::kLstm:
        for (int64_t j = 0; j < size; ++j) {
          T& c = c_[i * size + j];
          c = Sigmoid(sums[size + j]) * c + Sigmoid(sums[j]) * std::tanh(sums[2 * size + j]);
          hidden[j] = Sigmoid(sums[3 * size + j]) * std::tanh(c);
        }
        return;
      case RecurrentCell::kGru:
        for (int64_t j = 0; j < size; ++j) {
          const T reset = Sigmoid(sums[j] + of_state[j]), keep = Sigmoid(sums[size + j] + of_state[size + j]);
          const T fresh = std::tanh(sums[2 * size + j] + reset * of_state[2 * size + j]);
          hidden[j] = (T{1} - keep) * fresh + keep * h_[i * size + j];
        }
        return;
    }
  }

  void StoreOutputs() {
    const std::vector<T> filling(r_.fills ? static_cast<size_t>(width_) : 0, static_cast<T>(r_.filling));
    const int64_t steps = r_.fills && rows_.empty() ? r_.steps : steps_;
    for (int64_t step = 0; step < steps; ++step) {
      for (int64_t i = 0; i < count_; ++i) {
        const bool has = Has(first_ + i, step);
        if (!has && (!r_.fills || !rows_.empty())) continue;
        StoreRow(r_.type, Place(r_.y, RowOf(step, first_ + i) * width_), 1, width_,
                 has ? outputs_.data() + (step * count_ + i) * width_ : filling.data());
      }
    }
  }

  const Recurrent& r_;
  const RecurrentWeights weights_;
  const bool is_gru_;
  const int64_t gates_, width_;  // elements of all gates, and of a vector of y
  const int64_t steps_;          // of the longest sequence
  const int64_t at_once_;        // sequences
  std::vector<int64_t> rows_;    // of packed sequences of different lengths
  int64_t first_ = 0, count_ = 0;
  const T *of_input_ = nullptr, *of_state_ = nullptr, *projection_ = nullptr;
  std::vector<T> input_room_, state_room_, projection_room_, input_biases_, state_biases_;
  std::vector<T> below_, outputs_, inputs_, sums_, state_sums_, hidden_, projected_, h_, c_;
};

}  // namespace

template <typename T>
void RunRecurrent(const Recurrent& network) {
  RecurrentRun<T>(network).Run();
}
template void RunRecurrent<float>(const Recurrent&);
template void RunRecurrent<double>(const Recurrent&);

}  // namespace wharf::device::soft
