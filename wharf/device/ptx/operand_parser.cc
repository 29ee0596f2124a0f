#include "wharf/device/ptx/operand_parser.h"

#include <algorithm>
#include <array>
#include <utility>

#include "wharf/device/ptx/constant.h"

namespace wharf::device::ptx {
namespace {

constexpr int kMaxDepth = 8;

// Special registers without the percent sign; the families pm0 … and envreg0 … are in IsSpecial.
constexpr std::array<std::string_view, 37> kSpecials{"tid",
                                                     "ntid",
                                                     "laneid",
                                                     "warpid",
                                                     "nwarpid",
                                                     "ctaid",
                                                     "nctaid",
                                                     "smid",
                                                     "nsmid",
                                                     "gridid",
                                                     "is_explicit_cluster",
                                                     "clusterid",
                                                     "nclusterid",
                                                     "cluster_ctaid",
                                                     "cluster_nctaid",
                                                     "cluster_ctarank",
                                                     "cluster_nctarank",
                                                     "lanemask_eq",
                                                     "lanemask_le",
                                                     "lanemask_lt",
                                                     "lanemask_ge",
                                                     "lanemask_gt",
                                                     "clock",
                                                     "clock_hi",
                                                     "clock64",
                                                     "globaltimer",
                                                     "globaltimer_lo",
                                                     "globaltimer_hi",
                                                     "reserved_smem_offset_begin",
                                                     "reserved_smem_offset_end",
                                                     "reserved_smem_offset_cap",
                                                     "reserved_smem_offset_0",
                                                     "reserved_smem_offset_1",
                                                     "total_smem_size",
                                                     "aggr_smem_size",
                                                     "dynamic_smem_size",
                                                     "current_graph_exec"};

bool IsSpecial(std::string_view name) {
  if (!name.starts_with('%')) return false;
  name.remove_prefix(1);
  if (std::find(kSpecials.begin(), kSpecials.end(), name) != kSpecials.end()) return true;
  const bool family = name.starts_with("pm") || name.starts_with("envreg");
  return family && name.back() >= '0' && name.back() <= '9';
}

// The number of a vector component: .x .y .z .w or .r .g .b .a; -1 if it is none.
int Component(std::string_view name) {
  if (name.size() != 1) return -1;
  for (const std::string_view names : {"xyzw", "rgba"}) {
    if (const size_t at = names.find(name[0]); at != std::string_view::npos) return static_cast<int>(at);
  }
  return -1;
}

Operand Make(auto value) {
  Operand operand;
  operand.value = std::move(value);
  return operand;
}

Operand FromConstant(const Constant& constant) {
  if (constant.is_float) return Make(constant.real);
  return Make(IntegerOperand{static_cast<int64_t>(constant.integer), constant.is_unsigned});
}

}  // namespace

absl::StatusOr<Operand> OperandParser::Parse(int depth) {
  const Token token = lexer_.Peek();
  if (depth > kMaxDepth) return SyntaxError(token.line, "an operand is nested too deeply");
  if (token.Is("[")) return ParseBrackets(depth);
  if (token.Is("{")) return ParseVector(depth);
  const bool sign = token.Is("!") || token.Is("-");
  if (sign && lexer_.PeekSecond().IsIdentifier() && !StartsConstant(lexer_.PeekSecond())) {
    lexer_.Take();
    WHARF_ASSIGN_OR_RETURN(Operand operand, ParseName());
    operand.negated = true;
    return operand;
  }
  if (token.IsIdentifier() && !StartsConstant(token)) return ParseName();
  if (!StartsConstant(token)) return Unexpected(token, "an operand");
  WHARF_ASSIGN_OR_RETURN(const Constant constant, ParseConstant(lexer_));
  return FromConstant(constant);
}

// A register, special register, sink or symbol.
absl::StatusOr<Operand> OperandParser::ParseName() {
  const Token token = lexer_.Peek();
  if (const auto slot = scopes_.FindRegister(token.text)) {
    lexer_.Take();
    return ParseRegister(*slot);
  }
  if (token.text == "_") {
    lexer_.Take();
    return Make(SinkOperand{});
  }
  if (const auto name = scopes_.FindSymbol(token.text)) {
    lexer_.Take();
    WHARF_ASSIGN_OR_RETURN(const int64_t offset, ParseOffset());
    return Make(SymbolOperand{*name, offset});
  }
  if (IsSpecial(token.text)) return ParseSpecial();
  return SyntaxError(token.line, fmt::format("'{}' is not declared", token.text.substr(0, 256)));
}

absl::StatusOr<Operand> OperandParser::ParseRegister(RegisterSlot slot) {
  std::string_view selector;
  if (lexer_.Peek().kind == TokenKind::kDirective) {
    const Token token = lexer_.Take();
    selector = token.text;
    const int component = slot.vector > 1 ? Component(selector) : -1;
    if (component >= static_cast<int>(slot.vector)) return Unexpected(token, "a component of the vector");
    if (component >= 0) {
      slot = {slot.index + static_cast<uint32_t>(component), 1};
      selector = {};
    }
  }
  Operand operand;
  if (slot.vector == 1) {
    operand.value = RegisterOperand{slot.index};
  } else {
    VectorOperand vector;
    for (uint32_t i = 0; i < slot.vector; ++i) vector.elements.push_back(Make(RegisterOperand{slot.index + i}));
    operand.value = std::move(vector);
  }
  operand.selector = selector;
  return operand;
}

absl::StatusOr<Operand> OperandParser::ParseSpecial() {
  SpecialOperand special;
  special.name = lexer_.Take().text.substr(1);
  if (lexer_.Peek().kind == TokenKind::kDirective) {
    const Token token = lexer_.Take();
    if (Component(token.text) < 0) return Unexpected(token, "a component");
    special.name.append(".").append(1, "xyzw"[Component(token.text)]);
  }
  return Make(std::move(special));
}

absl::StatusOr<Operand> OperandParser::ParseVector(int depth) {
  WHARF_RETURN_IF_ERROR(lexer_.Expect("{"));
  VectorOperand vector;
  if (lexer_.Accept("}")) return Make(std::move(vector));
  do {
    WHARF_ASSIGN_OR_RETURN(Operand element, Parse(depth + 1));
    vector.elements.push_back(std::move(element));
  } while (lexer_.Accept(","));
  WHARF_RETURN_IF_ERROR(lexer_.Expect("}"));
  if (vector.elements.size() == 1) return Operand(std::move(vector.elements[0]));
  return Make(std::move(vector));
}

absl::StatusOr<Operand> OperandParser::ParseBrackets(int depth) {
  WHARF_RETURN_IF_ERROR(lexer_.Expect("["));
  WHARF_ASSIGN_OR_RETURN(AddressOperand address, ParseAddress());
  if (lexer_.Accept("]")) return Make(std::move(address));
  VectorOperand list;
  list.elements.push_back(Make(std::move(address)));
  while (lexer_.Accept(",")) {
    WHARF_ASSIGN_OR_RETURN(Operand element, Parse(depth + 1));
    list.elements.push_back(std::move(element));
  }
  WHARF_RETURN_IF_ERROR(lexer_.Expect("]"));
  return Make(std::move(list));
}

absl::StatusOr<AddressOperand> OperandParser::ParseAddress() {
  AddressOperand address;
  const Token token = lexer_.Peek();
  if (token.IsIdentifier() && !StartsConstant(token)) {
    WHARF_ASSIGN_OR_RETURN(Operand base, ParseName());
    if (const auto* vector_register = std::get_if<RegisterOperand>(&base.value); vector_register != nullptr) {
      address.base = *vector_register;
      WHARF_ASSIGN_OR_RETURN(address.offset, ParseOffset());
    } else if (auto* symbol = std::get_if<SymbolOperand>(&base.value); symbol != nullptr) {
      address.offset = std::exchange(symbol->offset, 0);
      address.base = std::move(*symbol);
    } else {
      return Unexpected(token, "an address");
    }
    return address;
  }
  WHARF_ASSIGN_OR_RETURN(const Constant constant, ParseConstant(lexer_));
  if (constant.is_float) return SyntaxError(token.line, "an address is not an integer");
  address.offset = static_cast<int64_t>(constant.integer);
  return address;
}

absl::StatusOr<int64_t> OperandParser::ParseOffset() {
  uint64_t sum = 0;
  while (lexer_.Peek().Is("+") || lexer_.Peek().Is("-")) {
    const bool minus = lexer_.Take().Is("-");
    const uint32_t line = lexer_.line();
    WHARF_ASSIGN_OR_RETURN(const Constant offset, ParseUnaryConstant(lexer_));
    if (offset.is_float) return SyntaxError(line, "an offset is not an integer");
    sum += minus ? uint64_t{0} - offset.integer : offset.integer;
  }
  return static_cast<int64_t>(sum);
}

}  // namespace wharf::device::ptx
