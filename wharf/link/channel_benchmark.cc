// The channel against the bare socket, side by side in one run: round trips of small messages, posted small frames, and
// bulk throughput, over TCP loopback and a Unix socket.
//
//   link_channel_benchmark --benchmark_repetitions=5 --benchmark_report_aggregates_only=true
#include <benchmark/benchmark.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <future>
#include <mutex>
#include <thread>
#include <utility>

#include "wharf/link/channel.h"

namespace wharf::link {
namespace {

constexpr size_t kSmall = 64;  // bytes of a small message, header included

enum Transport { kTcp, kUnix };

std::pair<int, int> ConnectedSockets(Transport transport) {
  if (transport == kUnix) {
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) std::abort();
    return {fds[0], fds[1]};
  }
  auto listener = Listener::Create("127.0.0.1:0").value();
  auto accepted = std::async(std::launch::async, [&] { return listener->Accept().value(); });
  const std::string address = listener->Address();
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
  const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(client, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) != 0) std::abort();
  return {client, accepted.get()};
}

bool ReadFully(int fd, std::byte* into, size_t size) {
  while (size > 0) {
    const ssize_t count = read(fd, into, size);
    if (count <= 0) return false;
    into += count;
    size -= static_cast<size_t>(count);
  }
  return true;
}

void RawPingPong(benchmark::State& state) {
  const auto [here, there] = ConnectedSockets(static_cast<Transport>(state.range(0)));
  auto near = FromSocket(here);  // for its options
  auto far = FromSocket(there);
  std::thread echo([fd = there] {
    std::array<std::byte, kSmall> message;
    while (ReadFully(fd, message.data(), kSmall) && write(fd, message.data(), kSmall) == kSmall) {
    }
  });
  std::array<std::byte, kSmall> message{};
  for ([[maybe_unused]] auto _ : state) {
    if (write(here, message.data(), kSmall) != kSmall || !ReadFully(here, message.data(), kSmall)) std::abort();
  }
  near->Shutdown();
  echo.join();
}

struct Ignore : FrameHandler {
  absl::StatusOr<std::span<std::byte>> BulkDestination(const FrameHeader& header, std::span<const std::byte>) override {
    memory.resize(header.bulk_bytes);
    return std::span(memory);
  }
  absl::Status OnFrame(const FrameHeader& header, std::span<const std::byte> head, std::vector<std::byte>) override {
    return frame(header, head);
  }
  void OnClosed(const absl::Status&) override {}
  std::function<absl::Status(const FrameHeader&, std::span<const std::byte>)> frame =
      [](const FrameHeader&, std::span<const std::byte>) { return absl::OkStatus(); };
  std::vector<std::byte> memory;
};

// Wakes the thread that waits for an answer, as a client session does.
class Arrival {
 public:
  void Signal() {
    std::lock_guard lock(mutex_);
    arrived_ = true;
    changed_.notify_one();
  }
  void Wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return arrived_; });
    arrived_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool arrived_ = false;
};

void ChannelPingPong(benchmark::State& state) {
  const auto [here, there] = ConnectedSockets(static_cast<Transport>(state.range(0)));
  auto near = Channel::Create(FromSocket(here));
  auto far = Channel::Create(FromSocket(there));
  Arrival arrival;
  Ignore answers, echo;
  answers.frame = [&](const FrameHeader&, std::span<const std::byte>) {
    arrival.Signal();
    return absl::OkStatus();
  };
  echo.frame = [&](const FrameHeader& header, std::span<const std::byte> head) {
    return far->Send(header.kind, header.tag, head);
  };
  near->Start(&answers);
  far->Start(&echo);
  const std::array<std::byte, kSmall - kFrameHeaderBytes> head{};
  for ([[maybe_unused]] auto _ : state) {
    if (!near->Send(1, 1, head).ok()) std::abort();
    arrival.Wait();
  }
  near.reset();
  far.reset();
}

// The same where the thread that waits reads the answer itself.
void ChannelPingPongReadHere(benchmark::State& state) {
  const auto [here, there] = ConnectedSockets(static_cast<Transport>(state.range(0)));
  auto near = Channel::Create(FromSocket(here));
  auto far = Channel::Create(FromSocket(there));
  std::atomic<uint64_t> sent = 0, arrived = 0;
  Ignore answers, echo;
  answers.frame = [&](const FrameHeader&, std::span<const std::byte>) {
    ++arrived;
    return absl::OkStatus();
  };
  echo.frame = [&](const FrameHeader& header, std::span<const std::byte> head) {
    return far->Send(header.kind, header.tag, head);
  };
  near->Start(&answers);
  far->Start(&echo);
  const std::array<std::byte, kSmall - kFrameHeaderBytes> head{};
  for ([[maybe_unused]] auto _ : state) {
    ++sent;
    if (!near->Send(1, 1, head).ok()) std::abort();
    while (arrived < sent) near->ReadHere([&] { return arrived == sent; }, std::chrono::seconds(1));
  }
  near.reset();
  far.reset();
}

