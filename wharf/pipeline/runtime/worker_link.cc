#include "wharf/pipeline/runtime/worker_link.h"

#include <algorithm>
#include <utility>

#include "absl/time/time.h"

namespace wharf::pipeline {
namespace {

constexpr Nanoseconds kConnectTimeout = std::chrono::seconds(2), kHelloTimeout = std::chrono::seconds(5);
constexpr size_t kSendQueueBytes = size_t{256} << 20;  // who commands must not wait for one slow worker
constexpr uint32_t kMostOutputBytes = 64 << 20;

}  // namespace

absl::StatusOr<std::unique_ptr<WorkerLink>> WorkerLink::Open(const std::string& address, const PeerAccess& access,
                                                             WorkerReports& reports) {
  WHARF_ASSIGN_OR_RETURN(auto stream, link::Connect(address, access.Connecting(kConnectTimeout)));
  std::unique_ptr<WorkerLink> link(new WorkerLink(reports));
  link::ChannelOptions channel_options;
  channel_options.limits = PipelineFrameLimits();
  channel_options.send_queue_bytes = kSendQueueBytes;
  link->channel_ = link::Channel::Create(std::move(stream), channel_options);
  link->channel_->Start(link.get());
  Hello hello;
  hello.token = access.token;
  hello.role = Role::kScheduler;
  WHARF_RETURN_IF_ERROR(SendMessage(*link->channel_, FrameKind::kHello, hello));
  WHARF_RETURN_IF_ERROR(link->Await(link->welcomes_, kHelloTimeout).status());
  return link;
}

WorkerLink::~WorkerLink() { channel_->Stop(); }

void WorkerLink::Cut() { channel_->Close(); }

template <typename T>
absl::StatusOr<T> WorkerLink::Await(std::vector<T>& arrived, Nanoseconds timeout) {
  const auto there = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return !arrived.empty() || !closed_.ok(); };
  absl::MutexLock lock(&mutex_);
  if (!mutex_.AwaitWithTimeout(absl::Condition(&there), absl::FromChrono(timeout))) {
    return DeadlineExceeded("the worker says nothing");
  }
  if (arrived.empty()) return goodbye_.ok() ? closed_ : goodbye_;
  T first = arrived.front();
  arrived.erase(arrived.begin());
  return first;
}

absl::StatusOr<bool> WorkerLink::OpenModelThere(const ModelSource& model, int max_batch, int parts,
                                                Nanoseconds timeout) {
  const OpenModel open{model.hash, model.onnx->size(), static_cast<uint32_t>(max_batch), static_cast<uint32_t>(parts)};
  WHARF_RETURN_IF_ERROR(SendMessage(*channel_, FrameKind::kOpenModel, open));
  WHARF_ASSIGN_OR_RETURN(const ModelState state, Await(model_states_, timeout));
  return state.ready;
}

absl::Status WorkerLink::SendModel(const ModelSource& model) {
  const std::span<const std::byte> bytes = *model.onnx;
  for (size_t sent = 0; sent < bytes.size(); sent += kModelPieceBytes) {
    const auto piece = bytes.subspan(sent, std::min<size_t>(kModelPieceBytes, bytes.size() - sent));
    WHARF_RETURN_IF_ERROR(
        channel_->Send(static_cast<uint16_t>(FrameKind::kModelPiece), 0, {}, piece, link::BulkOwnership::kBorrow));
  }
  return absl::OkStatus();
}

absl::Status WorkerLink::Prepare(const ModelSource& model, int max_batch, int parts,
                                 const std::vector<DefineStage>& stages, Nanoseconds timeout) {
  WHARF_ASSIGN_OR_RETURN(const bool ready, OpenModelThere(model, max_batch, parts, timeout));
  if (!ready) {
    WHARF_RETURN_IF_ERROR(SendModel(model));
    WHARF_RETURN_IF_ERROR(Await(model_states_, timeout).status());
  }
  for (const DefineStage& stage : stages) {
    WHARF_RETURN_IF_ERROR(SendMessage(*channel_, FrameKind::kDefineStage, stage));
    WHARF_ASSIGN_OR_RETURN(const StageDefined defined, Await(defined_, timeout));
    const bool fits = (stage.first_node > 0 || defined.input_bytes == model.input_bytes) &&
                      (!stage.last || defined.output_bytes == model.output_bytes);
    if (defined.stage != stage.stage || !fits) return Internal("the worker defines another stage than was wanted");
  }
  return absl::OkStatus();
}

