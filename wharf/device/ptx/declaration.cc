#include "wharf/device/ptx/declaration.h"

#include <algorithm>
#include <bit>

#include "wharf/device/ptx/constant.h"

namespace wharf::device::ptx {
namespace {

// More than any device has; keeps every size computation far from overflow.
constexpr uint64_t kMaxVariableBytes = uint64_t{1} << 40;
constexpr uint64_t kMaxAlignment = uint64_t{1} << 20;
constexpr uint64_t kMaxInitializers = uint64_t{1} << 23;
constexpr size_t kMaxDimensions = 16;

// What stands between the state space and the name, in whatever order.
struct Attributes {
  Space space = Space::kNone;
  Type type = Type::kNone;
  std::string opaque;
  uint32_t alignment = 0;
  uint32_t vector = 1;
  bool is_managed = false;
};

uint32_t VectorWidth(std::string_view name) { return name == "v2" ? 2 : name == "v4" ? 4 : name == "v8" ? 8 : 0; }

bool IsOpaque(std::string_view name) { return name == "texref" || name == "samplerref" || name == "surfref"; }

absl::StatusOr<uint32_t> ParseAlignment(Lexer& lexer) {
  WHARF_ASSIGN_OR_RETURN(const uint64_t alignment, ParseCount(lexer, kMaxAlignment, "an alignment"));
  if (!std::has_single_bit(alignment)) return SyntaxError(lexer.line(), "an alignment is not a power of two");
  return static_cast<uint32_t>(alignment);
}

// `.attribute(.managed, .unified(1, 2))`, after the word.
absl::Status ParseAttributeList(Lexer& lexer, Attributes& attributes) {
  WHARF_RETURN_IF_ERROR(lexer.Expect("("));
  do {
    if (lexer.Peek().kind != TokenKind::kDirective) return Unexpected(lexer.Peek(), "an attribute");
    if (lexer.Take().text == "managed") attributes.is_managed = true;
    if (lexer.Peek().Is("(")) WHARF_RETURN_IF_ERROR(SkipParentheses(lexer));
  } while (lexer.Accept(","));
  return lexer.Expect(")");
}

// `.ptr .global .align 4`, after the word: what a kernel's pointer parameter points to, which nobody needs.
absl::Status ParsePointee(Lexer& lexer) {
  if (lexer.Peek().kind == TokenKind::kDirective && SpaceFromName(lexer.Peek().text) != Space::kNone) lexer.Take();
  if (!lexer.Peek().IsDirective("align")) return absl::OkStatus();
  lexer.Take();
  return ParseAlignment(lexer).status();
}

absl::Status ParseAttribute(Lexer& lexer, const Token& word, Attributes& attributes) {
  if (const Type type = TypeFromName(word.text); type != Type::kNone) {
    attributes.type = type;
  } else if (IsOpaque(word.text)) {
    attributes.opaque = word.text;
    attributes.type = Type::kB64;
  } else if (const uint32_t width = VectorWidth(word.text); width != 0) {
    attributes.vector = width;
  } else if (word.text == "align") {
    WHARF_ASSIGN_OR_RETURN(attributes.alignment, ParseAlignment(lexer));
  } else if (word.text == "attribute") {
    return ParseAttributeList(lexer, attributes);
  } else if (word.text == "ptr") {
    return ParsePointee(lexer);
  } else {
    return Unexpected(word, "a type, .align or a vector width");
  }
  return absl::OkStatus();
}

absl::StatusOr<Attributes> ParseAttributes(Lexer& lexer) {
  Attributes attributes;
  const Token space = lexer.Take();
  if (space.kind == TokenKind::kDirective) attributes.space = SpaceFromName(space.text);
  if (attributes.space == Space::kNone) return Unexpected(space, "a state space");
  if (attributes.space == Space::kConst && lexer.Accept("[")) {  // the banks of old
    WHARF_RETURN_IF_ERROR(ParseCount(lexer, 10, "a constant bank").status());
    WHARF_RETURN_IF_ERROR(lexer.Expect("]"));
  }
  while (lexer.Peek().kind == TokenKind::kDirective) {
    const Token word = lexer.Take();
    WHARF_RETURN_IF_ERROR(ParseAttribute(lexer, word, attributes));
  }
  if (attributes.type == Type::kNone) return Unexpected(lexer.Peek(), "a type");
  return attributes;
}

// "[4][]…" after a name; sets elements, is_array and the dimensions.
absl::Status ParseDimensions(Lexer& lexer, Variable& variable, std::vector<uint64_t>& dimensions) {
  const uint32_t line = lexer.line();
  uint64_t product = 1;  // with a length that was left out, or is zero, taken as one
  while (lexer.Accept("[")) {
    variable.is_array = true;
    if (dimensions.size() == kMaxDimensions) return SyntaxError(line, "an array has too many dimensions");
    uint64_t length = 0;
    if (!lexer.Peek().Is("]")) {
      WHARF_ASSIGN_OR_RETURN(length, ParseCount(lexer, kMaxVariableBytes, "an array's length"));
    } else if (!dimensions.empty()) {
      return SyntaxError(line, "only an array's first length may be left out");
    }
    WHARF_RETURN_IF_ERROR(lexer.Expect("]"));
    dimensions.push_back(length);
    if (length > kMaxVariableBytes / product) {
      return SyntaxError(line, fmt::format("'{}' is too large", variable.name));
    }
    product *= std::max<uint64_t>(length, 1);
    variable.elements *= length;
  }
  if (variable.Bytes() > kMaxVariableBytes) return SyntaxError(line, fmt::format("'{}' is too large", variable.name));
  return absl::OkStatus();
}

Variable MakeVariable(const Attributes& attributes, const Linkage& linkage, std::string_view name) {
  Variable variable;
  variable.name = name;
  variable.space = attributes.space;
  variable.type = attributes.type;
  variable.opaque = attributes.opaque;
  variable.vector = attributes.vector;
  variable.alignment = attributes.alignment != 0 ? attributes.alignment : SizeOf(attributes.type) * attributes.vector;
  variable.is_managed = attributes.is_managed;
  variable.is_extern = linkage.is_extern;
  variable.is_visible = linkage.is_visible;
  variable.is_weak = linkage.is_weak;
  return variable;
}

// Reads one variable's initialiser into Variable::initializer.
class InitializerParser {
 public:
  // `dimensions`: of the array, then one for a vector's components.
  InitializerParser(Lexer& lexer, Variable& variable, std::vector<uint64_t> dimensions)
      : lexer_(lexer), variable_(variable), dimensions_(std::move(dimensions)) {}

