// What the ability to resume costs: a channel over a TCP connection on loopback, plain and resumable, in turns: round
// trips of small frames, an inference's exchange (600 KiB up, 4 KiB down), posted small frames and bulk. `wall_ratio`
// and `cpu_ratio` are resumable over plain, medians of the turns; the CPU time is that of all threads of both ends,
// which says more than the wall clock on a machine that is busy.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <ctime>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "wharf/link/channel.h"
#include "wharf/link/resume/resumable_stream.h"

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
  std::vector<std::byte> answer;
  std::mutex mutex;
  std::condition_variable changed;
  bool arrived = false;
  std::unique_ptr<Channel> near, far;
};

void Require(const absl::Status& status) {
  if (!status.ok()) std::abort();
}

// One round of a workload on a link that stays.
using Round = std::function<void()>;

// Frames from handler to handler: what the channel and its stream cost, without a thread that waits.
Round RoundTrips(Link& link) {
  constexpr int kTrips = 1000;
  static constexpr std::array<std::byte, 40> kHead{};
  const auto left = std::make_shared<int>(0);
  link.client.frame = [&link, left](const FrameHeader&) {
    if (--*left > 0) return link.near->Send(1, 1, kHead);
    link.Signal();
    return absl::OkStatus();
  };
  link.server.frame = [&link](const FrameHeader&) { return link.far->Send(1, 1, kHead); };
  return [&link, left] {
    *left = kTrips;
    Require(link.near->Send(1, 1, kHead));
    link.Wait();
  };
}

// The last frame of the round is answered.
void AnswerTagged(Link& link) {
  link.client.frame = [&link](const FrameHeader&) {
    link.Signal();
    return absl::OkStatus();
  };
  link.server.frame = [&link](const FrameHeader& header) {
    return header.tag == 0 ? absl::OkStatus() : link.far->Send(1, 1, {}, link.answer);
  };
}

Round Inferences(Link& link) {
  link.answer.resize(4 << 10);
  AnswerTagged(link);
  return [&link, input = std::vector<std::byte>(600 << 10)] {
    for (int i = 0; i < 10; ++i) {
      Require(link.near->Send(1, 1, {}, input, BulkOwnership::kBorrow));
      link.Wait();
    }
  };
}

Round Posted(Link& link) {
  static constexpr std::array<std::byte, 100> kHead{};
  AnswerTagged(link);
  return [&link] {
    for (int i = 0; i < 10'000; ++i) {
      Require(link.near->Send(1, 0, kHead, {}, BulkOwnership::kCopy, Urgency::kSoon));
    }
    Require(link.near->Send(1, 1, kHead));
    link.Wait();
  };
}

Round Bulk(Link& link) {
  AnswerTagged(link);
  return [&link, data = std::vector<std::byte>(4 << 20)] {
    for (int i = 0; i < 4; ++i) Require(link.near->Send(1, i == 3 ? 1 : 0, {}, data, BulkOwnership::kBorrow));
    link.Wait();
  };
}

struct Times {
  std::vector<double> wall, cpu;

  void Measure(const Round& round) {
    const std::clock_t cpu_start = std::clock();  // of all threads
    const auto start = std::chrono::steady_clock::now();
    round();
    wall.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    cpu.push_back(static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC);
  }
  static double Median(std::vector<double> times) {
    const auto middle = times.begin() + static_cast<ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    return *middle;
  }
};

void Compare(benchmark::State& state, Round (*workload)(Link&)) {
  Link plain_link(false), resumable_link(true);
  const Round plain = workload(plain_link), resumable = workload(resumable_link);
  plain();
  resumable();
  Times plain_times, resumable_times;
  for ([[maybe_unused]] auto _ : state) {
    plain_times.Measure(plain);
    resumable_times.Measure(resumable);
    state.SetIterationTime(resumable_times.wall.back());
  }
  const double wall = Times::Median(plain_times.wall), cpu = Times::Median(plain_times.cpu);
  state.counters["plain_ms"] = wall * 1e3;
  state.counters["resumable_ms"] = Times::Median(resumable_times.wall) * 1e3;
  state.counters["wall_ratio"] = Times::Median(resumable_times.wall) / wall;
  state.counters["cpu_ratio"] = Times::Median(resumable_times.cpu) / cpu;
}
BENCHMARK_CAPTURE(Compare, round_trips, &RoundTrips)->UseManualTime()->Iterations(50);
BENCHMARK_CAPTURE(Compare, inferences, &Inferences)->UseManualTime()->Iterations(50);
BENCHMARK_CAPTURE(Compare, posted, &Posted)->UseManualTime()->Iterations(50);
BENCHMARK_CAPTURE(Compare, bulk, &Bulk)->UseManualTime()->Iterations(50);

}  // namespace
}  // namespace wharf::link

BENCHMARK_MAIN();
