// What a program's file says about its use of CUDA, before it is started: whether its calls can be reached at all.
#pragma once

#include <string>
#include <vector>

#include "wharf/base/status.h"

namespace wharf::offload {

struct ProgramFacts {
  bool is_elf = false;              // otherwise nothing below is known (a script, say)
  std::vector<std::string> needed;  // the shared libraries it names
  std::string cudart;               // "libcudart.so.13" if it is among them
  bool has_device_code = false;     // a .nv_fatbin section
  bool static_cudart = false;       // device code, but registered with a runtime that is linked in
  bool has_ptx = false;             // device code that a device of any kind can run
};

// kNotFound or kPermissionDenied if the file cannot be read. A damaged ELF file is reported as far as it can be read.
absl::StatusOr<ProgramFacts> ReadProgramFacts(const std::string& path);

// OK if nothing speaks against running the program. kFailedPrecondition, with the way out in one line, if its CUDA
// runtime is linked in statically or is of another major version than `supported` ("libcudart.so.13").
absl::Status InspectProgram(const std::string& path, const std::string& supported = "libcudart.so.13");

}  // namespace wharf::offload
