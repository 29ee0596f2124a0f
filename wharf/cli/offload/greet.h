// Says Hello to a server, and goes: what it answers, and how far away it is.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/link/byte_stream.h"
#include "wharf/link/channel.h"
#include "wharf/link/connect_again.h"
#include "wharf/wire/handshake.h"

namespace wharf::cli {

template <typename Protocol>
struct Greeted {
  typename Protocol::Welcome welcome;
  // Of packets between both, the shortest of this connection; zero where it is none of TCP.
  Nanoseconds round_trip{0};
};

template <typename Protocol>
class Greeter final : private link::FrameHandler {
 public:
  absl::StatusOr<Greeted<Protocol>> Greet(std::unique_ptr<link::ByteStream> stream,
                                          const typename Protocol::Hello& hello, const std::string& token,
                                          Nanoseconds timeout) {
    const auto channel = link::Channel::Create(std::move(stream));
    channel->Start(this);
    auto welcome = handshake_.Greet(*channel, hello, token, timeout);
    const auto transport = channel->Stream().Info();
    channel->Stop();
    WHARF_RETURN_IF_ERROR(welcome.status());
    return Greeted<Protocol>{*std::move(welcome), transport ? transport->minimum_rtt : Nanoseconds(0)};
  }

 private:
  absl::StatusOr<std::span<std::byte>> BulkDestination(const link::FrameHeader&, std::span<const std::byte>) override {
    return DataLoss("the first frame carries data");
  }
  absl::Status OnFrame(const link::FrameHeader& header, std::span<const std::byte> head,
                       std::vector<std::byte>) override {
    if (handshake_.Takes(header)) return handshake_.OnFrame(header, head);
    return DataLoss("an answer of unknown kind {}", header.kind);
  }
  void OnClosed(const absl::Status& why) override { handshake_.OnClosed(why).IgnoreError(); }

  wire::ClientHandshake<Protocol> handshake_{"it"};
};

// At `address`: again for a while where a failure may pass. A failure's message is the line to print.
template <typename Protocol>
absl::StatusOr<Greeted<Protocol>> Greet(const std::string& address, const link::ConnectOptions& options,
                                        const typename Protocol::Hello& hello, const std::string& token) {
  const auto greet = [&]() -> absl::StatusOr<Greeted<Protocol>> {
    WHARF_ASSIGN_OR_RETURN(std::unique_ptr<link::ByteStream> stream, link::Connect(address, options));
    auto greeted = Greeter<Protocol>().Greet(std::move(stream), hello, token, options.timeout);
    if (greeted.ok()) return greeted;
    return MakeStatus(greeted.status().code(), "{}: {}", address, Message(greeted.status()));
  };
  return link::TryAgain(greet);
}

}  // namespace wharf::cli
