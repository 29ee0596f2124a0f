// What a program observed, call by call, and what it should have observed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "wharf/device/cuda_error.h"

namespace wharf::offload {

// One call of the program.
struct Observation {
  enum class Kind : uint8_t {
    kPosted,   // may return errors later
    kWaits,    // returns errors of earlier calls
    kSettles,  // the same, and waits for the whole device
    kRefused,  // the client's own error: nothing was sent
  };
  uint32_t op = 0;  // place in the program
  Kind kind = Kind::kPosted;
  device::CudaError error = device::CudaError::kSuccess;  // kSuccess in the place of kNotReady
  device::CudaError fault = device::CudaError::kSuccess;  // the device's after the call, if it was waited for
  std::vector<std::byte> bytes;                           // what the program can see from here on
};

struct Trace {
  std::vector<Observation> calls;
  std::vector<uint64_t> host_calls;  // what each saw, hashed; in their order
  std::string output;                // printed by kernels
  std::string lost;                  // why the session was lost, if it was
  uint64_t class_violations = 0;
  uint64_t run_ahead = 0, undone = 0;      // operations the server executed before they were made; of these, taken back
  uint64_t guarded = 0, violations = 0;    // kernels among them with a guard; how often one was violated
  uint64_t predicted = 0, operations = 0;  // operations that cost no frame of their own; all that may
  uint64_t forgotten = 0;                  // how often both ends started anew
};

// How `actual` differs from what `reference` permits, in words; nothing if it does not. In `reference` every call
// waited for the device, so that it says which one each error belongs to. `deferred`: errors of posted calls come with
// the first call that waits. A fault of the device may come with any later call, and must have come by the first that
// settles.
std::optional<std::string> Difference(const Trace& reference, const Trace& actual, bool deferred);

}  // namespace wharf::offload
