// What the tests of this room share.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "wharf/ar/connection.h"
#include "wharf/ar/relay/relay.h"
#include "wharf/ar/server/server.h"
#include "wharf/link/emulation/emulator.h"
#include "wharf/wire/proof_testing.h"

namespace wharf::ar {

inline constexpr int kTestWidth = 32, kTestHeight = 16;
inline constexpr Nanoseconds kPatience = std::chrono::seconds(60);

inline uint8_t Bits(std::initializer_list<Task> tasks) {
  uint8_t bits = 0;
  for (const Task task : tasks) bits |= static_cast<uint8_t>(1 << static_cast<int>(task));
  return bits;
}

inline Hello GoodHello() {
  Hello hello;
  hello.tasks = Bits({Task::kDepth, Task::kOdometry});
  hello.width = kTestWidth;
  hello.height = kTestHeight;
  hello.fx = hello.fy = 20;
  return hello;
}
inline Hello HelloWithSla(double sla) {
  Hello hello = GoodHello();
  hello.tasks = Bits({Task::kDepth});
  hello.sla = sla;
  return hello;
}

inline scene::Image GreyPicture(uint8_t grey, int width = kTestWidth, int height = kTestHeight) {
  return {width, height, std::vector<uint8_t>(static_cast<size_t>(3 * width * height), grey)};
}
// What both finders find: how bright the picture is, nearly.
inline std::vector<std::byte> BrightnessOf(const scene::Image& picture) {
  return {static_cast<std::byte>(picture.rgb.at(0) / 16)};
}

// Of a folder: how many descriptors or threads there are, in /proc/self.
inline size_t Entries(const char* folder) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

class BrightnessFinder final : public SoloFinder {
 public:
  Finding Find(Task task, const std::shared_ptr<const scene::Frame>& frame) override {
    if (task == Task::kOdometry) return NotFound("nothing moves");
    return BrightnessOf(frame->image);
  }
};

class BrightnessBatches final : public BatchFinder {
 public:
  std::string_view TaskName() const override { return "depth"; }
  int Width() const override { return kTestWidth; }
  int Height() const override { return kTestHeight; }
  std::vector<Finding> Find(std::span<const scene::Image> pictures, std::span<const DepthCoding>) override {
    std::vector<Finding> findings;
    for (const scene::Image& picture : pictures) findings.emplace_back(BrightnessOf(picture));
    return findings;
  }
};

// A client's connection to a server, by a relay in this process; `token`: the server's.
inline std::unique_ptr<link::ByteStream> DialInProcess(Server& server, const std::string& token = "") {
  auto [theirs, ours] = link::MemoryPair();
  auto relay = RelayInProcess(std::move(theirs), wire::ClientsWith(token));
  if (relay.ok()) server.Accept(*std::move(relay));
  return std::move(ours);
}

// It must not outlive the three.
inline ServerConfig TestServerConfig(TurnQueue& solo, Coordination& coordination, BatchFinder& finder) {
  ServerConfig config;
  config.make_solo = [](const Hello&) -> absl::StatusOr<std::unique_ptr<SoloFinder>> {
    return std::make_unique<BrightnessFinder>();
  };
  config.solo = &solo;
  config.coordination = &coordination;
  config.batch_finder = &finder;
  return config;
}

// Keeps what comes; tests wait for it.
class Ear final : public ConnectionListener {
 public:
  struct Heard {
    Task task = Task::kDepth;
    int64_t frame = 0;
    absl::Status status;
    std::vector<std::byte> found;
  };
  void OnResult(const Result& result, int64_t frame, std::vector<std::byte> found) override {
    Keep({result.task, frame, absl::OkStatus(), std::move(found)});
  }
  void OnFailed(Task task, int64_t frame, const absl::Status& why) override { Keep({task, frame, why, {}}); }
  void OnSchedule(serving::ClientPlan plan, bool served, const std::string& why) override {
    absl::MutexLock lock(&mutex_);
    why_waiting_ = why;
    plan_ = std::move(plan);
    served_ = served;
  }
  void OnClosed(const absl::Status& why) override {
    absl::MutexLock lock(&mutex_);
    closed_ = why;
  }
  void OnWelcome(const ar::Welcome& welcome) override {
    absl::MutexLock lock(&mutex_);
    welcome_ = welcome;
  }

  // The next that was heard; kCancelled if the connection ended instead.
  Heard Next() {
    const auto heard = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return !heard_.empty() || closed_.has_value(); };
    absl::MutexLock lock(&mutex_, absl::Condition(&heard));
    if (heard_.empty()) return {Task::kDepth, -1, absl::CancelledError("the connection ended"), {}};
    Heard first = std::move(heard_.front());
    heard_.pop_front();
    return first;
  }
  // What has been heard so far and not taken.
  std::deque<Heard> Take() {
    absl::MutexLock lock(&mutex_);
    return std::exchange(heard_, {});
  }
  absl::Status WaitClosed() {
    const auto closed = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return closed_.has_value(); };
    absl::MutexLock lock(&mutex_, absl::Condition(&closed));
    return *closed_;
  }
  // What the server wants to be offloaded; nullopt: it has not said.
  std::optional<serving::ClientPlan> Plan() {
    absl::MutexLock lock(&mutex_);
    return plan_;
  }
  ar::Welcome Welcome() {
    absl::MutexLock lock(&mutex_);
    return welcome_;
  }
  std::string WhyWaiting() {
    absl::MutexLock lock(&mutex_);
    return why_waiting_;
  }
  bool Served() {
    absl::MutexLock lock(&mutex_);
    return served_;
  }

 private:
  void Keep(Heard heard) {
    absl::MutexLock lock(&mutex_);
    heard_.push_back(std::move(heard));
  }
  absl::Mutex mutex_;
  std::deque<Heard> heard_ ABSL_GUARDED_BY(mutex_);
  std::optional<serving::ClientPlan> plan_ ABSL_GUARDED_BY(mutex_);
  bool served_ ABSL_GUARDED_BY(mutex_) = false;
  std::string why_waiting_ ABSL_GUARDED_BY(mutex_);
  ar::Welcome welcome_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::Status> closed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace wharf::ar
