#include "wharf/device/soft/processor/host_processor.h"

#include <utility>

namespace wharf::device::soft {
namespace {

absl::StatusOr<HostProcessor> UsedAsX86(HostProcessor processor) {
  auto& features = processor.features;
  for (const char* needed : {"avx2", "fma", "f16c"}) {
    if (!features[needed]) return Unimplemented("the software device needs a CPU with AVX2, FMA and F16C");
  }
  const bool wide = features["avx512vl"];
  if (processor.cpu.empty() || processor.cpu == "generic") {  // a CPU newer than this LLVM
    processor.cpu = wide ? "x86-64-v4" : "x86-64-v3";
  }
  features["avx512fp16"] = false;  // LLVM 16 compiles some comparisons of halves to wrong ones for it
  processor.lanes = wide ? 16 : 8;
  return processor;
}

// NEON, which all have. Vectors of no fixed length would be SVE's; walls (confine.h) are for those of a fixed one.
absl::StatusOr<HostProcessor> UsedAsArm(HostProcessor processor) {
  if (processor.cpu.empty()) processor.cpu = "generic";
  // What includes another of these has to go as well, or brings it back. Halves are computed in single precision, as
  // everywhere else.
  for (const char* unused : {"sve", "sve2", "sve2-aes", "sve2-bitperm", "sve2-sha3", "sve2-sm4", "sme", "fullfp16"}) {
    processor.features[unused] = false;
  }
  processor.lanes = 4;
  return processor;
}

}  // namespace

absl::StatusOr<HostProcessor> UsedAs(std::string_view architecture, HostProcessor found) {
  if (architecture == "x86_64") return UsedAsX86(std::move(found));
  if (architecture == "aarch64") return UsedAsArm(std::move(found));
  return Unimplemented("the software device is for x86-64 and AArch64");
}

}  // namespace wharf::device::soft
