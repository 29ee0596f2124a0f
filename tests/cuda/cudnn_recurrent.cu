// cuDNN's recurrent networks at inference, as PyTorch calls them, against loops: every cell in one direction and both,
// with sequences of different lengths, in all layouts and types. Weights are put where cudnnGetRNNWeightParams says.
#include "tests/cuda/dnn.h"

struct Form {
  cudnnRNNMode_t cell = CUDNN_LSTM;
  bool both = false;
  int inputs = 5, hidden = 4, outputs = 4, layers = 2;
  int steps = 4, batch = 3;
  std::vector<int> lengths;  // none: all have all steps
  cudnnRNNDataLayout_t layout = CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED;
  cudnnRNNBiasMode_t bias = CUDNN_RNN_DOUBLE_BIAS;
  cudnnRNNInputMode_t input = CUDNN_LINEAR_INPUT;
  bool fills = false, begins = true;

  int Directions() const { return both ? 2 : 1; }
  int Gates() const { return cell == CUDNN_LSTM ? 4 : cell == CUDNN_GRU ? 3 : 1; }
  int Length(int sequence) const { return lengths.empty() ? steps : lengths[sequence]; }
  size_t Row(int step, int sequence) const {
    if (layout == CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED) return size_t(step) * batch + sequence;
    if (layout == CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED) return size_t(sequence) * steps + step;
    size_t row = sequence;
    for (int before = 0; before < step; ++before)
      for (int other = 0; other < batch; ++other) row += Length(other) > before ? 1 : 0;
    return row;
  }
  size_t Rows() const {
    size_t rows = 0;
    for (int sequence = 0; sequence < batch; ++sequence) rows += Length(sequence);
    return layout == CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED ? rows : size_t(steps) * batch;
  }
};

template <class T>
double ToDouble(T value) {
  if constexpr (sizeof(T) == 8) return value;
  return double(float(value));
}

constexpr float kFilling = -7;

template <class T>
struct SequenceDescriptor {
  cudnnRNNDataDescriptor_t descriptor = nullptr;
  SequenceDescriptor(const Form& f, int width) {
    DNN_OK(cudnnCreateRNNDataDescriptor(&descriptor));
    std::vector<int> lengths;
    for (int i = 0; i < f.batch; ++i) lengths.push_back(f.Length(i));
    T filling = T(kFilling);
    DNN_OK(cudnnSetRNNDataDescriptor(descriptor, TypeOf<T>::kType, f.layout, f.steps, f.batch, width, lengths.data(),
                                     f.fills ? &filling : nullptr));
  }
  ~SequenceDescriptor() { DNN_OK(cudnnDestroyRNNDataDescriptor(descriptor)); }
};

// Five dimensions, as PyTorch has it.
template <class T>
struct StateDescriptor {
  cudnnTensorDescriptor_t descriptor = nullptr;
  StateDescriptor(const Form& f, int width) {
    const int dims[] = {f.layers * f.Directions(), f.batch, width, 1, 1}, strides[] = {f.batch * width, width, 1, 1, 1};
    DNN_OK(cudnnCreateTensorDescriptor(&descriptor));
    DNN_OK(cudnnSetTensorNdDescriptor(descriptor, TypeOf<T>::kType, 5, dims, strides));
  }
  ~StateDescriptor() { DNN_OK(cudnnDestroyTensorDescriptor(descriptor)); }
};

