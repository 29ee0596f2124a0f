#include "wharf/device/ptx/parser.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "wharf/device/ptx/constant.h"
#include "wharf/device/ptx/declaration.h"
#include "wharf/device/ptx/lexer.h"

namespace wharf::device::ptx {
namespace {

// More than any device takes; keeps a parameter buffer's size far from overflow.
constexpr uint64_t kMaxParameterBytes = 1 << 16;
constexpr uint64_t kMaxFunctionParameterBytes = uint64_t{1} << 30;
constexpr size_t kMaxTextBytes = size_t{256} << 20;
constexpr size_t kMaxDirectiveValues = 16;

class ModuleParser {
 public:
  ModuleParser(Module& module, Lexer lexer) : module_(module), lexer_(lexer) {}

  absl::Status Parse() {
    WHARF_RETURN_IF_ERROR(ParsePreamble());
    for (;;) {
      const Token& token = lexer_.Peek();
      if (token.kind == TokenKind::kEnd) return absl::OkStatus();
      if (lexer_.Accept(";")) continue;
      if (token.Is("@")) {  // "@@DWARF …": debug information of old
        SkipLine();
        continue;
      }
      if (token.kind != TokenKind::kDirective) return Unexpected(token, "a directive");
      WHARF_RETURN_IF_ERROR(ParseTopLevel());
    }
  }

 private:
  // .version and .target come first, in this order.
  absl::Status ParsePreamble() {
    if (!lexer_.Peek().IsDirective("version")) return Unexpected(lexer_.Peek(), ".version (is this PTX?)");
    lexer_.Take();
    const Token version = lexer_.Take();
    const char* end = version.text.data() + version.text.size();
    const auto major = std::from_chars(version.text.data(), end, module_.version_major);
    if (version.kind != TokenKind::kFloat || major.ec != std::errc() || *major.ptr != '.' ||
        std::from_chars(major.ptr + 1, end, module_.version_minor).ptr != end) {
      return Unexpected(version, "a version like 9.0");
    }
    if (!lexer_.Peek().IsDirective("target")) return Unexpected(lexer_.Peek(), ".target");
    return ParseTarget();
  }

  // `.target sm_90a, debug`
  absl::Status ParseTarget() {
    lexer_.Take();
    do {
      WHARF_ASSIGN_OR_RETURN(const std::string_view word, lexer_.ExpectIdentifier("a target"));
      if (!word.starts_with("sm_")) continue;
      module_.target = word;
      const auto result = std::from_chars(word.data() + 3, word.data() + word.size(), module_.target_sm);
      if (result.ec != std::errc()) return SyntaxError(lexer_.line(), "expected a target like sm_75");
    } while (lexer_.Accept(","));
    return absl::OkStatus();
  }

  absl::Status ParseTopLevel() {
    const Token& token = lexer_.Peek();
    if (token.text == "target") return ParseTarget();
    if (token.text == "address_size") return ParseAddressSize();
    if (token.text == "file") return ParseFile();
    if (token.text == "section") return ParseSection();
    if (token.text == "alias") return ParseAlias();
    if (token.text == "pragma") return ParsePragma();
    if (token.text == "loc") {
      SkipLine();
      return absl::OkStatus();
    }
    const Linkage linkage = ParseLinkage(lexer_);
    if (lexer_.Peek().IsDirective("entry") || lexer_.Peek().IsDirective("func")) return ParseFunction(linkage);
    const uint32_t line = lexer_.line();
    WHARF_ASSIGN_OR_RETURN(std::vector<Variable> variables, ParseVariables(lexer_, linkage));
    for (Variable& variable : variables) WHARF_RETURN_IF_ERROR(AddVariable(line, std::move(variable)));
    return absl::OkStatus();
  }

  absl::Status ParseAddressSize() {
    const uint32_t line = lexer_.Take().line;
    WHARF_ASSIGN_OR_RETURN(const uint64_t bits, ParseCount(lexer_, 64, "the address size"));
    if (bits != 64) return SyntaxError(line, fmt::format("addresses of {} bits are not supported, only 64", bits));
    return absl::OkStatus();
  }

