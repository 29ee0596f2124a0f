#include "wharf/device/ptx/link.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "wharf/device/cuda_error.h"
#include "wharf/device/ptx/declaration.h"
#include "wharf/device/ptx/lexer.h"
#include "wharf/device/ptx/parser.h"

namespace wharf::device::ptx {
namespace {

// A function or variables of a text, from its linkage to its end.
struct Item {
  std::string_view text, name;  // the first variable's
  Linkage linkage;
  bool is_function = false, is_entry = false, defines = false;
};

// The names at module scope of a text.
struct Names {
  std::set<std::string_view> all, own;  // own: nobody outside the text knows them
  std::vector<Item> items;
};

void SkipRestOfLine(Lexer& lexer, uint32_t line) {
  while (lexer.Peek().line == line && lexer.Peek().kind != TokenKind::kEnd &&
         lexer.Peek().kind != TokenKind::kInvalid) {
    lexer.Take();
  }
}

absl::Status SkipToSemicolon(Lexer& lexer) {
  while (!lexer.Accept(";")) {
    if (lexer.Peek().kind == TokenKind::kEnd || lexer.Peek().kind == TokenKind::kInvalid) {
      return Unexpected(lexer.Peek(), "';'");
    }
    lexer.Take();
  }
  return absl::OkStatus();
}

// `.section .debug_info { … }`, from the word on.
absl::Status SkipDebugSection(Lexer& lexer) {
  lexer.Take();
  lexer.Take();
  WHARF_RETURN_IF_ERROR(lexer.Expect("{"));
  return lexer.SkipBlock().status();
}

// What a text says of itself as a whole, a line each.
bool DescribesText(const Token& token) {
  return token.IsDirective("version") || token.IsDirective("target") || token.IsDirective("address_size") ||
         token.IsDirective("file") || token.IsDirective("loc");
}

class NameReader {
 public:
  explicit NameReader(std::string_view text) : lexer_(text, 1) {}

  absl::StatusOr<Names> Read() {
    while (lexer_.Peek().kind != TokenKind::kEnd) WHARF_RETURN_IF_ERROR(ReadItem());
    return std::move(names_);
  }

 private:
  absl::Status ReadItem() {
    const Token token = lexer_.Peek();
    if (lexer_.Accept(";")) return absl::OkStatus();
    if (DescribesText(token) || token.Is("@")) {
      SkipRestOfLine(lexer_, token.line);
      return absl::OkStatus();
    }
    if (token.kind != TokenKind::kDirective) return Unexpected(token, "a directive");
    if (token.text == "section") return SkipDebugSection(lexer_);
    if (token.text == "pragma") return SkipToSemicolon(lexer_);
    if (token.text == "alias") {
      lexer_.Take();
      WHARF_ASSIGN_OR_RETURN(const std::string_view alias, lexer_.ExpectIdentifier("a function's name"));
      names_.all.insert(alias);
      return SkipToSemicolon(lexer_);
    }
    const char* const start = lexer_.position();
    Item item;
    item.linkage = ParseLinkage(lexer_);
    const bool is_own = !item.linkage.is_extern && !item.linkage.is_visible && !item.linkage.is_weak;
    item.is_function = lexer_.Peek().IsDirective("entry") || lexer_.Peek().IsDirective("func");
    WHARF_RETURN_IF_ERROR(item.is_function ? ReadFunction(item, is_own) : ReadVariables(item, is_own));
    item.text = std::string_view(start, static_cast<size_t>(lexer_.position() - start));
    names_.items.push_back(item);
    return absl::OkStatus();
  }

  // The host looks kernels up by name, so no text has them for itself.
  absl::Status ReadFunction(Item& item, bool is_own) {
    item.is_entry = lexer_.Take().text == "entry";
    while (lexer_.Peek().Is("(") || lexer_.Peek().IsDirective("attribute")) {
      if (lexer_.Peek().kind == TokenKind::kDirective) lexer_.Take();
      WHARF_RETURN_IF_ERROR(SkipParentheses(lexer_));
    }
    WHARF_ASSIGN_OR_RETURN(const std::string_view name, lexer_.ExpectIdentifier("a function's name"));
    Add(name, is_own && !item.is_entry);
    item.name = name;
    for (;;) {
      if (lexer_.Accept(";")) return absl::OkStatus();
      if (lexer_.Accept("{")) {
        item.defines = true;
        return lexer_.SkipBlock().status();
      }
      if (lexer_.Peek().IsDirective("pragma")) {
        WHARF_RETURN_IF_ERROR(SkipToSemicolon(lexer_));
      } else if (lexer_.Peek().kind == TokenKind::kEnd || lexer_.Peek().kind == TokenKind::kInvalid) {
        return Unexpected(lexer_.Peek(), "a body or ';'");
      } else {
        lexer_.Take();
      }
    }
  }

