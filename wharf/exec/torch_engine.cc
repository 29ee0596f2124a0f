#include "wharf/exec/torch_engine.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <dlfcn.h>
#include <torch/csrc/api/include/torch/version.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "wharf/exec/kernels.h"
#include "wharf/exec/torch_device.h"
#include "wharf/graph/operators.h"

namespace wharf::exec {
namespace {

using graph::Graph;
using graph::Node;
using graph::RowRange;

constexpr std::array<std::pair<graph::ElementType, at::ScalarType>, 8> kTypes = {
    {{graph::ElementType::kFloat, at::kFloat},
     {graph::ElementType::kDouble, at::kDouble},
     {graph::ElementType::kInt8, at::kChar},
     {graph::ElementType::kUint8, at::kByte},
     {graph::ElementType::kInt16, at::kShort},
     {graph::ElementType::kInt32, at::kInt},
     {graph::ElementType::kInt64, at::kLong},
     {graph::ElementType::kBool, at::kBool}}};

graph::TensorType TypeOf(const at::Tensor& tensor) {
  graph::TensorType type{graph::ElementType::kFloat, tensor.sizes().vec()};
  for (const auto& [ours, theirs] : kTypes) {
    if (theirs == tensor.scalar_type()) type.element = ours;
  }
  return type;
}

class TorchTensor final : public Tensor {
 public:
  TorchTensor(const TorchDevice& device, at::Tensor tensor) : device_(device), tensor_(std::move(tensor)) {}
  graph::TensorType Type() const override { return TypeOf(tensor_); }
  void Read(std::span<std::byte> into) const override {
    const c10::InferenceMode inference;
    if (!into.empty()) std::memcpy(into.data(), Here().data_ptr(), into.size());
  }
  const at::Tensor& Torch() const { return tensor_; }

 private:
  // On the CPU, row-major; a GPU is quicker to arrange it.
  at::Tensor Here() const {
    const TorchDevice::Copying copying(device_);
    return tensor_.contiguous().cpu();
  }

  const TorchDevice device_;
  const at::Tensor tensor_;
};

const at::Tensor& Torch(const TensorPtr& tensor) { return static_cast<const TorchTensor&>(*tensor).Torch(); }

at::Tensor FromBytes(const TorchDevice& device, const graph::TensorType& type, std::span<const std::byte> bytes) {
  at::Tensor tensor = at::empty(type.shape, ToTorch(type.element));
  if (!bytes.empty()) std::memcpy(tensor.data_ptr(), bytes.data(), bytes.size());
  const TorchDevice::Copying copying(device);
  tensor = tensor.to(tensor.options().device(device.Torch()));
  if (type.Rank() != 4) return tensor;
  tensor = tensor.contiguous(at::MemoryFormat::ChannelsLast);
  device.Wait();  // a copy is done when it returns, this need not be
  return tensor;
}

// Constants on the device, there once for all programs that have the same bytes.
class SharedWeights {
 public:
  struct Weight {
    const std::shared_ptr<const std::vector<std::byte>> bytes;  // no others are at that address while it lives
    const at::Tensor tensor;
  };

  // May throw c10::Error.
  std::shared_ptr<const Weight> Get(const TorchDevice& device, const graph::Constant& constant) {
    const std::lock_guard lock(mutex_);
    std::weak_ptr<const Weight>& known = known_[{constant.bytes.get(), constant.type.Text()}];
    if (auto weight = known.lock()) return weight;
    auto weight =
        std::make_shared<const Weight>(Weight{constant.bytes, FromBytes(device, constant.type, *constant.bytes)});
    known = weight;
    return weight;
  }

  // Of programs that are gone. O(constants that were there): for each program, not for each constant.
  void Forget() {
    const std::lock_guard lock(mutex_);
    absl::erase_if(known_, [](const auto& one) { return one.second.expired(); });
  }

 private:
  std::mutex mutex_;
  absl::flat_hash_map<std::pair<const void*, std::string>, std::weak_ptr<const Weight>> known_;
};

const absl::flat_hash_map<std::string_view, Kernel>& Kernels() {
  static const auto kKernels = [] {
    absl::flat_hash_map<std::string_view, Kernel> all;
    for (const auto list : {ElementKernels(), WindowKernels(), LayoutKernels(), MatrixKernels(), AttentionKernels()}) {
      for (const NamedKernel& one : list) all[one.name] = one.kernel;
    }
    return all;
  }();
  return kKernels;
}

// One run: which rows are needed, then node after node.
class Running {
 public:
  Running(const TorchDevice& device, const Graph& graph, const graph::RowRules& rules,
          const std::vector<at::Tensor>& constants, const std::vector<Kernel>& kernels)
      : device_(device),
        graph_(graph),
        rules_(rules),
        constants_(constants),
        kernels_(kernels),
        tensors_(graph.values.size()),
        rows_(graph.values.size()),
        readers_(graph.values.size()) {}

