#include "wharf/device/primitive.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "wharf/device/cuda_error.h"

namespace wharf::device {
namespace {

using IsMapped = std::function<bool(DeviceAddress, uint64_t)>;

bool IsFloating(ElementType type) {
  return type == ElementType::kF16 || type == ElementType::kBF16 || type == ElementType::kF32 ||
         type == ElementType::kF64;
}

struct StridedDim {
  int32_t stride, size;
};

// The dimensions that have a stride, the smallest first.
std::vector<StridedDim> ByStride(const Tensor& tensor) {
  std::vector<StridedDim> dims;
  for (int i = 0; i < kTensorDims; ++i) {
    if (tensor.dims[i] > 1) dims.push_back({tensor.strides[i], tensor.dims[i]});
  }
  std::sort(dims.begin(), dims.end(), [](const StridedDim& a, const StridedDim& b) { return a.stride < b.stride; });
  return dims;
}

absl::Status CheckRange(const char* name, DeviceAddress address, ElementType type, uint64_t bytes,
                        const IsMapped& is_mapped) {
  if (address % ElementBytes(type) != 0) {
    return CudaStatus(CudaError::kInvalidValue, "{} at {:#x} is not aligned", name, address);
  }
  if (!is_mapped(address, bytes)) {
    return CudaStatus(CudaError::kInvalidValue, "{} at {:#x} is not all in device memory", name, address);
  }
  return absl::OkStatus();
}

absl::Status CheckTensor(const char* name, const Tensor& tensor, const IsMapped& is_mapped) {
  if (!IsFloating(tensor.type)) return CudaStatus(CudaError::kNotSupported, "{} is of a type that none computes", name);
  for (int i = 0; i < kTensorDims; ++i) {
    if (tensor.dims[i] < 1 || tensor.strides[i] < 0 || (tensor.dims[i] > 1 && tensor.strides[i] == 0)) {
      return CudaStatus(CudaError::kInvalidValue, "{} has {} elements {} apart in dimension {}", name, tensor.dims[i],
                        tensor.strides[i], i);
    }
  }
  __int128 extent = 1;
  for (const StridedDim& dim : ByStride(tensor)) {
    if (dim.stride < extent) return CudaStatus(CudaError::kNotSupported, "elements of {} share memory", name);
    extent += static_cast<__int128>(dim.size - 1) * dim.stride;
  }
  // What BLAS and cuDNN take as an int. Nothing is shared, so that there are no more elements than the extent.
  if (extent <= std::numeric_limits<int64_t>::max() && tensor.Volume() > std::numeric_limits<int32_t>::max()) {
    return CudaStatus(CudaError::kNotSupported, "{} has {} elements", name, tensor.Volume());
  }
  extent *= static_cast<__int128>(ElementBytes(tensor.type));
  if (extent > std::numeric_limits<int64_t>::max()) {
    return CudaStatus(CudaError::kInvalidValue, "{} is larger than memory can be", name);
  }
  return CheckRange(name, tensor.address, tensor.type, static_cast<uint64_t>(extent), is_mapped);
}

absl::Status CheckSame(const char* name, const Tensor& tensor, const Tensor& other, bool dims) {
  if (tensor.type != other.type) return CudaStatus(CudaError::kNotSupported, "{} is of another type", name);
  if (dims && tensor.dims != other.dims) return CudaStatus(CudaError::kInvalidValue, "{} is of another shape", name);
  return absl::OkStatus();
}

template <typename Kind>
absl::Status CheckKind(Kind kind, Kind last) {
  if (kind <= last) return absl::OkStatus();
  return CudaStatus(CudaError::kNotSupported, "there is no kind {}", static_cast<int>(kind));
}

// Window positions along one dimension; all numbers are below 2^31, so that their products stay below 2^62.
struct WindowAxis {
  int64_t in, out, window, padding, stride, dilation;
};

absl::Status CheckAxis(const WindowAxis& a) {
  if (a.window < 1 || a.padding < 0 || a.stride < 1 || a.dilation < 1) {
    return CudaStatus(CudaError::kInvalidValue, "a window of {}, padding {}, stride {}, dilation {}", a.window,
                      a.padding, a.stride, a.dilation);
  }
  const int64_t room = a.in + 2 * a.padding - (a.window - 1) * a.dilation - 1;
  if (room < 0 || room / a.stride + 1 != a.out) {
    return CudaStatus(CudaError::kInvalidValue, "a window of {} gives other than {} places of {}", a.window, a.out,
                      a.in);
  }
  return absl::OkStatus();
}

const Tensor& ResultOf(const Convolution& c) { return c.transposed ? c.x : c.y; }
const Tensor& DataOf(const Convolution& c) { return c.transposed ? c.y : c.x; }

absl::Status Verify(const Convolution& c, const IsMapped& is_mapped) {
  WHARF_RETURN_IF_ERROR(CheckKind(c.activation.kind, Activation::kGeluTanh));
  WHARF_RETURN_IF_ERROR(CheckTensor("x", c.x, is_mapped));
  WHARF_RETURN_IF_ERROR(CheckTensor("the filter", c.filter, is_mapped));
  WHARF_RETURN_IF_ERROR(CheckTensor("y", c.y, is_mapped));
  WHARF_RETURN_IF_ERROR(CheckSame("the filter", c.filter, c.x, false));
  WHARF_RETURN_IF_ERROR(CheckSame("y", c.y, c.x, false));
  if (c.groups < 1 || c.x.dims[0] != c.y.dims[0] || int64_t{c.filter.dims[1]} * c.groups != c.x.dims[1] ||
      c.filter.dims[0] != c.y.dims[1] || c.y.dims[1] % c.groups != 0) {
    return CudaStatus(CudaError::kInvalidValue, "{} channels, {} groups, a filter of {} by {}, {} results", c.x.dims[1],
                      c.groups, c.filter.dims[0], c.filter.dims[1], c.y.dims[1]);
  }
  for (int i = 0; i < kSpatialDims; ++i) {
    WHARF_RETURN_IF_ERROR(
        CheckAxis({c.x.dims[i + 2], c.y.dims[i + 2], c.filter.dims[i + 2], c.padding[i], c.stride[i], c.dilation[i]}));
  }
  const Tensor& result = ResultOf(c);
  if (c.added.address != 0) {
    WHARF_RETURN_IF_ERROR(CheckSame("what is added", c.added, result, true));
    WHARF_RETURN_IF_ERROR(CheckTensor("what is added", c.added, is_mapped));
  }
  if (c.bias == 0) return absl::OkStatus();
  if (!IsFloating(c.bias_type)) return CudaStatus(CudaError::kNotSupported, "the bias is of a type that none computes");
  return CheckRange("the bias", c.bias, c.bias_type, static_cast<uint64_t>(result.dims[1]) * ElementBytes(c.bias_type),
                    is_mapped);
}

absl::Status Verify(const Pooling& p, const IsMapped& is_mapped) {
  WHARF_RETURN_IF_ERROR(CheckKind(p.kind, PoolingKind::kAverageWithoutPadding));
  WHARF_RETURN_IF_ERROR(CheckTensor("x", p.x, is_mapped));
  WHARF_RETURN_IF_ERROR(CheckTensor("y", p.y, is_mapped));
  WHARF_RETURN_IF_ERROR(CheckSame("y", p.y, p.x, false));
  if (p.x.dims[0] != p.y.dims[0] || p.x.dims[1] != p.y.dims[1]) {
    return CudaStatus(CudaError::kInvalidValue, "pooling keeps batch and channels");
  }
  for (int i = 0; i < kSpatialDims; ++i) {
    WHARF_RETURN_IF_ERROR(CheckAxis({p.x.dims[i + 2], p.y.dims[i + 2], p.window[i], p.padding[i], p.stride[i], 1}));
    // So every window has an element.
    if (p.padding[i] >= p.window[i]) {
      return CudaStatus(CudaError::kInvalidValue, "a window of {} with padding {}", p.window[i], p.padding[i]);
    }
  }
  return absl::OkStatus();
}

// One of the four.
Tensor ParameterAt(const Tensor& parameter, DeviceAddress address) {
  Tensor other = parameter;
  other.address = address;
  return other;
}

absl::Status Verify(const BatchNorm& b, const IsMapped& is_mapped) {
  WHARF_RETURN_IF_ERROR(CheckTensor("x", b.x, is_mapped));
  WHARF_RETURN_IF_ERROR(CheckTensor("y", b.y, is_mapped));
  WHARF_RETURN_IF_ERROR(CheckSame("y", b.y, b.x, true));
  const auto& dims = b.scale.dims;
  const bool by_channel = dims[2] == 1 && dims[3] == 1 && dims[4] == 1;
  const bool by_place = dims[2] == b.x.dims[2] && dims[3] == b.x.dims[3] && dims[4] == b.x.dims[4];
  if (dims[0] != 1 || dims[1] != b.x.dims[1] || !(by_channel || by_place)) {
    return CudaStatus(CudaError::kInvalidValue, "the parameters of a normalization are of another shape");
  }
  if (b.scale.type != b.x.type && b.scale.type != ElementType::kF32) {
    return CudaStatus(CudaError::kNotSupported, "the parameters of a normalization are of another type");
  }
  WHARF_RETURN_IF_ERROR(CheckTensor("the scale", b.scale, is_mapped));
  WHARF_RETURN_IF_ERROR(CheckTensor("the shift", ParameterAt(b.scale, b.shift), is_mapped));
  WHARF_RETURN_IF_ERROR(CheckTensor("the mean", ParameterAt(b.scale, b.mean), is_mapped));
  return CheckTensor("the variance", ParameterAt(b.scale, b.variance), is_mapped);
}

absl::Status Verify(const Softmax& s, const IsMapped& is_mapped) {
  WHARF_RETURN_IF_ERROR(CheckTensor("x", s.x, is_mapped));
  WHARF_RETURN_IF_ERROR(CheckTensor("y", s.y, is_mapped));
  return CheckSame("y", s.y, s.x, true);
}

absl::Status CheckRepeated(const char* name, const Tensor& operand, const Tensor& result, const IsMapped& is_mapped) {
  WHARF_RETURN_IF_ERROR(CheckTensor(name, operand, is_mapped));
  WHARF_RETURN_IF_ERROR(CheckSame(name, operand, result, false));
  for (int i = 0; i < kTensorDims; ++i) {
    if (operand.dims[i] != 1 && operand.dims[i] != result.dims[i]) {
      return CudaStatus(CudaError::kInvalidValue, "{} has {} elements in dimension {}, the result {}", name,
                        operand.dims[i], i, result.dims[i]);
    }
  }
  return absl::OkStatus();
}

absl::Status Verify(const Pointwise& p, const IsMapped& is_mapped) {
  WHARF_RETURN_IF_ERROR(CheckKind(p.kind, PointwiseKind::kSqrt));
  WHARF_RETURN_IF_ERROR(CheckKind(p.activation.kind, Activation::kGeluTanh));
  WHARF_RETURN_IF_ERROR(CheckTensor("y", p.y, is_mapped));
  if (HasFirst(p.kind)) WHARF_RETURN_IF_ERROR(CheckRepeated("a", p.a, p.y, is_mapped));
  if (HasSecond(p.kind)) WHARF_RETURN_IF_ERROR(CheckRepeated("b", p.b, p.y, is_mapped));
  return absl::OkStatus();
}

std::vector<PrimitiveOperand> Operands(const Recurrent& r);
std::vector<PrimitiveOperand> Operands(const Fourier& f);
std::vector<PrimitiveOperand> Operands(const Lapack& l);

absl::Status Verify(const Recurrent& r, const IsMapped& is_mapped) {
  if (!IsFloating(r.type)) return CudaStatus(CudaError::kNotSupported, "a type that none computes");
  WHARF_RETURN_IF_ERROR(CheckShape(r));
  for (const PrimitiveOperand& operand : Operands(r)) {
    WHARF_RETURN_IF_ERROR(CheckRange(operand.name, operand.address, r.type, operand.bytes, is_mapped));
  }
  return absl::OkStatus();
}

absl::Status Verify(const Fourier& f, const IsMapped& is_mapped) {
  WHARF_RETURN_IF_ERROR(CheckShape(f));
  for (const PrimitiveOperand& operand : Operands(f)) {
    WHARF_RETURN_IF_ERROR(CheckRange(operand.name, operand.address, f.type, operand.bytes, is_mapped));
  }
  return absl::OkStatus();
}

absl::Status Verify(const Lapack& l, const IsMapped& is_mapped) {
  WHARF_RETURN_IF_ERROR(CheckShape(l));
  for (const LapackPart& part : PartsOf(l)) {
    const DeviceAddress address = l.operands[static_cast<size_t>(part.operand)].address;
    if (address % part.aligned_to == 0) continue;
    return CudaStatus(CudaError::kInvalidValue, "{} at {:#x} is not aligned", part.name, address);
  }
  if (l.info % sizeof(int32_t) != 0)
    return CudaStatus(CudaError::kInvalidValue, "info at {:#x} is not aligned", l.info);
  for (const PrimitiveOperand& operand : Operands(l)) {
    if (is_mapped(operand.address, operand.bytes)) continue;
    return CudaStatus(CudaError::kInvalidValue, "{} at {:#x} is not all in device memory", operand.name,
                      operand.address);
  }
  return absl::OkStatus();
}

absl::Status Verify(const DnnGraph& g, const IsMapped& is_mapped) {
  WHARF_ASSIGN_OR_RETURN(const std::vector<DnnTensor> tensors, DnnTensorsOf(g));
  for (const DnnTensor& tensor : tensors) {
    if (is_mapped(tensor.address, tensor.ragged ? 1 : tensor.bytes)) continue;
    return CudaStatus(CudaError::kInvalidValue, "a tensor at {:#x} is not all in device memory", tensor.address);
  }
  return absl::OkStatus();
}

// --- operands ---

PrimitiveOperand ReadOf(const char* name, const Tensor& tensor) { return {name, tensor.address, tensor.Bytes()}; }

PrimitiveOperand ResultOperand(const Tensor& tensor, bool used) {
  const bool whole = static_cast<uint64_t>(tensor.Volume()) * ElementBytes(tensor.type) == tensor.Bytes();
  return {"the result", tensor.address, tensor.Bytes(), used || !whole, true};
}

std::vector<PrimitiveOperand> Operands(const Convolution& c) {
  std::vector<PrimitiveOperand> operands{ReadOf(c.transposed ? "y" : "x", DataOf(c)), ReadOf("the filter", c.filter)};
  const Tensor& result = ResultOf(c);
  if (c.added.address != 0) operands.push_back(ReadOf("what is added", c.added));
  if (c.bias != 0) {
    operands.push_back({"the bias", c.bias, static_cast<uint64_t>(result.dims[1]) * ElementBytes(c.bias_type)});
  }
  operands.push_back(ResultOperand(result, false));
  return operands;
}
std::vector<PrimitiveOperand> Operands(const Pooling& p) { return {ReadOf("x", p.x), ResultOperand(p.y, p.beta != 0)}; }
std::vector<PrimitiveOperand> Operands(const BatchNorm& b) {
  return {ReadOf("x", b.x),
          ReadOf("the scale", b.scale),
          ReadOf("the shift", ParameterAt(b.scale, b.shift)),
          ReadOf("the mean", ParameterAt(b.scale, b.mean)),
          ReadOf("the variance", ParameterAt(b.scale, b.variance)),
          ResultOperand(b.y, b.beta != 0)};
}
std::vector<PrimitiveOperand> Operands(const Softmax& s) { return {ReadOf("x", s.x), ResultOperand(s.y, s.beta != 0)}; }
std::vector<PrimitiveOperand> Operands(const Pointwise& p) {
  std::vector<PrimitiveOperand> operands;
  if (HasFirst(p.kind)) operands.push_back(ReadOf("a", p.a));
  if (HasSecond(p.kind)) operands.push_back(ReadOf("b", p.b));
  operands.push_back(ResultOperand(p.y, p.beta != 0));
  return operands;
}

std::vector<PrimitiveOperand> Operands(const Recurrent& r) {
  const auto bytes = [&r](int64_t elements) { return static_cast<uint64_t>(elements) * ElementBytes(r.type); };
  const int64_t rows = r.Rows(), states = int64_t{r.layers} * r.Directions() * r.batch;
  std::vector<PrimitiveOperand> operands{{"x", r.x, bytes(rows * r.inputs)},
                                         {"the weights", r.weights, bytes(RecurrentWeights(r).Elements())}};
  const bool has_cells = r.cell == RecurrentCell::kLstm;
  const uint64_t state_bytes = bytes(states * r.outputs), cell_bytes = bytes(states * r.hidden);
  if (r.hx != 0) operands.push_back({"hx", r.hx, state_bytes});
  if (has_cells && r.cx != 0) operands.push_back({"cx", r.cx, cell_bytes});
  if (r.hy != 0) operands.push_back({"hy", r.hy, state_bytes, false, true});
  if (has_cells && r.cy != 0) operands.push_back({"cy", r.cy, cell_bytes, false, true});
  // Behind the ends of sequences what was there stays.
  const bool whole =
      r.fills || r.layout == SequenceLayout::kPacked ||
      std::all_of(r.lengths.begin(), r.lengths.end(), [&r](int32_t length) { return length == r.steps; });
  operands.push_back({"y", r.y, bytes(rows * r.Directions() * r.outputs), !whole, true});
  return operands;
}

std::vector<PrimitiveOperand> Operands(const Fourier& f) {
  const uint64_t in_bytes = static_cast<uint64_t>(ExtentOf(f.in, f.InSizes(), f.batch)) * f.InBytes();
  const uint64_t out_bytes = static_cast<uint64_t>(ExtentOf(f.out, f.OutSizes(), f.batch)) * f.OutBytes();
  const auto [n0, n1, n2] = f.OutSizes();
  const bool whole = static_cast<uint64_t>(f.batch * n0 * n1 * n2) * f.OutBytes() == out_bytes;
  return {{"the input", f.in.address, in_bytes, true, f.kind == FourierKind::kComplexToReal},
          {"the result", f.out.address, out_bytes, !whole, true}};
}

std::vector<PrimitiveOperand> Operands(const Lapack& l) {
  std::vector<PrimitiveOperand> operands;
  const std::vector<LapackPart> parts = PartsOf(l);
  // Results last.
  for (const bool results : {false, true}) {
    for (const LapackPart& part : parts) {
      if (part.written != results) continue;
      const bool whole = (l.batch == 1 && part.columns == 1) || !part.written;
      operands.push_back({part.name, l.operands[static_cast<size_t>(part.operand)].address,
                          static_cast<uint64_t>(ExtentOf(l, part)) * part.element_bytes, part.read || !whole,
                          part.written});
    }
  }
  if (l.info != 0) operands.push_back({"info", l.info, static_cast<uint64_t>(l.batch) * sizeof(int32_t), false, true});
  return operands;
}

std::vector<PrimitiveOperand> Operands(const DnnGraph& g) {
  std::vector<PrimitiveOperand> operands;
  const auto tensors = DnnTensorsOf(g);
  if (!tensors.ok()) return operands;
  for (const DnnTensor& tensor : *tensors) {
    operands.push_back(
        {tensor.written ? "the result" : "a tensor", tensor.address, tensor.bytes, true, tensor.written});
  }
  return operands;
}

// --- estimates ---

double WindowVolume(const Spatial& window) { return double{1} * window[0] * window[1] * window[2]; }

double Steps(const Convolution& c) {
  const double products =
      static_cast<double>(c.y.Volume()) * c.filter.dims[1] * c.filter.dims[2] * c.filter.dims[3] * c.filter.dims[4];
  return products + static_cast<double>(c.x.Volume() + c.filter.Volume());
}
double Steps(const Pooling& p) {
  return static_cast<double>(p.y.Volume()) * WindowVolume(p.window) + static_cast<double>(p.x.Volume());
}
double Steps(const BatchNorm& b) { return static_cast<double>(b.y.Volume()); }
double Steps(const Softmax& s) { return 4.0 * static_cast<double>(s.y.Volume()); }
double Steps(const Pointwise& p) { return static_cast<double>(p.y.Volume()); }

double Steps(const Recurrent& r) {
  const double matrices = static_cast<double>(RecurrentWeights(r).Elements());
  return static_cast<double>(r.Rows()) * (matrices + double{8} * r.layers * r.Directions() * r.Gates() * r.hidden);
}

double Steps(const Fourier& f) {
  const auto points = static_cast<double>(CountPoints(f));
  return 2 * points * std::max(1.0, std::log2(points / static_cast<double>(f.batch)));
}

double Steps(const Lapack& l) { return StepsOf(l); }

// The operations are not known: as if every byte took part in many.
double Steps(const DnnGraph& g) {
  constexpr double kStepsPerByte = 64;
  double bytes = 0;
  for (const PrimitiveOperand& operand : Operands(g)) bytes += static_cast<double>(operand.bytes);
  return kStepsPerByte * bytes;
}

struct KindNames {
  const char* operator()(const Convolution&) const { return "convolution"; }
  const char* operator()(const Pooling&) const { return "pooling"; }
  const char* operator()(const BatchNorm&) const { return "batch normalization"; }
  const char* operator()(const Softmax&) const { return "softmax"; }
  const char* operator()(const Pointwise&) const { return "element-wise operation"; }
  const char* operator()(const Recurrent&) const { return "recurrent network"; }
  const char* operator()(const Fourier&) const { return "Fourier transform"; }
  const char* operator()(const Lapack& what) const { return NameOf(what.routine); }
  const char* operator()(const DnnGraph&) const { return "cuDNN graph"; }
};

}  // namespace

int64_t Tensor::Volume() const {
  int64_t volume = 1;
  for (const int32_t dim : dims) volume *= dim;
  return volume;
}

uint64_t Tensor::Bytes() const {
  uint64_t extent = 1;
  for (int i = 0; i < kTensorDims; ++i)
    extent += static_cast<uint64_t>(dims[i] - 1) * static_cast<uint64_t>(strides[i]);
  return extent * ElementBytes(type);
}

std::vector<PrimitiveOperand> OperandsOf(const Primitive& primitive) {
  return std::visit([](const auto& what) { return Operands(what); }, primitive);
}

absl::Status CheckPrimitive(const Primitive& primitive, const IsMapped& is_mapped) {
  const absl::Status status = std::visit([&](const auto& what) { return Verify(what, is_mapped); }, primitive);
  if (status.ok()) return status;
  return CudaStatus(CudaErrorOf(status), "{}: {}", NameOf(primitive), Message(status));
}

const char* NameOf(const Primitive& primitive) { return std::visit(KindNames(), primitive); }

int64_t WorkOf(const Primitive& primitive) {
  constexpr double kMost = 0x1p62;
  return static_cast<int64_t>(std::min(kMost, std::visit([](const auto& what) { return Steps(what); }, primitive)));
}

}  // namespace wharf::device
