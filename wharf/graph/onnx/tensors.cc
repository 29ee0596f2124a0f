#include "wharf/graph/onnx/tensors.h"

#define ONNX_ML 1  // as Debian builds libonnx
#define ONNX_NAMESPACE onnx
#include <onnx/onnx_pb.h>

#include <array>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace wharf::graph {
namespace {

constexpr std::array<std::pair<ElementType, int>, 8> kElementTypes = {
    {{ElementType::kFloat, onnx::TensorProto::FLOAT},
     {ElementType::kDouble, onnx::TensorProto::DOUBLE},
     {ElementType::kInt8, onnx::TensorProto::INT8},
     {ElementType::kUint8, onnx::TensorProto::UINT8},
     {ElementType::kInt16, onnx::TensorProto::INT16},
     {ElementType::kInt32, onnx::TensorProto::INT32},
     {ElementType::kInt64, onnx::TensorProto::INT64},
     {ElementType::kBool, onnx::TensorProto::BOOL}}};

int ToOnnx(ElementType element) { return kElementTypes[static_cast<size_t>(element)].second; }

template <typename To, typename Field>
std::vector<std::byte> Narrowed(const Field& field) {
  std::vector<std::byte> bytes(field.size() * sizeof(To));
  for (int i = 0; i < field.size(); ++i) {
    const To value = static_cast<To>(field[i]);
    std::memcpy(bytes.data() + i * sizeof(To), &value, sizeof(To));
  }
  return bytes;
}

std::vector<std::byte> TypedData(const onnx::TensorProto& tensor, ElementType element) {
  switch (element) {
    case ElementType::kFloat:
      return Narrowed<float>(tensor.float_data());
    case ElementType::kDouble:
      return Narrowed<double>(tensor.double_data());
    case ElementType::kInt64:
      return Narrowed<int64_t>(tensor.int64_data());
    case ElementType::kInt32:
      return Narrowed<int32_t>(tensor.int32_data());
    case ElementType::kInt16:
      return Narrowed<int16_t>(tensor.int32_data());
    case ElementType::kInt8:
      return Narrowed<int8_t>(tensor.int32_data());
    case ElementType::kUint8:
      return Narrowed<uint8_t>(tensor.int32_data());
    case ElementType::kBool:
      break;
  }
  return Narrowed<bool>(tensor.int32_data());
}

}  // namespace

absl::StatusOr<ElementType> FromOnnx(int element) {
  for (const auto& [ours, theirs] : kElementTypes) {
    if (theirs == element) return ours;
  }
  const std::string name = onnx::TensorProto_DataType_IsValid(element)
                               ? onnx::TensorProto_DataType_Name(static_cast<onnx::TensorProto_DataType>(element))
                               : std::to_string(element);
  return Unimplemented("elements of type {}", name);
}

absl::StatusOr<Constant> ToConstant(const onnx::TensorProto& tensor) {
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL || tensor.external_data_size() > 0) {
    return Unimplemented("its data lies in another file; export the model into one file");
  }
  TensorType type;
  WHARF_ASSIGN_OR_RETURN(type.element, FromOnnx(tensor.data_type()));
  type.shape.assign(tensor.dims().begin(), tensor.dims().end());
  WHARF_RETURN_IF_ERROR(Validate(type));
  std::vector<std::byte> bytes;
  if (tensor.has_raw_data()) {
    const auto raw = std::as_bytes(std::span(tensor.raw_data()));
    bytes.assign(raw.begin(), raw.end());
  } else {
    bytes = TypedData(tensor, type.element);
  }
  if (static_cast<int64_t>(bytes.size()) != type.Bytes()) {
    return InvalidArgument("{} bytes for {}", bytes.size(), type.Text());
  }
  if (type.element == ElementType::kBool) {
    for (std::byte& value : bytes) value = std::byte{value != std::byte{0}};
  }
  return Constant{type, std::make_shared<const std::vector<std::byte>>(std::move(bytes))};
}

onnx::TensorProto FromConstant(const Constant& constant) {
  onnx::TensorProto tensor;
  tensor.set_data_type(ToOnnx(constant.type.element));
  for (const int64_t n : constant.type.shape) tensor.add_dims(n);
  tensor.set_raw_data(constant.bytes->data(), constant.bytes->size());
  return tensor;
}

onnx::TypeProto FromType(const TensorType& type) {
  onnx::TypeProto proto;
  proto.mutable_tensor_type()->set_elem_type(ToOnnx(type.element));
  onnx::TensorShapeProto* shape = proto.mutable_tensor_type()->mutable_shape();
  for (const int64_t n : type.shape) shape->add_dim()->set_dim_value(n);
  return proto;
}

absl::Status In(std::string_view where, const absl::Status& status) {
  return MakeStatus(status.code(), "{}: {}", where, Message(status));
}

}  // namespace wharf::graph
