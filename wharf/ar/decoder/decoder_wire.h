// What a server and its decoder processes say to each other over a socket. Internal to the room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "wharf/base/clock.h"
#include "wharf/base/status.h"
#include "wharf/base/subprocess/subprocess.h"

namespace wharf::ar {

// Followed by the JPEG.
struct DecodeRequest {
  uint32_t jpeg_bytes = 0;
  int32_t width = 0, height = 0;
};
// Followed by the pixels, or by why there are none.
struct DecodeReply {
  uint32_t code = 0;  // of absl::StatusCode
  uint32_t bytes = 0;
};
inline constexpr uint32_t kMaxReasonBytes = 1024;

// The process that decodes, with `socket` as its end.
absl::StatusOr<Subprocess> StartDecoderProgram(const std::string& program, Isolation isolation, int socket);

// All of it. kUnavailable: the other end is gone; kDeadlineExceeded: not all of it in time. Without a deadline they
// only read and write, as a decoder must.
absl::Status ReadAll(int socket, std::span<std::byte> into, std::optional<TimePoint> deadline = std::nullopt);
absl::Status WriteAll(int socket, std::span<const std::byte> bytes, std::optional<TimePoint> deadline = std::nullopt);

// --- With the process that starts decoders: its arguments are kDecoderStarter and the number of an Isolation.
inline constexpr const char* kDecoderStarter = "starter";

struct StartedDecoder {
  int socket = -1;  // of its requests
  int line = -1;    // the decoder is ended when this is closed
};
absl::Status AskForDecoder(int starter);
// The caller's to close. What the starter failed with; kUnavailable: it is gone; kInternal: it gives other descriptors
// than these two, of which none stays.
absl::StatusOr<StartedDecoder> ReceiveDecoder(int starter);
// On the starter's side: `error`, an errno, if it is not 0, or the two.
absl::Status SendDecoder(int server, int error, const StartedDecoder& started);

template <typename T>
std::span<std::byte> BytesOf(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

}  // namespace wharf::ar
