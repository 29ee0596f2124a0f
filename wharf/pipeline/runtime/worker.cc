#include "wharf/pipeline/runtime/worker.h"

#include <algorithm>
#include <utility>

#include "wharf/base/log.h"
#include "wharf/base/within_memory.h"
#include "wharf/pipeline/runtime/worker_session.h"

namespace wharf::pipeline {
namespace {

constexpr size_t kMostStages = 4096, kMostPeers = 1024, kMostJobs = 65536;

}  // namespace

Worker::Worker(WorkerConfig config) : config_(std::move(config)), store_(config_.max_held_bytes) {}

Worker::~Worker() {
  {
    absl::MutexLock lock(&accepting_);
    sessions_.clear();
  }
  std::map<std::string, std::unique_ptr<PeerConnection>> peers;
  std::vector<std::thread> computing;
  {
    absl::MutexLock lock(&mutex_);
    ending_ = true;
    peers.swap(peers_);
    for (auto& [number, vgpu] : vgpus_) computing.push_back(std::move(vgpu.computing));
  }
  peers.clear();
  for (std::thread& thread : computing) thread.join();
}

void Worker::Accept(std::unique_ptr<link::ByteStream> stream) {
  absl::MutexLock lock(&accepting_);
  const TimePoint now = config_.clock->Now();
  sessions_.remove_if(
      [&](const std::unique_ptr<WorkerSession>& session) { return session->Over() || session->Late(now); });
  if (sessions_.size() >= config_.max_sessions) {
    Log(LogLevel::kWarning, "too many sessions", {{"peer", stream->Peer()}});
    return;
  }
  sessions_.push_back(std::make_unique<WorkerSession>(*this, std::move(stream)));
}

// --- On the sessions' reader threads ---

void Worker::TakeScheduler(WorkerSession* session) {
  std::map<std::string, std::unique_ptr<PeerConnection>> peers;
  {
    absl::MutexLock lock(&reporting_);
    if (session->left_) return;
    scheduler_ = session;
  }
  {
    absl::MutexLock lock(&mutex_);
    for (auto& [number, vgpu] : vgpus_) vgpu.jobs.clear();
    stages_.clear();
    peers.swap(peers_);
  }
  store_.Clear();
}

void Worker::Left(WorkerSession* session) {
  absl::MutexLock lock(&reporting_);
  session->left_ = true;
  if (scheduler_ == session) scheduler_ = nullptr;
}

absl::Status Worker::CheckParts(uint32_t parts) const {
  if (parts >= 1 && parts <= config_.engines.size() && config_.engines[parts - 1] != nullptr) return absl::OkStatus();
  return InvalidArgument("this worker has no GPUs divided into {}", parts);
}

absl::StatusOr<std::shared_ptr<const BatchedModel>> Worker::Load(const OpenModel& open,
                                                                 std::span<const std::byte> bytes) {
  const std::tuple key(open.hash, open.max_batch, open.parts);
  {
    absl::MutexLock lock(&mutex_);
    if (const auto found = models_.find(key); found != models_.end()) return found->second;
  }
  WHARF_ASSIGN_OR_RETURN(auto model,
                         BatchedModel::Load(*config_.engines[open.parts - 1], bytes, static_cast<int>(open.max_batch)));
  absl::MutexLock lock(&mutex_);
  std::erase_if(models_, [](const auto& entry) { return entry.second.use_count() == 1; });  // no stage uses it
  models_[key] = model;
  return model;
}

absl::Status Worker::Define(uint32_t number, WorkerStage stage) {
  absl::MutexLock lock(&mutex_);
  if (stages_.size() >= kMostStages) stages_.erase(stages_.begin());  // of plans long gone
  if (!stages_.emplace(number, std::move(stage)).second) return InvalidArgument("stage {} is there already", number);
  return absl::OkStatus();
}

absl::StatusOr<WorkerStage> Worker::Stage(uint32_t number) {
  absl::MutexLock lock(&mutex_);
  const auto found = stages_.find(number);
  if (found == stages_.end()) return InvalidArgument("there is no stage {}", number);
  return found->second;
}

absl::Status Worker::Enqueue(uint32_t number, Job job) {
  const size_t most = static_cast<size_t>(config_.gpus) * config_.engines.size();
  if (number >= most) return InvalidArgument("there is no virtual GPU {}: there are {} at most", number, most);
  absl::MutexLock lock(&mutex_);
  Vgpu& vgpu = vgpus_[number];
  if (!vgpu.computing.joinable()) vgpu.computing = std::thread([this, &vgpu] { ComputeLoop(vgpu); });
  if (vgpu.jobs.size() < kMostJobs) {
    vgpu.jobs.push_back(std::move(job));
  } else {
    ReportFailure(job.task, ResourceExhausted("{} tasks wait already", kMostJobs));
  }
  return absl::OkStatus();
}

void Worker::SendOn(uint64_t task, const Send& message, std::vector<uint64_t> samples) {
  auto taken = store_.Take(samples);
  if (!taken.ok()) return ReportFailure(task, taken.status());
  absl::MutexLock lock(&mutex_);
  if (peers_.size() >= kMostPeers && peers_.count(message.address) == 0) {
    return ReportFailure(task, ResourceExhausted("{} workers are sent to already", kMostPeers));
  }
  std::unique_ptr<PeerConnection>& peer = peers_[message.address];
  if (peer == nullptr) {
    peer = std::make_unique<PeerConnection>(
        message.address, config_.access,
        [this](uint64_t failed, const absl::Status& why) { ReportFailure(failed, why); });
  }
  peer->Send({task, message.stage, std::move(samples), *std::move(taken)});
}

// --- To the scheduler, from any thread ---

template <typename T>
absl::Status Worker::Report(FrameKind kind, uint64_t task, const T& message, std::span<const std::byte> bulk) {
  absl::MutexLock lock(&reporting_);
  if (scheduler_ == nullptr) return absl::OkStatus();
  return SendMessage(scheduler_->Channel(), kind, message, task, bulk);
}
template absl::Status Worker::Report(FrameKind, uint64_t, const Arrived&, std::span<const std::byte>);

void Worker::ReportFailure(uint64_t task, const absl::Status& why) {
  Log(LogLevel::kWarning, "a task failed", {{"task", task}, {"why", Message(why)}});
  Report(FrameKind::kFailed, task, Failed{static_cast<uint16_t>(why.code()), std::string(Message(why))})
      .IgnoreError();  // a scheduler that is gone notices it
}

// --- On the virtual GPUs' threads ---

void Worker::ComputeLoop(Vgpu& vgpu) {
  const auto work = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return ending_ || !vgpu.jobs.empty(); };
  for (;;) {
    Job job;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(&work));
      if (ending_) return;
      job = std::move(vgpu.jobs.front());
      vgpu.jobs.pop_front();
    }
    const absl::Status computed = WithinMemory([&] { return ComputeOne(vgpu, job); });
    if (!computed.ok()) ReportFailure(job.task, computed);
  }
}

absl::Status Worker::ComputeOne(Vgpu& vgpu, const Job& job) {
  const std::vector<Nanoseconds>& least = job.stage.least;
  // A paced device begins when it could, though this thread was woken later: that is not of what it plays.
  const TimePoint start = least.empty() ? config_.clock->Now() : std::max(job.came, vgpu.free_at);
  WHARF_ASSIGN_OR_RETURN(const auto inputs, store_.Take(job.samples));
  WHARF_ASSIGN_OR_RETURN(auto outputs, job.stage.runner->Run(inputs));
  Sample bulk;
  if (job.stage.last) {
    for (const Sample& sample : outputs) bulk.insert(bulk.end(), sample.begin(), sample.end());
  } else {
    store_.Put(job.samples, std::move(outputs));
  }
  const Nanoseconds at_least = least.empty() ? Nanoseconds(0) : least[std::min(job.samples.size(), least.size()) - 1];
  vgpu.free_at = std::max(config_.clock->Now(), start + at_least);
  config_.clock->SleepUntil(vgpu.free_at);
  const Nanoseconds took = vgpu.free_at - start;
  return Report(FrameKind::kComputed, job.task, Computed{static_cast<uint64_t>(took.count())}, bulk);
}

}  // namespace wharf::pipeline
