// Workers in this process for tests, listening on Unix sockets, and models for them.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "wharf/base/event_loop.h"
#include "wharf/pipeline/dataplane/scheduler.h"
#include "wharf/pipeline/runtime/worker.h"
#include "wharf/pipeline/runtime/worker_connection.h"
#include "wharf/pipeline/stages/block_profiler.h"
#include "wharf/pipeline/stages/test_network.h"

namespace wharf::pipeline::testing {

inline constexpr Nanoseconds kLong = std::chrono::seconds(120);  // for what must come

class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "wharf-pipeline-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A worker with an accept loop; GPUs are whole or halves.
class TestWorker {
 public:
  explicit TestWorker(const std::string& address, const WorkerConfig& config = {}) : files_("", 0) {
    WorkerConfig own = config;
    engine_ = *MakeEngine({"test", 1, 1});
    if (own.engines.empty()) own.engines.assign(2, engine_.get());
    if (own.files == nullptr) own.files = &files_;
    auto listener = link::Listener::Create(address);
    EXPECT_TRUE(listener.ok()) << ToString(listener.status());
    listener_ = *std::move(listener);
    worker_ = std::make_unique<Worker>(own);
    accepting_ = std::thread([this] {
      for (auto socket = listener_->Accept(); socket.ok(); socket = listener_->Accept()) {
        worker_->Accept(link::FromSocket(*socket));
      }
    });
  }
  ~TestWorker() {
    listener_->Shutdown();
    accepting_.join();
    worker_.reset();
  }
  std::string Address() const { return listener_->Address(); }

 private:
  const split::ModelFiles files_;
  std::unique_ptr<exec::Engine> engine_;
  std::unique_ptr<link::Listener> listener_;
  std::unique_ptr<Worker> worker_;
  std::thread accepting_;
};

inline ModelSource SourceOf(const std::string& name, const NetworkShape& shape, std::vector<int> first_node) {
  auto source = MakeModelSource(name, MakeNetwork(shape), std::move(first_node));
  EXPECT_TRUE(source.ok()) << ToString(source.status());
  return *std::move(source);
}

// What the whole model makes of a sample.
inline Sample WholeModel(const ModelSource& source, const Sample& input) {
  const auto engine = *MakeEngine({"test", 1, 1});
  const auto model = BatchedModel::Load(*engine, *source.onnx, 1);
  const auto runner = StageRunner::Make(*model, 0, source.nodes);
  const auto output = (*runner)->Run(std::vector<Sample>{input});
  EXPECT_TRUE(output.ok()) << ToString(output.status());
  return output->front();
}

inline Sample RandomInput(const ModelSource& source, uint32_t seed) {
  std::mt19937 random(seed);
  Sample sample(source.input_bytes);
  for (size_t i = 0; i < sample.size(); i += sizeof(float)) {
    const float value = std::uniform_real_distribution<float>(-1, 1)(random);
    std::memcpy(&sample[i], &value, sizeof(value));
  }
  return sample;
}

inline ::testing::AssertionResult NearlyEqual(std::span<const std::byte> a, std::span<const std::byte> b) {
  if (a.size() != b.size()) return ::testing::AssertionFailure() << a.size() << " bytes instead of " << b.size();
  for (size_t i = 0; i < a.size(); i += sizeof(float)) {
    float x, y;
    std::memcpy(&x, &a[i], sizeof(x));
    std::memcpy(&y, &b[i], sizeof(y));
    if (!(std::abs(x - y) <= 0.02)) return ::testing::AssertionFailure() << x << " instead of " << y;
  }
  return ::testing::AssertionSuccess();
}

// Keeps what a worker reports, on an event loop of its own; tests wait for it. Thread-safe.
class RecordedReports final : public WorkerEvents {
 public:
  struct Report {
    char what = 0;  // 'c'omputed, 'a'rrived, 'f'ailed
    uint64_t task = 0;
    std::vector<std::byte> outputs;
    absl::Status why;
    Nanoseconds took{0};
  };
  RecordedReports() : thread_([this] { loop_.Run(Clock::Real(), [] { return kNever; }); }) {}
  ~RecordedReports() override {
    loop_.Stop();
    thread_.join();
  }
  // As WorkerConnection::Open.
  absl::StatusOr<std::shared_ptr<WorkerConnection>> Open(const std::string& address, const PeerAccess& access) {
    return WorkerConnection::Open("worker", address, access, loop_, *this);
  }
  void OnWorkerReady(const std::string&, std::shared_ptr<WorkerConnection>, const std::vector<uint32_t>&) override {}
  void OnWorkerComputed(uint64_t, uint64_t task, Nanoseconds took, std::vector<std::byte> outputs) override {
    Add({'c', task, std::move(outputs), {}, took});
  }
  void OnWorkerArrived(uint64_t, uint64_t task) override { Add({'a', task, {}, {}}); }
  void OnWorkerFailed(uint64_t, uint64_t task, const absl::Status& why) override { Add({'f', task, {}, why}); }
  void OnWorkerGone(const std::string&, uint64_t, const absl::Status& why) override {
    absl::MutexLock lock(&mutex_);
    lost_ = why;
  }

  // The next one; nothing if the connection is lost.
  Report Next() {
    const auto came = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return !reports_.empty() || !lost_.ok(); };
    absl::MutexLock lock(&mutex_, absl::Condition(&came));
    if (reports_.empty()) return {};
    Report next = std::move(reports_.front());
    reports_.erase(reports_.begin());
    return next;
  }
  absl::Status AwaitLoss() {
    const auto came = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return !lost_.ok(); };
    absl::MutexLock lock(&mutex_, absl::Condition(&came));
    return lost_;
  }

 private:
  void Add(Report report) {
    absl::MutexLock lock(&mutex_);
    reports_.push_back(std::move(report));
  }
  absl::Mutex mutex_;
  std::vector<Report> reports_ ABSL_GUARDED_BY(mutex_);
  absl::Status lost_ ABSL_GUARDED_BY(mutex_);
  EventLoop loop_;
  std::thread thread_;
};

}  // namespace wharf::pipeline::testing
