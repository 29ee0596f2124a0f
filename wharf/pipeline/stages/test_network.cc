#include "wharf/pipeline/stages/test_network.h"

#define ONNX_ML 1
#define ONNX_NAMESPACE onnx
#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>

namespace wharf::pipeline::testing {
namespace {

class Builder {
 public:
  explicit Builder(const NetworkShape& shape) : shape_(shape), random_(shape.seed) {
    model_.set_ir_version(7);
    model_.add_opset_import()->set_version(13);
    model_.mutable_graph()->set_name("residual");
  }

  std::vector<std::byte> Build() {
    Describe(model_.mutable_graph()->add_input(), "image", {3, shape_.size, shape_.size});
    std::string value = Relu(Conv("image", 3, shape_.channels, 3, 2));
    int channels = shape_.channels;
    for (int stage = 0; stage < shape_.stages; ++stage) {
      if (stage > 0) {
        value = Relu(Conv(value, channels, 2 * channels, 3, 2));
        channels *= 2;
      }
      for (int block = 0; block < shape_.blocks; ++block) value = Residual(value, channels);
      if (stage == 0) Flat(value, "coarse");
    }
    const std::string flat = Flat(value, "flat");
    Node("Gemm", {flat, Weights({channels, 10}, channels), Weights({10}, 10)}, "scores");
    Describe(model_.mutable_graph()->add_output(), "scores", {10});
    Describe(model_.mutable_graph()->add_output(), "coarse", {shape_.channels});
    const std::string text = model_.SerializeAsString();
    std::vector<std::byte> bytes(text.size());
    std::memcpy(bytes.data(), text.data(), text.size());
    return bytes;
  }

 private:
  void Describe(onnx::ValueInfoProto* info, const std::string& name, const std::vector<int64_t>& dimensions) const {
    info->set_name(name);
    auto* tensor = info->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(onnx::TensorProto::FLOAT);
    auto* batch = tensor->mutable_shape()->add_dim();
    if (shape_.any_batch) {
      batch->set_dim_param("batch");
    } else {
      batch->set_dim_value(1);
    }
    for (const int64_t size : dimensions) tensor->mutable_shape()->add_dim()->set_dim_value(size);
  }
  std::string Weights(const std::vector<int64_t>& dimensions, int fan_in) {
    onnx::TensorProto* tensor = model_.mutable_graph()->add_initializer();
    tensor->set_name(fmt::format("w{}", names_++));
    tensor->set_data_type(onnx::TensorProto::FLOAT);
    int64_t count = 1;
    for (const int64_t size : dimensions) {
      tensor->add_dims(size);
      count *= size;
    }
    std::normal_distribution<float> normal(0, 1 / std::sqrt(static_cast<float>(fan_in)));
    for (int64_t i = 0; i < count; ++i) tensor->add_float_data(normal(random_));
    return tensor->name();
  }
  onnx::NodeProto* Node(const std::string& op, const std::vector<std::string>& inputs, const std::string& output) {
    onnx::NodeProto* node = model_.mutable_graph()->add_node();
    node->set_op_type(op);
    for (const std::string& input : inputs) node->add_input(input);
    node->add_output(output);
    return node;
  }
  std::string Name() { return fmt::format("v{}", names_++); }
  static void SetInts(onnx::NodeProto* node, const std::string& name, const std::vector<int64_t>& values) {
    onnx::AttributeProto* attribute = node->add_attribute();
    attribute->set_name(name);
    attribute->set_type(onnx::AttributeProto::INTS);
    for (const int64_t value : values) attribute->add_ints(value);
  }

  std::string Conv(const std::string& input, int from, int to, int kernel, int stride) {
    const std::string output = Name();
    onnx::NodeProto* node =
        Node("Conv", {input, Weights({to, from, kernel, kernel}, from * kernel * kernel), Weights({to}, to)}, output);
    SetInts(node, "kernel_shape", {kernel, kernel});
    SetInts(node, "strides", {stride, stride});
    SetInts(node, "pads", std::vector<int64_t>(4, kernel / 2));
    return output;
  }
  std::string Relu(const std::string& input) {
    const std::string output = Name();
    Node("Relu", {input}, output);
    return output;
  }
  std::string Residual(const std::string& input, int channels) {
    const std::string inner = Conv(Relu(Conv(input, channels, channels, 3, 1)), channels, channels, 3, 1);
    const std::string sum = Name();
    Node("Add", {input, inner}, sum);
    return Relu(sum);
  }
  std::string Flat(const std::string& input, const std::string& output) {
    const std::string pooled = Name();
    Node("GlobalAveragePool", {input}, pooled);
    Node("Flatten", {pooled}, output);
    return output;
  }

  const NetworkShape shape_;
  std::mt19937 random_;
  onnx::ModelProto model_;
  int names_ = 0;
};

}  // namespace

std::vector<std::byte> MakeNetwork(const NetworkShape& shape) { return Builder(shape).Build(); }

}  // namespace wharf::pipeline::testing