  absl::Status ReadVariables(Item& item, bool is_own) {
    const char* const start = lexer_.position();
    WHARF_ASSIGN_OR_RETURN(const std::vector<Variable> variables, ParseVariables(lexer_, item.linkage));
    const std::string_view text(start, static_cast<size_t>(lexer_.position() - start));
    for (const Variable& variable : variables) {
      const std::string_view name = text.substr(text.find(variable.name), variable.name.size());
      Add(name, is_own);
      if (item.name.empty()) item.name = name;
    }
    item.defines = !item.linkage.is_extern;
    return absl::OkStatus();
  }

  void Add(std::string_view name, bool is_own) {
    names_.all.insert(name);
    if (is_own) names_.own.insert(name);
  }

  Lexer lexer_;
  Names names_;
};

using Renames = std::map<std::string_view, std::string>;
// What stands in the place of parts of a text, by where they begin.
struct Edit {
  const char* end = nullptr;
  std::string text;
};
using Edits = std::map<const char*, Edit>;

// The text with other names and its edits, and, unless it is the first, without what it says of itself.
class Rewriter {
 public:
  Rewriter(std::string_view text, const Renames& renames, const Edits& edits, bool is_first)
      : text_(text), lexer_(text, 1), renames_(renames), edits_(edits), is_first_(is_first) {}

  absl::StatusOr<std::string> Rewrite() {
    while (lexer_.Peek().kind != TokenKind::kEnd) {
      const Token token = lexer_.Peek();
      if (token.kind == TokenKind::kInvalid) return Unexpected(token, "PTX");
      if (const auto edit = edits_.find(lexer_.position()); edit != edits_.end()) {
        CopyTo(lexer_.position());
        out_ += edit->second.text;
        while (lexer_.position() < edit->second.end && lexer_.Peek().kind != TokenKind::kEnd) lexer_.Take();
        copied_ = edit->second.end;
      } else if (!is_first_ && DescribesText(token)) {
        CopyTo(lexer_.position());
        SkipRestOfLine(lexer_, token.line);
        copied_ = lexer_.position();
      } else if (token.IsDirective("section")) {
        CopyTo(lexer_.position());
        WHARF_RETURN_IF_ERROR(SkipDebugSection(lexer_));
        if (!is_first_) copied_ = lexer_.position();
      } else {
        Copy(token);
      }
    }
    CopyTo(text_.data() + text_.size());
    return std::move(out_);
  }

 private:
  void Copy(const Token& token) {
    if (const auto renamed = renames_.find(token.text); token.IsIdentifier() && renamed != renames_.end()) {
      CopyTo(lexer_.position());
      out_ += renamed->second;
      copied_ = token.text.data() + token.text.size();
    }
    lexer_.Take();
  }
  void CopyTo(const char* end) {
    out_.append(copied_, end);
    copied_ = end;
  }

