// Functions that compiled kernels call besides the runtime's, and the table of all that they may call.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace wharf::device::soft {

struct HelperSymbol {
  std::string_view name;
  void* address;
};
// Helpers and C library functions the code generator may emit calls to.
std::vector<HelperSymbol> HelperSymbols();
// The runtime's functions declared in kernel_abi.h.
std::vector<HelperSymbol> RuntimeSymbols();

}  // namespace wharf::device::soft
