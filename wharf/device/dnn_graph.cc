#include "wharf/device/dnn_graph.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "wharf/device/cuda_error.h"
#include "wharf/device/dnn_norm.h"

namespace wharf::device {
namespace {

constexpr size_t kMostDims = 16;

template <typename... Args>
absl::Status Wrong(fmt::format_string<Args...> why, Args&&... args) {
  return CudaStatus(CudaError::kInvalidValue, "{}", fmt::format(why, std::forward<Args>(args)...));
}

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}
  bool empty() const { return rest_.empty(); }
  size_t left() const { return rest_.size(); }
  std::optional<int64_t> Number() {
    uint64_t number = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      if (rest_.empty()) return std::nullopt;
      const auto byte = std::to_integer<uint64_t>(rest_[0]);
      rest_ = rest_.subspan(1);
      if (shift == 63 && byte > 1) return std::nullopt;
      number |= (byte & 0x7f) << shift;
      if (byte < 0x80) return static_cast<int64_t>(number >> 1 ^ (~(number & 1) + 1));
    }
    return std::nullopt;
  }
  // Of an enumeration.
  std::optional<int32_t> Small() {
    const auto number = Number();
    if (!number || *number < 0 || *number > std::numeric_limits<int32_t>::max()) return std::nullopt;
    return static_cast<int32_t>(*number);
  }
  // Of things that take a byte at least.
  std::optional<size_t> Count() {
    const auto number = Number();
    if (!number || *number < 0 || static_cast<uint64_t>(*number) > rest_.size()) return std::nullopt;
    return static_cast<size_t>(*number);
  }

 private:
  std::span<const std::byte> rest_;
};

// Of engines, plans and variant packs; and what waits for memory to change, or is kept in a process.
bool IsPartOfGraph(int32_t type) {
  constexpr int32_t kEngine = 2, kLayoutInfo = 9, kVariantPack = 16, kSignal = 28, kKernelCache = 34, kDevice = 38;
  return (type < kEngine || type > kLayoutInfo) && type != kVariantPack && type != kSignal && type != kKernelCache &&
         type != kDevice;
}

// CUDNN_ATTR_OPERATION_..., of what each operation makes.
struct Result {
  int32_t operation, attribute;
};
constexpr Result kResults[] = {
    {10, 705},  // convolution: Y
    {11, 715},  // its gradients: DW
    {12, 710},  // DX
    {13, 753},
    {13, 756},  // element-wise: Y, DX
    {14, 773},
    {14, 774},   // statistics: sum, sum of squares
    {19, 1522},  // matrix product: C
    {20, 788},
    {20, 789},
    {20, 790},
    {20, 791},
    {20, 792},
    {20, 793},   // batch normalization: the running, the saved
                 // mean and variance, scale and shift
    {22, 1611},  // reduction: Y
    {23, 1626},
    {23, 1627},
    {23, 1628},
    {23, 1629},
    {23, 1630},  // batch normalization's gradients
    {25, 1711},
    {25, 1712},  // resampling: Y, where a maximum was
    {26, 1720},  // its gradient: DX
    {27, 1803},  // concatenation
    {29, 2003},
    {29, 2004},
    {29, 2011},
    {29, 2012},
    {29, 2013},
    {29, 2014},  // normalization: mean and variance, which
                 // it makes when it trains, the running ones, Y;
                 // what peers tell each other
    {30, 2107},
    {30, 2108},
    {30, 2109},
    {30, 2110},  // its gradients; likewise
    {31, 2201},  // reshape: Y
    {33, 2310},  // random numbers
    {35, 1951},  // paged cache: Y
    {36, 2501},
    {36, 2502},  // quantization: Y, scales
    {37, 2602},  // its inverse
    {39, 2251},
    {40, 2271},  // band matrices
    {41, 2803},
    {41, 2804},  // attention: O, statistics
    {42, 2905},  // grouped matrix products
    {43, 2859},
    {43, 2860},
    {43, 2861},  // attention's gradients: DQ, DK, DV
};

bool IsKnownOperation(int32_t type) {
  return std::any_of(std::begin(kResults), std::end(kResults), [&](const Result& r) { return r.operation == type; });
}
bool IsResult(int32_t operation, int32_t attribute) {
  if (operation == kDnnNormForward || operation == kDnnNormBackward) return IsWrittenByNorm(operation, attribute);
  return !IsKnownOperation(operation) || std::any_of(std::begin(kResults), std::end(kResults), [&](const Result& r) {
    return r.operation == operation && r.attribute == attribute;
  });
}