  const std::string_view text_;
  Lexer lexer_;
  const Renames& renames_;
  const Edits& edits_;
  const bool is_first_;
  const char* copied_ = text_.data();
  std::string out_;
};

// Names of texts[index] that are its own, and others use too.
Renames RenamesFor(const std::vector<Names>& names, size_t index) {
  Renames renames;
  for (const std::string_view name : names[index].own) {
    const auto uses = [&](const Names& other) { return &other != &names[index] && other.all.contains(name); };
    if (!std::any_of(names.begin(), names.end(), uses)) continue;
    std::string other = fmt::format("{}${}", name, index);
    while (std::any_of(names.begin(), names.end(), [&](const Names& all) { return all.all.contains(other); })) {
      other += '$';
    }
    renames.emplace(name, std::move(other));
  }
  return renames;
}

// By name: a weak one only if there is no other.
using Definitions = std::map<std::string_view, const Item*>;

Definitions FindDefinitions(const std::vector<Names>& names, const std::vector<size_t>& order) {
  Definitions definitions;
  for (const size_t index : order) {
    for (const Item& item : names[index].items) {
      if (!item.defines || !(item.linkage.is_visible || item.linkage.is_weak)) continue;
      const Item*& known = definitions[item.name];
      if (known == nullptr || (item.is_function && known->linkage.is_weak && !item.linkage.is_weak)) known = &item;
    }
  }
  return definitions;
}

// What one text may say and ptxas does not take from one: that a function is extern which is defined below, and weak
// definitions of what is defined already. Both become declarations of the function; weak kernels and variables go.
Edits EditsFor(const Names& names, const Definitions& definitions) {
  Edits edits;
  for (const Item& item : names.items) {
    const auto found = definitions.find(item.name);
    if (found == definitions.end() || found->second == &item) continue;
    const bool declares = item.is_function && item.linkage.is_extern;
    if (!declares && !(item.defines && item.linkage.is_weak)) continue;
    Edit edit{item.text.data() + item.text.size(), ""};
    if (item.is_function && !item.is_entry) {
      const std::string_view word = declares ? ".extern" : ".weak";
      const size_t behind = item.text.find(word) + word.size();
      const size_t end = item.defines ? item.text.find('{') : item.text.size();
      edit.text = found->second->linkage.is_weak ? ".weak" : ".visible";
      edit.text += item.text.substr(behind, end - behind);
      if (item.defines) edit.text += ";\n";
    }
    edits.emplace(item.text.data(), std::move(edit));
  }
  return edits;
}

// "9.0" as a number to compare; 0 if it is none.
double VersionOf(const std::string& text) {
  const size_t word = text.find(".version");
  return word == std::string::npos ? 0 : std::atof(text.c_str() + word + 8);
}

absl::Status OfText(size_t index, const absl::Status& status) {
  return CudaStatus(CudaError::kInvalidPtx, "text {}: {}", index + 1, Message(status));
}

}  // namespace

absl::StatusOr<std::string> Link(std::span<const std::string> texts) {
  std::vector<Names> names;
  for (const std::string& text : texts) {
    auto read = NameReader(text).Read();
    if (!read.ok()) return OfText(names.size(), read.status());
    names.push_back(*std::move(read));
  }
  // The newest one's first lines hold for all.
  std::vector<size_t> order(texts.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return VersionOf(texts[a]) > VersionOf(texts[b]); });
  const Definitions definitions = FindDefinitions(names, order);
  std::string linked;
  for (const size_t index : order) {
    auto rewritten =
        Rewriter(texts[index], RenamesFor(names, index), EditsFor(names[index], definitions), index == order.front())
            .Rewrite();
    if (!rewritten.ok()) return OfText(index, rewritten.status());
    linked += *rewritten + "\n";
  }
  return linked;
}

bool IsSystemFunction(std::string_view name) {
  return name == "vprintf" || name == "__assertfail" || name == "malloc" || name == "free" ||
         name == "cudaGraphSetConditional" || LaunchesKernels(name);
}

bool LaunchesKernels(std::string_view name) { return !DeviceRuntimeName(name).empty(); }

std::string_view DeviceRuntimeName(std::string_view name) {
  static constexpr std::string_view kPrefix = "__cudaCDP2", kPlainPrefix = "cuda";
  static constexpr std::array<std::string_view, 16> kNames = {
      "GetParameterBufferV2",  "LaunchDeviceV2", "GetLastError",    "PeekAtLastError",
      "StreamCreateWithFlags", "StreamDestroy",  "StreamWaitEvent", "EventCreateWithFlags",
      "EventRecord",           "EventDestroy",   "Malloc",          "Free",
      "MemcpyAsync",           "MemsetAsync",    "GetErrorName",    "GetErrorString"};
  const bool plain = name == "cudaGetParameterBufferV2" || name == "cudaLaunchDeviceV2";
  if (!plain && !name.starts_with(kPrefix)) return {};
  name.remove_prefix(plain ? kPlainPrefix.size() : kPrefix.size());
  return std::find(kNames.begin(), kNames.end(), name) == kNames.end() ? std::string_view() : name;
}

absl::Status CheckLinked(const std::string& text) {
  WHARF_ASSIGN_OR_RETURN(const auto module, Parse(text));
  for (const auto& [name, index] : module->function_index) {
    const Function& function = module->functions[index];
    if (function.HasBody()) {
      WHARF_RETURN_IF_ERROR(ParseBody(*module, function).status());
    } else if (!IsSystemFunction(name) && !module->aliases.contains(name)) {
      return CudaStatus(CudaError::kInvalidPtx, "undefined reference to '{}'", name);
    }
  }
  for (const auto& [name, index] : module->variable_index) {
    const Variable& variable = module->variables[index];
    // An array of shared memory without a size is what a launch asks for.
    if (variable.is_extern && variable.space != Space::kShared) {
      return CudaStatus(CudaError::kInvalidPtx, "undefined reference to '{}'", name);
    }
  }
  return absl::OkStatus();
}

}  // namespace wharf::device::ptx
