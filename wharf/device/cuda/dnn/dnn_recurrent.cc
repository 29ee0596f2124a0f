#include "wharf/device/cuda/dnn/dnn_recurrent.h"

#include <algorithm>

#include "wharf/device/cuda/library/half_bits.h"
#include "wharf/device/cuda/library/library.h"

namespace wharf::device::cuda {
namespace {

// cudnnRNNAlgo_t, cudnnForwardMode_t and so on. Cells, biases and layouts have cuDNN's numbers.
constexpr int kStandard = 0, kInference = 0, kPaddedIo = 1;
constexpr uint64_t kAlignment = 256;
constexpr int kRank = 3;  // of states and weights

static_assert(static_cast<int>(RecurrentCell::kLstm) == 2 && static_cast<int>(RecurrentCell::kGru) == 3);
static_assert(static_cast<int>(RecurrentBias::kBoth) == 2 && static_cast<int>(SequenceLayout::kPacked) == 1);

void* Pointer(DeviceAddress address) { return reinterpret_cast<void*>(address); }

int MathOf(const Recurrent& r) {
  if (r.type == ElementType::kF16 || r.type == ElementType::kBF16) return kTensorOpMath;
  return r.type == ElementType::kF32 && r.tf32 ? kDefaultMath : kFmaMath;
}

}  // namespace

struct DnnRecurrent::Functions {
  int (*create_dropout)(void**) = nullptr;
  int (*destroy_dropout)(void*) = nullptr;
  int (*set_dropout)(void*, void*, float, void*, size_t, unsigned long long) = nullptr;  // NOLINT: as cuDNN has it
  int (*create_network)(void**) = nullptr;
  int (*destroy_network)(void*) = nullptr;
  int (*set_network)(void*, int, int, int, int, int, int, int, int, int32_t, int32_t, int32_t, int32_t, void*,
                     uint32_t) = nullptr;
  int (*create_sequences)(void**) = nullptr;
  int (*destroy_sequences)(void*) = nullptr;
  int (*set_sequences)(void*, int, int, int, int, int, const int*, void*) = nullptr;
  int (*create_tensor)(void**) = nullptr;
  int (*destroy_tensor)(void*) = nullptr;
  int (*set_tensor)(void*, int, int, const int*, const int*) = nullptr;
  int (*get_tensor)(void*, int, int*, int*, int*, int*) = nullptr;
  int (*weight_space)(void*, void*, size_t*) = nullptr;
  int (*weight_params)(void*, void*, int32_t, size_t, const void*, int32_t, void*, void**, void*, void**) = nullptr;
  int (*temp_space)(void*, void*, int, void*, size_t*, size_t*) = nullptr;
  int (*forward)(void*, void*, int, const int32_t*, void*, const void*, void*, void*, void*, const void*, void*, void*,
                 const void*, void*, size_t, const void*, size_t, void*, size_t, void*) = nullptr;
};

DnnRecurrent::DnnRecurrent(Gpu* gpu) : gpu_(gpu), functions_(std::make_unique<Functions>()) {}
DnnRecurrent::~DnnRecurrent() = default;

absl::StatusOr<std::unique_ptr<DnnRecurrent>> DnnRecurrent::Create(Gpu* gpu, void* library) {
  std::unique_ptr<DnnRecurrent> recurrent(new DnnRecurrent(gpu));
  Functions& f = *recurrent->functions_;
  FunctionFinder find(library);
  find(f.create_dropout, "cudnnCreateDropoutDescriptor");
  find(f.destroy_dropout, "cudnnDestroyDropoutDescriptor");
  find(f.set_dropout, "cudnnSetDropoutDescriptor");
  find(f.create_network, "cudnnCreateRNNDescriptor");
  find(f.destroy_network, "cudnnDestroyRNNDescriptor");
  find(f.set_network, "cudnnSetRNNDescriptor_v8");
  find(f.create_sequences, "cudnnCreateRNNDataDescriptor");
  find(f.destroy_sequences, "cudnnDestroyRNNDataDescriptor");
  find(f.set_sequences, "cudnnSetRNNDataDescriptor");
  find(f.create_tensor, "cudnnCreateTensorDescriptor");
  find(f.destroy_tensor, "cudnnDestroyTensorDescriptor");
  find(f.set_tensor, "cudnnSetTensorNdDescriptor");
  find(f.get_tensor, "cudnnGetTensorNdDescriptor");
  find(f.weight_space, "cudnnGetRNNWeightSpaceSize");
  find(f.weight_params, "cudnnGetRNNWeightParams");
  find(f.temp_space, "cudnnGetRNNTempSpaceSizes");
  find(f.forward, "cudnnRNNForward");
  if (find.missing() != nullptr) {
    return CudaStatus(CudaError::kNotSupported, "this cuDNN has no {}", find.missing());
  }
  return recurrent;
}

absl::StatusOr<DnnDescriptor> DnnRecurrent::NoDropout(void* handle) const {
  void* made = nullptr;
  WHARF_RETURN_IF_ERROR(CheckDnn(functions_->create_dropout(&made), "cudnnCreateDropoutDescriptor"));
  DnnDescriptor descriptor(made, functions_->destroy_dropout);
  WHARF_RETURN_IF_ERROR(CheckDnn(functions_->set_dropout(made, handle, 0, nullptr, 0, 0), "cudnnSetDropoutDescriptor"));
  return descriptor;
}

absl::StatusOr<DnnDescriptor> DnnRecurrent::NetworkOf(const Recurrent& r, const DnnDescriptor& dropout) const {
  void* made = nullptr;
  WHARF_RETURN_IF_ERROR(CheckDnn(functions_->create_network(&made), "cudnnCreateRNNDescriptor"));
  DnnDescriptor descriptor(made, functions_->destroy_network);
  const ElementType compute = r.type == ElementType::kF64 ? ElementType::kF64 : ElementType::kF32;
  WHARF_RETURN_IF_ERROR(
      CheckDnn(functions_->set_network(made, kStandard, static_cast<int>(r.cell), static_cast<int>(r.bias),
                                       r.both_directions ? 1 : 0, r.skips_input ? 1 : 0, DnnType(r.type),
                                       DnnType(compute), MathOf(r), r.inputs, r.hidden, r.outputs, r.layers,
                                       dropout.get(), r.layout == SequenceLayout::kPacked ? 0 : kPaddedIo),
               "cudnnSetRNNDescriptor_v8"));
  return descriptor;
}

absl::StatusOr<DnnDescriptor> DnnRecurrent::SequencesOf(const Recurrent& r, int32_t width) const {
  void* made = nullptr;
  WHARF_RETURN_IF_ERROR(CheckDnn(functions_->create_sequences(&made), "cudnnCreateRNNDataDescriptor"));
  DnnDescriptor descriptor(made, functions_->destroy_sequences);
  const std::vector<int> lengths =
      r.lengths.empty() ? std::vector<int>(static_cast<size_t>(r.batch), r.steps) : r.lengths;
  union {
    double wide;
    float single;
    uint16_t half;
  } filling{r.filling};
  if (r.type == ElementType::kF32) filling.single = static_cast<float>(r.filling);
  if (r.type == ElementType::kF16) filling.half = HalfBits(r.filling);
  if (r.type == ElementType::kBF16) filling.half = BrainBits(r.filling);
  WHARF_RETURN_IF_ERROR(
      CheckDnn(functions_->set_sequences(made, DnnType(r.type), static_cast<int>(r.layout), r.steps, r.batch, width,
                                         lengths.data(), r.fills ? &filling : nullptr),
               "cudnnSetRNNDataDescriptor"));
  return descriptor;
}

absl::StatusOr<DnnDescriptor> DnnRecurrent::StatesOf(const Recurrent& r, int32_t width) const {
  void* made = nullptr;
  WHARF_RETURN_IF_ERROR(CheckDnn(functions_->create_tensor(&made), "cudnnCreateTensorDescriptor"));
  DnnDescriptor descriptor(made, functions_->destroy_tensor);
  const int dims[kRank] = {r.layers * r.Directions(), r.batch, width}, strides[kRank] = {r.batch * width, width, 1};
  WHARF_RETURN_IF_ERROR(
      CheckDnn(functions_->set_tensor(made, DnnType(r.type), kRank, dims, strides), "cudnnSetTensorNdDescriptor"));
  return descriptor;
}

// Adds to `moves`, which are of neighbours one move.
absl::Status DnnRecurrent::Add(const Recurrent& r, const RecurrentWeights::Part& ours, const DnnDescriptor& theirs,
                               void* address, uint64_t most, std::vector<Move>& moves) const {
  int type = 0, rank = 0, dims[kRank] = {}, strides[kRank] = {};
  int64_t elements = address == nullptr ? 0 : 1;
  if (address != nullptr) {
    WHARF_RETURN_IF_ERROR(CheckDnn(functions_->get_tensor(theirs.get(), kRank, &type, &rank, dims, strides),
                                   "cudnnGetTensorNdDescriptor"));
    for (int i = 0; i < rank && i < kRank; ++i) elements *= dims[i];
  }
  if (elements != ours.Elements()) {
    return CudaStatus(CudaError::kNotSupported, "cuDNN has {} weights where there are {}", elements, ours.Elements());
  }
  if (elements == 0) return absl::OkStatus();
  const uint64_t element = ElementBytes(r.type);
  const Move move{static_cast<uint64_t>(ours.offset) * element, reinterpret_cast<DeviceAddress>(address) - r.weights,
                  static_cast<uint64_t>(elements) * element};
  if (move.to > most || move.bytes > most - move.to) {
    return CudaStatus(CudaError::kNotSupported, "cuDNN has weights beyond their end");
  }
  if (!moves.empty() && moves.back().from + moves.back().bytes == move.from &&
      moves.back().to + moves.back().bytes == move.to) {
    moves.back().bytes += move.bytes;
  } else {
    moves.push_back(move);
  }
  return absl::OkStatus();
}

absl::StatusOr<DnnRecurrent::Placement> DnnRecurrent::Place(const Recurrent& r, void* handle, void* network) const {
  size_t bytes = 0;
  WHARF_RETURN_IF_ERROR(CheckDnn(functions_->weight_space(handle, network, &bytes), "cudnnGetRNNWeightSpaceSize"));
  void *made_matrix = nullptr, *made_bias = nullptr;
  WHARF_RETURN_IF_ERROR(CheckDnn(functions_->create_tensor(&made_matrix), "cudnnCreateTensorDescriptor"));
  const DnnDescriptor matrix(made_matrix, functions_->destroy_tensor);
  WHARF_RETURN_IF_ERROR(CheckDnn(functions_->create_tensor(&made_bias), "cudnnCreateTensorDescriptor"));
  const DnnDescriptor bias(made_bias, functions_->destroy_tensor);

  const RecurrentWeights weights(r);
  std::vector<Move> moves, moves_of_biases;
  for (int32_t layer = 0; layer < weights.Layers(); ++layer) {
    for (int32_t id = 0; id < weights.Matrices(); ++id) {
      void *matrix_address = nullptr, *bias_address = nullptr;
      WHARF_RETURN_IF_ERROR(
          CheckDnn(functions_->weight_params(handle, network, layer, bytes, Pointer(r.weights), id, matrix.get(),
                                             &matrix_address, bias.get(), &bias_address),
                   "cudnnGetRNNWeightParams"));
      WHARF_RETURN_IF_ERROR(Add(r, weights.Matrix(layer, id), matrix, matrix_address, bytes, moves));
      WHARF_RETURN_IF_ERROR(Add(r, weights.Bias(layer, id), bias, bias_address, bytes, moves_of_biases));
    }
  }
  moves.insert(moves.end(), moves_of_biases.begin(), moves_of_biases.end());
  const bool in_place = std::all_of(moves.begin(), moves.end(), [](const Move& move) { return move.from == move.to; });
  const uint64_t our_bytes = static_cast<uint64_t>(weights.Elements()) * ElementBytes(r.type);
  return Placement{bytes, in_place && bytes <= our_bytes, std::move(moves)};
}

absl::Status DnnRecurrent::Run(const Recurrent& r, void* handle, StreamHandle stream,
                               const WorkspaceOf& workspace_of) const {
  WHARF_ASSIGN_OR_RETURN(const DnnDescriptor dropout, NoDropout(handle));
  WHARF_ASSIGN_OR_RETURN(const DnnDescriptor network, NetworkOf(r, dropout));
  WHARF_ASSIGN_OR_RETURN(const DnnDescriptor x, SequencesOf(r, r.inputs));
  WHARF_ASSIGN_OR_RETURN(const DnnDescriptor y, SequencesOf(r, r.Directions() * r.outputs));
  WHARF_ASSIGN_OR_RETURN(const DnnDescriptor h, StatesOf(r, r.outputs));
  const bool has_cells = r.cell == RecurrentCell::kLstm;
  DnnDescriptor c;
  if (has_cells) {
    WHARF_ASSIGN_OR_RETURN(c, StatesOf(r, r.hidden));
  }
  WHARF_ASSIGN_OR_RETURN(const Placement placement, Place(r, handle, network.get()));
  size_t scratch = 0, reserve = 0;
  WHARF_RETURN_IF_ERROR(CheckDnn(functions_->temp_space(handle, network.get(), kInference, x.get(), &scratch, &reserve),
                                 "cudnnGetRNNTempSpaceSizes"));
  const uint64_t copied = placement.as_they_are ? 0 : (placement.bytes + kAlignment - 1) / kAlignment * kAlignment;
  WHARF_ASSIGN_OR_RETURN(const DevicePointer room, workspace_of(copied + scratch));
  DeviceAddress weights = r.weights;
  if (!placement.as_they_are) {
    weights = room;
    for (const Move& move : placement.moves) {
      WHARF_RETURN_IF_ERROR(gpu_->Check(
          (*gpu_)->MemcpyDtoDAsync(room + move.to, r.weights + move.from, move.bytes, stream), "cuMemcpyDtoDAsync"));
    }
  }
  return CheckDnn(
      functions_->forward(handle, network.get(), kInference, nullptr, x.get(), Pointer(r.x), y.get(), Pointer(r.y),
                          h.get(), Pointer(r.hx), Pointer(r.hy), c.get(), has_cells ? Pointer(r.cx) : nullptr,
                          has_cells ? Pointer(r.cy) : nullptr, placement.bytes, Pointer(weights), scratch,
                          Pointer(scratch == 0 ? 0 : room + copied), 0, nullptr),
      "cudnnRNNForward");
}

}  // namespace wharf::device::cuda
