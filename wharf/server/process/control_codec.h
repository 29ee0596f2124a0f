// Typed messages over server/process/control.h, encoded as the wire's are.
#pragma once

#include "wharf/server/process/control.h"
#include "wharf/wire/codec.h"

namespace wharf::server {

template <typename T>
absl::Status SendControl(int socket, ControlKind kind, const T& message, int fd = -1) {
  return SendControlBytes(socket, kind, wire::Encode(message), fd);
}

// kDataLoss if `message` is not a well-formed T of this kind.
template <typename T>
absl::StatusOr<T> DecodeControl(const ControlMessage& message, ControlKind kind) {
  if (message.kind != kind) return DataLoss("unexpected control message {}", static_cast<int>(message.kind));
  return wire::Decode<T>(message.body);
}

}  // namespace wharf::server
