#include "wharf/device/ptx/scope.h"

#include <charconv>

#include "absl/strings/ascii.h"

namespace wharf::device::ptx {
namespace {

constexpr size_t kMaxNesting = 64;
constexpr size_t kMaxRegisterDigits = 10;

}  // namespace

Scopes::Scopes(const Module& module, const Function& function, Body& body) : module_(module), body_(body) {
  scopes_.emplace_back();
  for (const auto* list : {&function.returns, &function.parameters}) {
    for (const Variable& parameter : *list) {
      if (parameter.space == Space::kReg) {
        AddRegister(scopes_[0], parameter.name, parameter.type, parameter.vector);
      } else {
        used_.insert(parameter.name);
        scopes_[0].names.emplace(parameter.name, parameter.name);
      }
    }
  }
  scopes_.emplace_back();
  ScanLabels(function);
  for (const std::string_view label : labels_[nullptr]) scopes_[1].names.emplace(label, UniqueName(label));
}

// A label is seen by jumps before it, so all are collected first. Only a label puts a colon after a word. The braces of
// vector operands are taken for blocks here; they hold no labels.
void Scopes::ScanLabels(const Function& function) {
  Lexer lexer(function.body_text, function.body_line);
  std::vector<const char*> open{nullptr};
  for (;;) {
    const char* at = lexer.position();
    const Token token = lexer.Take();
    if (token.kind == TokenKind::kEnd || token.kind == TokenKind::kInvalid) return;
    if (token.IsIdentifier() && lexer.Peek().Is(":")) labels_[open.back()].push_back(token.text);
    if (token.Is("{")) open.push_back(at);
    if (token.Is("}") && open.size() > 1) open.pop_back();
  }
}

absl::Status Scopes::Open(const char* at, uint32_t line) {
  if (scopes_.size() >= kMaxNesting) return SyntaxError(line, "blocks are nested too deeply");
  Scope& scope = scopes_.emplace_back();
  const auto labels = labels_.find(at);
  if (labels == labels_.end()) return absl::OkStatus();
  for (const std::string_view label : labels->second) scope.names.emplace(label, UniqueName(label));
  return absl::OkStatus();
}

bool Scopes::Close() {
  if (scopes_.size() <= 2) return false;
  scopes_.pop_back();
  return true;
}

bool Scopes::IsModuleName(std::string_view name) const {
  return module_.function_index.contains(name) || module_.variable_index.contains(name) ||
         module_.aliases.contains(name);
}

std::string Scopes::UniqueName(std::string_view name) {
  std::string unique(name);
  if (IsModuleName(unique) || used_.contains(unique)) unique = fmt::format("{}.{}", name, ++repeats_[unique]);
  used_.insert(unique);
  return unique;
}

RegisterSlot Scopes::AddRegister(Scope& scope, std::string_view name, Type type, uint32_t vector) {
  static constexpr std::string_view kComponents[] = {".x", ".y", ".z", ".w"};
  const RegisterSlot slot{static_cast<uint32_t>(body_.registers.size()), vector};
  for (uint32_t i = 0; i < vector; ++i) {
    body_.registers.push_back({std::string(name).append(vector > 1 ? kComponents[i] : std::string_view()), type});
  }
  scope.registers.emplace(name, slot);
  return slot;
}

absl::Status Scopes::DeclareRegisters(uint32_t line, const Registers& registers) {
  if (registers.vector > 4) return SyntaxError(line, "a register of more than four components");
  Scope& scope = scopes_.back();
  const bool is_new = registers.count > 0 ? scope.ranges.emplace(registers.name, registers).second
                                          : !scope.registers.contains(registers.name);
  if (!is_new) return SyntaxError(line, fmt::format("register '{}' is declared twice", registers.name));
  if (registers.count == 0) AddRegister(scope, registers.name, registers.type, registers.vector);
  return absl::OkStatus();
}

absl::StatusOr<std::string> Scopes::DeclareVariable(uint32_t line, std::string_view name) {
  Scope& scope = scopes_.back();
  if (scope.names.contains(name)) return SyntaxError(line, fmt::format("'{}' is declared twice", name));
  std::string unique = UniqueName(name);
  scope.names.emplace(name, unique);
  return unique;
}

// Registers of a range come to be when they are first named, so that a range costs nothing. The prefix may itself end
// in digits, so every split is tried.
std::optional<RegisterSlot> Scopes::FindInRanges(Scope& scope, std::string_view name) {
  for (size_t split = name.size();
       split > 1 && absl::ascii_isdigit(name[split - 1]) && name.size() - split < kMaxRegisterDigits;) {
    --split;
    const auto range = scope.ranges.find(name.substr(0, split));
    if (range == scope.ranges.end()) continue;
    const std::string_view digits = name.substr(split);
    if (digits.size() > 1 && digits[0] == '0') continue;
    uint64_t number = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (number < range->second.count) return AddRegister(scope, name, range->second.type, range->second.vector);
  }
  return std::nullopt;
}

std::optional<RegisterSlot> Scopes::FindRegister(std::string_view name) {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (const auto found = scope->registers.find(name); found != scope->registers.end()) return found->second;
    if (scope->ranges.empty()) continue;
    if (const auto found = FindInRanges(*scope, name)) return found;
  }
  return std::nullopt;
}

std::optional<std::string> Scopes::FindSymbol(std::string_view name) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (const auto found = scope->names.find(name); found != scope->names.end()) return found->second;
  }
  if (IsModuleName(name)) return std::string(name);
  return std::nullopt;
}

}  // namespace wharf::device::ptx
