#include "wharf/pipeline/runtime/worker_session.h"

#include <utility>

#include "wharf/base/log.h"
#include "wharf/base/within_memory.h"
#include "wharf/split/runtime/model.h"

namespace wharf::pipeline {
namespace {

constexpr Nanoseconds kFarewell = std::chrono::seconds(1);
constexpr Nanoseconds kLongestComputation = std::chrono::minutes(1);  // that may be asked for
constexpr size_t kMostSamples = 4096;                                 // in one message
constexpr uint32_t kMostBatch = 256;

FrameKind KindOf(const link::FrameHeader& header) { return static_cast<FrameKind>(header.kind); }

// Of a DefineStage: nothing, or one for each size of a batch.
absl::StatusOr<std::vector<Nanoseconds>> LeastTimes(std::span<const std::byte> list, int max_batch) {
  std::vector<Nanoseconds> times;
  if (list.empty()) return times;
  WHARF_ASSIGN_OR_RETURN(const std::vector<uint64_t> numbers, DecodeSamples(list, static_cast<size_t>(max_batch)));
  for (const uint64_t ns : numbers) {
    if (ns > static_cast<uint64_t>(kLongestComputation.count())) return InvalidArgument("a computation of {} ns", ns);
    times.emplace_back(static_cast<int64_t>(ns));
  }
  return times;
}

}  // namespace

WorkerSession::WorkerSession(Worker& worker, std::unique_ptr<link::ByteStream> stream)
    : worker_(worker), handshake_(worker.config_.check, *worker.config_.clock) {
  link::ChannelOptions options;
  options.limits = worker_.config_.limits;
  channel_ = link::Channel::Create(std::move(stream), options);
  channel_->Start(this);
}

WorkerSession::~WorkerSession() {
  worker_.Left(this);
  channel_->Stop();
  if (loading_.joinable()) loading_.join();
}

absl::Status WorkerSession::End(const absl::Status& why) {
  return wire::EndSession<PipelineProtocol>(*channel_, why, "pipeline session ended", kFarewell);
}

void WorkerSession::OnClosed(const absl::Status&) {
  worker_.Left(this);
  over_ = true;
}

absl::StatusOr<std::vector<uint64_t>> WorkerSession::NumbersFor(const WorkerStage& stage,
                                                                std::span<const std::byte> list) const {
  return DecodeSamples(list, stage.runner->MaxBatch());
}

// Before memory is taken for them.
absl::Status WorkerSession::CheckBulk(const link::FrameHeader& header, std::span<const std::byte> head) {
  const FrameKind kind = KindOf(header);
  if (kind == FrameKind::kModelPiece && awaited_ && header.bulk_bytes <= kModelPieceBytes) return absl::OkStatus();
  if (kind != FrameKind::kSamples || !role_ || *role_ == Role::kClient) {
    return InvalidArgument("{} bytes that a message {} does not have", header.bulk_bytes, header.kind);
  }
  WHARF_ASSIGN_OR_RETURN(const Samples message, DecodeHead<Samples>(head, "a message of samples"));
  WHARF_ASSIGN_OR_RETURN(const WorkerStage stage, worker_.Stage(message.stage));
  WHARF_ASSIGN_OR_RETURN(const auto numbers, NumbersFor(stage, message.samples));
  if (header.bulk_bytes != numbers.size() * stage.runner->InputBytes()) {
    return InvalidArgument("{} bytes of {} samples of {}", header.bulk_bytes, numbers.size(),
                           stage.runner->InputBytes());
  }
  bulk_began_ = worker_.config_.clock->Now();
  return absl::OkStatus();
}

absl::StatusOr<std::span<std::byte>> WorkerSession::BulkDestination(const link::FrameHeader& header,
                                                                    std::span<const std::byte> head) {
  if (const absl::Status fits = CheckBulk(header, head); !fits.ok()) return End(fits);
  return std::span<std::byte>();
}

absl::Status WorkerSession::OnFrame(const link::FrameHeader& header, std::span<const std::byte> head,
                                    std::vector<std::byte> bulk) {
  const absl::Status handled = WithinMemory([&] { return Handle(header, head, bulk); });
  return handled.ok() ? handled : End(handled);
}

absl::Status WorkerSession::Handle(const link::FrameHeader& header, std::span<const std::byte> head,
                                   std::span<const std::byte> bulk) {
  const FrameKind kind = KindOf(header);
  if (!role_) return OnHello(header, head);
  if (kind == FrameKind::kSamples) return OnSamples(header, head, bulk);
  if (kind == FrameKind::kGoodbye) {
    channel_->Close();
    return absl::OkStatus();
  }
  if (*role_ != Role::kScheduler) return InvalidArgument("message {} is for schedulers", header.kind);
  return HandleScheduler(header, head, bulk);
}

absl::Status WorkerSession::HandleScheduler(const link::FrameHeader& header, std::span<const std::byte> head,
                                            std::span<const std::byte> bulk) {
  switch (KindOf(header)) {
    case FrameKind::kOpenModel:
      return OnOpenModel(head);
    case FrameKind::kModelPiece:
      return OnModelPiece(bulk);
    case FrameKind::kDefineStage:
      return OnDefineStage(head);
    case FrameKind::kCompute:
      return OnCompute(header, head);
    case FrameKind::kSend:
      return OnSend(header, head);
    default:
      return InvalidArgument("unknown message {}", header.kind);
  }
}

absl::Status WorkerSession::OnHello(const link::FrameHeader& header, std::span<const std::byte> head) {
  WHARF_ASSIGN_OR_RETURN(const std::optional<Hello> hello, handshake_.Hear(*channel_, header, head));
  if (!hello) return absl::OkStatus();
  if (hello->role != Role::kScheduler && hello->role != Role::kWorker) {
    return InvalidArgument("this is a worker: clients go to wharf pipeline serve");
  }
  role_ = hello->role;
  if (hello->role == Role::kScheduler) worker_.TakeScheduler(this);
  return handshake_.Accept(*channel_, *hello);
}

absl::Status WorkerSession::OnOpenModel(std::span<const std::byte> head) {
  WHARF_ASSIGN_OR_RETURN(const OpenModel open, DecodeHead<OpenModel>(head, "the request for a model"));
  if (awaited_ || is_loading_) return InvalidArgument("another model is still being sent or loaded");
  if (open.bytes == 0 || open.bytes > worker_.config_.max_model_bytes) {
    return ResourceExhausted("a model of {} bytes: this worker takes at most {}", open.bytes,
                             worker_.config_.max_model_bytes);
  }
  if (open.max_batch < 1 || open.max_batch > kMostBatch) return InvalidArgument("batches of {}", open.max_batch);
  WHARF_RETURN_IF_ERROR(worker_.CheckParts(open.parts));
  auto file = worker_.config_.files->Read(open.hash);
  if (!file.ok()) {
    awaited_ = open;
    return SendMessage(*channel_, FrameKind::kModelState, ModelState{false});
  }
  return StartLoading([this, open, file = *std::move(file)] { return Load(open, std::as_bytes(std::span(file))); });
}

absl::Status WorkerSession::OnModelPiece(std::span<const std::byte> piece) {
  if (!awaited_ || piece.empty() || piece.size() > awaited_->bytes - pieces_.size()) {
    return InvalidArgument("a piece of a model that was not asked for");
  }
  pieces_.insert(pieces_.end(), piece.begin(), piece.end());
  if (pieces_.size() < awaited_->bytes) return absl::OkStatus();
  const OpenModel open = *std::exchange(awaited_, std::nullopt);
  return StartLoading([this, open, bytes = std::exchange(pieces_, {})]() -> absl::Status {
    if (wire::HashOf(bytes) != open.hash) {
      return InvalidArgument("the model that came is not the one that was announced");
    }
    WHARF_RETURN_IF_ERROR(Load(open, bytes));
    worker_.config_.files->Keep(open.hash, bytes);
    return absl::OkStatus();
  });
}

absl::Status WorkerSession::Load(const OpenModel& open, std::span<const std::byte> bytes) {
  WHARF_ASSIGN_OR_RETURN(auto model, worker_.Load(open, bytes));
  absl::MutexLock lock(&mutex_);
  model_ = std::move(model);
  return absl::OkStatus();
}

absl::Status WorkerSession::StartLoading(std::function<absl::Status()> load) {
  if (loading_.joinable()) loading_.join();  // it is over
  {
    absl::MutexLock lock(&mutex_);
    model_ = nullptr;
  }
  is_loading_ = true;
  loading_ = std::thread([this, load = std::move(load)] {
    const absl::Status loaded = WithinMemory(load);
    is_loading_ = false;
    if (!loaded.ok()) {
      End(loaded).IgnoreError();
    } else {
      SendMessage(*channel_, FrameKind::kModelState, ModelState{true}).IgnoreError();  // if it is gone, it notices
    }
  });
  return absl::OkStatus();
}

absl::Status WorkerSession::OnDefineStage(std::span<const std::byte> head) {
  WHARF_ASSIGN_OR_RETURN(const DefineStage define, DecodeHead<DefineStage>(head, "a stage"));
  std::shared_ptr<const BatchedModel> model;
  {
    absl::MutexLock lock(&mutex_);
    model = model_;
  }
  if (model == nullptr) return InvalidArgument("a stage came before a model");
  WHARF_ASSIGN_OR_RETURN(auto runner, StageRunner::Make(std::move(model), define.first_node, define.end_node));
  const uint64_t batch_bytes =
      static_cast<uint64_t>(runner->MaxBatch()) * (runner->InputBytes() + runner->OutputBytes());
  if (batch_bytes > worker_.config_.max_batch_bytes) {
    return ResourceExhausted("stage {} moves {} bytes for a batch of {}: this worker takes at most {}", define.stage,
                             batch_bytes, runner->MaxBatch(), worker_.config_.max_batch_bytes);
  }
  WHARF_ASSIGN_OR_RETURN(std::vector<Nanoseconds> least, LeastTimes(define.least, runner->MaxBatch()));
  const StageDefined defined{define.stage, runner->InputBytes(), runner->OutputBytes()};
  WHARF_RETURN_IF_ERROR(worker_.Define(define.stage, {std::move(runner), define.last, std::move(least)}));
  return SendMessage(*channel_, FrameKind::kStageDefined, defined);
}

absl::Status WorkerSession::OnSamples(const link::FrameHeader& header, std::span<const std::byte> head,
                                      std::span<const std::byte> bulk) {
  WHARF_ASSIGN_OR_RETURN(const Samples message, DecodeHead<Samples>(head, "a message of samples"));
  WHARF_ASSIGN_OR_RETURN(const WorkerStage stage, worker_.Stage(message.stage));
  WHARF_ASSIGN_OR_RETURN(const auto numbers, NumbersFor(stage, message.samples));
  const size_t bytes = stage.runner->InputBytes();
  if (bulk.size() != numbers.size() * bytes) return InvalidArgument("samples without their bytes");
  std::vector<Sample> samples;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const auto sample = bulk.subspan(i * bytes, bytes);
    samples.emplace_back(sample.begin(), sample.end());
  }
  worker_.store_.Put(numbers, std::move(samples));
  if (*role_ != Role::kWorker) return absl::OkStatus();
  const Nanoseconds took = worker_.config_.clock->Now() - bulk_began_;
  // A scheduler that is gone notices it.
  worker_.Report(FrameKind::kArrived, header.tag, Arrived{static_cast<uint64_t>(took.count())}).IgnoreError();
  return absl::OkStatus();
}

absl::Status WorkerSession::OnCompute(const link::FrameHeader& header, std::span<const std::byte> head) {
  WHARF_ASSIGN_OR_RETURN(const Compute compute, DecodeHead<Compute>(head, "a computation"));
  WHARF_ASSIGN_OR_RETURN(WorkerStage stage, worker_.Stage(compute.stage));
  WHARF_ASSIGN_OR_RETURN(auto numbers, NumbersFor(stage, compute.samples));
  return worker_.Enqueue(compute.vgpu,
                         {header.tag, std::move(stage), std::move(numbers), worker_.config_.clock->Now()});
}

absl::Status WorkerSession::OnSend(const link::FrameHeader& header, std::span<const std::byte> head) {
  WHARF_ASSIGN_OR_RETURN(const Send send, DecodeHead<Send>(head, "a command to send"));
  WHARF_ASSIGN_OR_RETURN(auto numbers, DecodeSamples(send.samples, kMostSamples));
  worker_.SendOn(header.tag, send, std::move(numbers));
  return absl::OkStatus();
}

}  // namespace wharf::pipeline
