// Hardware prefetchers ignore masked loads on some CPUs (seen on AMD's fifth-generation EPYC: streaming through memory
// is three times slower than with plain loads), so each gets a prefetch of what a loop will read some iterations later.
#pragma once

namespace llvm {
class Module;
}

namespace wharf::device::soft {

void PrefetchMaskedLoads(llvm::Module* module);

}  // namespace wharf::device::soft