  absl::Status Parse() {
    if (!lexer_.Peek().Is("{")) return ParseScalar(0);
    const bool unsized = !dimensions_.empty() && dimensions_[0] == 0;
    if (dimensions_.empty()) dimensions_.push_back(1);
    if (unsized) dimensions_[0] = kMaxInitializers;
    uint64_t used = 0;
    WHARF_RETURN_IF_ERROR(ParseBraces(0, 0, used));
    return unsized ? SetElements(used / Stride(0) + (used % Stride(0) != 0 ? 1 : 0)) : absl::OkStatus();
  }

 private:
  // Of an array whose first length was left out, by how many there are of it.
  absl::Status SetElements(uint64_t length) {
    const uint64_t inner = std::max<uint64_t>(Stride(0) / variable_.vector, 1);
    if (length <= kMaxVariableBytes / inner) {
      variable_.elements = length * inner;
      if (variable_.Bytes() <= kMaxVariableBytes) return absl::OkStatus();
    }
    return SyntaxError(lexer_.line(), fmt::format("'{}' is too large", variable_.name));
  }
  // Scalars in one element of dimension `level`.
  uint64_t Stride(size_t level) const {
    uint64_t stride = 1;
    for (size_t i = level + 1; i < dimensions_.size(); ++i) stride *= dimensions_[i];
    return std::max<uint64_t>(stride, 1);
  }

