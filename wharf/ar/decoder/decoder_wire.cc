#include "wharf/ar/decoder/decoder_wire.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "wharf/base/passed_descriptors.h"

namespace wharf::ar {
namespace {

absl::Status Gone() { return Unavailable("the other end is gone"); }

// Waits until something can be done with the socket.
absl::Status AwaitReady(int socket, short event, TimePoint deadline) {
  for (;;) {
    const Nanoseconds left = deadline - Clock::Real().Now();
    if (left <= Nanoseconds(0)) return absl::DeadlineExceededError("it takes too long");
    pollfd one{socket, event, 0};
    const timespec timeout{left.count() / 1'000'000'000, left.count() % 1'000'000'000};
    const int ready = ppoll(&one, 1, &timeout, nullptr);
    if (ready > 0) return absl::OkStatus();
    if (ready < 0 && errno != EINTR) return ErrnoStatus(errno, "waiting for a decoder");
  }
}

// After a read or write that did nothing: OK if it is to be tried again.
absl::Status AfterNothing(int socket, ssize_t done, short event, std::optional<TimePoint> deadline) {
  if (done < 0 && errno == EINTR) return absl::OkStatus();
  if (done < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) && deadline) return AwaitReady(socket, event, *deadline);
  return Gone();
}

// So that somebody who gives a byte at a time does not get time with each.
bool Late(std::optional<TimePoint> deadline) { return deadline && Clock::Real().Now() >= *deadline; }

}  // namespace

absl::Status ReadAll(int socket, std::span<std::byte> into, std::optional<TimePoint> deadline) {
  while (!into.empty()) {
    if (Late(deadline)) return absl::DeadlineExceededError("it takes too long");
    const ssize_t done =
        deadline ? recv(socket, into.data(), into.size(), MSG_DONTWAIT) : read(socket, into.data(), into.size());
    if (done <= 0) {
      WHARF_RETURN_IF_ERROR(AfterNothing(socket, done, POLLIN, deadline));
    } else {
      into = into.subspan(static_cast<size_t>(done));
    }
  }
  return absl::OkStatus();
}

absl::Status WriteAll(int socket, std::span<const std::byte> bytes, std::optional<TimePoint> deadline) {
  while (!bytes.empty()) {
    if (Late(deadline)) return absl::DeadlineExceededError("it takes too long");
    const ssize_t done = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | (deadline ? MSG_DONTWAIT : 0));
    if (done <= 0) {
      WHARF_RETURN_IF_ERROR(AfterNothing(socket, done, POLLOUT, deadline));
    } else {
      bytes = bytes.subspan(static_cast<size_t>(done));
    }
  }
  return absl::OkStatus();
}

absl::Status AskForDecoder(int starter) {
  const char one = 1;
  return send(starter, &one, 1, MSG_NOSIGNAL) == 1 ? absl::OkStatus()
                                                   : Unavailable("the process that starts decoders is gone");
}

absl::StatusOr<StartedDecoder> ReceiveDecoder(int starter) {
  int error = 0;
  const absl::StatusOr<ReceivedMessage> message = ReceiveWithDescriptors(starter, BytesOf(error));
  const bool answered = message.ok() && message->bytes == sizeof(error);
  if (answered && error == 0 && message->whole && message->descriptors.size() == 2) {
    return StartedDecoder{message->descriptors[0], message->descriptors[1]};
  }
  if (message.ok()) CloseAll(message->descriptors);
  if (!answered) return Unavailable("the process that starts decoders is gone");
  if (error != 0) return ErrnoStatus(error, "starting a decoder");
  return Internal("a decoder with other descriptors than its own");
}

absl::Status SendDecoder(int server, int error, const StartedDecoder& started) {
  const int descriptors[] = {started.socket, started.line};
  return SendWithDescriptors(server, BytesOf(error), std::span(descriptors).first(error == 0 ? 2 : 0));
}

}  // namespace wharf::ar
