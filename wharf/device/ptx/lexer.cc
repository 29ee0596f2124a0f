#include "wharf/device/ptx/lexer.h"

#include <algorithm>

#include "wharf/device/cuda_error.h"

namespace wharf::device::ptx {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsWord(char c) { return IsLetter(c) || IsDigit(c) || c == '_' || c == '$'; }

}  // namespace

absl::Status SyntaxError(uint32_t line, std::string_view message) {
  return CudaStatus(CudaError::kInvalidPtx, "line {}: {}", line, message);
}

absl::Status Unexpected(const Token& found, std::string_view expected) {
  if (found.kind == TokenKind::kInvalid) return SyntaxError(found.line, found.text);
  if (found.kind == TokenKind::kEnd)
    return SyntaxError(found.line, fmt::format("expected {}, found the end", expected));
  constexpr size_t kShown = 64;
  return SyntaxError(found.line,
                     fmt::format("expected {}, found '{}{}'", expected, found.kind == TokenKind::kDirective ? "." : "",
                                 found.text.substr(0, kShown)));
}

void Lexer::Fill(size_t count) {
  while (count_ < count) {
    ahead_[count_] = Lex();
    ahead_at_[count_] =
        ahead_[count_].kind == TokenKind::kEnd || ahead_[count_].kind == TokenKind::kInvalid
            ? text_.size()
            : static_cast<size_t>(ahead_[count_].text.data() - text_.data()) -
                  (ahead_[count_].kind == TokenKind::kDirective || ahead_[count_].kind == TokenKind::kString ? 1 : 0);
    ++count_;
  }
}

const Token& Lexer::Peek() {
  Fill(1);
  return ahead_[0];
}

const Token& Lexer::PeekSecond() {
  Fill(2);
  return ahead_[1];
}

Token Lexer::Take() {
  Fill(1);
  const Token token = ahead_[0];
  ahead_[0] = ahead_[1];
  ahead_at_[0] = ahead_at_[1];
  --count_;
  return token;
}

bool Lexer::Accept(std::string_view punctuation) {
  if (!Peek().Is(punctuation)) return false;
  Take();
  return true;
}

absl::Status Lexer::Expect(std::string_view punctuation) {
  if (!Accept(punctuation)) return Unexpected(Peek(), fmt::format("'{}'", punctuation));
  return absl::OkStatus();
}

absl::StatusOr<std::string_view> Lexer::ExpectIdentifier(std::string_view what) {
  if (!Peek().IsIdentifier()) return Unexpected(Peek(), what);
  return Take().text;
}

const char* Lexer::position() {
  Fill(1);
  return text_.data() + ahead_at_[0];
}

bool Lexer::SkipComment() {
  if (At(at_) != '/') return true;
  if (At(at_ + 1) == '/') {
    at_ = std::min(text_.find('\n', at_), text_.size());
  } else if (At(at_ + 1) == '*') {
    const size_t end = text_.find("*/", at_ + 2);
    if (end == std::string_view::npos) return false;
    line_ += static_cast<uint32_t>(std::count(text_.begin() + at_, text_.begin() + end, '\n'));
    at_ = end + 2;
  }
  return true;
}

bool Lexer::SkipSpace() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '\n') {
      ++line_;
      ++at_;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      ++at_;
    } else if (c == '/') {
      const size_t before = at_;
      if (!SkipComment()) return false;
      if (at_ == before) return true;  // a division
    } else {
      return true;
    }
  }
  return true;
}

Token Lexer::Lex() {
  if (!SkipSpace()) return Make(TokenKind::kInvalid, "a comment does not end");
  if (at_ >= text_.size()) return Make(TokenKind::kEnd, {});
  const char c = text_[at_];
  if (IsLetter(c) || c == '_' || c == '$' || (c == '%' && IsWord(At(at_ + 1)))) return LexIdentifier();
  if (IsDigit(c)) return LexNumber();
  if (c == '.') {
    // ".1d" after a word is a modifier, ".5" on its own a number.
    const bool attached = at_ > 0 && IsWord(text_[at_ - 1]);
    return IsDigit(At(at_ + 1)) && !attached ? LexNumber() : LexDirective();
  }
  if (c == '"') return LexString();
  return LexPunctuation();
}