template <class T>
struct NetworkDescriptor {
  cudnnRNNDescriptor_t descriptor = nullptr;
  cudnnDropoutDescriptor_t dropout = nullptr;
  NetworkDescriptor(Dnn& dnn, const Form& f) {
    DNN_OK(cudnnCreateDropoutDescriptor(&dropout));
    DNN_OK(cudnnSetDropoutDescriptor(dropout, dnn, 0, nullptr, 0, 0));
    DNN_OK(cudnnCreateRNNDescriptor(&descriptor));
    const cudnnDataType_t compute = sizeof(T) == 8 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
    DNN_OK(cudnnSetRNNDescriptor_v8(descriptor, CUDNN_RNN_ALGO_STANDARD, f.cell, f.bias,
                                    f.both ? CUDNN_BIDIRECTIONAL : CUDNN_UNIDIRECTIONAL, f.input, TypeOf<T>::kType,
                                    compute, sizeof(T) == 2 ? CUDNN_TENSOR_OP_MATH : CUDNN_FMA_MATH, f.inputs, f.hidden,
                                    f.outputs, f.layers, dropout,
                                    f.layout == CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED ? CUDNN_RNN_PADDED_IO_DISABLED
                                                                                       : CUDNN_RNN_PADDED_IO_ENABLED));
  }
  ~NetworkDescriptor() {
    DNN_OK(cudnnDestroyRNNDescriptor(descriptor));
    DNN_OK(cudnnDestroyDropoutDescriptor(dropout));
  }
};

// The matrices and biases of one layer and direction, by cuDNN's numbers; empty where there are none.
template <class T>
struct Layer {
  std::vector<std::vector<T>> matrices, biases;
};

template <class T>
struct Network {
  Form f;
  NetworkDescriptor<T> descriptor;
  size_t bytes = 0;
  std::vector<Layer<T>> layers;

  Network(Dnn& dnn, const Form& form) : f(form), descriptor(dnn, form) {
    DNN_OK(cudnnGetRNNWeightSpaceSize(dnn, descriptor.descriptor, &bytes));
    EXPECT(bytes % sizeof(T) == 0);
  }

  // Fills the weights in device memory.
  void SetWeights(Dnn& dnn, T* weights) {
    cudnnTensorDescriptor_t matrix, bias;
    DNN_OK(cudnnCreateTensorDescriptor(&matrix));
    DNN_OK(cudnnCreateTensorDescriptor(&bias));
    int seed = 1;
    for (int layer = 0; layer < f.layers * f.Directions(); ++layer) {
      Layer<T>& filled = layers.emplace_back();
      for (int id = 0; id < 2 * f.Gates() + (f.outputs < f.hidden ? 1 : 0); ++id) {
        void *at_matrix = nullptr, *at_bias = nullptr;
        DNN_OK(cudnnGetRNNWeightParams(dnn, descriptor.descriptor, layer, bytes, weights, id, matrix, &at_matrix, bias,
                                       &at_bias));
        const int inputs = layer < f.Directions() ? f.inputs : f.Directions() * f.outputs;
        filled.matrices.push_back(Fill(matrix, at_matrix, id == 2 * f.Gates() ? f.outputs : f.hidden,
                                       id == 2 * f.Gates() ? f.hidden
                                       : id >= f.Gates()   ? f.outputs
                                                           : inputs,
                                       seed++));
        filled.biases.push_back(Fill(bias, at_bias, f.hidden, 1, seed++));
      }
    }
    DNN_OK(cudnnDestroyTensorDescriptor(matrix));
    DNN_OK(cudnnDestroyTensorDescriptor(bias));
  }

