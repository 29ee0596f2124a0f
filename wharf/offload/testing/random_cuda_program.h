// Random CUDA programs for property tests of the session and the executor: a loading phase, then inferences that follow
// one or two templates and deviate from them at random places.
//
// A program is a list of operations over numbered slots (buffers, streams, events, threads) and stays a program when
// operations are removed, which makes it shrink well. What an operation means stands at the interpreter
// (random_cuda_interpreter.h).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wharf::offload {

inline constexpr int kBufferSlots = 6;
inline constexpr int kStreamSlots = 3;  // slot 0 is the default stream
inline constexpr int kEventSlots = 3;
inline constexpr int kThreads = 3;

enum class Kernel : uint8_t {
  kAccumulate,
  kAxpy,
  kCopyWords,
  kCount,
  kHistogram,
  kGather,
  kWriteAt,
  kBumpVariable,
  kReadVariable,
  kReverse,
  kIterate,
  kToss,
  kSay,
  kCheck,
  kAim,
  kShoot,
  kPoke,
};
inline constexpr int kKernels = 17;
// Its name in random_cuda_kernels.cu.
std::string_view Name(Kernel kernel);

enum class OpKind : uint8_t {
  kAllocate,
  kFree,
  kUpload,
  kDownload,
  kDownloadLater,
  kCopy,
  kFill,
  kLaunch,
  kGemm,
  kToss,  // looks at a word of the second buffer and, if it is even, launches the kernel of that name
  kHostCall,
  kCreateStream,
  kDestroyStream,
  kCreateEvent,
  kDestroyEvent,
  kRecordEvent,
  kWaitEvent,
  kSynchronizeEvent,
  kQueryEvent,
  kSynchronizeStream,
  kQueryStream,
  kPollStream,
  kSynchronizeDevice,
  kSkip,
  kReadAll,
  kReload,
};

struct Op {
  OpKind kind = OpKind::kSynchronizeDevice;
  uint8_t thread = 0, stream = 0, event = 0;
  std::array<uint8_t, 3> buffers{};     // what is written, then what is read
  Kernel kernel = Kernel::kAccumulate;  // kLaunch
  uint32_t offset = 0, count = 1;       // 32-bit words of each buffer; cut to its size
  uint32_t rows = 1;                    // of copies and fills: so many rows of `count` words, 2 * `count` apart
  uint32_t value = 0;                   // seed of uploaded data, parameter of kernels and fills
  bool wild = false;                    // sent as it is, although its buffer may be gone and its range too long
  bool padded = false;                  // kLaunch: with a large unused parameter, another one for each `value`
  friend bool operator==(const Op&, const Op&) = default;
};

using RandomCudaProgram = std::vector<Op>;

// One line an operation.
std::string Print(const RandomCudaProgram& program);

// The same seed gives the same program. Some 20 to 400 operations.
RandomCudaProgram GenerateCudaProgram(uint64_t seed);
// The same without what concerns more than its own buffers, streams and events: ExecuteTogether.
RandomCudaProgram GenerateIndependentCudaProgram(uint64_t seed);

}  // namespace wharf::offload
