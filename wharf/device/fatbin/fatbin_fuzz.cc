// Fat binaries from a hostile peer: reading them never crashes, whatever they promise. The seeds were made by nvcc 13.0
// from a kernel of one line: `nvcc -fatbin --compress-mode MODE -gencode arch=compute_75,code=compute_75` (size.fatbin
// also holds machine code).
#include <cstddef>
#include <cstdint>
#include <span>

#include "wharf/device/fatbin/fatbin.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  (void)wharf::device::fatbin::Read(bytes);
  (void)wharf::device::fatbin::FindPtx(bytes);
  (void)wharf::device::fatbin::HasMachineCode(bytes);
  return 0;
}
