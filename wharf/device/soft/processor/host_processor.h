// What kernels are compiled for: how every kind of processor is used. Apart from the engine, and a function of what
// LLVM has found out, so that both kinds are tested on either.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "wharf/base/status.h"

namespace wharf::device::soft {

struct HostProcessor {
  std::string cpu;  // by LLVM's name, as features are
  std::map<std::string, bool> features;
  unsigned lanes = 0;  // threads side by side, one to an element of 32 bits
};

// `found`: what LLVM says of this machine, of the kind `architecture` ("x86_64", "aarch64"). kUnimplemented: no kernel
// can be compiled for it.
absl::StatusOr<HostProcessor> UsedAs(std::string_view architecture, HostProcessor found);

}  // namespace wharf::device::soft
