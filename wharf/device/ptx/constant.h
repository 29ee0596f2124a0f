// Numeric literals and constant expressions. Integers are 64 bits and wrap; the type of a result is unsigned if an
// operand is, as in the PTX ISA, section "Constants".
#pragma once

#include <cstdint>
#include <string_view>

#include "wharf/base/status.h"
#include "wharf/device/ptx/ast.h"
#include "wharf/device/ptx/lexer.h"

namespace wharf::device::ptx {

struct Constant {
  bool is_float = false;
  bool is_unsigned = false;
  uint64_t integer = 0;  // two's complement
  FloatOperand real;     // if is_float

  // The bytes of an initialiser's scalar of this type, zero-extended.
  uint64_t BitsAs(Type type) const;
};

// Decimal, octal (0…), hexadecimal and binary integers with an optional U; decimal floats, 0f and 0d bit patterns.
absl::StatusOr<Constant> ReadLiteral(const Token& token);

// The longest constant expression that starts at the next token: literals, WARP_SZ, parentheses, casts to .s64 and
// .u64, all C operators except assignment. Floats take no operator but a sign.
absl::StatusOr<Constant> ParseConstant(Lexer& lexer);

// A literal with signs, casts or parentheses in front, but no operator after it.
absl::StatusOr<Constant> ParseUnaryConstant(Lexer& lexer);

// What may start a constant expression.
bool StartsConstant(const Token& token);

// The value must be an integer; it must be at most `limit`.
absl::StatusOr<uint64_t> ParseCount(Lexer& lexer, uint64_t limit, std::string_view what);

}  // namespace wharf::device::ptx
