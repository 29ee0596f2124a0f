// Operands of instructions.
#pragma once

#include "wharf/base/status.h"
#include "wharf/device/ptx/ast.h"
#include "wharf/device/ptx/lexer.h"
#include "wharf/device/ptx/scope.h"

namespace wharf::device::ptx {

class OperandParser {
 public:
  // Both outlive this.
  OperandParser(Lexer& lexer, Scopes& scopes) : lexer_(lexer), scopes_(scopes) {}

  absl::StatusOr<Operand> Parse() { return Parse(0); }

 private:
  absl::StatusOr<Operand> Parse(int depth);
  absl::StatusOr<Operand> ParseName();
  absl::StatusOr<Operand> ParseRegister(RegisterSlot slot);
  absl::StatusOr<Operand> ParseSpecial();
  absl::StatusOr<Operand> ParseVector(int depth);
  absl::StatusOr<Operand> ParseBrackets(int depth);
  absl::StatusOr<AddressOperand> ParseAddress();
  // "+ 4 - 1 …" after a name.
  absl::StatusOr<int64_t> ParseOffset();

  Lexer& lexer_;
  Scopes& scopes_;
};

}  // namespace wharf::device::ptx
