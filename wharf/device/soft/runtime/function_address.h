#pragma once

#include <cstdint>
#include <string_view>

namespace wharf::device::soft {

// What a function pointer to this function holds: a number made from its name, the same in every kernel. An initialiser
// that names a function (a table of function pointers, a class's virtual functions) gets this value. It is no address
// of anything; an indirect call compares it with the functions it may reach.
uint64_t FunctionAddress(std::string_view name);

}  // namespace wharf::device::soft
