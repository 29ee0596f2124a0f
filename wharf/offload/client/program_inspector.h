// What a program's file says about its use of CUDA, before it is started: whether its calls can be reached at
// all, and its kernels be run.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wharf/base/status.h"

namespace wharf::offload {

struct ProgramFacts {
  bool is_elf = false;              // otherwise nothing below is known (a script, say)
  std::vector<std::string> needed;  // the shared libraries it names
  std::string cudart;               // "libcudart.so.13", or of another release, if it is among them
  // Kernels or variables of its own. Programs that only call CUDA have a .nv_fatbin section too, with nothing in it.
  bool has_device_code = false;
  bool has_ptx = false;  // device code that a device of any kind can run
};

// kNotFound or kPermissionDenied if the file cannot be read. A damaged ELF file is reported as far as it can be read.
absl::StatusOr<ProgramFacts> ReadProgramFacts(const std::string& path);

// The runtimes that Wharf stands in for.
inline constexpr std::string_view kSupportedRuntimes[] = {"libcudart.so.12", "libcudart.so.13"};

// What speaks against running the program at `path`: kFailedPrecondition, with the way out in one line. Its CUDA
// runtime is none of those that are `supported`; or `needs_ptx`, because the device has no other way to run kernels,
// and there are kernels but no PTX, or a library whose kernels have none. A runtime that is linked in runs on our
// libcuda.so.1.
absl::Status InspectProgram(const std::string& path, const ProgramFacts& facts, bool needs_ptx,
                            std::span<const std::string_view> supported = kSupportedRuntimes);

}  // namespace wharf::offload
