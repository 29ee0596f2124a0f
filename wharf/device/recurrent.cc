#include "wharf/device/recurrent.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "wharf/device/cuda_error.h"

namespace wharf::device {
namespace {

constexpr int64_t kMostElements = std::numeric_limits<int32_t>::max();
constexpr int32_t kMostLayers = 1024;
// Lengths travel with every run.
constexpr size_t kMostLengths = size_t{1} << 16;
// Of the matrices of one layer's gates, and of one sequence's outputs of a layer, which devices may have to copy.
constexpr int64_t kMostMatrix = int64_t{1} << 27, kMostSequence = int64_t{1} << 26;

absl::Status CheckSizes(const Recurrent& r) {
  for (const int32_t size : {r.inputs, r.hidden, r.outputs, r.layers, r.steps, r.batch}) {
    if (size < 1) return CudaStatus(CudaError::kInvalidValue, "a size of {}", size);
  }
  if (r.outputs > r.hidden || (r.Projects() && r.cell != RecurrentCell::kLstm)) {
    return CudaStatus(CudaError::kInvalidValue, "{} outputs of {} hidden ones", r.outputs, r.hidden);
  }
  if (r.skips_input && r.inputs != r.hidden) {
    return CudaStatus(CudaError::kInvalidValue, "{} inputs without a matrix for {} hidden ones", r.inputs, r.hidden);
  }
  if (r.layers > kMostLayers) return CudaStatus(CudaError::kNotSupported, "{} layers", r.layers);
  const int64_t widest = std::max<int64_t>(r.inputs, int64_t{r.Directions()} * r.outputs);
  if (widest > kMostMatrix || widest * r.hidden > kMostMatrix || widest * r.hidden * r.Gates() > kMostMatrix) {
    return CudaStatus(CudaError::kNotSupported, "matrices of {} gates of {} by {}", r.Gates(), r.hidden, widest);
  }
  return absl::OkStatus();
}

absl::Status CheckLengths(const Recurrent& r) {
  if (r.lengths.empty()) return absl::OkStatus();
  if (r.lengths.size() > kMostLengths) return CudaStatus(CudaError::kNotSupported, "{} lengths", r.lengths.size());
  if (r.lengths.size() != static_cast<size_t>(r.batch)) {
    return CudaStatus(CudaError::kInvalidValue, "{} lengths of {} sequences", r.lengths.size(), r.batch);
  }
  const auto [least, most] = std::minmax_element(r.lengths.begin(), r.lengths.end());
  if (*least < 0 || *most > r.steps || *most < 1) {
    return CudaStatus(CudaError::kInvalidValue, "sequences of {} to {} of {} steps", *least, *most, r.steps);
  }
  if (r.layout == SequenceLayout::kPacked && !std::is_sorted(r.lengths.rbegin(), r.lengths.rend())) {
    return CudaStatus(CudaError::kInvalidValue, "packed sequences, not the longest first");
  }
  return absl::OkStatus();
}

}  // namespace

int32_t Recurrent::LongestSequence() const {
  return lengths.empty() ? steps : *std::max_element(lengths.begin(), lengths.end());
}

int64_t Recurrent::Rows() const {
  if (layout != SequenceLayout::kPacked || lengths.empty()) return int64_t{steps} * batch;
  return std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
}

absl::Status CheckShape(const Recurrent& r) {
  if (r.cell > RecurrentCell::kGru || r.bias > RecurrentBias::kState || r.layout > SequenceLayout::kSequencesFirst) {
    return CudaStatus(CudaError::kNotSupported, "there is no cell {}, bias {} or layout {}", static_cast<int>(r.cell),
                      static_cast<int>(r.bias), static_cast<int>(r.layout));
  }
  WHARF_RETURN_IF_ERROR(CheckSizes(r));
  WHARF_RETURN_IF_ERROR(CheckLengths(r));
  // Sizes are below 2^31, and rows and widths below 2^31 and 2^28 once their products are looked at.
  const int64_t places = int64_t{r.steps} * r.batch, width = int64_t{r.Directions()} * r.outputs;
  const int64_t states = int64_t{r.layers} * r.Directions() * r.hidden;
  if (places > kMostElements || places * std::max<int64_t>(r.inputs, width) > kMostElements || states > kMostElements ||
      states * r.batch > kMostElements) {
    return CudaStatus(CudaError::kNotSupported, "{} sequences of {} steps: more elements than are counted", r.batch,
                      r.steps);
  }
  if (width * r.LongestSequence() > kMostSequence) {
    return CudaStatus(CudaError::kNotSupported, "a sequence of {} steps of {}", r.LongestSequence(), width);
  }
  return absl::OkStatus();
}

RecurrentWeights::RecurrentWeights(const Recurrent& r)
    : gates_(r.Gates()),
      directions_(r.Directions()),
      layers_(r.layers),
      inputs_(r.inputs),
      hidden_(r.hidden),
      outputs_(r.outputs),
      skips_input_(r.skips_input),
      projects_(r.Projects()),
      input_bias_(r.bias == RecurrentBias::kInput || r.bias == RecurrentBias::kBoth),
      state_bias_(r.bias == RecurrentBias::kState || r.bias == RecurrentBias::kBoth) {}

int32_t RecurrentWeights::Layers() const { return layers_ * directions_; }

int64_t RecurrentWeights::MatrixElements(int32_t layer) const {
  const int64_t inputs = skips_input_ && layer < directions_ ? 0 : InputsOf(layer);
  return int64_t{gates_} * hidden_ * (inputs + outputs_) + (projects_ ? int64_t{outputs_} * hidden_ : 0);
}

int64_t RecurrentWeights::MatricesBefore(int32_t layer) const {
  const int32_t first = std::min(layer, directions_);
  return first * MatrixElements(0) + int64_t{layer - first} * MatrixElements(directions_);
}

int64_t RecurrentWeights::BiasElements() const {
  return int64_t{gates_} * hidden_ * ((input_bias_ ? 1 : 0) + (state_bias_ ? 1 : 0));
}

int64_t RecurrentWeights::Elements() const { return MatricesBefore(Layers()) + Layers() * BiasElements(); }

RecurrentWeights::Part RecurrentWeights::Matrix(int32_t layer, int32_t id) const {
  if (id < 0 || id >= Matrices()) return {};
  const bool skips = skips_input_ && layer < directions_;
  const int64_t of_inputs = skips ? 0 : int64_t{hidden_} * InputsOf(layer), of_state = int64_t{hidden_} * outputs_;
  const int64_t begin = MatricesBefore(layer);
  if (id < gates_) return skips ? Part{} : Part{begin + id * of_inputs, hidden_, InputsOf(layer)};
  const int64_t states = begin + gates_ * of_inputs;
  if (id < 2 * gates_) return {states + (id - gates_) * of_state, hidden_, outputs_};
  return {states + gates_ * of_state, outputs_, hidden_};
}

RecurrentWeights::Part RecurrentWeights::Bias(int32_t layer, int32_t id) const {
  if (id < 0 || id >= 2 * gates_ || !(id < gates_ ? input_bias_ : state_bias_)) return {};
  const int64_t begin = MatricesBefore(Layers()) + layer * BiasElements();
  const int32_t before = id < gates_ || input_bias_ ? id : id - gates_;
  return {begin + int64_t{before} * hidden_, hidden_, 1};
}

}  // namespace wharf::device
