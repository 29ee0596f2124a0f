#include "wharf/device/ptx/constant.h"

#include <bit>
#include <charconv>
#include <cmath>

namespace wharf::device::ptx {
namespace {

constexpr int kMaxDepth = 64;

// Round a double to the bits of a 16-bit float with `mantissa` explicit bits, to nearest even. `exponent_bits` +
// mantissa = 15.
uint64_t RoundToHalf(double value, int mantissa) {
  const int exponent_bits = 15 - mantissa;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const uint64_t sign = std::signbit(value) ? 0x8000 : 0;
  const uint64_t infinity = ((uint64_t{1} << exponent_bits) - 1) << mantissa;
  const double magnitude = std::fabs(value);
  if (std::isnan(value)) return infinity | (uint64_t{1} << (mantissa - 1));
  if (std::isinf(value)) return sign | infinity;
  if (magnitude == 0) return sign;
  const int exponent = std::max(std::ilogb(magnitude), 1 - bias);
  // nearbyint rounds to even in the default rounding mode; carries into the exponent come out right by addition.
  const auto units = static_cast<uint64_t>(std::nearbyint(std::ldexp(magnitude, mantissa - exponent)));
  const uint64_t bits = (static_cast<uint64_t>(exponent + bias - 1) << mantissa) + units;
  return sign | std::min(bits, infinity);
}

absl::Status BadLiteral(const Token& token) {
  return SyntaxError(token.line, fmt::format("'{}' is not a number", token.text.substr(0, 64)));
}

absl::StatusOr<Constant> ReadInteger(const Token& token) {
  std::string_view digits = token.text;
  Constant constant;
  if (digits.ends_with('U')) {
    constant.is_unsigned = true;
    digits.remove_suffix(1);
  }
  int base = 10;
  if (digits.size() > 1 && digits[0] == '0') {
    const char kind = digits[1];
    base = kind == 'x' || kind == 'X' ? 16 : kind == 'b' || kind == 'B' ? 2 : 8;
    digits.remove_prefix(base == 8 ? 1 : 2);
  }
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), constant.integer, base);
  if (digits.empty() || result.ec != std::errc() || result.ptr != digits.data() + digits.size()) {
    return BadLiteral(token);
  }
  if (constant.integer >> 63 != 0) constant.is_unsigned = true;
  return constant;
}

absl::StatusOr<Constant> ReadFloat(const Token& token) {
  Constant constant;
  constant.is_float = true;
  FloatOperand& real = constant.real;
  const std::string_view text = token.text;
  const char kind = text.size() > 1 ? text[1] : '\0';
  if (kind == 'f' || kind == 'F' || kind == 'd' || kind == 'D') {
    real.is_exact = true;
    real.is_single = kind == 'f' || kind == 'F';
    const std::string_view digits = text.substr(2);
    const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), real.bits, 16);
    const bool whole = result.ec == std::errc() && result.ptr == digits.data() + digits.size();
    if (!whole || digits.size() != (real.is_single ? 8 : 16)) return BadLiteral(token);
    real.value =
        real.is_single ? std::bit_cast<float>(static_cast<uint32_t>(real.bits)) : std::bit_cast<double>(real.bits);
    return constant;
  }
  const auto result = std::from_chars(text.data(), text.data() + text.size(), real.value);
  if (result.ec == std::errc::invalid_argument || result.ptr != text.data() + text.size()) return BadLiteral(token);
  if (result.ec == std::errc::result_out_of_range) real.value = 0;
  real.bits = std::bit_cast<uint64_t>(real.value);
  return constant;
}

// How tightly a binary operator binds; 0 if it is none.
int Precedence(const Token& token) {
  struct Row {
    std::string_view name;
    int precedence;
  };
  static constexpr Row kRows[] = {{"*", 10}, {"/", 10}, {"%", 10}, {"+", 9},  {"-", 9},  {"<<", 8},
                                  {">>", 8}, {"<", 7},  {">", 7},  {"<=", 7}, {">=", 7}, {"==", 6},
                                  {"!=", 6}, {"&", 5},  {"^", 4},  {"|", 3},  {"&&", 2}, {"||", 1}};
  if (token.kind != TokenKind::kPunctuation) return 0;
  for (const Row& row : kRows) {
    if (row.name == token.text) return row.precedence;
  }
  return 0;
}

Constant Integer(uint64_t value, bool is_unsigned) {
  Constant constant;
  constant.integer = value;
  constant.is_unsigned = is_unsigned;
  return constant;
}

