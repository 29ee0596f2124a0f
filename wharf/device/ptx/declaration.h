// Variable declarations, which look alike at module scope, in bodies and in parameter lists, and .reg declarations.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/device/ptx/ast.h"
#include "wharf/device/ptx/lexer.h"

namespace wharf::device::ptx {

// "global" -> kGlobal, "shared::cta" -> kShared, "const[3]"'s "const" -> kConst, "reg" -> kReg; kNone if it is no state
// space of a variable.
Space SpaceFromName(std::string_view name);

// .extern, .visible, .weak and .common in front of a declaration.
struct Linkage {
  bool is_extern = false, is_visible = false, is_weak = false;
};
Linkage ParseLinkage(Lexer& lexer);

// "( … )" taken whole, whatever is inside.
absl::Status SkipParentheses(Lexer& lexer);

// `.global .align 4 .v2 .f32 a[4] = {…}, b;` from the state space up to and with the semicolon.
absl::StatusOr<std::vector<Variable>> ParseVariables(Lexer& lexer, const Linkage& linkage);

// "( .param .u64 .ptr .global .align 4 name, … )". `terse`: names may be left out or be "_" (prototypes).
absl::StatusOr<std::vector<Variable>> ParseParameters(Lexer& lexer, bool terse);

// `.reg .v2 .b32 %r<10>, x;` from .reg up to and with the semicolon.
struct Registers {
  std::string_view name;  // in the text
  Type type = Type::kNone;
  uint32_t count = 0;  // 0: one register of exactly this name; n: name0 … name(n-1)
  uint32_t vector = 1;
};
absl::StatusOr<std::vector<Registers>> ParseRegisters(Lexer& lexer);

}  // namespace wharf::device::ptx