  absl::StatusOr<std::vector<TensorPtr>> Run(std::span<const Part> given, std::span<const Rows> wanted) {
    for (const Part& part : given) WHARF_RETURN_IF_ERROR(Take(part));
    for (const Rows& rows : wanted) WHARF_RETURN_IF_ERROR(Want(rows));
    WHARF_RETURN_IF_ERROR(PlanBackwards(wanted));
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      WHARF_RETURN_IF_ERROR(RunNode(static_cast<int>(n)));
    }
    try {
      device_.Wait();
    } catch (const std::exception& error) {
      return StatusOf(error, "running on " + device_.Name());
    }
    std::vector<TensorPtr> results;
    for (const Rows& rows : wanted) {
      results.push_back(std::make_shared<TorchTensor>(device_, RowsOf(rows.value, rows.range)));
    }
    return results;
  }

 private:
  int RowCount(int value) const { return rules_.Rows(graph_, value); }
  bool IsConstant(int value) const { return graph_.values[value].constant.has_value(); }

  absl::Status CheckRows(const Rows& rows) const {
    const bool there = rows.value >= 0 && rows.value < static_cast<int>(graph_.values.size());
    if (!there || rows.range.Empty() || rows.range.lo < 0 || rows.range.hi > RowCount(rows.value)) {
      return InvalidArgument("rows {} to {} of value {} do not exist", rows.range.lo, rows.range.hi, rows.value);
    }
    return absl::OkStatus();
  }

  absl::Status Take(const Part& part) {
    WHARF_RETURN_IF_ERROR(CheckRows(part.rows));
    const int value = part.rows.value;
    graph::TensorType expected = graph_.Type(value);
    if (rules_.axis[value] != graph::kNoRows) expected.shape[rules_.axis[value]] = part.rows.range.Size();
    if (part.tensor->Type() != expected) {
      return InvalidArgument("\"{}\" is {}, not {}", graph_.values[value].name, expected.Text(),
                             part.tensor->Type().Text());
    }
    tensors_[value] = Torch(part.tensor);
    rows_[value] = part.rows.range;
    return absl::OkStatus();
  }

  absl::Status Want(const Rows& rows) {
    WHARF_RETURN_IF_ERROR(CheckRows(rows));
    if (IsConstant(rows.value)) {
      tensors_[rows.value] = constants_[rows.value];
      rows_[rows.value] = {0, RowCount(rows.value)};
    }
    return absl::OkStatus();
  }

  absl::Status PlanBackwards(std::span<const Rows> wanted) {
    std::vector<bool> given(tensors_.size());
    for (size_t value = 0; value < given.size(); ++value) given[value] = tensors_[value].defined();
    needed_ = NeededRows(graph_, rules_, wanted, given);
    for (size_t value = 0; value < given.size(); ++value) {
      if (given[value] && !rows_[value].Contains(needed_[value])) {
        return InvalidArgument("rows {} to {} of \"{}\" are needed, {} to {} are given", needed_[value].lo,
                               needed_[value].hi, graph_.values[value].name, rows_[value].lo, rows_[value].hi);
      }
    }
    for (const int value : graph_.inputs) {
      if (!needed_[value].Empty() && !given[value]) {
        return InvalidArgument("\"{}\" is needed and not given", graph_.values[value].name);
      }
    }
    for (const Rows& rows : wanted) ++readers_[rows.value];
    for (const Node& node : graph_.nodes) {
      if (NeededOf(node).Empty()) continue;
      for (const int value : node.inputs) {
        if (value != graph::kAbsent) ++readers_[value];
      }
    }
    return absl::OkStatus();
  }

  // The rows to be made by a node; empty if all is given or nothing is needed.
  RowRange NeededOf(const Node& node) const {
    RowRange range;
    for (const int value : node.outputs) {
      if (value != graph::kAbsent && !tensors_[value].defined()) range = Hull(range, needed_[value]);
    }
    return range;
  }

  int OutputOf(const Node& node) const {
    return *std::find_if(node.outputs.begin(), node.outputs.end(), [](int value) { return value != graph::kAbsent; });
  }

