// Test cases as ONNX's backend tests have them: a directory with model.onnx and test_data_set_0/{input,output}_N.pb.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "wharf/graph/onnx/import.h"

namespace wharf::exec::testing {

inline std::vector<std::byte> Bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> text((std::istreambuf_iterator<char>(file)), {});
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

// What is there of input_0, input_1 and so on, up to the first of a type that graphs do not have.
inline std::vector<graph::Constant> Tensors(const std::filesystem::path& data, const std::string& kind) {
  std::vector<graph::Constant> tensors;
  for (int i = 0; std::filesystem::exists(data / fmt::format("{}_{}.pb", kind, i)); ++i) {
    auto tensor = graph::ParseTensor(Bytes(data / fmt::format("{}_{}.pb", kind, i)));
    if (!tensor.ok()) break;
    tensors.push_back(*std::move(tensor));
  }
  return tensors;
}

inline std::string CaseName(const ::testing::TestParamInfo<std::filesystem::path>& info) {
  std::string name = info.param.parent_path().filename().string() + "_" + info.param.filename().string();
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

}  // namespace wharf::exec::testing
