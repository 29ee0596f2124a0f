#include "wharf/cli/pack/coverage.h"

#include <span>
#include <utility>

#include "wharf/base/read_file.h"
#include "wharf/device/fatbin/fatbin.h"
#include "wharf/device/fatbin/machine_code.h"
#include "wharf/device/ptx/parser.h"

namespace wharf::cli {
namespace {

using Bytes = std::span<const std::byte>;

// The containers that follow one another in a section.
absl::StatusOr<std::vector<Bytes>> ContainersIn(Bytes bytes) {
  std::vector<Bytes> containers;
  while (!bytes.empty()) {
    WHARF_ASSIGN_OR_RETURN(const uint64_t size, device::fatbin::ContainerBytes(bytes));
    if (size > bytes.size()) return InvalidArgument("a fat binary that is cut short");
    containers.push_back(bytes.first(size));
    bytes = bytes.subspan(size);
    while (!bytes.empty() && bytes.front() == std::byte{0}) bytes = bytes.subspan(1);  // up to the next one's alignment
  }
  return containers;
}

std::vector<std::string> KernelsOf(const device::ptx::Module& module) {
  std::vector<std::string> kernels;
  for (const device::ptx::Function& function : module.functions) {
    if (function.is_entry && function.HasBody()) kernels.push_back(function.name);
  }
  return kernels;
}

absl::StatusOr<ModuleCoverage> CoverageOfModule(Bytes image, const device::pack::PackSet& packs) {
  ModuleCoverage coverage;
  if (auto text = device::fatbin::FindPtx(image); text.ok()) {
    WHARF_ASSIGN_OR_RETURN(const auto module, device::ptx::Parse(*std::move(text)));
    coverage.state = ModuleCoverage::State::kOwnPtx;
    coverage.kernels = KernelsOf(*module);
    return coverage;
  }
  const auto machine_code = device::fatbin::FindMachineCode(image);
  if (absl::IsNotFound(machine_code.status())) return coverage;
  if (!machine_code.ok()) return machine_code.status();
  WHARF_ASSIGN_OR_RETURN(const device::fatbin::MachineCode code, device::fatbin::ReadMachineCode(*machine_code));
  for (const device::fatbin::MachineKernel& kernel : code.kernels) coverage.kernels.push_back(kernel.name);
  if (code.kernels.empty()) return coverage;
  const absl::StatusOr<device::pack::Match> match = packs.Find(code);
  if (match.ok()) {
    coverage.state = ModuleCoverage::State::kPacked;
    coverage.detail = match->origin;
  } else if (absl::IsFailedPrecondition(match.status())) {
    coverage.state = ModuleCoverage::State::kRefused;
    coverage.detail = Message(match.status());
  } else if (!absl::IsNotFound(match.status())) {
    return match.status();
  }
  return coverage;
}

}  // namespace

const char* WordFor(ModuleCoverage::State state) {
  switch (state) {
    case ModuleCoverage::State::kOwnPtx:
      return "own PTX";
    case ModuleCoverage::State::kPacked:
      return "in a pack";
    case ModuleCoverage::State::kRefused:
      return "refused";
    case ModuleCoverage::State::kMissing:
      return "missing";
  }
  return "";
}

absl::StatusOr<std::vector<ModuleCoverage>> CoverageOf(const std::string& path, const device::pack::PackSet& packs,
                                                       const std::function<void(size_t done, size_t all)>& on_module) {
  std::vector<std::byte> bytes;
  std::vector<Bytes> images;
  if (auto section = device::fatbin::ReadSection(path); section.ok()) {
    bytes = *std::move(section);
    WHARF_ASSIGN_OR_RETURN(images, ContainersIn(bytes));
  } else {
    WHARF_ASSIGN_OR_RETURN(bytes, ReadBytes(path));
    images.emplace_back(bytes);
  }
  std::vector<ModuleCoverage> all;
  for (size_t i = 0; i < images.size(); ++i) {
    on_module(i, images.size());
    absl::StatusOr<ModuleCoverage> coverage = CoverageOfModule(images[i], packs);
    if (!coverage.ok()) return InvalidArgument("{}: {}", path, Message(coverage.status()));
    if (!coverage->kernels.empty()) all.push_back(*std::move(coverage));
  }
  if (all.empty()) return NotFound("{}: no kernels", path);
  return all;
}

}  // namespace wharf::cli
