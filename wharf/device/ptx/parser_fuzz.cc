// PTX from a hostile peer: the parser and the linker never crash, and what the parser returns is consistent.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "wharf/device/ptx/link.h"
#include "wharf/device/ptx/locations.h"
#include "wharf/device/ptx/parser.h"

namespace {

using namespace wharf::device::ptx;

void Check(bool condition) {
  if (!condition) std::abort();
}

void CheckOperand(const Body& body, const Operand& operand) {
  if (const auto* name = std::get_if<RegisterOperand>(&operand.value)) Check(name->index < body.registers.size());
  if (const auto* vector = std::get_if<VectorOperand>(&operand.value)) {
    for (const Operand& element : vector->elements) CheckOperand(body, element);
  }
}

void CheckBody(const Body& body) {
  for (const Instruction& instruction : body.instructions) {
    Check(!instruction.opcode.empty());
    Check(!instruction.has_guard || instruction.guard < body.registers.size());
    for (const Operand& operand : instruction.operands) CheckOperand(body, operand);
    for (const Operand& operand : instruction.call_arguments) CheckOperand(body, operand);
    (void)instruction.TypeAt();
  }
  for (const auto& [name, index] : body.labels) Check(index <= body.instructions.size());
  Check(LocationsOf(body).size() == body.instructions.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::string twice[] = {text, text};
  if (const auto linked = Link(twice); linked.ok()) (void)CheckLinked(*linked);
  const auto module = Parse(text);
  if (!module.ok()) return 0;
  (void)FilesOf(**module);
  for (const Function& function : (*module)->functions) {
    (void)LayoutParameters(function);
    const auto body = ParseBody(**module, function);
    if (body.ok()) CheckBody(*body);
  }
  for (const auto& [name, index] : (*module)->function_index) Check(index < (*module)->functions.size());
  for (const Variable& variable : (*module)->variables) {
    Check(variable.initializer.size() <= std::max<uint64_t>(variable.elements * variable.vector, 1));
  }
  return 0;
}
