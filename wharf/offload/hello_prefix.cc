#include "wharf/offload/hello_prefix.h"

#include "wharf/offload/wire_codec.h"

namespace wharf::offload {

absl::Status CheckHelloPrefix(std::span<const std::byte> head, const ProtocolVersion& ours) {
  Decoder decoder(head);
  uint32_t magic = 0;
  uint16_t major = 0, minor = 0;
  decoder.Get(magic);
  decoder.Get(major);
  decoder.Get(minor);
  if (!decoder.ok() || magic != ours.magic) return InvalidArgument("this is not a {}'s Hello", ours.client);
  if (major == ours.major) return absl::OkStatus();
  return FailedPrecondition(
      "the server speaks {} {}.{}, the client {}.{}: install the same version of wharf on both machines", ours.protocol,
      ours.major, ours.minor, major, minor);
}

}  // namespace wharf::offload
