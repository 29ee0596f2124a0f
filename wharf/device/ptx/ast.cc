#include "wharf/device/ptx/ast.h"

#include <algorithm>
#include <array>

namespace wharf::device::ptx {
namespace {

struct TypeRow {
  std::string_view name;
  Type type;
  uint32_t bytes;
};

constexpr std::array<TypeRow, 26> kTypes{{
    {"pred", Type::kPred, 1},   {"b8", Type::kB8, 1},         {"b16", Type::kB16, 2},       {"b32", Type::kB32, 4},
    {"b64", Type::kB64, 8},     {"b128", Type::kB128, 16},    {"u8", Type::kU8, 1},         {"u16", Type::kU16, 2},
    {"u32", Type::kU32, 4},     {"u64", Type::kU64, 8},       {"s8", Type::kS8, 1},         {"s16", Type::kS16, 2},
    {"s32", Type::kS32, 4},     {"s64", Type::kS64, 8},       {"f16", Type::kF16, 2},       {"f16x2", Type::kF16x2, 4},
    {"bf16", Type::kBF16, 2},   {"bf16x2", Type::kBF16x2, 4}, {"f32", Type::kF32, 4},       {"f64", Type::kF64, 8},
    {"tf32", Type::kTF32, 4},   {"e4m3x2", Type::kE4M3x2, 2}, {"e5m2x2", Type::kE5M2x2, 2}, {"u16x2", Type::kU16x2, 4},
    {"s16x2", Type::kS16x2, 4}, {"f32x2", Type::kF32x2, 8},
}};

}  // namespace

uint32_t SizeOf(Type type) {
  for (const TypeRow& row : kTypes) {
    if (row.type == type) return row.bytes;
  }
  return 0;
}

Type TypeFromName(std::string_view name) {
  for (const TypeRow& row : kTypes) {
    if (row.name == name) return row.type;
  }
  return Type::kNone;
}

std::string_view TypeName(Type type) {
  for (const TypeRow& row : kTypes) {
    if (row.type == type) return row.name;
  }
  return "none";
}

bool Instruction::Has(std::string_view modifier) const {
  return std::find(modifiers.begin(), modifiers.end(), modifier) != modifiers.end();
}

Type Instruction::TypeAt(int from_end) const {
  for (auto modifier = modifiers.rbegin(); modifier != modifiers.rend(); ++modifier) {
    const Type type = TypeFromName(*modifier);
    if (type != Type::kNone && from_end-- == 0) return type;
  }
  return Type::kNone;
}

const Function* Module::FindFunction(std::string_view name) const {
  const auto found = function_index.find(name);
  return found == function_index.end() ? nullptr : &functions[found->second];
}

const Variable* Module::FindVariable(std::string_view name) const {
  const auto found = variable_index.find(name);
  return found == variable_index.end() ? nullptr : &variables[found->second];
}

std::string_view ResolveAlias(const Module& module, std::string_view name) {
  for (int depth = 0; depth < 8; ++depth) {
    const auto found = module.aliases.find(name);
    if (found == module.aliases.end()) return name;
    name = found->second;
  }
  return name;
}

}  // namespace wharf::device::ptx
