#include "wharf/cli/offload/server_check.h"

#include <memory>
#include <utility>
#include <vector>

#include "wharf/link/channel.h"
#include "wharf/link/connect_again.h"
#include "wharf/offload/handshake.h"

namespace wharf::cli {
namespace {

// Only greets.
class Greeter final : public link::FrameHandler {
 public:
  absl::StatusOr<offload::Welcome> Greet(link::Channel& channel, const offload::Hello& hello, const std::string& token,
                                         Nanoseconds timeout) {
    return handshake_.Greet(channel, hello, token, timeout);
  }
  absl::StatusOr<std::span<std::byte>> BulkDestination(const link::FrameHeader&, std::span<const std::byte>) override {
    return DataLoss("the first frame carries data");
  }
  absl::Status OnFrame(const link::FrameHeader& header, std::span<const std::byte> head,
                       std::vector<std::byte>) override {
    if (handshake_.Takes(header)) return handshake_.OnFrame(header, head);
    return DataLoss("an answer of unknown kind {}", header.kind);
  }
  void OnClosed(const absl::Status& why) override { handshake_.OnClosed(why).IgnoreError(); }

 private:
  wire::ClientHandshake<offload::ProgramProtocol> handshake_{"it"};
};

struct Greeted {
  offload::Welcome welcome;
  Nanoseconds round_trip{0};
};

absl::StatusOr<Greeted> GreetOnce(const std::string& address, const link::ConnectOptions& options,
                                  const std::string& token) {
  WHARF_ASSIGN_OR_RETURN(std::unique_ptr<link::ByteStream> stream, link::Connect(address, options));
  Greeter greeter;
  const auto channel = link::Channel::Create(std::move(stream));
  channel->Start(&greeter);
  offload::Hello hello;
  hello.features = offload::kFeatureCheckOnly | offload::kFeatureKernelPacks;
  hello.program = "wharf run";
  auto welcome = greeter.Greet(*channel, hello, token, options.timeout);
  const auto transport = channel->Stream().Info();
  channel->Stop();
  if (welcome.ok()) return Greeted{*std::move(welcome), transport ? transport->minimum_rtt : Nanoseconds(0)};
  return MakeStatus(welcome.status().code(), "{}: {}", address, Message(welcome.status()));
}

}  // namespace

absl::StatusOr<CheckedServer> CheckServer(const std::string& address, const link::ConnectOptions& options,
                                          const std::string& token) {
  WHARF_ASSIGN_OR_RETURN(const Greeted greeted, link::TryAgain([&] { return GreetOnce(address, options, token); }));
  const offload::Welcome& welcome = greeted.welcome;
  return CheckedServer{.driver = welcome.properties.driver,
                       .has_kernel_packs = (welcome.features & offload::kFeatureKernelPacks) != 0,
                       .has_room = welcome.memory_quota > 0,
                       .sessions = welcome.session,
                       .round_trip = greeted.round_trip};
}

}  // namespace wharf::cli
