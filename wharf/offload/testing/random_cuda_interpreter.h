// Runs random CUDA programs through a session, an executor and the software device, as the drop-in libraries would make
// their calls: the same operations, classes, pinned copies and elided waits.
//
// What the operations of a program mean:
// - a buffer slot has two places on the device (`value` says which), one or two granules long (or `scale` times that)
// - what needs a buffer, stream or event that is not there is refused by the client, as the libraries do; `wild`
//   operations on buffers are sent all the same
// - kDownloadLater copies into pinned memory, seen at the next synchronisation of its stream or the device
// - kHostCall sees the pinned memory of its stream
// - kSkip skips operations if a byte of the last download is odd
// - kReadAll waits for the device and reads every buffer and the module's variable; every program ends with one
// - operations of several threads are made one after the other, each on its thread
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "wharf/device/device.h"
#include "wharf/offload/client/call_scope.h"
#include "wharf/offload/testing/random_cuda_program.h"
#include "wharf/offload/testing/random_cuda_trace.h"

namespace wharf::offload {

struct ExecutionOptions {
  Mode mode = Mode::kPosted;
  bool unsafe_replay = false;  // as ClientSessionOptions has it
  bool settle = false;         // wait for the device after every kernel: the reference (with kPerCall)
  // 0: an undisturbed link. Otherwise the seed of delays and chunks on the link and pauses of the program.
  uint64_t disturbance = 0;
  uint64_t quota = 256 << 20;  // device memory, bytes
  bool high = false;           // buffers lie at the end of the arena
  uint64_t scale = 1;          // size of the smallest buffer, granules
  // What the server drives in the place of the software device that it is given; null: the device itself.
  std::function<std::unique_ptr<device::Device>(std::unique_ptr<device::Device>)> wrap_device;
};

// The software device that programs are executed on: one thread, so that results are the same every time. `quota`: of
// memory, bytes.
std::unique_ptr<device::Device> MakeRandomProgramDevice(uint64_t quota);

Trace Execute(const RandomCudaProgram& program, const ExecutionOptions& options);

// All at once in one session, each on a thread of its own and with modules, buffers, streams and events of its own.
// REQUIRES: they have no wild operations, print nothing and do not fault, as errors and output are the session's.
std::vector<Trace> ExecuteTogether(std::span<const RandomCudaProgram> programs, const ExecutionOptions& options);

}  // namespace wharf::offload
