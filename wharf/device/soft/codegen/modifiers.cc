#include "wharf/device/soft/codegen/modifiers.h"

#include <algorithm>

namespace wharf::device::soft {

Modifiers::Modifiers(const ptx::Instruction& instruction) {
  entries_.reserve(instruction.modifiers.size());
  for (const std::string& name : instruction.modifiers) entries_.push_back({name});
}

bool Modifiers::Take(std::string_view name) {
  for (Entry& entry : entries_) {
    if (entry.used || entry.name != name) continue;
    return entry.used = true;
  }
  return false;
}

std::string_view Modifiers::TakeOneOf(std::initializer_list<std::string_view> names) {
  for (std::string_view name : names) {
    if (Take(name)) return name;
  }
  return {};
}

std::string_view Modifiers::TakeFirstOf(std::initializer_list<std::string_view> names) {
  for (Entry& entry : entries_) {
    if (entry.used || std::find(names.begin(), names.end(), entry.name) == names.end()) continue;
    entry.used = true;
    return entry.name;
  }
  return {};
}

bool Modifiers::TakePrefix(std::string_view prefix) {
  bool found = false;
  for (Entry& entry : entries_) {
    if (entry.used || !entry.name.starts_with(prefix)) continue;
    found = entry.used = true;
  }
  return found;
}

ptx::Type Modifiers::TakeType() {
  for (Entry& entry : entries_) {
    if (entry.used) continue;
    ptx::Type type = ptx::TypeFromName(entry.name);
    if (type == ptx::Type::kNone) continue;
    entry.used = true;
    return type;
  }
  return ptx::Type::kNone;
}

std::string_view Modifiers::TakeNext() {
  for (Entry& entry : entries_) {
    if (entry.used) continue;
    entry.used = true;
    return entry.name;
  }
  return {};
}

std::string_view Modifiers::Left() const {
  for (const Entry& entry : entries_) {
    if (!entry.used) return entry.name;
  }
  return {};
}

}  // namespace wharf::device::soft