// a / b and a % b; b is not zero. INT64_MIN / -1 wraps.
uint64_t Divide(uint64_t a, uint64_t b, bool is_unsigned, bool remainder) {
  if (is_unsigned) return remainder ? a % b : a / b;
  if (b == ~uint64_t{0}) return remainder ? 0 : uint64_t{0} - a;
  const auto x = static_cast<int64_t>(a);
  const auto y = static_cast<int64_t>(b);
  return static_cast<uint64_t>(remainder ? x % y : x / y);
}

uint64_t Shift(uint64_t a, uint64_t by, bool is_unsigned, bool left) {
  if (left) return by > 63 ? 0 : a << by;
  if (is_unsigned) return by > 63 ? 0 : a >> by;
  return static_cast<uint64_t>(static_cast<int64_t>(a) >> std::min<uint64_t>(by, 63));
}

bool Less(uint64_t a, uint64_t b, bool is_unsigned) {
  return is_unsigned ? a < b : static_cast<int64_t>(a) < static_cast<int64_t>(b);
}

absl::StatusOr<Constant> ApplyBinary(const Token& token, const Constant& left, const Constant& right) {
  if (left.is_float || right.is_float) {
    return SyntaxError(token.line, fmt::format("operator '{}' on a floating-point constant", token.text));
  }
  const std::string_view name = token.text;
  const uint64_t a = left.integer;
  const uint64_t b = right.integer;
  const bool is_unsigned = left.is_unsigned || right.is_unsigned;
  if (name == "+") return Integer(a + b, is_unsigned);
  if (name == "-") return Integer(a - b, is_unsigned);
  if (name == "*") return Integer(a * b, is_unsigned);
  if (name == "&") return Integer(a & b, is_unsigned);
  if (name == "|") return Integer(a | b, is_unsigned);
  if (name == "^") return Integer(a ^ b, is_unsigned);
  if (name == "<<" || name == ">>") return Integer(Shift(a, b, left.is_unsigned, name == "<<"), left.is_unsigned);
  if (name == "==") return Integer(a == b, false);
  if (name == "!=") return Integer(a != b, false);
  if (name == "<") return Integer(Less(a, b, is_unsigned), false);
  if (name == ">") return Integer(Less(b, a, is_unsigned), false);
  if (name == "<=") return Integer(!Less(b, a, is_unsigned), false);
  if (name == ">=") return Integer(!Less(a, b, is_unsigned), false);
  if (name == "&&") return Integer(a != 0 && b != 0, false);
  if (name == "||") return Integer(a != 0 || b != 0, false);
  if (b == 0) return SyntaxError(token.line, "a constant is divided by zero");
  return Integer(Divide(a, b, is_unsigned, name == "%"), is_unsigned);
}

absl::StatusOr<Constant> ParseTernary(Lexer& lexer, int depth);

Constant Negate(Constant constant) {
  if (!constant.is_float) return Integer(uint64_t{0} - constant.integer, constant.is_unsigned);
  constant.real.value = -constant.real.value;
  constant.real.bits ^= uint64_t{1} << (constant.real.is_single ? 31 : 63);
  return constant;
}

absl::StatusOr<Constant> ParseUnary(Lexer& lexer, int depth);

// After "(": a cast or a parenthesised expression.
absl::StatusOr<Constant> ParseParenthesis(Lexer& lexer, int depth) {
  if (lexer.Peek().kind == TokenKind::kDirective) {
    const Token cast = lexer.Take();
    if (cast.text != "s64" && cast.text != "u64") return Unexpected(cast, "a cast to .s64 or .u64");
    WHARF_RETURN_IF_ERROR(lexer.Expect(")"));
    WHARF_ASSIGN_OR_RETURN(const Constant value, ParseUnary(lexer, depth + 1));
    if (value.is_float) return SyntaxError(cast.line, "a cast of a floating-point constant");
    return Integer(value.integer, cast.text == "u64");
  }
  WHARF_ASSIGN_OR_RETURN(Constant value, ParseTernary(lexer, depth + 1));
  WHARF_RETURN_IF_ERROR(lexer.Expect(")"));
  return value;
}

absl::StatusOr<Constant> ParseUnary(Lexer& lexer, int depth) {
  const Token token = lexer.Peek();
  if (depth > kMaxDepth) return SyntaxError(token.line, "a constant expression is nested too deeply");
  if (!StartsConstant(token)) return Unexpected(token, "a constant");
  lexer.Take();
  if (token.kind == TokenKind::kInteger || token.kind == TokenKind::kFloat) return ReadLiteral(token);
  if (token.IsIdentifier()) return Integer(32, false);  // WARP_SZ
  if (token.Is("(")) return ParseParenthesis(lexer, depth);
  WHARF_ASSIGN_OR_RETURN(Constant value, ParseUnary(lexer, depth + 1));
  if (token.Is("+")) return value;
  if (token.Is("-")) return Negate(value);
  if (value.is_float) return SyntaxError(token.line, "a bit operator on a floating-point constant");
  return token.Is("!") ? Integer(value.integer == 0, false) : Integer(~value.integer, value.is_unsigned);
}