// Of a cudnnDataType_t's elements; nothing for types that are not known.
std::optional<uint32_t> DataBits(int64_t type) {
  constexpr std::array<uint32_t, 22> kBits = {32, 64, 16, 8,  32, 32, 8, 32, 256, 16, 64,
                                              8,  8,  8,  32, 8,  4,  4, 4,  32,  64, 128};
  if (type < 0 || static_cast<size_t>(type) >= kBits.size()) return std::nullopt;
  return kBits[static_cast<size_t>(type)];
}

absl::StatusOr<uint64_t> ExtentOf(const DnnDescriptorForm& tensor, int64_t number) {
  const DnnAttribute *const dims = tensor.Find(kDnnDims), *const strides = tensor.Find(kDnnStrides);
  const auto bits = DataBits(tensor.One(kDnnDataType, 0));
  if (!bits) return CudaStatus(CudaError::kNotSupported, "tensor {} is of a type that is not known", number);
  if (dims == nullptr || strides == nullptr || dims->numbers.size() != strides->numbers.size() ||
      dims->numbers.size() > kMostDims) {
    return Wrong("tensor {} has no sizes, or not as many strides", number);
  }
  __int128 extent = 1;
  for (size_t i = 0; i < dims->numbers.size(); ++i) {
    const int64_t dim = dims->numbers[i], stride = strides->numbers[i];
    if (dim < 1 || stride < 0) return Wrong("tensor {} has {} elements {} apart", number, dim, stride);
    extent += static_cast<__int128>(dim - 1) * stride;
    if (extent > std::numeric_limits<int64_t>::max()) return Wrong("tensor {} is larger than memory can be", number);
  }
  const __int128 bytes = (extent * *bits + 7) / 8;
  if (bytes > std::numeric_limits<int64_t>::max()) return Wrong("tensor {} is larger than memory can be", number);
  return static_cast<uint64_t>(bytes);
}

const DnnBinding* Find(const std::vector<DnnBinding>& bindings, int64_t number) {
  const auto found =
      std::find_if(bindings.begin(), bindings.end(), [&](const DnnBinding& b) { return b.tensor == number; });
  return found == bindings.end() ? nullptr : &*found;
}

// Which descriptors are of tensors that operations make.
std::vector<bool> ResultsOf(std::span<const DnnDescriptorForm> descriptors) {
  std::vector<bool> results(descriptors.size());
  for (const DnnDescriptorForm& descriptor : descriptors) {
    for (const DnnAttribute& attribute : descriptor.attributes) {
      if (attribute.type != kDnnReference || !IsResult(descriptor.type, attribute.name)) continue;
      // What a tensor refers to is only read; what the graph refers to are its operations.
      if (descriptor.type == kDnnTensor || descriptor.type == kDnnOperationGraph) continue;
      for (const int64_t tensor : attribute.numbers) results[static_cast<size_t>(tensor)] = true;
    }
  }
  return results;
}

absl::Status CheckElements(const DnnAttribute& attribute, size_t before) {
  if (DnnElementBytes(attribute.type) == 0) {
    return CudaStatus(CudaError::kNotSupported, "attribute {} is of type {}", attribute.name, attribute.type);
  }
  if (attribute.type == kDnnFraction && attribute.numbers.size() % 2 != 0) return Wrong("half a fraction");
  if (attribute.type != kDnnReference) return absl::OkStatus();
  for (const int64_t other : attribute.numbers) {
    if (other < 0 || static_cast<uint64_t>(other) >= before) {
      return Wrong("attribute {} refers to descriptor {} of {}", attribute.name, other, before);
    }
  }
  return absl::OkStatus();
}

}  // namespace

size_t DnnElementBytes(int32_t type) {
  // CUDNN_TYPE_...
  constexpr int32_t kHandle = 0, kBoolean = 2, kInt64 = 3, kDouble = 5, kPointer = 6, kChar = 24, kLast = 30;
  if (type < 0 || type > kLast || type == kHandle || type == kPointer || type == kChar) return 0;
  if (type == kBoolean) return sizeof(bool);
  if (type == kInt64 || type == kDouble || type == kDnnReference) return sizeof(int64_t);
  return type == kDnnFraction ? 2 * sizeof(int64_t) : sizeof(int32_t);
}