  // The list at `level`, whose first scalar is number `first`; `used`: how many scalars it covered. An element that is
  // not in braces is a scalar: inner braces may be left out, as in C.
  absl::Status ParseBraces(size_t level, uint64_t first, uint64_t& used) {
    WHARF_RETURN_IF_ERROR(lexer_.Expect("{"));
    const uint64_t capacity = dimensions_[level] * Stride(level);
    used = 0;
    while (!lexer_.Accept("}")) {
      if (used >= capacity) return SyntaxError(lexer_.line(), "an initialiser has too many elements");
      if (lexer_.Peek().Is("{")) {
        if (level + 1 >= dimensions_.size()) return SyntaxError(lexer_.line(), "an initialiser has too many braces");
        uint64_t inner = 0;
        WHARF_RETURN_IF_ERROR(ParseBraces(level + 1, first + used, inner));
        used += Stride(level);
      } else {
        WHARF_RETURN_IF_ERROR(ParseScalar(first + used));
        ++used;
      }
      if (!lexer_.Accept(",") && !lexer_.Peek().Is("}")) return Unexpected(lexer_.Peek(), "',' or '}'");
    }
    return absl::OkStatus();
  }

  absl::Status ParseScalar(uint64_t index) {
    if (index >= kMaxInitializers || !lexer_.Spend(index - variable_.initializer.size())) {
      return SyntaxError(lexer_.line(), "an initialiser is too long");
    }
    WHARF_ASSIGN_OR_RETURN(Initializer scalar, ParseValue());
    variable_.initializer.resize(index);
    variable_.initializer.push_back(std::move(scalar));
    return absl::OkStatus();
  }

  // A constant, `sym + 4`, `generic(sym) + 4` or `0xFF(sym)`.
  absl::StatusOr<Initializer> ParseValue() {
    Initializer value;
    if (lexer_.Peek().IsIdentifier() && !StartsConstant(lexer_.Peek())) return ParseAddress();
    WHARF_ASSIGN_OR_RETURN(const Constant constant, ParseConstant(lexer_));
    if (constant.is_float || !lexer_.Accept("(")) {
      value.bits = constant.BitsAs(variable_.type);
      return value;
    }
    WHARF_ASSIGN_OR_RETURN(value, ParseAddress());
    WHARF_RETURN_IF_ERROR(lexer_.Expect(")"));
    value.mask = constant.integer;
    return value;
  }

  absl::StatusOr<Initializer> ParseAddress() {
    Initializer value;
    WHARF_ASSIGN_OR_RETURN(std::string_view name, lexer_.ExpectIdentifier("a symbol"));
    if (name == "generic" && lexer_.Accept("(")) {
      value.generic = true;
      WHARF_ASSIGN_OR_RETURN(name, lexer_.ExpectIdentifier("a symbol"));
      WHARF_RETURN_IF_ERROR(ParseOffset(value));
      WHARF_RETURN_IF_ERROR(lexer_.Expect(")"));
    }
    value.symbol = name;
    WHARF_RETURN_IF_ERROR(ParseOffset(value));
    return value;
  }

  absl::Status ParseOffset(Initializer& value) {
    while (lexer_.Peek().Is("+") || lexer_.Peek().Is("-")) {
      const bool minus = lexer_.Take().Is("-");
      const uint32_t line = lexer_.line();
      WHARF_ASSIGN_OR_RETURN(const Constant offset, ParseUnaryConstant(lexer_));
      if (offset.is_float) return SyntaxError(line, "an offset is not an integer");
      value.bits += minus ? uint64_t{0} - offset.integer : offset.integer;
    }
    return absl::OkStatus();
  }

