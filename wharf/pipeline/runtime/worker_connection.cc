#include "wharf/pipeline/runtime/worker_connection.h"

#include <algorithm>
#include <utility>

#include "absl/time/time.h"

namespace wharf::pipeline {
namespace {

constexpr Nanoseconds kConnectTimeout = std::chrono::seconds(2), kHelloTimeout = std::chrono::seconds(5);
constexpr size_t kSendQueueBytes = size_t{256} << 20;  // who commands must not wait for one slow worker
constexpr uint32_t kMostOutputBytes = 64 << 20;
constexpr size_t kMostAnswers = 64;  // that nobody has awaited yet: each of them was asked for

uint64_t NextId() {
  static std::atomic<uint64_t> last = 0;
  return ++last;
}

// A time as the worker measured it, which may be anything.
Nanoseconds TimeOf(uint64_t nanoseconds) {
  constexpr uint64_t kMost = uint64_t{1} << 62;
  return Nanoseconds(std::min(nanoseconds, kMost));
}

}  // namespace

WorkerConnection::WorkerConnection(std::string worker, EventLoop& loop, WorkerEvents& events)
    : worker_(std::move(worker)), id_(NextId()), loop_(loop), events_(events) {}

absl::StatusOr<std::shared_ptr<WorkerConnection>> WorkerConnection::Open(const std::string& worker,
                                                                         const std::string& address,
                                                                         const PeerAccess& access, EventLoop& loop,
                                                                         WorkerEvents& events) {
  WHARF_ASSIGN_OR_RETURN(auto stream, link::Connect(address, access.Connecting(kConnectTimeout)));
  std::shared_ptr<WorkerConnection> connection(new WorkerConnection(worker, loop, events));
  link::ChannelOptions channel_options;
  channel_options.limits = PipelineFrameLimits();
  channel_options.send_queue_bytes = kSendQueueBytes;
  connection->channel_ = link::Channel::Create(std::move(stream), channel_options);
  connection->channel_->Start(connection.get());
  Hello hello;
  hello.role = Role::kScheduler;
  WHARF_RETURN_IF_ERROR(
      connection->handshake_.Greet(*connection->channel_, hello, access.token, kHelloTimeout).status());
  return connection;
}

WorkerConnection::~WorkerConnection() { channel_->Stop(); }

void WorkerConnection::Close() { channel_->Close(); }

template <typename T>
absl::StatusOr<T> WorkerConnection::Await(std::vector<T> WorkerConnection::*list, Nanoseconds timeout) {
  absl::MutexLock lock(&mutex_);
  std::vector<T>& arrived = this->*list;
  const auto came = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !arrived.empty() || !closed_.ok(); };
  if (!mutex_.AwaitWithTimeout(absl::Condition(&came), absl::FromChrono(timeout))) {
    return DeadlineExceeded("the worker says nothing");
  }
  if (arrived.empty()) return closed_;
  T first = arrived.front();
  arrived.erase(arrived.begin());
  return first;
}

absl::StatusOr<bool> WorkerConnection::OpenRemoteModel(const ModelSource& model, int max_batch, int parts,
                                                       Nanoseconds timeout) {
  const OpenModel open{model.hash, model.onnx->size(), static_cast<uint32_t>(max_batch), static_cast<uint32_t>(parts)};
  WHARF_RETURN_IF_ERROR(SendMessage(*channel_, FrameKind::kOpenModel, open));
  WHARF_ASSIGN_OR_RETURN(const ModelState state, Await(&WorkerConnection::model_states_, timeout));
  return state.ready;
}

absl::Status WorkerConnection::SendModel(const ModelSource& model) {
  const std::span<const std::byte> bytes = *model.onnx;
  for (size_t sent = 0; sent < bytes.size(); sent += kModelPieceBytes) {
    const auto piece = bytes.subspan(sent, std::min<size_t>(kModelPieceBytes, bytes.size() - sent));
    WHARF_RETURN_IF_ERROR(
        channel_->Send(static_cast<uint16_t>(FrameKind::kModelPiece), 0, {}, piece, link::BulkOwnership::kBorrow));
  }
  return absl::OkStatus();
}

absl::Status WorkerConnection::Prepare(const ModelSource& model, int max_batch, int parts,
                                       const std::vector<DefineStage>& stages, Nanoseconds timeout) {
  WHARF_ASSIGN_OR_RETURN(const bool ready, OpenRemoteModel(model, max_batch, parts, timeout));
  if (!ready) {
    WHARF_RETURN_IF_ERROR(SendModel(model));
    WHARF_RETURN_IF_ERROR(Await(&WorkerConnection::model_states_, timeout).status());
  }
  for (const DefineStage& stage : stages) {
    WHARF_RETURN_IF_ERROR(SendMessage(*channel_, FrameKind::kDefineStage, stage));
    WHARF_ASSIGN_OR_RETURN(const StageDefined defined, Await(&WorkerConnection::defined_, timeout));
    const bool fits = (stage.first_node > 0 || defined.input_bytes == model.input_bytes) &&
                      (!stage.last || defined.output_bytes == model.output_bytes);
    if (defined.stage != stage.stage || !fits) return Internal("the worker defines another stage than was wanted");
  }
  return absl::OkStatus();
}

