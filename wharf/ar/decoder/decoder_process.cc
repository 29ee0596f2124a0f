// The server's side of a decoder process.
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "wharf/ar/decoder/decoder_wire.h"
#include "wharf/ar/decoder/picture_decoder.h"
#include "wharf/ar/messages.h"
#include "wharf/base/passed_descriptors.h"
#include "wharf/base/subprocess/subprocess.h"

namespace wharf::ar {
namespace {

// In a process group of its own (a terminal's Ctrl-C is the server's affair), with no descriptor but its socket and
// standard error, and no environment.
absl::StatusOr<Subprocess> StartProgram(const std::string& program, std::vector<std::string> arguments,
                                        Isolation isolation, int socket) {
  arguments.insert(arguments.begin(), "wharf-decode");
  sigset_t none;
  sigemptyset(&none);
  return Subprocess::Start({.path = program,
                            .arguments = std::move(arguments),
                            .environment = std::vector<std::string>(),
                            .descriptors = {kDevNull, kDevNull, STDERR_FILENO, socket},
                            .isolation = isolation,
                            .own_group = true,
                            .blocked = none});
}

class DecoderProcess final : public PictureDecoder {
 public:
  // `end` ends the process. Owns `socket`.
  DecoderProcess(int socket, Nanoseconds patience, std::function<void()> end)
      : socket_(socket), patience_(patience), end_(std::move(end)) {}
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
    const TimePoint deadline = Clock::Real().Now() + patience_;
    DecodeRequest request{static_cast<uint32_t>(jpeg.size()), width, height};
    WHARF_RETURN_IF_ERROR(WriteAll(socket_, BytesOf(request), deadline));
    WHARF_RETURN_IF_ERROR(WriteAll(socket_, jpeg, deadline));
    DecodeReply reply;
    WHARF_RETURN_IF_ERROR(ReadAll(socket_, BytesOf(reply), deadline));
    if (reply.code != 0) return ReadReason(reply, deadline);
    scene::Image picture{width, height, std::vector<uint8_t>(size_t{3} * width * height)};
    if (reply.bytes != picture.rgb.size()) return Internal("it says nonsense");
    WHARF_RETURN_IF_ERROR(ReadAll(socket_, std::as_writable_bytes(std::span(picture.rgb)), deadline));
    return picture;
  }
  absl::StatusOr<absl::StatusOr<scene::Image>> ReadReason(const DecodeReply& reply, TimePoint deadline) {
    if (reply.bytes > kMaxReasonBytes) return Internal("it says nonsense");
    std::string reason(reply.bytes, ' ');
    WHARF_RETURN_IF_ERROR(ReadAll(socket_, std::as_writable_bytes(std::span(reason)), deadline));
    return absl::StatusOr<scene::Image>(InvalidArgument("{}", reason));
  }
  void End() {
    if (socket_ < 0) return;
    close(std::exchange(socket_, -1));
    end_();
  }

  int socket_;  // -1: it has ended
  const Nanoseconds patience_;
  const std::function<void()> end_;
};

static_assert(kDecoderDescriptor == STDERR_FILENO + 1);

// The starter's other side (decoder_main.cc) ends a decoder when its line is closed.
class StarterProcess final : public DecoderStarter {
 public:
  // -1: there is none, yet or ever.
  StarterProcess(int socket, int door) : socket_(socket), door_(door) {}
  // It notices, ends what it has started, and itself.
  ~StarterProcess() override {
    if (socket_ >= 0) close(socket_);
    if (door_ >= 0) close(door_);
  }
  absl::StatusOr<std::unique_ptr<PictureDecoder>> StartDecoder(Nanoseconds patience) override {
    const std::lock_guard lock(mutex_);
    WHARF_ASSIGN_OR_RETURN(const StartedDecoder started, StartByAny());
    return std::make_unique<DecoderProcess>(started.socket, patience, [line = started.line] { close(line); });
  }

 private:
  // By the next process if the one before is gone.
  absl::StatusOr<StartedDecoder> StartByAny() {
    for (;;) {
      if (socket_ < 0 && door_ >= 0) socket_ = TakeSocket(door_);
      if (socket_ < 0) return Unavailable("what starts decoders has ended, and no other has begun yet: try again");
      absl::StatusOr<StartedDecoder> started = Start();
      if (!absl::IsUnavailable(started.status())) return started;
      close(std::exchange(socket_, -1));
    }
  }
  absl::StatusOr<StartedDecoder> Start() const {
    WHARF_RETURN_IF_ERROR(AskForDecoder(socket_));
    return ReceiveDecoder(socket_);
  }

  std::mutex mutex_;
  int socket_;
  const int door_;
};

}  // namespace

absl::StatusOr<Subprocess> StartDecoderProgram(const std::string& program, Isolation isolation, int socket) {
  std::vector<std::string> arguments;
  if (isolation != Isolation::kNone) arguments.emplace_back(kIsolatedDecoder);
  return StartProgram(program, std::move(arguments), isolation, socket);
}

absl::StatusOr<std::unique_ptr<PictureDecoder>> StartDecoderProcess(const std::string& program, Isolation isolation,
                                                                    Nanoseconds patience) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return ErrnoStatus(errno, "socketpair");
  auto process = StartDecoderProgram(program, isolation, ends[1]);
  close(ends[1]);
  if (!process.ok()) {
    close(ends[0]);
    return process.status();
  }
  const auto shared = std::make_shared<Subprocess>(*std::move(process));
  return std::make_unique<DecoderProcess>(ends[0], patience, [shared] {
    shared->Signal(SIGKILL);
    shared->Wait();
  });
}

absl::StatusOr<DecoderStarter::Process> DecoderStarter::StartProcess(const std::string& program, Isolation isolation) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return ErrnoStatus(errno, "socketpair");
  auto process =
      StartProgram(program, {kDecoderStarter, std::to_string(static_cast<int>(isolation))}, Isolation::kNone, ends[1]);
  close(ends[1]);
  if (!process.ok()) {
    close(ends[0]);
    return process.status();
  }
  return Process{*std::move(process), ends[0]};
}

std::unique_ptr<DecoderStarter> DecoderStarter::At(int socket) {
  return std::make_unique<StarterProcess>(socket, /*door=*/-1);
}

std::unique_ptr<DecoderStarter> DecoderStarter::Behind(int door) {
  return std::make_unique<StarterProcess>(/*socket=*/-1, door);
}

}  // namespace wharf::ar
