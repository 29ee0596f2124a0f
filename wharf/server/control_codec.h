// Typed messages over server/control.h, encoded as the wire's are.
#pragma once

#include "wharf/offload/wire_codec.h"
#include "wharf/server/control.h"

namespace wharf::server {

template <typename T>
absl::Status SendControl(int socket, ControlKind kind, const T& message, int fd = -1) {
  return SendControlBytes(socket, kind, offload::Encode(message), fd);
}

// kDataLoss if `message` is not a well-formed T of this kind.
template <typename T>
absl::StatusOr<T> DecodeControl(const ControlMessage& message, ControlKind kind) {
  if (message.kind != kind) return DataLoss("unexpected control message {}", static_cast<int>(message.kind));
  return offload::Decode<T>(message.body);
}

}  // namespace wharf::server
