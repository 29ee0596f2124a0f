// Where instructions come from in the source, as `.loc` and `.file` tell (nvcc's -lineinfo).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "wharf/device/ptx/ast.h"

namespace wharf::device::ptx {

struct Location {
  uint32_t file = 0, line = 0;  // 0: not told
  // Of a function that was inlined: where that was, 0 if it was not.
  uint32_t caller_file = 0, caller_line = 0;
  friend bool operator==(const Location&, const Location&) = default;
};

// By instruction of the body.
std::vector<Location> LocationsOf(const Body& body);

// The module's files by the number that a Location has.
std::map<uint32_t, std::string> FilesOf(const Module& module);

}  // namespace wharf::device::ptx
