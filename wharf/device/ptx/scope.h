// Names inside a function body. Blocks `{ … }` nest and may redeclare names; the body's AST is flat, so variables and
// labels get names unique in it, and registers become indices.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/device/ptx/ast.h"
#include "wharf/device/ptx/declaration.h"
#include "wharf/device/ptx/lexer.h"

namespace wharf::device::ptx {

// A register name's meaning: `vector` registers of Body::registers from `index` on.
struct RegisterSlot {
  uint32_t index = 0;
  uint32_t vector = 1;
};

class Scopes {
 public:
  // `body`: where registers are added. All three outlive this. Scans the function's text for labels.
  Scopes(const Module& module, const Function& function, Body& body);

  // A block opened or closed; `at`: where its brace stands in the text.
  absl::Status Open(const char* at, uint32_t line);
  // False if no block is open.
  bool Close();

  absl::Status DeclareRegisters(uint32_t line, const Registers& registers);
  // Returns the unique name.
  absl::StatusOr<std::string> DeclareVariable(uint32_t line, std::string_view name);

  std::optional<RegisterSlot> FindRegister(std::string_view name);
  // The unique name of the variable or label `name` means here; of a parameter or something of the module the name
  // itself; nullopt if nothing is called so.
  std::optional<std::string> FindSymbol(std::string_view name) const;

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  struct Scope {
    std::unordered_map<std::string_view, RegisterSlot> registers;
    std::unordered_map<std::string_view, Registers> ranges;                     // %r<10> under "%r"
    std::unordered_map<std::string, std::string, Hash, std::equal_to<>> names;  // as written -> unique
  };
  using Labels = std::vector<std::string_view>;

  void ScanLabels(const Function& function);
  std::string UniqueName(std::string_view name);
  bool IsModuleName(std::string_view name) const;
  RegisterSlot AddRegister(Scope& scope, std::string_view name, Type type, uint32_t vector);
  std::optional<RegisterSlot> FindInRanges(Scope& scope, std::string_view name);

  const Module& module_;
  Body& body_;
  std::vector<Scope> scopes_;
  std::unordered_map<const char*, Labels> labels_;  // by the place of the block's brace; nullptr: the body itself
  std::unordered_set<std::string> used_;
  std::unordered_map<std::string, uint32_t> repeats_;
};

}  // namespace wharf::device::ptx
