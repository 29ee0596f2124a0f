// wharf-decode: one AR client's JPEGs into pictures, for a server that does not trust them (picture_decoder.h).

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "wharf/ar/decoder/decoder_wire.h"
#include "wharf/ar/decoder/picture_decoder.h"
#include "wharf/ar/messages.h"
#include "wharf/base/sandbox/policies.h"

namespace wharf::ar {
namespace {

absl::Status Answer(const absl::StatusOr<scene::Image>& picture) {
  const std::string reason = picture.ok() ? "" : std::string(Message(picture.status())).substr(0, kMaxReasonBytes);
  const auto bytes = picture.ok() ? std::as_bytes(std::span(picture->rgb)) : std::as_bytes(std::span(reason));
  DecodeReply reply{static_cast<uint32_t>(picture.status().code()), static_cast<uint32_t>(bytes.size())};
  WHARF_RETURN_IF_ERROR(WriteAll(kDecoderDescriptor, BytesOf(reply)));
  return WriteAll(kDecoderDescriptor, bytes);
}

absl::Status DecodeNext() {
  DecodeRequest request;
  WHARF_RETURN_IF_ERROR(ReadAll(kDecoderDescriptor, BytesOf(request)));
  if (request.jpeg_bytes > kMaxPictureBytes) return InvalidArgument("a picture of {} bytes", request.jpeg_bytes);
  std::vector<std::byte> jpeg(request.jpeg_bytes);
  WHARF_RETURN_IF_ERROR(ReadAll(kDecoderDescriptor, jpeg));
  return Answer(DecodePicture(jpeg, request.width, request.height));
}

}  // namespace
}  // namespace wharf::ar

int main() {
  if (!wharf::EnterSandbox(wharf::DecoderPolicy()).ok()) return 1;
  while (wharf::ar::DecodeNext().ok()) {
  }
  return 0;  // the server has closed the socket
}