void WorkerLink::Input(uint32_t stage, const std::vector<uint64_t>& samples, std::span<const std::byte> bulk) {
  SendMessage(*channel_, FrameKind::kSamples, Samples{stage, EncodeList(samples)}, 0, bulk).IgnoreError();
}
void WorkerLink::Compute(uint64_t task, uint32_t stage, uint32_t vgpu, const std::vector<uint64_t>& samples) {
  SendMessage(*channel_, FrameKind::kCompute, pipeline::Compute{stage, vgpu, EncodeList(samples)}, task).IgnoreError();
}
void WorkerLink::Send(uint64_t task, uint32_t stage, const std::vector<uint64_t>& samples, const std::string& address) {
  SendMessage(*channel_, FrameKind::kSend, pipeline::Send{stage, EncodeList(samples), address}, task).IgnoreError();
}

// --- On the reader thread ---

absl::StatusOr<std::span<std::byte>> WorkerLink::BulkDestination(const link::FrameHeader& header,
                                                                 std::span<const std::byte>) {
  if (static_cast<FrameKind>(header.kind) != FrameKind::kComputed || header.bulk_bytes > kMostOutputBytes) {
    return InvalidArgument("{} bytes that a message {} does not have", header.bulk_bytes, header.kind);
  }
  return std::span<std::byte>();
}

absl::Status WorkerLink::OnFrame(const link::FrameHeader& header, std::span<const std::byte> head,
                                 std::vector<std::byte> bulk) {
  switch (static_cast<FrameKind>(header.kind)) {
    case FrameKind::kWelcome: {
      WHARF_ASSIGN_OR_RETURN(const Welcome welcome, DecodeHead<Welcome>(head, "a Welcome"));
      absl::MutexLock lock(&mutex_);
      welcomes_.push_back(welcome);
      return absl::OkStatus();
    }
    case FrameKind::kModelState: {
      WHARF_ASSIGN_OR_RETURN(const ModelState state, DecodeHead<ModelState>(head, "the state of a model"));
      absl::MutexLock lock(&mutex_);
      model_states_.push_back(state);
      return absl::OkStatus();
    }
    case FrameKind::kStageDefined: {
      WHARF_ASSIGN_OR_RETURN(const StageDefined defined, DecodeHead<StageDefined>(head, "a defined stage"));
      absl::MutexLock lock(&mutex_);
      defined_.push_back(defined);
      return absl::OkStatus();
    }
    case FrameKind::kGoodbye: {
      WHARF_ASSIGN_OR_RETURN(const Goodbye goodbye, DecodeHead<Goodbye>(head, "a Goodbye"));
      absl::MutexLock lock(&mutex_);
      goodbye_ = split::StatusOf(goodbye);
      return goodbye_;
    }
    default:
      return OnReport(header, head, std::move(bulk));
  }
}

absl::Status WorkerLink::OnReport(const link::FrameHeader& header, std::span<const std::byte> head,
                                  std::vector<std::byte> bulk) {
  constexpr uint64_t kMostNanoseconds = uint64_t{1} << 62;
  switch (static_cast<FrameKind>(header.kind)) {
    case FrameKind::kComputed: {
      WHARF_ASSIGN_OR_RETURN(const Computed computed, DecodeHead<Computed>(head, "a report"));
      reports_.OnComputed(header.tag, Nanoseconds(std::min(computed.nanoseconds, kMostNanoseconds)), std::move(bulk));
      return absl::OkStatus();
    }
    case FrameKind::kArrived: {
      WHARF_ASSIGN_OR_RETURN(const Arrived arrived, DecodeHead<Arrived>(head, "a report"));
      reports_.OnArrived(header.tag, Nanoseconds(std::min(arrived.nanoseconds, kMostNanoseconds)));
      return absl::OkStatus();
    }
    case FrameKind::kFailed: {
      WHARF_ASSIGN_OR_RETURN(const Failed failed, DecodeHead<Failed>(head, "a report"));
      reports_.OnFailed(header.tag, split::StatusOf({failed.code, failed.message}));
      return absl::OkStatus();
    }
    default:
      return InvalidArgument("unknown message {}", header.kind);
  }
}

void WorkerLink::OnClosed(const absl::Status& why) {
  absl::Status reason;
  {
    absl::MutexLock lock(&mutex_);
    closed_ = why;
    reason = goodbye_.ok() ? why : goodbye_;
  }
  reports_.OnLost(reason);
}

}  // namespace wharf::pipeline
