// The server's side of a decoder process.
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "wharf/ar/decoder/decoder_wire.h"
#include "wharf/ar/decoder/picture_decoder.h"
#include "wharf/ar/messages.h"
#include "wharf/base/subprocess/subprocess.h"

namespace wharf::ar {
namespace {

class DecoderProcess final : public PictureDecoder {
 public:
  DecoderProcess(Subprocess process, int socket) : process_(std::move(process)), socket_(socket) {}
  ~DecoderProcess() override { End(); }

  absl::StatusOr<scene::Image> Decode(std::span<const std::byte> jpeg, int width, int height) override {
    if (socket_ < 0) return Internal("the picture's decoder has died before");
    if (jpeg.size() > kMaxPictureBytes) return InvalidArgument("a picture of {} bytes", jpeg.size());
    auto picture = Ask(jpeg, width, height);
    if (picture.ok()) return *std::move(picture);
    End();
    return Internal("the picture's decoder has died: {}", Message(picture.status()));
  }

 private:
  // The outer status: the process cannot go on.
  absl::StatusOr<absl::StatusOr<scene::Image>> Ask(std::span<const std::byte> jpeg, int width, int height) {
    DecodeRequest request{static_cast<uint32_t>(jpeg.size()), width, height};
    WHARF_RETURN_IF_ERROR(WriteAll(socket_, BytesOf(request)));
    WHARF_RETURN_IF_ERROR(WriteAll(socket_, jpeg));
    DecodeReply reply;
    WHARF_RETURN_IF_ERROR(ReadAll(socket_, BytesOf(reply)));
    if (reply.code != 0) return ReadReason(reply);
    scene::Image picture{width, height, std::vector<uint8_t>(size_t{3} * width * height)};
    if (reply.bytes != picture.rgb.size()) return Internal("it says nonsense");
    WHARF_RETURN_IF_ERROR(ReadAll(socket_, std::as_writable_bytes(std::span(picture.rgb))));
    return picture;
  }
  absl::StatusOr<absl::StatusOr<scene::Image>> ReadReason(const DecodeReply& reply) {
    if (reply.bytes > kMaxReasonBytes) return Internal("it says nonsense");
    std::string reason(reply.bytes, ' ');
    WHARF_RETURN_IF_ERROR(ReadAll(socket_, std::as_writable_bytes(std::span(reason))));
    return absl::StatusOr<scene::Image>(InvalidArgument("{}", reason));
  }
  void End() {
    if (socket_ < 0) return;
    close(std::exchange(socket_, -1));
    process_.Signal(SIGKILL);
    process_.Wait();
  }

  Subprocess process_;
  int socket_;  // -1: it has ended
};

static_assert(kDecoderDescriptor == STDERR_FILENO + 1);

// In a process group of its own (a terminal's Ctrl-C is the server's affair), with no descriptor but its socket and
// standard error, and no environment.
absl::StatusOr<Subprocess> StartProgram(const std::string& program, int socket) {
  sigset_t none;
  sigemptyset(&none);
  return Subprocess::Start({.path = program,
                            .arguments = {"wharf-decode"},
                            .environment = std::vector<std::string>(),
                            .descriptors = {kDevNull, kDevNull, STDERR_FILENO, socket},
                            .own_group = true,
                            .blocked = none});
}

}  // namespace

absl::StatusOr<std::unique_ptr<PictureDecoder>> StartDecoderProcess(const std::string& program, Nanoseconds patience) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return ErrnoStatus(errno, "socketpair");
  const timeval timeout{patience.count() / 1'000'000'000, patience.count() % 1'000'000'000 / 1000};
  setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
  setsockopt(ends[0], SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
  auto process = StartProgram(program, ends[1]);
  close(ends[1]);
  if (!process.ok()) {
    close(ends[0]);
    return process.status();
  }
  return std::make_unique<DecoderProcess>(*std::move(process), ends[0]);
}

}  // namespace wharf::ar
