// The machine that seccomp filters are made for.
#pragma once

#include <linux/audit.h>

#include <cstdint>

namespace wharf {

#if defined(__x86_64__)
inline constexpr uint32_t kSeccompArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
inline constexpr uint32_t kSeccompArchitecture = AUDIT_ARCH_AARCH64;
#else
inline constexpr uint32_t kSeccompArchitecture = 0;  // no filter
#endif

}  // namespace wharf