absl::StatusOr<Constant> ParseBinary(Lexer& lexer, int least, int depth) {
  WHARF_ASSIGN_OR_RETURN(Constant left, ParseUnary(lexer, depth));
  for (int precedence = Precedence(lexer.Peek()); precedence >= least && precedence > 0;
       precedence = Precedence(lexer.Peek())) {
    const Token name = lexer.Take();
    WHARF_ASSIGN_OR_RETURN(const Constant right, ParseBinary(lexer, precedence + 1, depth + 1));
    WHARF_ASSIGN_OR_RETURN(left, ApplyBinary(name, left, right));
  }
  return left;
}

absl::StatusOr<Constant> ParseTernary(Lexer& lexer, int depth) {
  if (depth > kMaxDepth) return SyntaxError(lexer.line(), "a constant expression is nested too deeply");
  WHARF_ASSIGN_OR_RETURN(Constant condition, ParseBinary(lexer, 1, depth));
  if (!lexer.Accept("?")) return condition;
  if (condition.is_float) return SyntaxError(lexer.line(), "a floating-point constant as a condition");
  WHARF_ASSIGN_OR_RETURN(const Constant yes, ParseTernary(lexer, depth + 1));
  WHARF_RETURN_IF_ERROR(lexer.Expect(":"));
  WHARF_ASSIGN_OR_RETURN(const Constant no, ParseTernary(lexer, depth + 1));
  return condition.integer != 0 ? yes : no;
}

}  // namespace

uint64_t Constant::BitsAs(Type type) const {
  const uint32_t bytes = SizeOf(type);
  const uint64_t mask = bytes >= 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * bytes)) - 1;
  if (!is_float) {
    const double value =
        is_unsigned ? static_cast<double>(integer) : static_cast<double>(static_cast<int64_t>(integer));
    if (type == Type::kF64) return std::bit_cast<uint64_t>(value);
    if (type == Type::kF32) return std::bit_cast<uint32_t>(static_cast<float>(value));
    return integer & mask;  // 16-bit floats are initialised with their bits
  }
  switch (type) {
    case Type::kF16:
      return RoundToHalf(real.value, 10);
    case Type::kBF16:
      return RoundToHalf(real.value, 7);
    case Type::kF32:
    case Type::kB32:
      return real.is_single ? real.bits : std::bit_cast<uint32_t>(static_cast<float>(real.value));
    case Type::kF64:
      return real.is_single ? std::bit_cast<uint64_t>(real.value) : real.bits;
    default:
      return real.bits & mask;
  }
}

bool StartsConstant(const Token& token) {
  switch (token.kind) {
    case TokenKind::kInteger:
    case TokenKind::kFloat:
      return true;
    case TokenKind::kIdentifier:
      return token.text == "WARP_SZ";
    case TokenKind::kPunctuation:
      return token.text == "(" || token.text == "-" || token.text == "+" || token.text == "~" || token.text == "!";
    default:
      return false;
  }
}

absl::StatusOr<Constant> ReadLiteral(const Token& token) {
  if (token.kind == TokenKind::kInteger) return ReadInteger(token);
  if (token.kind == TokenKind::kFloat) return ReadFloat(token);
  return Unexpected(token, "a number");
}

absl::StatusOr<Constant> ParseConstant(Lexer& lexer) { return ParseTernary(lexer, 0); }

absl::StatusOr<Constant> ParseUnaryConstant(Lexer& lexer) { return ParseUnary(lexer, 0); }

absl::StatusOr<uint64_t> ParseCount(Lexer& lexer, uint64_t limit, std::string_view what) {
  const uint32_t line = lexer.line();
  WHARF_ASSIGN_OR_RETURN(const Constant value, ParseConstant(lexer));
  const bool negative = !value.is_unsigned && static_cast<int64_t>(value.integer) < 0;
  if (value.is_float || negative) return SyntaxError(line, fmt::format("{} is not a natural number", what));
  if (value.integer > limit) {
    return SyntaxError(line, fmt::format("{} is {}; at most {} is supported", what, value.integer, limit));
  }
  return value.integer;
}

}  // namespace wharf::device::ptx
