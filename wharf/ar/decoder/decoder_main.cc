// wharf-decode: one AR client's JPEGs into pictures, for a server that does not trust them (picture_decoder.h). Or:
// what starts such processes for a server that may not do so any more.
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wharf/ar/decoder/decoder_wire.h"
#include "wharf/ar/decoder/picture_decoder.h"
#include "wharf/ar/messages.h"
#include "wharf/base/sandbox/namespaces.h"
#include "wharf/base/sandbox/policies.h"
#include "wharf/base/subprocess/subprocess.h"

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

// Its process, as seen by whoever starts decoders: ended when the server closes its end of `line`.
struct Child {
  Subprocess process;
  int line = -1;
};

// An errno, or 0.
int StartOne(Isolation isolation, StartedDecoder& server_has, std::list<Child>& children) {
  int socket[2] = {-1, -1}, line[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socket) != 0) return errno;
  if (pipe2(line, O_CLOEXEC) != 0) {
    const int error = errno;
    close(socket[0]);
    close(socket[1]);
    return error;
  }
  auto process = StartDecoderProgram("/proc/self/exe", isolation, socket[1]);
  close(socket[1]);
  if (!process.ok()) {
    for (const int end : {socket[0], line[0], line[1]}) close(end);
    return ECHILD;
  }
  server_has = {socket[0], line[1]};
  children.push_back({*std::move(process), line[0]});
  return 0;
}

// Ends with the server.
int StartDecoders(Isolation isolation) {
  std::list<Child> children;
  for (;;) {
    std::vector<pollfd> events = {{kDecoderDescriptor, POLLIN, 0}};
    for (const Child& child : children) events.push_back({child.line, POLLIN, 0});
    if (poll(events.data(), events.size(), -1) < 0 && errno != EINTR) return 1;
    size_t at = 0;
    children.remove_if([&](const Child& child) {
      if (events[++at].revents == 0) return false;
      close(child.line);
      return true;  // which kills it
    });
    if (events[0].revents == 0) continue;
    char byte = 0;
    if (recv(kDecoderDescriptor, &byte, 1, 0) <= 0) return 0;
    StartedDecoder started;
    const int error = StartOne(isolation, started, children);
    const bool told = SendDecoder(kDecoderDescriptor, error, started).ok();
    if (error == 0) {
      close(started.socket);
      close(started.line);
    }
    if (!told) return 0;
  }
}

}  // namespace
}  // namespace wharf::ar

int main(int argc, char** argv) {
  if (argc > 2 && std::string_view(argv[1]) == wharf::ar::kDecoderStarter) {
    return wharf::ar::StartDecoders(static_cast<wharf::Isolation>(std::atoi(argv[2])));
  }
  const bool isolated = argc > 1 && std::string_view(argv[1]) == wharf::ar::kIsolatedDecoder;
  // Under a sanitizer it keeps the files, for reports.
  const auto becomes = wharf::kSanitized ? wharf::FileSystem::kKept : wharf::FileSystem::kEmpty;
  if (isolated && !wharf::LeaveFileSystem(wharf::ar::kDecoderDescriptor + 1, becomes).ok()) return 1;
  if (!wharf::EnterSandbox(wharf::DecoderPolicy()).ok()) return 1;
  while (wharf::ar::DecodeNext().ok()) {
  }
  return 0;  // the server has closed the socket
}
