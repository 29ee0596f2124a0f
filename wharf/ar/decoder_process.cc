// The server's side of a decoder process.
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "wharf/ar/decoder_wire.h"
#include "wharf/ar/messages.h"
#include "wharf/ar/picture_decoder.h"

namespace wharf::ar {
namespace {

class DecoderProcess final : public PictureDecoder {
 public:
  DecoderProcess(pid_t process, int socket) : process_(process), socket_(socket) {}
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
    kill(process_, SIGKILL);
    while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

  const pid_t process_;
  int socket_;  // -1: it has ended
};

// In a process group of its own (a terminal's Ctrl-C is the server's affair), with no descriptor but its socket and
// standard error, and no environment.
int Spawn(const std::string& program, int socket, pid_t& process) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&files, socket, kDecoderDescriptor);
  posix_spawn_file_actions_addclosefrom_np(&files, kDecoderDescriptor + 1);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  char name[] = "wharf-decode";
  char* arguments[] = {name, nullptr};
  char* environment[] = {nullptr};
  const int error = posix_spawn(&process, program.c_str(), &files, &attributes, arguments, environment);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return error;
}

}  // namespace

absl::StatusOr<std::unique_ptr<PictureDecoder>> StartDecoderProcess(const std::string& program, Nanoseconds patience) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return ErrnoStatus(errno, "socketpair");
  const timeval timeout{patience.count() / 1'000'000'000, patience.count() % 1'000'000'000 / 1000};
  setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
  setsockopt(ends[0], SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
  pid_t process = -1;
  const int error = Spawn(program, ends[1], process);
  close(ends[1]);
  if (error != 0) {
    close(ends[0]);
    return ErrnoStatus(error, "cannot start " + program);
  }
  return std::make_unique<DecoderProcess>(process, ends[0]);
}

}  // namespace wharf::ar
