#include "wharf/device/soft/runtime/function_address.h"

namespace wharf::device::soft {

uint64_t FunctionAddress(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (char c : name) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  // Not canonical on any 64-bit CPU, so that using it as an address of data faults.
  return (hash >> 1 | uint64_t{1} << 62) & ~uint64_t{15};
}

}  // namespace wharf::device::soft
