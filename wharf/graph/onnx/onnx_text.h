// Models for tests, written in ONNX's textual syntax. Heavy header.
#pragma once

#define ONNX_ML 1
#define ONNX_NAMESPACE onnx
#include <gtest/gtest.h>
#include <onnx/defs/parser.h>
#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>

#include <cstring>
#include <string>
#include <vector>

namespace wharf::graph::testing {

inline onnx::ModelProto Model(const std::string& graph, int operator_set = 13) {
  onnx::ModelProto model;
  const std::string text = "<ir_version: 7, opset_import: [\"\" : " + std::to_string(operator_set) + "]>\n" + graph;
  const auto status = onnx::OnnxParser::Parse(model, text.c_str());
  EXPECT_TRUE(status.IsOK()) << status.ErrorMessage();
  return model;
}

inline std::vector<std::byte> Bytes(const onnx::ModelProto& model) {
  const std::string text = model.SerializeAsString();
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

inline bool OperatorSetHas(std::string_view name, int operator_set) {
  return onnx::OpSchemaRegistry::Schema(std::string(name), operator_set, "") != nullptr;
}

}  // namespace wharf::graph::testing
