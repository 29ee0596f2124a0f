// Creation, memory, streams, events, completion. Code and queued work: cuda_device_work.cc.
#include "wharf/device/cuda/cuda_device.h"

#include <algorithm>

#include "wharf/device/cuda/box.h"

namespace wharf::device {

absl::StatusOr<std::unique_ptr<Device>> MakeCudaDevice(const DeviceOptions& options) {
  return cuda::CudaDevice::Create(options, "libcuda.so.1");
}

namespace cuda {
namespace {
constexpr size_t kPinnedLimit = 512 << 20;
}

absl::StatusOr<std::unique_ptr<Device>> CudaDevice::Create(const DeviceOptions& options, const std::string& library) {
  WHARF_ASSIGN_OR_RETURN(const Driver* driver, LoadDriver(library));
  WHARF_ASSIGN_OR_RETURN(std::unique_ptr<Gpu> gpu, Gpu::Create(driver));
  std::unique_ptr<CudaDevice> device(new CudaDevice(options, std::move(gpu)));
  WHARF_RETURN_IF_ERROR(device->Start());
  return device;
}

CudaDevice::CudaDevice(const DeviceOptions& options, std::unique_ptr<Gpu> gpu)
    : options_(options),
      gpu_(std::move(gpu)),
      properties_(gpu_->Properties()),
      markers_(std::make_unique<EventPool>(gpu_.get(), kEventDisableTiming)),
      busy_(std::make_unique<BusyMeter>(gpu_.get())),
      pinned_(std::make_unique<PinnedPool>(gpu_.get(), kPinnedLimit)),
      completion_(std::make_unique<CompletionThread>(gpu_.get(), markers_.get(), [this] { DeliverOutput(); })) {
  properties_.total_memory = std::min(properties_.total_memory, options.memory_quota);
}

absl::Status CudaDevice::Start() {
  WHARF_RETURN_IF_ERROR(gpu_->Enter());
  WHARF_ASSIGN_OR_RETURN(memory_, MemoryMap::Create(gpu_.get(), properties_.total_memory, options_.arena_base));
  arrays_ = std::make_unique<DriverArrays>(gpu_.get(), properties_.total_memory);
  streams_[kDefaultStream] = {nullptr, ++last_serial_, 0};
  fill_stream_.serial = ++last_serial_;
  WHARF_RETURN_IF_ERROR(gpu_->Check((*gpu_)->StreamCreateWithPriority(&fill_stream_.handle, kStreamNonBlocking, 0),
                                    "cuStreamCreateWithPriority"));
  WHARF_ASSIGN_OR_RETURN(fence_, markers_->Get());
  return absl::OkStatus();
}

CudaDevice::~CudaDevice() {
  gpu_->Enter().IgnoreError();
  (*gpu_)->CtxSynchronize();  // a fault leaves nothing running either
  completion_->Stop();
  gpu_->Enter().IgnoreError();
  blas_.library.reset();
  dnn_.library.reset();
  fft_.library.reset();
  solver_.library.reset();
  solver_workspaces_.reset();
  for (const auto& [texture, array] : textures_) (*gpu_)->TexObjectDestroy(texture);
  for (const auto& [surface, array] : surfaces_) (*gpu_)->SurfObjectDestroy(surface);
  textures_.clear();
  surfaces_.clear();
  arrays_.reset();
  for (auto& [id, event] : events_) (*gpu_)->EventDestroy(event.handle);
  for (auto& [id, stream] : streams_) Destroy(stream);
  Destroy(fill_stream_);
  {
    absl::MutexLock lock(&shared_mutex_);
    for (auto& [serial, stream] : ending_) Destroy(stream);
    for (Stream& stream : borrowed_idle_) Destroy(stream);
    capture_.reset();
  }
  for (auto& [id, module] : modules_) {
    for (ModuleHandle handle : HandlesOf(module)) (*gpu_)->ModuleUnload(handle);
  }
  memory_.reset();
  pinned_.reset();
  busy_.reset();
  if (fence_ != nullptr) markers_->Put(fence_);
  completion_.reset();
  markers_.reset();
}

// --- memory ---

absl::Status CudaDevice::Map(DeviceAddress address, uint64_t size) {
  WHARF_RETURN_IF_ERROR(gpu_->Enter());
  WHARF_RETURN_IF_ERROR(gpu_->Fault());
  WHARF_ASSIGN_OR_RETURN(const MemoryMap::Mapped mapped, memory_->Map(address, size));
  return QueueAhead(mapped.reused, [&](StreamHandle stream) {
    return gpu_->Check((*gpu_)->MemsetD8Async(address, 0, size, stream), "cuMemsetD8Async");
  });
}

absl::Status CudaDevice::QueueAhead(bool after_all_work, const std::function<absl::Status(StreamHandle)>& queue) {
  if (after_all_work) {
    // Held until the markers are queued: until then the completion thread must not destroy a stream that is ending.
    absl::MutexLock lock(&shared_mutex_);
    std::vector<StreamHandle> handles;
    for (const auto& [id, stream] : streams_) handles.push_back(stream.handle);
    for (const auto& [serial, stream] : ending_) handles.push_back(stream.handle);
    WHARF_ASSIGN_OR_RETURN(const EventHandle marker, markers_->Get());
    absl::Status status;
    for (StreamHandle handle : handles) {
      if (status.ok()) status = gpu_->Check((*gpu_)->EventRecord(marker, handle), "cuEventRecord");
      if (status.ok()) {
        status = gpu_->Check((*gpu_)->StreamWaitEvent(fill_stream_.handle, marker, 0), "cuStreamWaitEvent");
      }
    }
    markers_->Put(marker);  // a wait keeps what the event meant when it was queued
    WHARF_RETURN_IF_ERROR(status);
  }
  WHARF_RETURN_IF_ERROR(queue(fill_stream_.handle));
  WHARF_RETURN_IF_ERROR(gpu_->Check((*gpu_)->EventRecord(fence_, fill_stream_.handle), "cuEventRecord"));
  ++fences_;
  return absl::OkStatus();
}

absl::Status CudaDevice::Unmap(DeviceAddress address) {
  WHARF_RETURN_IF_ERROR(gpu_->Enter());
  WHARF_ASSIGN_OR_RETURN(const MemoryMap::Ticket ticket, memory_->Retire(address));
  ++memory_version_;
  arrays_->Forget([this](DeviceAddress base, uint64_t bytes) { return memory_->IsMapped(base, bytes); });
  return AfterAll([this, ticket](const absl::Status&) {
    // Fails only once the context is lost, and then everything does.
    memory_->Release(ticket).IgnoreError();
  });
}

// --- streams and events ---

absl::StatusOr<CudaDevice::Stream*> CudaDevice::Use(StreamId id) {
  WHARF_RETURN_IF_ERROR(gpu_->Enter());
  WHARF_RETURN_IF_ERROR(gpu_->Fault());
  const auto it = streams_.find(id);
  if (it == streams_.end()) return CudaStatus(CudaError::kInvalidHandle, "no stream {}", id);
  Stream& stream = it->second;
  if (stream.fences_seen != fences_) {
    WHARF_RETURN_IF_ERROR(gpu_->Check((*gpu_)->StreamWaitEvent(stream.handle, fence_, 0), "cuStreamWaitEvent"));
    stream.fences_seen = fences_;
  }
  return &stream;
}

absl::Status CudaDevice::CreateStream(StreamId id, uint32_t flags, int32_t priority) {
  WHARF_RETURN_IF_ERROR(gpu_->Enter());
  if (streams_.contains(id)) return CudaStatus(CudaError::kInvalidValue, "stream {} exists already", id);
  Stream stream{nullptr, ++last_serial_, 0};
  WHARF_RETURN_IF_ERROR(
      gpu_->Check((*gpu_)->StreamCreateWithPriority(&stream.handle, flags & kStreamNonBlocking, priority),
                  "cuStreamCreateWithPriority"));
  streams_[id] = stream;
  return absl::OkStatus();
}

absl::Status CudaDevice::DestroyStream(StreamId id) {
  WHARF_RETURN_IF_ERROR(gpu_->Enter());
  const auto it = streams_.find(id);
  if (it == streams_.end() || id == kDefaultStream) return CudaStatus(CudaError::kInvalidHandle, "no stream {}", id);
  const Stream stream = it->second;
  streams_.erase(it);
  ++names_version_;
  {
    absl::MutexLock lock(&shared_mutex_);
    ending_[stream.serial] = stream;
  }
  return completion_->Add(stream.serial, stream.handle, [this, stream](const absl::Status& status) {
    if (absl::IsAborted(status)) return;  // the destructor does it
    absl::MutexLock lock(&shared_mutex_);
    ending_.erase(stream.serial);
    Destroy(stream);
  });
}

void CudaDevice::Destroy(const Stream& stream) {
  for (StreamHandle handle : {stream.capturing, stream.handle}) {
    if (handle != nullptr) (*gpu_)->StreamDestroy(handle);
  }
}

absl::StatusOr<CudaDevice::Event*> CudaDevice::FindEvent(EventId id) {
  WHARF_RETURN_IF_ERROR(gpu_->Enter());
  const auto it = events_.find(id);
  if (it == events_.end()) return CudaStatus(CudaError::kInvalidHandle, "no event {}", id);
  return &it->second;
}

absl::Status CudaDevice::CreateEvent(EventId id, uint32_t flags) {
  WHARF_RETURN_IF_ERROR(gpu_->Enter());
  if (events_.contains(id)) return CudaStatus(CudaError::kInvalidValue, "event {} exists already", id);
  Event event;
  event.timing = (flags & kEventDisableTiming) == 0;
  WHARF_RETURN_IF_ERROR(gpu_->Check(
      (*gpu_)->EventCreate(&event.handle, flags & (kEventBlockingSync | kEventDisableTiming)), "cuEventCreate"));
  events_[id] = event;
  return absl::OkStatus();
}

absl::Status CudaDevice::DestroyEvent(EventId id) {
  WHARF_ASSIGN_OR_RETURN(Event * event, FindEvent(id));
  absl::Status status = gpu_->Check((*gpu_)->EventDestroy(event->handle), "cuEventDestroy");
  events_.erase(id);
  return status;
}

absl::Status CudaDevice::RecordEvent(EventId id, StreamId stream_id) {
  WHARF_ASSIGN_OR_RETURN(Event * event, FindEvent(id));
  WHARF_ASSIGN_OR_RETURN(Stream * stream, Use(stream_id));
  WHARF_RETURN_IF_ERROR(gpu_->Check((*gpu_)->EventRecord(event->handle, stream->handle), "cuEventRecord"));
  event->recorded = true;
  return absl::OkStatus();
}

absl::Status CudaDevice::WaitEvent(StreamId stream_id, EventId id) {
  WHARF_ASSIGN_OR_RETURN(Event * event, FindEvent(id));
  WHARF_ASSIGN_OR_RETURN(Stream * stream, Use(stream_id));
  return gpu_->Check((*gpu_)->StreamWaitEvent(stream->handle, event->handle, 0), "cuStreamWaitEvent");
}

absl::StatusOr<bool> CudaDevice::EventDone(EventId id) {
  WHARF_ASSIGN_OR_RETURN(Event * event, FindEvent(id));
  const Result result = (*gpu_)->EventQuery(event->handle);
  if (result == kResultNotReady) return false;
  WHARF_RETURN_IF_ERROR(gpu_->Check(result, "cuEventQuery"));
  return true;
}

absl::StatusOr<bool> CudaDevice::StreamDone(StreamId id) {
  WHARF_ASSIGN_OR_RETURN(Stream * stream, Use(id));
  const Result result = (*gpu_)->StreamQuery(stream->handle);
  if (result == kResultNotReady) return false;
  WHARF_RETURN_IF_ERROR(gpu_->Check(result, "cuStreamQuery"));
  return true;
}

absl::StatusOr<float> CudaDevice::ElapsedMs(EventId start_id, EventId end_id) {
  WHARF_ASSIGN_OR_RETURN(Event * start, FindEvent(start_id));
  WHARF_ASSIGN_OR_RETURN(Event * end, FindEvent(end_id));
  if (!start->recorded || !end->recorded || !start->timing || !end->timing) {
    return CudaStatus(CudaError::kInvalidHandle, "an event was never recorded or takes no time");
  }
  float milliseconds = 0;
  WHARF_RETURN_IF_ERROR(
      gpu_->Check((*gpu_)->EventElapsedTime(&milliseconds, start->handle, end->handle), "cuEventElapsedTime"));
  return milliseconds;
}

// --- completion ---

absl::Status CudaDevice::Notify(StreamId id, Done done) {
  WHARF_RETURN_IF_ERROR(gpu_->Enter());
  const auto it = streams_.find(id);
  if (it == streams_.end()) return CudaStatus(CudaError::kInvalidHandle, "no stream {}", id);
  return completion_->Add(it->second.serial, it->second.handle, std::move(done));
}

absl::Status CudaDevice::AfterAll(Done then) {
  struct Join {
    absl::Mutex mutex;
    size_t left ABSL_GUARDED_BY(mutex);
    absl::Status status ABSL_GUARDED_BY(mutex);
    Done then;
  };
  // Held until markers are queued: until then the completion thread must not destroy a stream that is ending.
  absl::MutexLock lock(&shared_mutex_);
  std::vector<Stream> streams{fill_stream_};
  for (const auto& [id, stream] : streams_) streams.push_back(stream);
  for (const auto& [serial, stream] : ending_) streams.push_back(stream);
  auto join = std::make_shared<Join>();
  join->then = std::move(then);
  {
    absl::MutexLock join_lock(&join->mutex);
    join->left = streams.size();
  }
  auto arrive = [join](const absl::Status& status) {
    absl::Status all;
    {
      absl::MutexLock join_lock(&join->mutex);
      if (join->status.ok()) join->status = status;
      if (--join->left > 0) return;
      all = join->status;
    }
    join->then(all);
  };
  for (const Stream& stream : streams) {
    if (absl::Status added = completion_->Add(stream.serial, stream.handle, arrive); !added.ok()) {
      completion_->AddFinished([arrive, added](const absl::Status&) { arrive(added); });
    }
  }
  return absl::OkStatus();
}

absl::Status CudaDevice::NotifyAll(Done done) {
  WHARF_RETURN_IF_ERROR(gpu_->Enter());
  return AfterAll(std::move(done));
}

absl::StatusOr<CudaDevice::Stream> CudaDevice::BorrowStream() {
  {
    absl::MutexLock lock(&shared_mutex_);
    if (!borrowed_idle_.empty()) {
      const Stream stream = borrowed_idle_.back();
      borrowed_idle_.pop_back();
      return stream;
    }
  }
  Stream stream{nullptr, ++last_serial_, 0};
  WHARF_RETURN_IF_ERROR(gpu_->Check((*gpu_)->StreamCreateWithPriority(&stream.handle, kStreamNonBlocking, 0),
                                    "cuStreamCreateWithPriority"));
  return stream;
}

absl::Status CudaDevice::NotifyEvent(EventId id, Done done) {
  WHARF_ASSIGN_OR_RETURN(Event * event, FindEvent(id));
  if (!event->recorded || !gpu_->Fault().ok()) {
    completion_->AddFinished(std::move(done));
    return absl::OkStatus();
  }
  // The program may record the event anew: wait for what it means now on a stream of our own.
  WHARF_ASSIGN_OR_RETURN(const Stream waiter, BorrowStream());
  auto put_back = [this, waiter] {
    absl::MutexLock lock(&shared_mutex_);
    borrowed_idle_.push_back(waiter);
  };
  if (absl::Status waiting =
          gpu_->Check((*gpu_)->StreamWaitEvent(waiter.handle, event->handle, 0), "cuStreamWaitEvent");
      !waiting.ok()) {
    put_back();
    return waiting;
  }
  return completion_->Add(waiter.serial, waiter.handle, [put_back, done = std::move(done)](const absl::Status& status) {
    put_back();
    done(status);
  });
}

void CudaDevice::SetOutput(std::function<void(std::string)> output) {
  absl::MutexLock lock(&shared_mutex_);
  output_ = std::move(output);
  if (output_ == nullptr) {
    capture_.reset();
  } else if (capture_ == nullptr) {
    if (auto capture = OutputCapture::Start(); capture.ok()) capture_ = *std::move(capture);
  }
}

void CudaDevice::DeliverOutput() {
  absl::MutexLock lock(&shared_mutex_);
  if (capture_ == nullptr) return;
  if (std::string text = capture_->Drain(); !text.empty()) output_(std::move(text));
}

}  // namespace cuda
}  // namespace wharf::device
