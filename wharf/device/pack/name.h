// Names of kernels and variables without what differs from one compilation of a source to the next.
#pragma once

#include <string>
#include <string_view>

namespace wharf::device::pack {

// `mangled` with
// - what nvcc makes of anonymous namespaces reduced to the source file's name: it has hashes of the file's path and of
//   the command line;
// - the list of architectures removed from namespaces of CCCL (CUB, Thrust), which bear the one their user is compiled
//   for ("_V_300200_SM_750_800", "THRUST_300001_SM_750_800_NS").
// Names without these stay as they are, and so does a canonical one. Two names of one source file that differ in more
// than that differ afterwards.
std::string CanonicalName(std::string_view mangled);

}  // namespace wharf::device::pack
