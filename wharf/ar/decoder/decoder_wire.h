// What a server and its decoder processes say to each other over a socket. Internal to the room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wharf/base/status.h"

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

// All of it. kUnavailable: the other end is gone; kDeadlineExceeded: the socket's timeout.
absl::Status ReadAll(int socket, std::span<std::byte> into);
absl::Status WriteAll(int socket, std::span<const std::byte> bytes);

template <typename T>
std::span<std::byte> BytesOf(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

}  // namespace wharf::ar