void WorkerConnection::Input(uint32_t stage, const std::vector<uint64_t>& samples, std::span<const std::byte> bulk) {
  SendMessage(*channel_, FrameKind::kSamples, Samples{stage, EncodeList(samples)}, 0, bulk).IgnoreError();
}
void WorkerConnection::Compute(uint64_t task, uint32_t stage, uint32_t vgpu, const std::vector<uint64_t>& samples) {
  SendMessage(*channel_, FrameKind::kCompute, pipeline::Compute{stage, vgpu, EncodeList(samples)}, task).IgnoreError();
}
void WorkerConnection::Send(uint64_t task, uint32_t stage, const std::vector<uint64_t>& samples,
                            const std::string& address) {
  SendMessage(*channel_, FrameKind::kSend, pipeline::Send{stage, EncodeList(samples), address}, task).IgnoreError();
}

// --- On the reader thread ---

absl::StatusOr<std::span<std::byte>> WorkerConnection::BulkDestination(const link::FrameHeader& header,
                                                                       std::span<const std::byte>) {
  if (static_cast<FrameKind>(header.kind) != FrameKind::kComputed || header.bulk_bytes > kMostOutputBytes) {
    return InvalidArgument("{} bytes that a message {} does not have", header.bulk_bytes, header.kind);
  }
  return std::span<std::byte>();
}

absl::Status WorkerConnection::OnFrame(const link::FrameHeader& header, std::span<const std::byte> head,
                                       std::vector<std::byte> bulk) {
  if (handshake_.Takes(header)) return handshake_.OnFrame(header, head);
  switch (static_cast<FrameKind>(header.kind)) {
    case FrameKind::kModelState: {
      WHARF_ASSIGN_OR_RETURN(const ModelState state, DecodeHead<ModelState>(head, "the state of a model"));
      return Keep(&WorkerConnection::model_states_, state);
    }
    case FrameKind::kStageDefined: {
      WHARF_ASSIGN_OR_RETURN(const StageDefined defined, DecodeHead<StageDefined>(head, "a defined stage"));
      return Keep(&WorkerConnection::defined_, defined);
    }
    default:
      return OnReport(header, head, std::move(bulk));
  }
}

template <typename T>
absl::Status WorkerConnection::Keep(std::vector<T> WorkerConnection::*list, const T& answer) {
  absl::MutexLock lock(&mutex_);
  if ((this->*list).size() >= kMostAnswers) return InvalidArgument("answers that nobody has asked for");
  (this->*list).push_back(answer);
  return absl::OkStatus();
}

absl::Status WorkerConnection::OnReport(const link::FrameHeader& header, std::span<const std::byte> head,
                                        std::vector<std::byte> bulk) {
  const uint64_t task = header.tag;
  switch (static_cast<FrameKind>(header.kind)) {
    case FrameKind::kComputed:
      return OnComputed(task, head, std::move(bulk));
    case FrameKind::kArrived: {
      WHARF_RETURN_IF_ERROR(DecodeHead<Arrived>(head, "a report").status());
      loop_.Post([&events = events_, id = id_, task] { events.OnWorkerArrived(id, task); });
      return absl::OkStatus();
    }
    case FrameKind::kFailed: {
      WHARF_ASSIGN_OR_RETURN(const Failed failed, DecodeHead<Failed>(head, "a report"));
      const absl::Status why = wire::StatusOf({failed.code, failed.message});
      loop_.Post([&events = events_, id = id_, task, why] { events.OnWorkerFailed(id, task, why); });
      return absl::OkStatus();
    }
    default:
      return InvalidArgument("unknown message {}", header.kind);
  }
}

absl::Status WorkerConnection::OnComputed(uint64_t task, std::span<const std::byte> head,
                                          std::vector<std::byte> outputs) {
  WHARF_ASSIGN_OR_RETURN(const Computed computed, DecodeHead<Computed>(head, "a report"));
  loop_.Post([&events = events_, id = id_, task, took = TimeOf(computed.nanoseconds),
              outputs = std::move(outputs)]() mutable { events.OnWorkerComputed(id, task, took, std::move(outputs)); });
  return absl::OkStatus();
}

void WorkerConnection::OnClosed(const absl::Status& why) {
  const absl::Status reason = handshake_.OnClosed(why);
  {
    absl::MutexLock lock(&mutex_);
    closed_ = reason;
  }
  lost_ = true;
  loop_.Post([&events = events_, worker = worker_, id = id_, reason] { events.OnWorkerGone(worker, id, reason); });
}

}  // namespace wharf::pipeline