// Without a thread that waits: what the channel itself adds.
void ChannelPingPongInHandler(benchmark::State& state) {
  const auto [here, there] = ConnectedSockets(static_cast<Transport>(state.range(0)));
  auto near = Channel::Create(FromSocket(here));
  auto far = Channel::Create(FromSocket(there));
  Arrival arrival;
  Ignore answers, echo;
  uint64_t left = 0;
  const std::array<std::byte, kSmall - kFrameHeaderBytes> head{};
  answers.frame = [&](const FrameHeader&, std::span<const std::byte>) {
    if (--left > 0) return near->Send(1, 1, head);
    arrival.Signal();
    return absl::OkStatus();
  };
  echo.frame = [&](const FrameHeader& header, std::span<const std::byte> received) {
    return far->Send(header.kind, header.tag, received);
  };
  near->Start(&answers);
  far->Start(&echo);
  constexpr uint64_t kRound = 1000;
  for ([[maybe_unused]] auto _ : state) {
    left = kRound;
    if (!near->Send(1, 1, head).ok()) std::abort();
    arrival.Wait();
  }
  state.counters["per_round_trip"] = benchmark::Counter(static_cast<double>(state.iterations() * kRound),
                                                        benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  near.reset();
  far.reset();
}

// One-way small frames: what a posted call costs the caller.
void ChannelPosted(benchmark::State& state) {
  const auto [here, there] = ConnectedSockets(static_cast<Transport>(state.range(0)));
  const auto urgency = static_cast<Urgency>(state.range(1));
  auto near = Channel::Create(FromSocket(here));
  auto far = Channel::Create(FromSocket(there));
  Ignore ignore;
  far->Start(&ignore);
  const std::array<std::byte, 100> head{};
  for ([[maybe_unused]] auto _ : state) {
    if (!near->Send(1, 1, head, {}, BulkOwnership::kCopy, urgency).ok()) std::abort();
  }
  state.SetItemsProcessed(state.iterations());
  near.reset();
  far.reset();
}

void RawBulk(benchmark::State& state) {
  const auto [here, there] = ConnectedSockets(static_cast<Transport>(state.range(0)));
  const auto size = static_cast<size_t>(state.range(1));
  auto near = FromSocket(here);
  auto far = FromSocket(there);
  std::thread drain([&, fd = there] {
    std::vector<std::byte> memory(size);
    while (ReadFully(fd, memory.data(), size)) {
    }
  });
  const std::vector<std::byte> data(size);
  for ([[maybe_unused]] auto _ : state) {
    for (size_t done = 0; done < size;) {
      const ssize_t count = write(here, data.data() + done, size - done);
      if (count <= 0) std::abort();
      done += static_cast<size_t>(count);
    }
  }
  state.SetBytesProcessed(state.iterations() * state.range(1));
  near->Shutdown();
  drain.join();
}

void ChannelBulk(benchmark::State& state) {
  const auto [here, there] = ConnectedSockets(static_cast<Transport>(state.range(0)));
  const auto size = static_cast<size_t>(state.range(1));
  auto near = Channel::Create(FromSocket(here));
  auto far = Channel::Create(FromSocket(there));
  Ignore ignore;
  far->Start(&ignore);
  const std::vector<std::byte> data(size);
  for ([[maybe_unused]] auto _ : state) {
    if (!near->Send(1, 1, {}, data, BulkOwnership::kBorrow).ok()) std::abort();
  }
  state.SetBytesProcessed(state.iterations() * state.range(1));
  near.reset();
  far.reset();
}

BENCHMARK(RawPingPong)->Arg(kTcp)->Arg(kUnix)->UseRealTime();
BENCHMARK(ChannelPingPongInHandler)->Arg(kTcp)->Arg(kUnix)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(ChannelPingPong)->Arg(kTcp)->Arg(kUnix)->UseRealTime();
BENCHMARK(ChannelPingPongReadHere)->Arg(kTcp)->Arg(kUnix)->UseRealTime();
BENCHMARK(ChannelPosted)->ArgsProduct({{kTcp, kUnix}, {0, 1}})->UseRealTime();
BENCHMARK(RawBulk)->ArgsProduct({{kTcp, kUnix}, {64 << 10, 4 << 20}})->UseRealTime();
BENCHMARK(ChannelBulk)->ArgsProduct({{kTcp, kUnix}, {64 << 10, 4 << 20}})->UseRealTime();

}  // namespace
}  // namespace wharf::link

BENCHMARK_MAIN();