  // `.file 1 "a.cu", 1700000000, 42`
  absl::Status ParseFile() {
    lexer_.Take();
    WHARF_RETURN_IF_ERROR(ParseConstant(lexer_).status());
    if (lexer_.Peek().kind != TokenKind::kString) return Unexpected(lexer_.Peek(), "a file's name");
    lexer_.Take();
    while (lexer_.Accept(",")) WHARF_RETURN_IF_ERROR(ParseConstant(lexer_).status());
    return absl::OkStatus();
  }

  // `.section .debug_info { … }`: debug information, skipped.
  absl::Status ParseSection() {
    lexer_.Take();
    const Token name = lexer_.Take();
    if (name.kind != TokenKind::kDirective && !name.IsIdentifier()) return Unexpected(name, "a section's name");
    WHARF_RETURN_IF_ERROR(lexer_.Expect("{"));
    return lexer_.SkipBlock().status();
  }

  absl::Status ParseAlias() {
    lexer_.Take();
    WHARF_ASSIGN_OR_RETURN(const std::string_view alias, lexer_.ExpectIdentifier("a function's name"));
    WHARF_RETURN_IF_ERROR(lexer_.Expect(","));
    WHARF_ASSIGN_OR_RETURN(const std::string_view target, lexer_.ExpectIdentifier("a function's name"));
    module_.aliases.insert_or_assign(std::string(alias), std::string(target));
    return lexer_.Expect(";");
  }

  absl::Status ParsePragma() {
    lexer_.Take();
    do {
      if (lexer_.Peek().kind != TokenKind::kString) return Unexpected(lexer_.Peek(), "a string");
      lexer_.Take();
    } while (lexer_.Accept(","));
    return lexer_.Expect(";");
  }

  void SkipLine() {
    const uint32_t line = lexer_.Peek().line;
    while (lexer_.Peek().line == line && lexer_.Peek().kind != TokenKind::kEnd &&
           lexer_.Peek().kind != TokenKind::kInvalid) {
      lexer_.Take();
    }
  }

  absl::Status AddVariable(uint32_t line, Variable variable) {
    if (variable.space == Space::kReg || variable.space == Space::kParam) {
      return SyntaxError(line, fmt::format("'{}' cannot be declared outside a function", variable.name));
    }
    const auto index = static_cast<uint32_t>(module_.variables.size());
    const auto [place, is_new] = module_.variable_index.emplace(variable.name, index);
    if (!is_new) {
      Variable& known = module_.variables[place->second];
      if (variable.is_extern || variable.is_weak) return absl::OkStatus();
      if (!known.is_extern && !known.is_weak) {
        return SyntaxError(line, fmt::format("'{}' is defined twice", variable.name));
      }
      known = std::move(variable);
      return absl::OkStatus();
    }
    module_.variables.push_back(std::move(variable));
    return absl::OkStatus();
  }

  // From .entry or .func on.
  absl::Status ParseFunction(const Linkage& linkage) {
    Function function;
    const uint32_t line = lexer_.Peek().line;
    function.is_entry = lexer_.Take().text == "entry";
    function.is_extern = linkage.is_extern;
    function.is_weak = linkage.is_weak;
    if (lexer_.Peek().IsDirective("attribute")) {
      lexer_.Take();
      WHARF_RETURN_IF_ERROR(SkipParentheses(lexer_));
    }
    if (!function.is_entry && lexer_.Peek().Is("(")) {
      WHARF_ASSIGN_OR_RETURN(function.returns, ParseParameters(lexer_, false));
    }
    WHARF_ASSIGN_OR_RETURN(const std::string_view name, lexer_.ExpectIdentifier("a function's name"));
    function.name = name;
    if (lexer_.Peek().Is("(")) {
      WHARF_ASSIGN_OR_RETURN(function.parameters, ParseParameters(lexer_, false));
    }
    WHARF_RETURN_IF_ERROR(CheckParameters(line, function));
    WHARF_RETURN_IF_ERROR(ParseDirectives(function));
    if (lexer_.Peek().Is("{")) {
      function.body_line = lexer_.Take().line;
      WHARF_ASSIGN_OR_RETURN(function.body_text, lexer_.SkipBlock());
    } else {
      WHARF_RETURN_IF_ERROR(lexer_.Expect(";"));
    }
    return AddFunction(line, std::move(function));
  }

