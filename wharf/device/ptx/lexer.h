// Tokens of PTX text. Comments and white space separate tokens; bytes outside ASCII are allowed only in comments and
// strings. Tokens point into the text, which must outlive them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "wharf/base/status.h"

namespace wharf::device::ptx {

enum class TokenKind : uint8_t {
  kEnd,
  kIdentifier,  // "%r1", "foo", "$L__BB0_1", "_"
  kDirective,   // ".reg", ".s32", ".shared::cta": text without the leading dot
  kInteger,
  kFloat,
  kString,       // text without the quotes
  kPunctuation,  // one character, or << >> <= >= == != && ||
  kInvalid       // text is what is wrong
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;
  uint32_t line = 0;

  bool Is(std::string_view punctuation) const { return kind == TokenKind::kPunctuation && text == punctuation; }
  bool IsDirective(std::string_view name) const { return kind == TokenKind::kDirective && text == name; }
  bool IsIdentifier() const { return kind == TokenKind::kIdentifier; }
};

// kInvalidArgument with CudaError::kInvalidPtx and "line N: …".
absl::Status SyntaxError(uint32_t line, std::string_view message);
// "line N: expected WHAT, found TOKEN".
absl::Status Unexpected(const Token& found, std::string_view expected);

// A stream of tokens with two tokens of lookahead.
class Lexer {
 public:
  // `line`: the number of the text's first line.
  Lexer(std::string_view text, uint32_t line) : text_(text), line_(line) {}

  const Token& Peek();
  const Token& PeekSecond();
  Token Take();
  // Takes the next token if it is this punctuation.
  bool Accept(std::string_view punctuation);
  absl::Status Expect(std::string_view punctuation);
  absl::StatusOr<std::string_view> ExpectIdentifier(std::string_view what);

  // After the `{` that opens a block was taken and before anything was peeked: the text up to the matching `}`, which
  // is taken too. Looks at braces, comments and strings only.
  absl::StatusOr<std::string_view> SkipBlock();

  // Takes `units` from what may be allocated without a word in the text for each; false when it is used up.
  bool Spend(uint64_t units) {
    if (units > budget_) return false;
    budget_ -= units;
    return true;
  }

  // The line of the next token.
  uint32_t line() const { return count_ > 0 ? ahead_[0].line : line_; }
  // Where the next token to be taken starts; the end of the text if there is none.
  const char* position();

 private:
  Token Lex();
  bool SkipSpace();  // false: a comment that does not end
  // Takes a comment at the current position, if there is one. False if it does not end.
  bool SkipComment();
  Token LexIdentifier();
  Token LexDirective();
  Token LexNumber();
  Token LexString();
  Token LexPunctuation();
  Token Make(TokenKind kind, std::string_view text) const { return Token{kind, text, line_}; }
  char At(size_t offset) const { return offset < text_.size() ? text_[offset] : '\0'; }
  void Fill(size_t count);

  std::string_view text_;
  size_t at_ = 0;
  uint32_t line_;
  std::array<Token, 2> ahead_;
  std::array<size_t, 2> ahead_at_{};
  size_t count_ = 0;
  uint64_t budget_ = uint64_t{1} << 22;
};

}  // namespace wharf::device::ptx