const DnnAttribute* DnnDescriptorForm::Find(int32_t name) const {
  const auto found =
      std::find_if(attributes.begin(), attributes.end(), [&](const DnnAttribute& a) { return a.name == name; });
  return found == attributes.end() ? nullptr : &*found;
}
int64_t DnnDescriptorForm::One(int32_t name, int64_t otherwise) const {
  const DnnAttribute* const found = Find(name);
  return found == nullptr || found->numbers.empty() ? otherwise : found->numbers[0];
}

absl::StatusOr<DnnDescription> DnnDescription::Parse(std::span<const std::byte> bytes) {
  if (bytes.size() > kMostBytes) return Wrong("a description of {} bytes", bytes.size());
  DnnDescription made;
  // Every number takes a byte at least, so that nothing that is pointed to moves.
  made.numbers_.reserve(bytes.size());
  made.attributes_.reserve(bytes.size() / 3);
  Reader reader(bytes);
  const absl::Status cut_short = Wrong("the description is cut short, or has wrong numbers");
  while (!reader.empty()) {
    const auto type = reader.Small();
    const auto attributes = reader.Count();
    if (!type || !attributes || *attributes > reader.left() / 3) return cut_short;
    if (!IsPartOfGraph(*type)) return Wrong("a descriptor of type {} in a graph", *type);
    if (made.descriptors_.size() >= kMostDescriptors) return Wrong("more than {} descriptors", kMostDescriptors);
    if (!made.descriptors_.empty() && made.descriptors_.back().type == kDnnOperationGraph) {
      return Wrong("the graph is not the last descriptor");
    }
    const size_t first = made.attributes_.size();
    for (size_t i = 0; i < *attributes; ++i) {
      const auto name = reader.Small(), of = reader.Small();
      const auto count = reader.Count();
      if (!name || !of || !count) return cut_short;
      const size_t at = made.numbers_.size();
      for (size_t j = 0; j < *count; ++j) {
        const auto number = reader.Number();
        if (!number) return cut_short;
        made.numbers_.push_back(*number);
      }
      made.attributes_.push_back({*name, *of, std::span(made.numbers_).subspan(at)});
      WHARF_RETURN_IF_ERROR(CheckElements(made.attributes_.back(), made.descriptors_.size()));
    }
    made.descriptors_.push_back({*type, std::span(made.attributes_).subspan(first)});
  }
  if (made.descriptors_.empty() || made.descriptors_.back().type != kDnnOperationGraph)
    return Wrong("there is no graph");
  return made;
}

absl::StatusOr<std::vector<DnnTensor>> DnnTensorsOf(const DnnGraph& graph) {
  WHARF_ASSIGN_OR_RETURN(const DnnDescription description, DnnDescription::Parse(graph.description));
  WHARF_RETURN_IF_ERROR(NormOf(description, graph).status());
  const auto descriptors = description.descriptors();
  const std::vector<bool> results = ResultsOf(descriptors);
  if (graph.tensors.size() > descriptors.size() || graph.scalars.size() > descriptors.size()) {
    return Wrong("{} tensors and {} values of {} descriptors", graph.tensors.size(), graph.scalars.size(),
                 descriptors.size());
  }
  std::vector<DnnTensor> read, written;
  for (size_t i = 0; i < descriptors.size(); ++i) {
    const DnnDescriptorForm& tensor = descriptors[i];
    if (tensor.type != kDnnTensor) continue;
    const int64_t number = tensor.One(kDnnNumber, 0);
    WHARF_ASSIGN_OR_RETURN(const uint64_t bytes, ExtentOf(tensor, number));
    if (tensor.One(kDnnIsVirtual, 0) != 0) continue;
    const bool by_value = tensor.One(kDnnIsByValue, 0) != 0;
    const DnnBinding* const bound = Find(by_value ? graph.scalars : graph.tensors, number);
    if (bound == nullptr) return Wrong("tensor {} has no {}", number, by_value ? "value" : "address");
    if (by_value && bytes > sizeof(bound->value))
      return Wrong("tensor {} of {} bytes is given by value", number, bytes);
    if (by_value) continue;
    const DnnTensor touched{bound->value, bytes, tensor.Find(kDnnRaggedOffset) != nullptr, results[i]};
    (touched.written ? written : read).push_back(touched);
  }
  read.insert(read.end(), written.begin(), written.end());
  return read;
}

}  // namespace wharf::device