  at::Tensor RowsOf(int value, RowRange range) const {
    const at::Tensor& tensor = tensors_[value];
    if (range == rows_[value] || rules_.axis[value] == graph::kNoRows) return tensor;
    return tensor.narrow(rules_.axis[value], range.lo - rows_[value].lo, range.Size());
  }

  // A value of which only padding is read has no rows at all.
  at::Tensor InputTensor(int value, RowRange range) const {
    if (IsConstant(value)) return constants_[value];
    if (!range.Empty()) return RowsOf(value, range);
    std::vector<int64_t> shape = graph_.Type(value).shape;
    if (rules_.axis[value] != graph::kNoRows) shape[rules_.axis[value]] = 0;
    return at::empty(shape, at::TensorOptions(ToTorch(graph_.Type(value).element)).device(device_.Torch()));
  }

  // Nothing that has rows is read by rows: all rows are made, and those wanted cut out.
  bool MakesAllRows(int n) const {
    const Node& node = graph_.nodes[n];
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.HasInput(i) || rules_.axis[node.inputs[i]] == graph::kNoRows) continue;
      if (rules_.rules[n][i].kind != graph::RowKind::kGlobal) return false;
    }
    return true;
  }

  // Inputs that have a row for each output row, but are there whole (constants, or cut along another axis).
  void AlignInputs(Call& call) const {
    const bool element_wise = graph::FactsOf(call.node.op)->kind == graph::OperatorKind::kElementWise;
    if (call.out_axis == graph::kNoRows || (!element_wise && call.node.op != "Concat")) return;
    const int64_t all = RowCount(OutputOf(call.node));
    if (call.out_rows.Size() == all) return;
    const int rank = graph_.Type(OutputOf(call.node)).Rank();
    for (at::Tensor& tensor : call.in) {
      if (!tensor.defined()) continue;
      const int64_t axis = call.out_axis - (rank - tensor.dim());
      if (axis >= 0 && tensor.size(axis) == all) tensor = tensor.narrow(axis, call.out_rows.lo, call.out_rows.Size());
    }
  }

  absl::Status RunNode(int n) {
    const Node& node = graph_.nodes[n];
    const RowRange range = NeededOf(node);
    if (range.Empty()) return absl::OkStatus();
    const int output = OutputOf(node);
    Call call{graph_, node, {}, {}, range, rules_.axis[output]};
    const bool all = range.Size() < RowCount(output) && MakesAllRows(n);
    if (all) call.out_rows = {0, RowCount(output)};
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const bool there = node.HasInput(i);
      call.in_rows.push_back(there && !IsConstant(node.inputs[i]) ? RowsRead(graph_, rules_, n, i, call.out_rows)
                                                                  : RowRange());
      call.in.push_back(there ? InputTensor(node.inputs[i], call.in_rows.back()) : at::Tensor());
    }
    AlignInputs(call);
    try {
      auto outputs = kernels_[n](call);
      if (!outputs.ok()) return MakeStatus(outputs.status().code(), "{}: {}", node.Label(), Message(outputs.status()));
      WHARF_RETURN_IF_ERROR(Store(call, *outputs, range));
    } catch (const std::exception& error) {
      return StatusOf(error, node.Label());
    }
    for (const int value : node.inputs) {
      if (value != graph::kAbsent && --readers_[value] == 0) tensors_[value] = at::Tensor();
    }
    return absl::OkStatus();
  }

  absl::Status Store(const Call& call, const Outputs& outputs, RowRange range) {
    for (size_t i = 0; i < call.node.outputs.size(); ++i) {
      const int value = call.node.outputs[i];
      if (value == graph::kAbsent || needed_[value].Empty()) continue;
      if (i >= outputs.size() || outputs[i].sizes() != at::IntArrayRef(call.OutShape(i))) {
        return Internal("{}: output {} came out with another shape than {}", call.node.Label(), i,
                        call.OutType(i).Text());
      }
      tensors_[value] = outputs[i];
      rows_[value] = call.out_rows;
      tensors_[value] = RowsOf(value, range);
      rows_[value] = range;
    }
    return absl::OkStatus();
  }

  const TorchDevice& device_;
  const Graph& graph_;
  const graph::RowRules& rules_;
  const std::vector<at::Tensor>& constants_;
  const std::vector<Kernel>& kernels_;
  std::vector<at::Tensor> tensors_;      // of each value, as long as somebody will read it
  std::vector<RowRange> rows_, needed_;  // there, and to be there, of each value
  std::vector<int> readers_;             // of each value, that have not read it yet
};

