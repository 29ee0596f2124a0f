// What the ability to resume costs: a channel over a TCP connection on loopback, plain and resumable, side by side in
// one run: round trips of small frames, an inference's exchange (600 KiB up, 4 KiB down), posted small frames and bulk.
//
//   link_resumable_stream_benchmark --benchmark_repetitions=9 --benchmark_enable_random_interleaving=true
//                                   --benchmark_report_aggregates_only=true
#include <benchmark/benchmark.h>

#include <array>
#include <condition_variable>
#include <functional>
#include <future>
#include <mutex>
#include <utility>

#include "wharf/link/channel.h"
#include "wharf/link/resumable_stream.h"

namespace wharf::link {
namespace {

struct Handler : FrameHandler {
  absl::StatusOr<std::span<std::byte>> BulkDestination(const FrameHeader& header, std::span<const std::byte>) override {
    memory.resize(header.bulk_bytes);
    return std::span(memory);
  }
  absl::Status OnFrame(const FrameHeader& header, std::span<const std::byte>, std::vector<std::byte>) override {
    return frame(header);
  }
  void OnClosed(const absl::Status&) override {}
  std::function<absl::Status(const FrameHeader&)> frame = [](const FrameHeader&) { return absl::OkStatus(); };
  std::vector<std::byte> memory;
};

// A client's and a server's channel.
struct Link {
  explicit Link(bool resumable) {
    auto listener = Listener::Create("127.0.0.1:0").value();
    auto server = std::async(std::launch::async, [&]() -> std::unique_ptr<ByteStream> {
      auto stream = FromSocket(listener->Accept().value());
      if (!resumable) return stream;
      auto begun = ReadBeginning(std::move(stream), std::chrono::seconds(60)).value();
      return ResumableStream::Accept(std::move(begun.stream), ResumeKey::Make(1).value()).value();
    });
    const auto dial = [address = listener->Address()] { return Connect(address); };
    near = Channel::Create(resumable ? OpenResumable(dial).value() : dial().value());
    far = Channel::Create(server.get());
    near->Start(&client);
    far->Start(&this->server);
  }
  ~Link() {
    near.reset();
    far.reset();
  }
  void Signal() {
    std::lock_guard lock(mutex);
    arrived = true;
    changed.notify_one();
  }
  void Wait() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return arrived; });
    arrived = false;
  }

  Handler client, server;
  std::mutex mutex;
  std::condition_variable changed;
  bool arrived = false;
  std::unique_ptr<Channel> near, far;
};

void Require(const absl::Status& status) {
  if (!status.ok()) std::abort();
}

// Frames from handler to handler: what the channel and its stream cost, without a thread that waits.
void RoundTrip(benchmark::State& state) {
  Link link(state.range(0) != 0);
  constexpr int kRound = 1000;
  int left = 0;
  const std::array<std::byte, 40> head{};
  link.client.frame = [&](const FrameHeader&) {
    if (--left > 0) return link.near->Send(1, 1, head);
    link.Signal();
    return absl::OkStatus();
  };
  link.server.frame = [&](const FrameHeader&) { return link.far->Send(1, 1, head); };
  for ([[maybe_unused]] auto _ : state) {
    left = kRound;
    Require(link.near->Send(1, 1, head));
    link.Wait();
  }
  state.counters["per_round_trip"] = benchmark::Counter(static_cast<double>(state.iterations() * kRound),
                                                        benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void Inference(benchmark::State& state) {
  Link link(state.range(0) != 0);
  const std::vector<std::byte> input(600 << 10), output(4 << 10);
  link.client.frame = [&](const FrameHeader&) {
    link.Signal();
    return absl::OkStatus();
  };
  link.server.frame = [&](const FrameHeader&) { return link.far->Send(1, 1, {}, output); };
  for ([[maybe_unused]] auto _ : state) {
    Require(link.near->Send(1, 1, {}, input, BulkOwnership::kBorrow));
    link.Wait();
  }
}

void Posted(benchmark::State& state) {
  Link link(state.range(0) != 0);
  const std::array<std::byte, 100> head{};
  for ([[maybe_unused]] auto _ : state) {
    Require(link.near->Send(1, 1, head, {}, BulkOwnership::kCopy, Urgency::kSoon));
  }
  state.SetItemsProcessed(state.iterations());
}

void Bulk(benchmark::State& state) {
  Link link(state.range(0) != 0);
  const std::vector<std::byte> data(4 << 20);
  for ([[maybe_unused]] auto _ : state) Require(link.near->Send(1, 1, {}, data, BulkOwnership::kBorrow));
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(data.size()));
}

void PlainAndResumable(benchmark::internal::Benchmark* benchmark) {
  // The CPU time is that of all threads of both ends: it says more than the wall clock on a machine that is busy.
  benchmark->ArgName("resumable")->Arg(0)->Arg(1)->MeasureProcessCPUTime()->UseRealTime();
}
BENCHMARK(RoundTrip)->Apply(PlainAndResumable)->Unit(benchmark::kMillisecond);
BENCHMARK(Inference)->Apply(PlainAndResumable)->Unit(benchmark::kMicrosecond);
BENCHMARK(Posted)->Apply(PlainAndResumable);
BENCHMARK(Bulk)->Apply(PlainAndResumable)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace wharf::link

BENCHMARK_MAIN();
