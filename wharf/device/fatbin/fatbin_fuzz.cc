// Fat binaries from a hostile peer: reading them never crashes, whatever they promise. The seeds were made by nvcc 13.0
// from a kernel of one line: `nvcc -fatbin --compress-mode MODE -gencode arch=compute_75,code=compute_75` (size.fatbin
// also holds machine code). cubin is machine code alone, of kernels with parameters, constants and variables.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "wharf/device/fatbin/device_code.h"
#include "wharf/device/fatbin/fatbin.h"
#include "wharf/device/fatbin/machine_code.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  (void)wharf::device::fatbin::Read(bytes);
  (void)wharf::device::fatbin::FindPtx(bytes);
  (void)wharf::device::fatbin::HasMachineCode(bytes);
  (void)wharf::device::fatbin::PtxOfParts(bytes);
  const auto read = wharf::device::fatbin::ReadMachineCode(bytes);
  const auto outline = wharf::device::fatbin::WithoutCode(bytes);
  if (read.ok() && outline.ok()) {
    const auto again = wharf::device::fatbin::ReadMachineCode(*outline);
    if (!again.ok() || again->kernels != read->kernels || again->variables != read->variables) std::abort();
  }
  const auto code = wharf::device::fatbin::FindMachineCode(bytes);
  if (code.ok()) (void)wharf::device::fatbin::ReadMachineCode(*code);
  return 0;
}