class TorchProgram final : public Program {
 public:
  // May throw c10::Error.
  TorchProgram(TorchDevice device, SharedWeights& weights, graph::Graph graph, graph::RowRules rules,
               std::vector<Kernel> kernels)
      : device_(std::move(device)),
        graph_(std::move(graph)),
        rules_(std::move(rules)),
        kernels_(std::move(kernels)),
        constants_(graph_.values.size()) {
    for (size_t value = 0; value < graph_.values.size(); ++value) {
      if (const auto& constant = graph_.values[value].constant) {
        constants_[value] = weights_.emplace_back(weights.Get(device_, *constant))->tensor;
      }
    }
  }

  const graph::Graph& Graph() const override { return graph_; }
  const graph::RowRules& RowRules() const override { return rules_; }
  absl::StatusOr<std::vector<TensorPtr>> Run(std::span<const Part> given, std::span<const Rows> wanted) const override {
    const c10::InferenceMode inference;
    return Running(device_, graph_, rules_, constants_, kernels_).Run(given, wanted);
  }
  Part Cut(const Part& part, RowRange range) const override {
    const c10::InferenceMode inference;
    const int axis = rules_.axis[part.rows.value];
    if (axis == graph::kNoRows) return part;
    const at::Tensor cut = Torch(part.tensor).narrow(axis, range.lo - part.rows.range.lo, range.Size());
    return {{part.rows.value, range}, std::make_shared<TorchTensor>(device_, cut)};
  }
  absl::StatusOr<Part> Join(std::span<const Part> parts) const override {
    if (parts.size() == 1) return parts[0];
    if (parts.empty()) return InvalidArgument("no rows to join");
    Rows rows = parts[0].rows;
    std::vector<at::Tensor> tensors = {Torch(parts[0].tensor)};
    for (const Part& part : parts.subspan(1)) {
      if (part.rows.value != rows.value || part.rows.range.lo != rows.range.hi) {
        return InvalidArgument("rows {} to {} of value {} do not follow row {} of value {}", part.rows.range.lo,
                               part.rows.range.hi, part.rows.value, rows.range.hi, rows.value);
      }
      rows.range.hi = part.rows.range.hi;
      tensors.push_back(Torch(part.tensor));
    }
    const int axis = rules_.axis[rows.value];
    if (axis == graph::kNoRows) return InvalidArgument("\"{}\" cannot be cut", graph_.values[rows.value].name);
    const c10::InferenceMode inference;
    try {
      auto joined = std::make_shared<TorchTensor>(device_, at::cat(tensors, axis));
      device_.Wait();
      return Part{rows, std::move(joined)};
    } catch (const std::exception& error) {
      const std::string what = fmt::format("rows of \"{}\" do not fit together", graph_.values[rows.value].name);
      const absl::Status status = StatusOf(error, what);
      return absl::IsResourceExhausted(status) ? status : InvalidArgument("{}: {}", what, FirstLine(error));
    }
  }

 private:
  const TorchDevice device_;
  const graph::Graph graph_;
  const graph::RowRules rules_;
  const std::vector<Kernel> kernels_;  // of each node
  std::vector<std::shared_ptr<const SharedWeights::Weight>> weights_;
  std::vector<at::Tensor> constants_;  // of each value
};

class TorchEngine final : public Engine {
 public:
  explicit TorchEngine(TorchDevice device) : device_(std::move(device)) {}

  absl::StatusOr<TensorPtr> MakeTensor(const graph::TensorType& type, std::span<const std::byte> bytes) const override {
    WHARF_RETURN_IF_ERROR(Validate(type));
    if (static_cast<int64_t>(bytes.size()) != type.Bytes()) {
      return InvalidArgument("{} bytes for {}", bytes.size(), type.Text());
    }
    const c10::InferenceMode inference;
    try {
      return std::make_shared<TorchTensor>(device_, FromBytes(device_, type, bytes));
    } catch (const std::exception& error) {
      return StatusOf(error, type.Text());
    }
  }

  absl::StatusOr<std::unique_ptr<Program>> Prepare(graph::Graph graph) const override {
    WHARF_RETURN_IF_ERROR(Validate(graph));
    WHARF_ASSIGN_OR_RETURN(auto rules, graph::RowRulesOf(graph));
    std::vector<Kernel> kernels;
    for (const Node& node : graph.nodes) {
      const auto kernel = Kernels().find(node.op);
      if (kernel == Kernels().end()) return Unimplemented("{}: no kernel", node.Label());
      kernels.push_back(kernel->second);
    }
    const c10::InferenceMode inference;
    weights_.Forget();
    try {
      auto program =
          std::make_unique<TorchProgram>(device_, weights_, std::move(graph), std::move(rules), std::move(kernels));
      if (!device_.Torch().is_cpu()) RunOnce(*program);
      return program;
    } catch (const std::exception& error) {
      return StatusOf(error, "the model's weights");
    }
  }

