// Hostile packs: the input is a file; whatever it holds, opening it, asking it for kernels and reading its modules
// never crashes or takes memory out of proportion. Names are made of the input, too.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "wharf/device/pack/match.h"
#include "wharf/device/pack/name.h"
#include "wharf/device/pack/pack.h"

namespace wharf::device::pack {
namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

absl::StatusOr<std::unique_ptr<Pack>> PackOf(const uint8_t* data, size_t size) {
  const int descriptor = memfd_create("pack", MFD_CLOEXEC);
  Require(descriptor >= 0);
  Require(write(descriptor, data, size) == static_cast<ssize_t>(size));
  return Pack::FromDescriptor(descriptor, "pack");
}

// A program that has what the pack says it has, and one kernel with other parameters.
void MatchAll(std::unique_ptr<Pack> pack, const std::vector<ModuleNote>& notes) {
  std::vector<std::unique_ptr<Pack>> packs;
  packs.push_back(std::move(pack));
  const PackSet set(std::move(packs));
  for (const ModuleNote& note : notes) {
    fatbin::MachineCode code;
    code.sm = 75;
    for (const std::string& kernel : note.kernels) code.kernels.push_back({kernel, {}});
    (void)set.Find(code);
  }
}

}  // namespace
}  // namespace wharf::device::pack

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace wharf::device::pack;  // NOLINT
  const std::string name(reinterpret_cast<const char*>(data), size);
  const std::string canonical = CanonicalName(name);
  Require(canonical.size() <= 2 * name.size() + 2);
  auto pack = PackOf(data, size);
  if (!pack.ok()) return 0;
  (void)(*pack)->Find(name);
  for (uint32_t i = 0; i < (*pack)->modules(); ++i) (void)(*pack)->Text(i);
  const auto notes = (*pack)->Notes();
  if (notes.ok()) MatchAll(*std::move(pack), *notes);
  return 0;
}