  Lexer& lexer_;
  Variable& variable_;
  std::vector<uint64_t> dimensions_;
};

// A texture reference's `{ normalized = 1, … }`.
absl::Status SkipOpaqueInitializer(Lexer& lexer) {
  WHARF_RETURN_IF_ERROR(lexer.Expect("{"));
  while (!lexer.Accept("}")) {
    const Token token = lexer.Take();
    if (token.kind == TokenKind::kEnd || token.kind == TokenKind::kInvalid) return Unexpected(token, "'}'");
  }
  return absl::OkStatus();
}

absl::StatusOr<Variable> ParseDeclarator(Lexer& lexer, const Attributes& attributes, const Linkage& linkage) {
  WHARF_ASSIGN_OR_RETURN(const std::string_view name, lexer.ExpectIdentifier("a variable's name"));
  Variable variable = MakeVariable(attributes, linkage, name);
  std::vector<uint64_t> dimensions;
  WHARF_RETURN_IF_ERROR(ParseDimensions(lexer, variable, dimensions));
  if (!lexer.Accept("=")) return variable;
  if (!variable.opaque.empty()) {
    WHARF_RETURN_IF_ERROR(SkipOpaqueInitializer(lexer));
    return variable;
  }
  if (variable.vector > 1) dimensions.push_back(variable.vector);
  WHARF_RETURN_IF_ERROR(InitializerParser(lexer, variable, std::move(dimensions)).Parse());
  return variable;
}

}  // namespace

Space SpaceFromName(std::string_view name) {
  if (name == "global") return Space::kGlobal;
  if (name == "shared" || name == "shared::cta" || name == "shared::cluster") return Space::kShared;
  if (name == "local") return Space::kLocal;
  if (name == "const") return Space::kConst;
  if (name == "param" || name == "param::entry" || name == "param::func") return Space::kParam;
  if (name == "reg") return Space::kReg;
  if (name == "tex") return Space::kGlobal;
  return Space::kNone;
}

Linkage ParseLinkage(Lexer& lexer) {
  Linkage linkage;
  for (;;) {
    const Token& token = lexer.Peek();
    if (token.IsDirective("extern")) {
      linkage.is_extern = true;
    } else if (token.IsDirective("visible")) {
      linkage.is_visible = true;
    } else if (token.IsDirective("weak") || token.IsDirective("common")) {
      linkage.is_weak = true;
    } else {
      return linkage;
    }
    lexer.Take();
  }
}

absl::Status SkipParentheses(Lexer& lexer) {
  WHARF_RETURN_IF_ERROR(lexer.Expect("("));
  for (uint64_t depth = 1; depth > 0;) {
    const Token token = lexer.Take();
    if (token.kind == TokenKind::kEnd || token.kind == TokenKind::kInvalid) return Unexpected(token, "')'");
    if (token.Is("(")) ++depth;
    if (token.Is(")")) --depth;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Variable>> ParseVariables(Lexer& lexer, const Linkage& linkage) {
  WHARF_ASSIGN_OR_RETURN(const Attributes attributes, ParseAttributes(lexer));
  std::vector<Variable> variables;
  do {
    WHARF_ASSIGN_OR_RETURN(Variable variable, ParseDeclarator(lexer, attributes, linkage));
    variables.push_back(std::move(variable));
  } while (lexer.Accept(","));
  WHARF_RETURN_IF_ERROR(lexer.Expect(";"));
  return variables;
}

absl::StatusOr<std::vector<Variable>> ParseParameters(Lexer& lexer, bool terse) {
  std::vector<Variable> parameters;
  WHARF_RETURN_IF_ERROR(lexer.Expect("("));
  if (lexer.Accept(")")) return parameters;
  do {
    WHARF_ASSIGN_OR_RETURN(const Attributes attributes, ParseAttributes(lexer));
    std::string_view name;
    if (!terse || lexer.Peek().IsIdentifier()) {
      WHARF_ASSIGN_OR_RETURN(name, lexer.ExpectIdentifier("a parameter's name"));
    }
    Variable parameter = MakeVariable(attributes, {}, name);
    std::vector<uint64_t> dimensions;
    WHARF_RETURN_IF_ERROR(ParseDimensions(lexer, parameter, dimensions));
    parameters.push_back(std::move(parameter));
  } while (lexer.Accept(","));
  WHARF_RETURN_IF_ERROR(lexer.Expect(")"));
  return parameters;
}

absl::StatusOr<std::vector<Registers>> ParseRegisters(Lexer& lexer) {
  WHARF_ASSIGN_OR_RETURN(const Attributes attributes, ParseAttributes(lexer));
  std::vector<Registers> list;
  do {
    Registers registers;
    WHARF_ASSIGN_OR_RETURN(registers.name, lexer.ExpectIdentifier("a register's name"));
    registers.type = attributes.type;
    registers.vector = attributes.vector;
    if (lexer.Accept("<")) {
      const Token token = lexer.Take();
      WHARF_ASSIGN_OR_RETURN(const Constant count, ReadLiteral(token));
      if (count.is_float || count.integer == 0 || count.integer > UINT32_MAX) {
        return Unexpected(token, "a number of registers");
      }
      registers.count = static_cast<uint32_t>(count.integer);
      WHARF_RETURN_IF_ERROR(lexer.Expect(">"));
    }
    list.push_back(registers);
  } while (lexer.Accept(","));
  WHARF_RETURN_IF_ERROR(lexer.Expect(";"));
  return list;
}

}  // namespace wharf::device::ptx