  std::string Name() const override {
    const std::string library = "LibTorch " + TorchVersion();
    return device_.Name().empty() ? library : library + " on " + device_.Name();
  }

  std::string Caution() const override {
    if (!device_.Torch().is_cpu()) return "";
    Dl_info info{};
    void* const product = dlsym(RTLD_DEFAULT, "sgemm_");
    if (product == nullptr || dladdr(product, &info) == 0) return "";
    std::error_code error;
    const std::string library = std::filesystem::canonical(info.dli_fname, error).string();
    for (const char* fast : {"openblas", "mkl", "libtorch_cpu"}) {  // PyTorch's own has MKL inside
      if (library.find(fast) != std::string::npos) return "";
    }
    return fmt::format("matrix products come from {}, some ten times slower than OpenBLAS (libopenblas0-pthread)",
                       library);
  }

 private:
  // A GPU's libraries choose and load kernels when they first meet an operator, which takes up to seconds in all:
  // better now than in somebody's inference. What fails here fails there, too, where it is said.
  void RunOnce(const Program& program) const {
    std::vector<TensorPtr> inputs;
    for (const int input : program.Graph().inputs) {
      const graph::TensorType& type = program.Graph().Type(input);
      auto tensor = MakeTensor(type, std::vector<std::byte>(static_cast<size_t>(type.Bytes())));
      if (!tensor.ok()) return;
      inputs.push_back(*std::move(tensor));
    }
    RunWhole(program, inputs).IgnoreError();
  }

  const TorchDevice device_;
  mutable SharedWeights weights_;
};

void SetThreads(int threads) {
  at::set_num_threads(threads);
  // OpenBLAS has threads of its own, which LibTorch does not know of.
  using SetThreads = void (*)(int);
  if (void* const set = dlsym(RTLD_DEFAULT, "openblas_set_num_threads")) {
    reinterpret_cast<SetThreads>(set)(threads);
  }
}

}  // namespace

at::ScalarType ToTorch(graph::ElementType element) { return kTypes[static_cast<size_t>(element)].second; }

at::Scalar Call::ScalarInput(size_t index) const {
  const graph::Constant* const known = graph.ConstantInput(node, index);
  if (known == nullptr) return in[index].item();
  return FromBytes(TorchDevice(), {known->type.element, {}}, std::span(*known->bytes)).item();
}

std::vector<int64_t> Call::OutShape(size_t index) const {
  std::vector<int64_t> shape = OutType(index).shape;
  if (out_axis != graph::kNoRows && shape[out_axis] > 1) shape[out_axis] = out_rows.Size();  // means have one for all
  return shape;
}

absl::StatusOr<std::unique_ptr<Engine>> MakeTorchEngineOn(const std::string& device, const TorchOptions& options) {
  WHARF_ASSIGN_OR_RETURN(const std::string found, FindTorchDevice(device));
  WHARF_ASSIGN_OR_RETURN(TorchDevice opened, TorchDevice::Open(found, options.gpu_memory));
  if (options.threads > 0) SetThreads(options.threads);
  return std::make_unique<TorchEngine>(std::move(opened));
}

std::unique_ptr<Engine> MakeTorchEngine(const TorchOptions& options) { return *MakeTorchEngineOn("cpu", options); }

absl::Status WarmUpTorch(const std::string& device) {
  const c10::InferenceMode inference;
  try {
    const at::TensorOptions there = at::TensorOptions(at::kFloat).device(device);
    const at::Tensor matrix = at::ones({512, 512}, there);
    at::matmul(matrix, matrix);
    at::conv2d(at::ones({1, 16, 64, 64}, there), at::ones({16, 16, 3, 3}, there)).relu_().cpu();
  } catch (const std::exception& error) {
    return StatusOf(error, "starting LibTorch on " + device);
  }
  return absl::OkStatus();
}

std::string TorchVersion() { return TORCH_VERSION; }

int TorchThreads() { return at::get_num_threads(); }

std::vector<std::string_view> TorchOperators() {
  std::vector<std::string_view> names;
  for (const auto& [name, kernel] : Kernels()) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace wharf::exec
