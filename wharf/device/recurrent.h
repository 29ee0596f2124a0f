// Recurrent networks as cuDNN has them: some layers, each in one direction or both, over a batch of sequences. What
// they compute of a step's input x and the state h (and c) before it, with W and R the matrices of the input and the
// state:
//
//   ReLU, tanh  h' = f(W x + R h + b)
//   LSTM        i, f, o = sigmoid(W x + R h + b) each, g = tanh(W x + R h + b); c' = f c + i g; h' = o tanh(c'), which
//               a projection makes shorter: h' = P (o tanh(c'))
//   GRU         r, z = sigmoid(W x + R h + b) each, n = tanh(W x + b + r (R h + b)); h' = (1 - z) n + z h
//
// A layer's input is the sequence of the outputs of the layer below; of both directions, one behind the other.
#pragma once

#include <cstdint>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/device/element_type.h"

namespace wharf::device {

using DeviceAddress = uint64_t;

enum class RecurrentCell : uint8_t { kRelu, kTanh, kLstm, kGru };
// Which of the two biases in every sum there are.
enum class RecurrentBias : uint8_t { kNone, kInput, kBoth, kState };
// Where a sequence's steps are: [steps, batch], [steps, sequences that are so long], [batch, steps], of vectors.
enum class SequenceLayout : uint8_t { kStepsFirst, kPacked, kSequencesFirst };

struct Recurrent {
  RecurrentCell cell = RecurrentCell::kTanh;
  RecurrentBias bias = RecurrentBias::kBoth;
  SequenceLayout layout = SequenceLayout::kStepsFirst;  // of x and y
  bool both_directions = false;
  bool skips_input = false;  // W is the identity in the first layer, and not among the weights
  bool tf32 = true;          // as in a convolution
  bool fills = false;        // what y has behind a sequence's end gets `filling`; else it stays as it is
  double filling = 0;
  ElementType type = ElementType::kF32;  // of everything
  int32_t inputs = 1, hidden = 1;
  int32_t outputs = 1;  // of a direction: as many as hidden, or fewer, which an LSTM's projection makes of them
  int32_t layers = 1;
  int32_t steps = 1, batch = 1;  // of the longest sequence that there could be; sequences
  std::vector<int32_t> lengths;  // of each sequence; none: all have all steps. Packed: the longest first
  DeviceAddress x = 0, y = 0, weights = 0;
  DeviceAddress hx = 0, hy = 0, cx = 0, cy = 0;  // states before and after, [layers and directions, batch]; 0: none

  int32_t Directions() const { return both_directions ? 2 : 1; }
  int32_t Gates() const { return cell == RecurrentCell::kLstm ? 4 : cell == RecurrentCell::kGru ? 3 : 1; }
  bool Projects() const { return outputs < hidden; }
  int32_t LengthOf(int32_t sequence) const { return lengths.empty() ? steps : lengths[sequence]; }
  // What follows REQUIRES that CheckShape accepted it.
  int32_t LongestSequence() const;
  int64_t Rows() const;  // vectors in x, and in y
};

// Where the weights are: our own order, in which cuDNN's library on a server need not have them. First the matrices of
// all layers, then all biases. Those of each layer and direction lie together: W of each gate, R of each gate, the
// projection; biases of W, biases of R. Matrices are row-major, a row for each result.
class RecurrentWeights {
 public:
  // In elements; without rows there is none.
  struct Part {
    int64_t offset = 0;
    int32_t rows = 0, columns = 0;
    int64_t Elements() const { return int64_t{rows} * columns; }
  };
  // REQUIRES: CheckShape accepted it.
  explicit RecurrentWeights(const Recurrent& network);
  int64_t Elements() const;
  int32_t Layers() const;  // times directions: layer l's are 2 l and 2 l + 1
  // Of one of them: W of each gate (an LSTM's are i, f, g, o; a GRU's r, z, n), R of each gate, the projection.
  int32_t Matrices() const { return 2 * gates_ + (projects_ ? 1 : 0); }
  Part Matrix(int32_t layer, int32_t id) const;
  Part Bias(int32_t layer, int32_t id) const;

 private:
  int32_t InputsOf(int32_t layer) const { return layer < directions_ ? inputs_ : directions_ * outputs_; }
  int64_t MatrixElements(int32_t layer) const;
  int64_t MatricesBefore(int32_t layer) const;
  int64_t BiasElements() const;

  int32_t gates_, directions_, layers_, inputs_, hidden_, outputs_;
  bool skips_input_, projects_, input_bias_, state_bias_;
};

// What a stranger says of its sizes: kInvalidValue, or kNotSupported for what is larger than anything here computes.
// Afterwards sums and products of them stay below 63 bits, and x, y and states have no more elements than an int32_t
// counts. CheckPrimitive calls it.
absl::Status CheckShape(const Recurrent& network);

}  // namespace wharf::device
