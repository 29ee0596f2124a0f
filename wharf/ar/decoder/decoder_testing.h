// A decoder of pictures that was taken over: it says what a test has it say.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "wharf/ar/decoder/decoder_wire.h"
#include "wharf/ar/decoder/picture_decoder.h"

namespace wharf::ar {

// It is a thread of the test's, behind a starter that knows no better. Must outlive the decoder that it gives.
class FalseDecoder {
 public:
  // Has the decoder's end of the socket, and returns when the server has closed the other one.
  using Lie = std::function<void(int socket)>;

  explicit FalseDecoder(Lie lie) {
    int ends[2] = {-1, -1};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
    starter_ = DecoderStarter::At(ends[0]);
    thread_ = std::thread([lie = std::move(lie), starter = ends[1]] { Run(starter, lie); });
  }
  // Whoever did not ask for the decoder lets it go.
  ~FalseDecoder() {
    starter_.reset();
    thread_.join();
  }
  FalseDecoder(const FalseDecoder&) = delete;
  FalseDecoder& operator=(const FalseDecoder&) = delete;

  // Once.
  absl::StatusOr<std::unique_ptr<PictureDecoder>> Start(Nanoseconds patience = std::chrono::seconds(60)) {
    return starter_->StartDecoder(patience);
  }

 private:
  static void Run(int starter, const Lie& lie) {
    char byte = 0;
    int socket[2] = {-1, -1}, line[2] = {-1, -1};
    if (recv(starter, &byte, 1, 0) == 1) {
      if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socket) != 0 || pipe(line) != 0) std::abort();
      SendDecoder(starter, 0, {socket[0], line[1]}).IgnoreError();
      close(socket[0]);
      close(line[1]);
      lie(socket[1]);
      while (read(socket[1], &byte, 1) > 0) {
      }
      for (const int end : {socket[1], line[0]}) close(end);
    }
    close(starter);
  }

  std::unique_ptr<DecoderStarter> starter_;
  std::thread thread_;
};

// The next picture's, which is passed over; nothing came: all zero.
inline DecodeRequest NextRequest(int socket) {
  DecodeRequest request;
  if (!ReadAll(socket, BytesOf(request)).ok()) return {};
  std::vector<std::byte> jpeg(request.jpeg_bytes);
  return ReadAll(socket, jpeg).ok() ? request : DecodeRequest{};
}

// False when the server has closed its end.
inline bool Say(int socket, DecodeReply reply, std::span<const std::byte> bytes = {}) {
  return WriteAll(socket, BytesOf(reply)).ok() && WriteAll(socket, bytes).ok();
}

inline uint32_t PixelBytes(const DecodeRequest& request) {
  return 3 * static_cast<uint32_t>(request.width) * static_cast<uint32_t>(request.height);
}

// `count` copies of a descriptor, beside a byte.
inline void SendDescriptors(int socket, size_t count, int descriptor, std::span<const std::byte> bytes) {
  iovec piece{const_cast<std::byte*>(bytes.data()), bytes.size()};
  msghdr header{};
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  const std::vector<int> copies(count, descriptor);
  std::vector<std::max_align_t> control(CMSG_SPACE(count * sizeof(int)) / sizeof(std::max_align_t) + 1);
  header.msg_control = control.data();
  header.msg_controllen = CMSG_SPACE(count * sizeof(int));
  cmsghdr* const part = CMSG_FIRSTHDR(&header);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(count * sizeof(int));
  std::memcpy(CMSG_DATA(part), copies.data(), count * sizeof(int));
  sendmsg(socket, &header, MSG_NOSIGNAL);
}

struct NamedLie {
  std::string name;
  FalseDecoder::Lie lie;
};

// Of decoders that answer a picture with something that is no picture.
inline std::vector<NamedLie> Lies() {
  constexpr uint32_t kHuge = 0xffffffff;
  const auto after_request = [](auto answer) {
    return [answer](int socket) {
      const DecodeRequest request = NextRequest(socket);
      answer(socket, request);
    };
  };
  using Request = const DecodeRequest&;
  const auto half = [](int socket, uint32_t promised, uint32_t code) {
    Say(socket, {code, promised}, std::vector<std::byte>(promised / 2));
    shutdown(socket, SHUT_WR);
  };
  return {
      {"FewerPixels", after_request([](int socket, Request request) {
         Say(socket, {0, PixelBytes(request) - 1});
       })},
      {"MorePixels", after_request([](int socket, Request request) {
         Say(socket, {0, PixelBytes(request) + 1});
       })},
      {"NoPixels", after_request([](int socket, Request) {
         Say(socket, {0, 0});
       })},
      {"HugePixels", after_request([](int socket, Request) {
         Say(socket, {0, kHuge});
       })},
      {"HugeReason", after_request([](int socket, Request) {
         Say(socket, {3, kHuge});
       })},
      {"ReasonBeyondTheLimit", after_request([](int socket, Request) {
         Say(socket, {3, kMaxReasonBytes + 1});
       })},
      {"HalfAPicture", after_request([half](int socket, Request request) { half(socket, PixelBytes(request), 0); })},
      {"HalfAReason", after_request([half](int socket, Request) { half(socket, 100, 3); })},
      {"HalfAReply", after_request([](int socket, Request) {
         const uint32_t code = 0;
         WriteAll(socket, std::as_bytes(std::span(&code, 1))).IgnoreError();
         shutdown(socket, SHUT_WR);
       })},
      {"NothingAtAll", [](int socket) { shutdown(socket, SHUT_RDWR); }},
  };
}

}  // namespace wharf::ar