  static absl::Status CheckParameters(uint32_t line, const Function& function) {
    uint64_t bytes = 0;
    for (const auto* list : {&function.returns, &function.parameters}) {
      for (const Variable& parameter : *list) {
        if (parameter.space != Space::kParam && (parameter.space != Space::kReg || function.is_entry)) {
          return SyntaxError(line, fmt::format("'{}' is not a parameter", parameter.name));
        }
        bytes += parameter.Bytes() + parameter.alignment;
        if (bytes > (function.is_entry ? kMaxParameterBytes : kMaxFunctionParameterBytes)) {
          return SyntaxError(line, fmt::format("the parameters of '{}' are too large", function.name));
        }
      }
    }
    return absl::OkStatus();
  }

  // `.maxntid 256, 1, 1 .minnctapersm 2 .noreturn .pragma "x";`
  absl::Status ParseDirectives(Function& function) {
    while (lexer_.Peek().kind == TokenKind::kDirective) {
      if (lexer_.Peek().text == "pragma") {
        WHARF_RETURN_IF_ERROR(ParsePragma());
        continue;
      }
      const Token word = lexer_.Take();
      if (word.text == "attribute") {
        WHARF_RETURN_IF_ERROR(SkipParentheses(lexer_));
        continue;
      }
      std::vector<uint64_t>& values = function.directives[std::string(word.text)];
      values.clear();
      if (lexer_.Peek().kind == TokenKind::kInteger) {
        do {
          if (values.size() == kMaxDirectiveValues) return Unexpected(lexer_.Peek(), "a directive");
          WHARF_ASSIGN_OR_RETURN(const uint64_t value, ParseCount(lexer_, UINT32_MAX, word.text));
          values.push_back(value);
        } while (lexer_.Accept(","));
      }
      if (word.text == "noreturn") function.is_noreturn = true;
    }
    return absl::OkStatus();
  }

  absl::Status AddFunction(uint32_t line, Function function) {
    const bool is_definition = function.HasBody();
    const auto index = static_cast<uint32_t>(module_.functions.size());
    const auto [place, is_new] = module_.function_index.emplace(function.name, index);
    if (!is_new && is_definition) {
      const Function& known = module_.functions[place->second];
      if (known.HasBody() && !known.is_weak && !function.is_weak) {
        return SyntaxError(line, fmt::format("'{}' is defined twice", function.name));
      }
      if (!known.HasBody() || known.is_weak) place->second = index;
    }
    module_.functions.push_back(std::move(function));
    return absl::OkStatus();
  }

  Module& module_;
  Lexer lexer_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const Module>> Parse(std::string text) {
  text.erase(text.find_last_not_of('\0') + 1);
  if (text.size() > kMaxTextBytes) return CudaStatus(CudaError::kInvalidPtx, "a PTX text of {} bytes", text.size());
  auto module = std::make_shared<Module>();
  module->text = std::make_shared<const std::string>(std::move(text));
  WHARF_RETURN_IF_ERROR(ModuleParser(*module, Lexer(*module->text, 1)).Parse());
  return std::shared_ptr<const Module>(std::move(module));
}

std::vector<ParameterLayout> LayoutParameters(const Function& function) {
  std::vector<ParameterLayout> layout;
  uint32_t end = 0;
  for (const Variable& parameter : function.parameters) {
    const uint32_t alignment = std::max(parameter.alignment, 1U);
    const uint32_t offset = (end + alignment - 1) / alignment * alignment;
    layout.push_back({offset, static_cast<uint32_t>(parameter.Bytes())});
    end = offset + layout.back().size;
  }
  return layout;
}

}  // namespace wharf::device::ptx