Token Lexer::LexIdentifier() {
  const size_t begin = at_++;
  while (IsWord(At(at_))) ++at_;
  return Make(TokenKind::kIdentifier, text_.substr(begin, at_ - begin));
}

Token Lexer::LexDirective() {
  const size_t begin = ++at_;
  while (IsWord(At(at_)) || (At(at_) == ':' && At(at_ + 1) == ':' && IsWord(At(at_ + 2)))) {
    at_ += At(at_) == ':' ? 2 : 1;
  }
  if (at_ == begin) return Make(TokenKind::kInvalid, "a dot without a name");
  return Make(TokenKind::kDirective, text_.substr(begin, at_ - begin));
}

Token Lexer::LexNumber() {
  const size_t begin = at_;
  if (At(at_) == '0' && IsLetter(At(at_ + 1)) && At(at_ + 1) != 'e' && At(at_ + 1) != 'E') {  // 0x, 0b, 0f, 0d, 0U
    const char kind = At(at_ + 1);
    while (IsWord(At(at_))) ++at_;
    const bool is_float = kind == 'f' || kind == 'F' || kind == 'd' || kind == 'D';
    return Make(is_float ? TokenKind::kFloat : TokenKind::kInteger, text_.substr(begin, at_ - begin));
  }
  bool is_float = false;
  while (IsDigit(At(at_))) ++at_;
  if (At(at_) == '.') {
    is_float = true;
    ++at_;
    while (IsDigit(At(at_))) ++at_;
  }
  if (At(at_) == 'e' || At(at_) == 'E') {
    is_float = true;
    ++at_;
    if (At(at_) == '+' || At(at_) == '-') ++at_;
  }
  while (IsWord(At(at_))) ++at_;  // a suffix, or garbage that the literal's reader refuses
  return Make(is_float ? TokenKind::kFloat : TokenKind::kInteger, text_.substr(begin, at_ - begin));
}

Token Lexer::LexString() {
  const size_t begin = ++at_;
  while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n') at_ += text_[at_] == '\\' ? 2 : 1;
  if (At(at_) != '"') return Make(TokenKind::kInvalid, "a string does not end");
  return Make(TokenKind::kString, text_.substr(begin, at_++ - begin));
}

Token Lexer::LexPunctuation() {
  static constexpr std::string_view kPairs[] = {"<<", ">>", "<=", ">=", "==", "!=", "&&", "||"};
  static constexpr std::string_view kSingles = "{}()[],;:@!|+-*/%&^~<>=?";
  const std::string_view two = text_.substr(at_, 2);
  for (const std::string_view pair : kPairs) {
    if (two == pair) {
      at_ += 2;
      return Make(TokenKind::kPunctuation, two);
    }
  }
  if (kSingles.find(text_[at_]) == std::string_view::npos || text_[at_] == '\0') {
    at_ = text_.size();  // nothing after garbage is trusted
    return Make(TokenKind::kInvalid, "a character that PTX does not have");
  }
  return Make(TokenKind::kPunctuation, text_.substr(at_++, 1));
}

absl::StatusOr<std::string_view> Lexer::SkipBlock() {
  const size_t begin = at_;
  const uint32_t first_line = line_;
  uint64_t depth = 1;
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '/') {
      const size_t before = at_;
      if (!SkipComment()) return SyntaxError(line_, "a comment does not end");
      if (at_ != before) continue;
    } else if (c == '"') {
      const Token token = LexString();
      if (token.kind == TokenKind::kInvalid) return Unexpected(token, "a string");
      continue;
    } else if (c == '\n') {
      ++line_;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && --depth == 0) {
      return text_.substr(begin, at_++ - begin);
    }
    ++at_;
  }
  return SyntaxError(first_line, "a block does not end");
}

}  // namespace wharf::device::ptx
