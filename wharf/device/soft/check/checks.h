// What to look for in kernels while they run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "wharf/base/status.h"

namespace wharf::device::soft::check {

// A set: bits.
using Checks = uint32_t;
inline constexpr Checks kRace = 1;    // accesses to shared memory that nothing orders
inline constexpr Checks kMemory = 2;  // outside of memory, misaligned; what is never freed
inline constexpr Checks kInit = 4;    // reads of what nobody has written
inline constexpr Checks kAllChecks = kRace | kMemory | kInit;

// "race", or several with commas; "all". kInvalidArgument: none, or one that is none of these.
absl::StatusOr<Checks> ParseChecks(std::string_view names);
// What ParseChecks takes, for people: "race, memory, init".
std::string Describe(Checks checks);

// Whether a line of a worker's is a finding (findings.h).
bool TellsFinding(std::string_view line);

// An access as the code of a checked kernel tells of it (wharf_check_access): an instruction of up to 16 bytes, or each
// 16 bytes of a longer one.
struct Access {
  uint8_t bytes = 0;
  uint8_t alignment = 0;  // that the instruction asks for
  uint8_t flags = 0;      // of those below
  uint8_t unused = 0;
};
inline constexpr uint8_t kReads = 1, kWrites = 2;
inline constexpr uint8_t kStrong = 4;  // atomic, volatile or with an order: such accesses do not race with each other
inline constexpr uint8_t kKnownValue = 8;  // what is written is told, too
inline constexpr uint32_t kMostAccess = 16;

}  // namespace wharf::device::soft::check
