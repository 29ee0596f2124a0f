// The vocabulary of this room's tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "wharf/device/ptx/parser.h"

namespace wharf::device::ptx {

// A module of `declarations` after the usual first lines (which are lines 1 to 3).
inline std::string WithPreamble(std::string_view declarations) {
  return std::string(".version 9.0\n.target sm_75\n.address_size 64\n").append(declarations);
}

inline std::shared_ptr<const Module> MustParse(std::string_view declarations) {
  auto module = Parse(WithPreamble(declarations));
  EXPECT_TRUE(module.ok()) << module.status();
  return module.ok() ? *std::move(module) : std::make_shared<Module>();
}

// The body of a kernel `k` with parameters `a` (u64) and `b` (24 bytes); the body's first line is line 5.
inline absl::StatusOr<Body> ParseKernel(std::string_view body, std::string_view before = "") {
  auto module = Parse(WithPreamble(std::string(before) + ".entry k(.param .u64 a, .param .align 4 .b8 b[24]) {\n" +
                                   std::string(body) + "\n}\n"));
  if (!module.ok()) return module.status();
  const Function* kernel = (*module)->FindFunction("k");
  if (kernel == nullptr) return absl::InternalError("no kernel");
  return ParseBody(**module, *kernel);
}

inline Body MustParseKernel(std::string_view body, std::string_view before = "") {
  auto parsed = ParseKernel(body, before);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return parsed.ok() ? *std::move(parsed) : Body{};
}

template <typename T>
const T& As(const Operand& operand) {
  static const T kNone{};
  const T* value = std::get_if<T>(&operand.value);
  EXPECT_NE(value, nullptr) << "operand of kind " << operand.value.index();
  return value != nullptr ? *value : kNone;
}

inline std::string RegisterName(const Body& body, const Operand& operand) {
  return body.registers.at(As<RegisterOperand>(operand).index).name;
}

}  // namespace wharf::device::ptx
