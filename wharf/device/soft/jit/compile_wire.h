// What a session's worker and its compiler say to each other over a stream. Either may be in a stranger's hands: what
// the other says is read with limits, and takes memory only as it comes. Internal to the room.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "wharf/base/status.h"
#include "wharf/device/device.h"
#include "wharf/device/soft/check/checks.h"
#include "wharf/link/byte_stream.h"

namespace wharf::device::soft {

struct CompileRequest {
  std::string text, kernel;  // a module of PTX, and the name of one of its kernels
  Dim3 block{0, 0, 0};       // as of Compiler::Compile
  check::Checks checks = 0;  // CompilerOptions'
};
inline constexpr uint64_t kMostText = uint64_t{1} << 30, kMostName = uint64_t{1} << 20;

struct CompileReply {
  int32_t error = 0;  // a CudaError
  std::string text;   // the object, or what is wrong
};
inline constexpr uint64_t kMostObject = uint64_t{1} << 30;

absl::Status SendRequest(link::ByteStream& stream, std::string_view text, std::string_view kernel, const Dim3& block,
                         check::Checks checks = 0);
absl::Status SendReply(link::ByteStream& stream, int32_t error, std::string_view text);
// kDataLoss: this is none; kUnavailable: the other end is gone; fail as ByteStream::Read.
absl::StatusOr<CompileRequest> ReadRequest(link::ByteStream& stream);
absl::StatusOr<CompileReply> ReadReply(link::ByteStream& stream);

}  // namespace wharf::device::soft