  std::vector<T> Fill(cudnnTensorDescriptor_t descriptor, void* at, int rows, int columns, int seed) {
    if (at == nullptr) return {};
    cudnnDataType_t type;
    int rank = 0, dims[3] = {}, strides[3] = {};
    DNN_OK(cudnnGetTensorNdDescriptor(descriptor, 3, &type, &rank, dims, strides));
    EXPECT(type == TypeOf<T>::kType && rank == 3 && dims[0] * dims[1] * dims[2] == rows * columns);
    const std::vector<T> values = Quarters<T>(size_t(rows) * columns, seed);
    CUDA_OK(cudaMemcpy(at, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
    return values;
  }
};

template <class T>
struct Reference {
  const Network<T>& network;
  const Form& f;
  std::vector<double> h, c;

  static double Logistic(double value) { return 1 / (1 + std::exp(-value)); }
  double Sum(int layer, int id, int row, const std::vector<double>& with, bool biased) const {
    const std::vector<T>&matrix = network.layers[layer].matrices[id], &bias = network.layers[layer].biases[id];
    double sum = matrix.empty() ? with[row] : 0;
    for (size_t i = 0; !matrix.empty() && i < with.size(); ++i)
      sum += ToDouble(matrix[row * with.size() + i]) * with[i];
    return sum + (biased && !bias.empty() ? ToDouble(bias[row]) : 0);
  }
  std::vector<double> Step(int layer, int sequence, const std::vector<double>& x) {
    const size_t at = size_t(layer) * f.batch + sequence;
    const std::vector<double> before(h.begin() + at * f.outputs, h.begin() + (at + 1) * f.outputs);
    std::vector<double> after(f.hidden);
    const int g = f.Gates();
    for (int i = 0; i < f.hidden; ++i) {
      const auto sum = [&](int id) { return Sum(layer, id, i, x, true) + Sum(layer, g + id, i, before, true); };
      if (f.cell == CUDNN_RNN_RELU) after[i] = std::max(0.0, sum(0));
      if (f.cell == CUDNN_RNN_TANH) after[i] = std::tanh(sum(0));
      if (f.cell == CUDNN_LSTM) {
        double& cell = c[at * f.hidden + i];
        cell = Logistic(sum(1)) * cell + Logistic(sum(0)) * std::tanh(sum(2));
        after[i] = Logistic(sum(3)) * std::tanh(cell);
      }
      if (f.cell == CUDNN_GRU) {
        const double keep = Logistic(sum(1));
        const double fresh = std::tanh(Sum(layer, 2, i, x, true) + Logistic(sum(0)) * Sum(layer, 5, i, before, true));
        after[i] = (1 - keep) * fresh + keep * before[i];
      }
    }
    std::vector<double> result(f.outputs);
    for (int i = 0; i < f.outputs; ++i) result[i] = f.outputs < f.hidden ? Sum(layer, 8, i, after, false) : after[i];
    std::copy(result.begin(), result.end(), h.begin() + at * f.outputs);
    return result;
  }
  // y begins as what was there.
  void Run(const std::vector<T>& x, std::vector<double>& y) {
    const size_t width = size_t(f.Directions()) * f.outputs;
    for (int sequence = 0; sequence < f.batch; ++sequence) {
      const int length = f.Length(sequence);
      std::vector<std::vector<double>> below(length);
      for (int step = 0; step < length; ++step)
        for (int i = 0; i < f.inputs; ++i) below[step].push_back(ToDouble(x[f.Row(step, sequence) * f.inputs + i]));
      for (int layer = 0; layer < f.layers; ++layer) {
        std::vector<std::vector<double>> above(length, std::vector<double>(width));
        for (int direction = 0; direction < f.Directions(); ++direction)
          for (int i = 0; i < length; ++i) {
            const int step = direction ? length - 1 - i : i;
            const std::vector<double> result = Step(layer * f.Directions() + direction, sequence, below[step]);
            std::copy(result.begin(), result.end(), above[step].begin() + direction * f.outputs);
          }
        below = above;
      }
      const bool packed = f.layout == CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED;
      for (int step = 0; step < (packed ? length : f.steps); ++step)
        for (size_t i = 0; i < width; ++i) {
          if (step < length)
            y[f.Row(step, sequence) * width + i] = below[step][i];
          else if (f.fills)
            y[f.Row(step, sequence) * width + i] = double(kFilling);
        }
    }
  }
};

template <class T>
void ExpectClose(const std::vector<T>& got, const std::vector<double>& want, double tolerance) {
  EXPECT(got.size() == want.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT(std::abs(ToDouble(got[i]) - want[i]) <= tolerance);
}

template <class T>
void Check(const Form& f) {
  Dnn dnn;
  Network<T> network(dnn, f);
  Buffer<T> weights(network.bytes / sizeof(T));
  network.SetWeights(dnn, weights);
  const size_t states = size_t(f.layers) * f.Directions() * f.batch;
  const int width = f.Directions() * f.outputs;
  const std::vector<T> x = Quarters<T>(f.Rows() * f.inputs, 91), y = Quarters<T>(f.Rows() * width, 92);
  const std::vector<T> h = Quarters<T>(states * f.outputs, 93), c = Quarters<T>(states * f.hidden, 94);
  Buffer<T> bx(x), by(y), hx(h), hy(h.size()), cx(c), cy(c.size());
  const SequenceDescriptor<T> dx(f, f.inputs), dy(f, width);
  const StateDescriptor<T> dh(f, f.outputs), dc(f, f.hidden);
  size_t scratch = 0;
  DNN_OK(cudnnGetRNNTempSpaceSizes(dnn, network.descriptor.descriptor, CUDNN_FWD_MODE_INFERENCE, dx.descriptor,
                                   &scratch, nullptr));
  Buffer<char> work(scratch);
  const bool lstm = f.cell == CUDNN_LSTM;
  DNN_OK(cudnnRNNForward(dnn, network.descriptor.descriptor, CUDNN_FWD_MODE_INFERENCE, nullptr, dx.descriptor, bx,
                         dy.descriptor, by, dh.descriptor, f.begins ? (const T*)hx : nullptr, hy,
                         lstm ? dc.descriptor : nullptr, lstm && f.begins ? (const T*)cx : nullptr,
                         lstm ? (T*)cy : nullptr, network.bytes, weights, scratch, work, 0, nullptr));
  Reference<T> reference{network, f, std::vector<double>(h.size()), std::vector<double>(c.size())};
  for (size_t i = 0; f.begins && i < h.size(); ++i) reference.h[i] = ToDouble(h[i]);
  for (size_t i = 0; f.begins && i < c.size(); ++i) reference.c[i] = ToDouble(c[i]);
  std::vector<double> want;
  for (const T value : y) want.push_back(ToDouble(value));
  reference.Run(x, want);
  // What is behind the ends of sequences and gets no filling may be anything.
  std::vector<T> got = by.Get();
  if (!f.fills && f.layout != CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED)
    for (int sequence = 0; sequence < f.batch; ++sequence)
      for (int step = f.Length(sequence); step < f.steps; ++step)
        for (int i = 0; i < width; ++i) got[f.Row(step, sequence) * width + i] = y[f.Row(step, sequence) * width + i];
  const double tolerance = sizeof(T) == 8                            ? 1e-12
                           : sizeof(T) == 4                          ? 1e-5
                           : TypeOf<T>::kType == CUDNN_DATA_BFLOAT16 ? 5e-2
                                                                     : 5e-3;
  ExpectClose(got, want, tolerance);
  ExpectClose(hy.Get(), reference.h, tolerance);
  if (lstm) ExpectClose(cy.Get(), reference.c, 2 * tolerance);
}

constexpr cudnnRNNMode_t kCells[] = {CUDNN_RNN_RELU, CUDNN_RNN_TANH, CUDNN_LSTM, CUDNN_GRU};

CASE(every_cell) {
  for (const cudnnRNNMode_t cell : kCells)
    for (const bool both : {false, true}) {
      Form f;
      f.cell = cell;
      f.both = both;
      Check<float>(f);
      f.layers = 1;
      f.begins = false;
      f.bias = both ? CUDNN_RNN_NO_BIAS : CUDNN_RNN_SINGLE_INP_BIAS;
      Check<float>(f);
    }
}

CASE(sequences_of_different_lengths) {
  for (const cudnnRNNMode_t cell : {CUDNN_LSTM, CUDNN_GRU})
    for (const cudnnRNNDataLayout_t layout :
         {CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED,
          CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED})
      for (const bool fills : {false, true}) {
        Form f;
        f.cell = cell;
        f.both = true;
        f.layout = layout;
        f.fills = fills;
        f.lengths = {4, 2, 1};
        Check<float>(f);
      }
  Form f;
  f.lengths = {2, 4, 1};  // only packed ones have an order
  f.fills = true;
  Check<float>(f);
}

CASE(inputs_without_a_matrix) {
  for (const cudnnRNNMode_t cell : kCells) {
    Form f;
    f.cell = cell;
    f.input = CUDNN_SKIP_INPUT;
    f.inputs = f.hidden;
    Check<float>(f);
  }
}

CASE(projection) {
  Form f;
  f.outputs = 3;
  Check<float>(f);
  f.both = true;
  f.lengths = {4, 3, 2};
  f.layout = CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED;
  Check<float>(f);
}

CASE(types) {
  for (const cudnnRNNMode_t cell : {CUDNN_LSTM, CUDNN_GRU}) {
    Form f;
    f.cell = cell;
    Check<double>(f);
    Check<__half>(f);
    Check<__nv_bfloat16>(f);
  }
}

// PyTorch takes the matrices of all gates for one, and views of the weights for its parameters.
CASE(gates_lie_side_by_side) {
  Dnn dnn;
  Form f;
  f.both = true;
  Network<float> network(dnn, f);
  Buffer<float> weights(network.bytes / sizeof(float));
  cudnnTensorDescriptor_t descriptor;
  DNN_OK(cudnnCreateTensorDescriptor(&descriptor));
  const auto place = [&](int layer, int id, bool bias) {
    void* at = nullptr;
    DNN_OK(cudnnGetRNNWeightParams(dnn, network.descriptor.descriptor, layer, network.bytes, weights, id,
                                   bias ? nullptr : descriptor, bias ? nullptr : &at, bias ? descriptor : nullptr,
                                   bias ? &at : nullptr));
    return static_cast<float*>(at);
  };
  for (int layer = 0; layer < 4; ++layer)
    for (int id = 0; id < 7; ++id)
      if (id != 3) {
        const int inputs = id > 3 ? 4 : layer < 2 ? 5 : 8;
        EXPECT(place(layer, id + 1, false) - place(layer, id, false) == 4 * inputs);
        EXPECT(place(layer, id + 1, true) - place(layer, id, true) == 4);
      }
  DNN_OK(cudnnDestroyTensorDescriptor(descriptor));
}

CASE(in_a_graph) {
  Dnn dnn;
  Form f;
  f.begins = false;
  Network<float> network(dnn, f);
  Buffer<float> weights(network.bytes / sizeof(float));
  network.SetWeights(dnn, weights);
  Buffer<float> bx(f.Rows() * f.inputs), by(f.Rows() * f.outputs);
  const SequenceDescriptor<float> dx(f, f.inputs), dy(f, f.outputs);
  size_t scratch = 0;
  DNN_OK(cudnnGetRNNTempSpaceSizes(dnn, network.descriptor.descriptor, CUDNN_FWD_MODE_INFERENCE, dx.descriptor,
                                   &scratch, nullptr));
  Buffer<char> work(scratch);
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CUDA_OK(cudaStreamCreate(&stream));
  DNN_OK(cudnnSetStream(dnn, stream));
  CUDA_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  DNN_OK(cudnnRNNForward(dnn, network.descriptor.descriptor, CUDNN_FWD_MODE_INFERENCE, nullptr, dx.descriptor, bx,
                         dy.descriptor, by, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, network.bytes,
                         weights, scratch, work, 0, nullptr));
  CUDA_OK(cudaStreamEndCapture(stream, &graph));
  CUDA_OK(cudaGraphInstantiate(&exec, graph, 0));
  for (int seed = 1; seed < 4; ++seed) {
    const std::vector<float> x = Quarters<float>(f.Rows() * f.inputs, seed);
    bx.Set(x);
    CUDA_OK(cudaGraphLaunch(exec, stream));
    CUDA_OK(cudaStreamSynchronize(stream));
    Reference<float> reference{network, f, std::vector<double>(24), std::vector<double>(24)};
    std::vector<double> want(f.Rows() * f.outputs);
    reference.Run(x, want);
    ExpectClose(by.Get(), want, 1e-5);
  }
  CUDA_OK(cudaGraphExecDestroy(exec));
  CUDA_OK(cudaGraphDestroy(graph));
  CUDA_OK(cudaStreamDestroy(stream));
}

CASE(what_descriptors_tell) {
  Dnn dnn;
  Form f;
  f.lengths = {4, 2, 1};
  f.fills = true;
  const SequenceDescriptor<float> sequences(f, 5);
  cudnnDataType_t type;
  cudnnRNNDataLayout_t layout;
  int steps = 0, batch = 0, width = 0, lengths[3] = {};
  float filling = 0;
  DNN_OK(cudnnGetRNNDataDescriptor(sequences.descriptor, &type, &layout, &steps, &batch, &width, 3, lengths, &filling));
  EXPECT(type == CUDNN_DATA_FLOAT && layout == f.layout && steps == 4 && batch == 3 && width == 5);
  EXPECT(lengths[0] == 4 && lengths[1] == 2 && lengths[2] == 1 && filling == kFilling);
  const NetworkDescriptor<float> network(dnn, f);
  cudnnRNNAlgo_t algorithm;
  cudnnRNNMode_t cell;
  cudnnRNNBiasMode_t bias;
  cudnnDirectionMode_t direction;
  cudnnRNNInputMode_t input;
  cudnnDataType_t compute;
  cudnnMathType_t math;
  int32_t inputs, hidden, outputs, layers;
  cudnnDropoutDescriptor_t dropout;
  uint32_t flags;
  DNN_OK(cudnnGetRNNDescriptor_v8(network.descriptor, &algorithm, &cell, &bias, &direction, &input, &type, &compute,
                                  &math, &inputs, &hidden, &outputs, &layers, &dropout, &flags));
  EXPECT(cell == CUDNN_LSTM && inputs == 5 && hidden == 4 && outputs == 4 && layers == 2 && dropout == network.dropout);
  float share = 1;
  void* states = &share;
  unsigned long long seed = 1;
  DNN_OK(cudnnGetDropoutDescriptor(network.dropout, dnn, &share, &states, &seed));
  EXPECT(share == 0 && states == nullptr && seed == 0);
  size_t bytes = 0;
  DNN_OK(cudnnDropoutGetStatesSize(dnn, &bytes));
  EXPECT(bytes > 0);
}

CASE(what_is_wrong_is_refused) {
  Dnn dnn;
  Form f;
  Network<float> network(dnn, f);
  Buffer<float> weights(network.bytes / sizeof(float)), bx(f.Rows() * f.inputs), by(f.Rows() * f.outputs);
  const SequenceDescriptor<float> dx(f, f.inputs), dy(f, f.outputs);
  const auto forward = [&](cudnnForwardMode_t mode, cudnnRNNDataDescriptor_t to, size_t bytes) {
    return cudnnRNNForward(dnn, network.descriptor.descriptor, mode, nullptr, dx.descriptor, bx, to, by, nullptr,
                           nullptr, nullptr, nullptr, nullptr, nullptr, bytes, weights, 0, nullptr, 0, nullptr);
  };
  EXPECT(forward(CUDNN_FWD_MODE_INFERENCE, dx.descriptor, network.bytes) == CUDNN_STATUS_BAD_PARAM);
  EXPECT(forward(CUDNN_FWD_MODE_INFERENCE, dy.descriptor, network.bytes - 4) == CUDNN_STATUS_BAD_PARAM);
  int lengths[] = {1, 2, 5};
  EXPECT(cudnnSetRNNDataDescriptor(dx.descriptor, CUDNN_DATA_FLOAT, f.layout, 4, 3, 5, lengths, nullptr) ==
         CUDNN_STATUS_BAD_PARAM);
  EXPECT(cudnnSetRNNDescriptor_v8(network.descriptor.descriptor, CUDNN_RNN_ALGO_STANDARD, CUDNN_GRU,
                                  CUDNN_RNN_DOUBLE_BIAS, CUDNN_UNIDIRECTIONAL, CUDNN_LINEAR_INPUT, CUDNN_DATA_FLOAT,
                                  CUDNN_DATA_FLOAT, CUDNN_FMA_MATH, 5, 4, 4, 0, network.descriptor.dropout,
                                  0) == CUDNN_STATUS_BAD_PARAM);
}
