// What the fuzz targets of the analyses of kernels share: each kernel of a module that a hostile peer might send.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "wharf/device/ptx/parser.h"

namespace wharf::device::ptx {

inline void Check(bool condition) {
  if (!condition) std::abort();
}

// Calls check(module, kernel) for each kernel with a body, if the bytes are a module at all.
template <typename F>
void ForEachKernel(const uint8_t* data, size_t size, F check) {
  const auto module = Parse(std::string(reinterpret_cast<const char*>(data), size));
  if (!module.ok()) return;
  for (const auto& [name, index] : (*module)->function_index) {
    const Function& function = (*module)->functions[index];
    if (function.is_entry && function.HasBody()) check(**module, function);
  }
}

}  // namespace wharf::device::ptx
