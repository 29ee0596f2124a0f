// The modifiers of one instruction, consumed one by one. What an instruction's code generator did not take when it is
// done is a modifier it does not know, and the instruction is refused: nothing is ever ignored by accident.
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "wharf/device/ptx/ast.h"

namespace wharf::device::soft {

class Modifiers {
 public:
  Modifiers() = default;
  explicit Modifiers(const ptx::Instruction& instruction);

  // True, once per occurrence, if the modifier is there.
  bool Take(std::string_view name);
  // The first of `names` that is there, "" if none.
  std::string_view TakeOneOf(std::initializer_list<std::string_view> names);
  // The same, but the one that stands first in the instruction.
  std::string_view TakeFirstOf(std::initializer_list<std::string_view> names);
  // Takes every modifier that begins with `prefix`; true if there was one.
  bool TakePrefix(std::string_view prefix);
  // The next modifier that is a type, in source order; kNone if there is none left.
  ptx::Type TakeType();
  // The next modifier whatever it is, "" if none is left.
  std::string_view TakeNext();
  // The first that is left, "" if none.
  std::string_view Left() const;

 private:
  struct Entry {
    std::string_view name;
    bool used = false;
  };
  std::vector<Entry> entries_;
};

}  // namespace wharf::device::soft
