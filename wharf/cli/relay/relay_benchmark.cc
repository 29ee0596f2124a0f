// What it costs that clients are read in processes of their own.
#include <benchmark/benchmark.h>
#include <sys/socket.h>

#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "wharf/ar/messages.h"
#include "wharf/ar/relay/picture.h"
#include "wharf/ar/relay/relay.h"
#include "wharf/ar/relay/relay_process.h"
#include "wharf/cli/relay/relay_arguments.h"
#include "wharf/link/testing.h"
#include "wharf/split/codec/jpeg.h"

namespace wharf::cli {
namespace {

std::vector<std::byte> JpegOf(int width, int height) {
  std::vector<uint8_t> pixels(static_cast<size_t>(3 * width * height));
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i * i / 4096 % 251);
  return *split::EncodeJpeg({width, height, 3, pixels}, 90);
}

void BM_DecodingAlone(benchmark::State& state) {
  const int width = static_cast<int>(state.range(0)), height = static_cast<int>(state.range(1));
  const std::vector<std::byte> jpeg = JpegOf(width, height);
  for (auto _ : state) benchmark::DoNotOptimize(ar::DecodePicture(jpeg, width, height));
  state.counters["jpeg_bytes"] = static_cast<double>(jpeg.size());
}
BENCHMARK(BM_DecodingAlone)->Args({448, 128})->Args({832, 256})->UseRealTime();

// Both ends of a session, in this process.
struct Session {
  Session(std::unique_ptr<link::ByteStream> client_stream, std::unique_ptr<link::ByteStream> relay_stream)
      : client(link::Channel::Create(std::move(client_stream))),
        server(link::Channel::Create(std::move(relay_stream), {.limits = ar::kRelayFrameLimits})) {
    client->Start(&client_hears);
    server->Start(&server_hears);
  }
  ~Session() {
    client->Stop();
    server->Stop();
  }
  void LetIn(int width, int height) {
    ar::Hello hello;
    hello.tasks = 1;
    hello.width = width;
    hello.height = height;
    hello.fx = hello.fy = 20;
    if (!SendMessage(*client, ar::FrameKind::kHello, hello).ok()) std::abort();
    server_hears.Take(1);
    if (!SendMessage(*server, ar::FrameKind::kWelcome, ar::Welcome()).ok()) std::abort();
    client_hears.Take(1);
  }
  link::Recorder client_hears, server_hears;
  std::unique_ptr<link::Channel> client, server;
};

std::pair<int, int> Pair() {
  int ends[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
  return {ends[0], ends[1]};
}

// From a client's JPEG to pixels at the server, and from an answer of 100 kB to the client.
void Exchange(benchmark::State& state, Session& session) {
  const int width = static_cast<int>(state.range(0)), height = static_cast<int>(state.range(1));
  const std::vector<std::byte> jpeg = JpegOf(width, height), answer(100'000);
  session.LetIn(width, height);
  for (auto _ : state) {
    if (!SendMessage(*session.client, ar::FrameKind::kPicture, ar::Picture{1}, 1, jpeg).ok()) std::abort();
    session.server_hears.Take(1);
    if (!SendMessage(*session.server, ar::FrameKind::kResult, ar::Result(), 1, answer).ok()) std::abort();
    session.client_hears.Take(1);
  }
}

struct Starter {
  Starter()
      : process(*ar::RelayStarter::StartProcess(WHARF_RELAY, Isolation::kNone, ToArguments({"127.0.0.1:0", {}}))) {
    relays = ar::RelayStarter::At(process.socket);
  }
  ar::RelayStarter::Process process;
  std::unique_ptr<ar::RelayStarter> relays;
};

void BM_ByARelayProcess(benchmark::State& state) {
  const Starter starter;
  const auto [theirs, ours] = Pair();
  Session session(link::FromSocket(ours), *starter.relays->Start(theirs));
  Exchange(state, session);
}
BENCHMARK(BM_ByARelayProcess)->Args({448, 128})->Args({832, 256})->UseRealTime();

// Until a client of it is let in.
void BM_StartAndLetIn(benchmark::State& state) {
  const Starter starter;
  for (auto _ : state) {
    const auto [theirs, ours] = Pair();
    Session(link::FromSocket(ours), *starter.relays->Start(theirs)).LetIn(448, 128);
  }
}
BENCHMARK(BM_StartAndLetIn)->UseRealTime();

}  // namespace
}  // namespace wharf::cli

BENCHMARK_MAIN();
