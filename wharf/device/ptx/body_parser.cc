// ParseBody: statements of one function body.
#include <algorithm>
#include <utility>

#include "wharf/device/ptx/constant.h"
#include "wharf/device/ptx/declaration.h"
#include "wharf/device/ptx/lexer.h"
#include "wharf/device/ptx/operand_parser.h"
#include "wharf/device/ptx/parser.h"
#include "wharf/device/ptx/scope.h"

namespace wharf::device::ptx {
namespace {

constexpr size_t kShownText = 200;

// The instruction as written, white space folded, cut to kShownText bytes.
std::string Excerpt(const char* begin, const char* end) {
  std::string text;
  for (const char* at = begin; at < end && text.size() < kShownText; ++at) {
    const bool is_space = *at == ' ' || *at == '\t' || *at == '\n' || *at == '\r';
    if (!is_space) {
      text.push_back(*at);
    } else if (!text.empty() && text.back() != ' ') {
      text.push_back(' ');
    }
  }
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

class BodyParser {
 public:
  BodyParser(const Module& module, const Function& function)
      : scopes_(module, function, body_), lexer_(function.body_text, function.body_line), operands_(lexer_, scopes_) {}

  absl::StatusOr<Body> Parse() {
    while (lexer_.Peek().kind != TokenKind::kEnd) WHARF_RETURN_IF_ERROR(ParseStatement());
    return std::move(body_);
  }

 private:
  absl::Status ParseStatement() {
    const Token token = lexer_.Peek();
    if (lexer_.Accept(";")) return absl::OkStatus();
    if (token.Is("{")) {
      const char* at = lexer_.position();
      lexer_.Take();
      return scopes_.Open(at, token.line);
    }
    if (lexer_.Accept("}")) {
      return scopes_.Close() ? absl::OkStatus() : SyntaxError(token.line, "a '}' without '{'");
    }
    if (token.kind == TokenKind::kDirective) return ParseDirective();
    if (token.IsIdentifier() && lexer_.PeekSecond().Is(":")) return ParseLabel();
    return ParseInstruction();
  }

  absl::Status ParseDirective() {
    const Token& token = lexer_.Peek();
    if (token.text == "reg") return DeclareRegisters();
    if (token.text == "loc" || token.text == "file") {
      const char* begin = lexer_.position();
      SkipLine();
      body_.locations.emplace_back(begin, lexer_.position());
      return absl::OkStatus();
    }
    if (token.text == "pragma") return SkipStatement();
    const uint32_t line = token.line;
    const Linkage linkage = ParseLinkage(lexer_);
    WHARF_ASSIGN_OR_RETURN(std::vector<Variable> variables, ParseVariables(lexer_, linkage));
    for (Variable& variable : variables) {
      WHARF_RETURN_IF_ERROR(RenameInitializer(variable));
      WHARF_ASSIGN_OR_RETURN(variable.name, scopes_.DeclareVariable(line, variable.name));
      body_.variables.push_back(std::move(variable));
    }
    return absl::OkStatus();
  }

  absl::Status RenameInitializer(Variable& variable) {
    for (Initializer& scalar : variable.initializer) {
      if (scalar.symbol.empty()) continue;
      const auto name = scopes_.FindSymbol(scalar.symbol);
      if (!name) return SyntaxError(lexer_.line(), fmt::format("'{}' is not declared", scalar.symbol));
      scalar.symbol = *name;
    }
    return absl::OkStatus();
  }

  absl::Status DeclareRegisters() {
    const uint32_t line = lexer_.line();
    WHARF_ASSIGN_OR_RETURN(const std::vector<Registers> list, ParseRegisters(lexer_));
    for (const Registers& registers : list) WHARF_RETURN_IF_ERROR(scopes_.DeclareRegisters(line, registers));
    return absl::OkStatus();
  }

  // .loc and .file end with their line.
  void SkipLine() {
    const uint32_t line = lexer_.Peek().line;
    while (lexer_.Peek().line == line && lexer_.Peek().kind != TokenKind::kEnd &&
           lexer_.Peek().kind != TokenKind::kInvalid) {
      lexer_.Take();
    }
  }

  absl::Status SkipStatement() {
    while (!lexer_.Accept(";")) {
      const Token token = lexer_.Take();
      if (token.kind == TokenKind::kEnd || token.kind == TokenKind::kInvalid) return Unexpected(token, "';'");
    }
    return absl::OkStatus();
  }

  // `name:` in front of a statement or of a table.
  absl::Status ParseLabel() {
    const Token label = lexer_.Take();
    lexer_.Take();
    const std::optional<std::string> name = scopes_.FindSymbol(label.text);
    if (!name) return SyntaxError(label.line, fmt::format("label '{}' is not known here", label.text));
    const Token next = lexer_.Peek();
    if (next.IsDirective("branchtargets")) return ParseTable(body_.branch_targets[*name]);
    if (next.IsDirective("calltargets")) return ParseTable(body_.call_targets[*name]);
    if (next.IsDirective("callprototype")) return ParsePrototype(body_.prototypes[*name]);
    const auto index = static_cast<uint32_t>(body_.instructions.size());
    if (!body_.labels.emplace(*name, index).second) {
      return SyntaxError(label.line, fmt::format("label '{}' is defined twice", label.text));
    }
    return absl::OkStatus();
  }

  absl::Status ParseTable(std::vector<std::string>& names) {
    lexer_.Take();
    names.clear();
    do {
      const uint32_t line = lexer_.line();
      WHARF_ASSIGN_OR_RETURN(const std::string_view word, lexer_.ExpectIdentifier("a name"));
      const std::optional<std::string> name = scopes_.FindSymbol(word);
      if (!name) return SyntaxError(line, fmt::format("'{}' is not declared", word));
      names.push_back(*name);
    } while (lexer_.Accept(","));
    return lexer_.Expect(";");
  }

  // `.callprototype (.param .b32 _) _ (.param .b64 _) .noreturn;`
  absl::Status ParsePrototype(Body::Prototype& prototype) {
    lexer_.Take();
    if (lexer_.Peek().Is("(")) {
      WHARF_ASSIGN_OR_RETURN(prototype.returns, ParseParameters(lexer_, true));
    }
    WHARF_RETURN_IF_ERROR(lexer_.ExpectIdentifier("'_'").status());
    if (lexer_.Peek().Is("(")) {
      WHARF_ASSIGN_OR_RETURN(prototype.parameters, ParseParameters(lexer_, true));
    }
    while (lexer_.Peek().kind == TokenKind::kDirective) {
      if (lexer_.Take().text == "noreturn") prototype.noreturn = true;
      if (lexer_.Peek().kind == TokenKind::kInteger) lexer_.Take();
    }
    return lexer_.Expect(";");
  }

  absl::Status ParseInstruction() {
    Instruction instruction;
    const char* begin = lexer_.position();
    instruction.line = lexer_.line();
    WHARF_RETURN_IF_ERROR(ParseGuard(instruction));
    instruction.opcode_at = static_cast<uint32_t>(lexer_.position() - begin);
    WHARF_ASSIGN_OR_RETURN(instruction.opcode, lexer_.ExpectIdentifier("an instruction"));
    while (lexer_.Peek().kind == TokenKind::kDirective) instruction.modifiers.emplace_back(lexer_.Take().text);
    WHARF_RETURN_IF_ERROR(instruction.opcode == "call" ? ParseCall(instruction) : ParseOperands(instruction));
    if (!lexer_.Peek().Is(";")) return Unexpected(lexer_.Peek(), "',' or ';'");
    instruction.text = Excerpt(begin, lexer_.position());
    instruction.source = std::string_view(begin, lexer_.position() + 1);
    lexer_.Take();
    body_.instructions.push_back(std::move(instruction));
    return absl::OkStatus();
  }

  // `@p` or `@!p`
  absl::Status ParseGuard(Instruction& instruction) {
    if (!lexer_.Accept("@")) return absl::OkStatus();
    instruction.has_guard = true;
    instruction.guard_negated = lexer_.Accept("!");
    const Token token = lexer_.Peek();
    if (!token.IsIdentifier()) return Unexpected(token, "a predicate");
    const auto slot = scopes_.FindRegister(token.text);
    if (!slot || slot->vector != 1 || body_.registers[slot->index].type != Type::kPred) {
      return SyntaxError(token.line, fmt::format("'{}' is not a predicate", token.text));
    }
    instruction.guard = slot->index;
    lexer_.Take();
    return absl::OkStatus();
  }

  absl::Status ParseOperands(Instruction& instruction) {
    if (lexer_.Peek().Is(";")) return absl::OkStatus();
    do {
      WHARF_ASSIGN_OR_RETURN(Operand operand, operands_.Parse());
      instruction.operands.push_back(std::move(operand));
      if (lexer_.Accept("|")) {
        WHARF_ASSIGN_OR_RETURN(Operand second, operands_.Parse());
        second.after_bar = true;
        instruction.operands.push_back(std::move(second));
      }
    } while (lexer_.Accept(","));
    return absl::OkStatus();
  }

  // `call (returns), callee, (arguments), prototype;`: all but the callee may be missing.
  absl::Status ParseCall(Instruction& instruction) {
    if (lexer_.Peek().Is("(")) {
      WHARF_RETURN_IF_ERROR(ParseList(instruction.call_returns));
      WHARF_RETURN_IF_ERROR(lexer_.Expect(","));
    }
    WHARF_ASSIGN_OR_RETURN(Operand callee, operands_.Parse());
    instruction.operands.push_back(std::move(callee));
    if (!lexer_.Accept(",")) return absl::OkStatus();
    if (lexer_.Peek().Is("(")) {
      WHARF_RETURN_IF_ERROR(ParseList(instruction.call_arguments));
      if (!lexer_.Accept(",")) return absl::OkStatus();
    }
    const Token token = lexer_.Peek();
    WHARF_ASSIGN_OR_RETURN(const std::string_view word, lexer_.ExpectIdentifier("a prototype or a list of targets"));
    const std::optional<std::string> name = scopes_.FindSymbol(word);
    if (!name) return SyntaxError(token.line, fmt::format("'{}' is not declared", word));
    instruction.call_prototype = *name;
    return absl::OkStatus();
  }

  absl::Status ParseList(std::vector<Operand>& list) {
    WHARF_RETURN_IF_ERROR(lexer_.Expect("("));
    if (lexer_.Accept(")")) return absl::OkStatus();
    do {
      WHARF_ASSIGN_OR_RETURN(Operand operand, operands_.Parse());
      list.push_back(std::move(operand));
    } while (lexer_.Accept(","));
    return lexer_.Expect(")");
  }

  Body body_;
  Scopes scopes_;
  Lexer lexer_;
  OperandParser operands_;
};

}  // namespace

absl::StatusOr<Body> ParseBody(const Module& module, const Function& function) {
  if (!function.HasBody()) {
    return CudaStatus(CudaError::kInvalidPtx, "'{}' is declared but not defined", function.name);
  }
  return BodyParser(module, function).Parse();
}

}  // namespace wharf::device::ptx
