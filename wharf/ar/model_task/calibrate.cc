#include "wharf/ar/model_task/calibrate.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "wharf/ar/connection.h"
#include "wharf/ar/result_coding.h"
#include "wharf/base/status.h"
#include "wharf/track/median.h"

namespace wharf::ar {
namespace {

constexpr double kFramesPerS = 120;                                // the most that servers look at
constexpr Nanoseconds kPause = std::chrono::milliseconds(10);      // between two pictures: below that rate
constexpr Nanoseconds kPatience = std::chrono::seconds(60);        // for an answer
constexpr Nanoseconds kWelcomeTimeout = std::chrono::seconds(10);  // to be let in

// A server's answers, one picture at a time.
class Asker final : private ConnectionListener {
 public:
  static absl::StatusOr<std::unique_ptr<Asker>> Open(const CalibrateOptions& options, const scene::Intrinsics& camera) {
    std::unique_ptr<Asker> asker(new Asker(options.jpeg_quality));
    Hello hello;
    hello.tasks = kBit;
    hello.models = options.task;
    hello.frames_per_s = kFramesPerS;
    SetCamera(camera, hello);
    WHARF_ASSIGN_OR_RETURN(auto stream, options.dial(options.server));
    WHARF_ASSIGN_OR_RETURN(asker->connection_,
                           Connection::Open(std::move(stream), hello, options.token, *asker, kWelcomeTimeout));
    return asker;
  }

  struct Answer {
    absl::StatusOr<Outputs> outputs;  // or why there are none for this picture
    double took_ms = 0;
  };
  // Fails where the connection does.
  absl::StatusOr<Answer> Ask(const scene::Image& picture) {
    const int64_t number = ++asked_;
    Clock::Real().SleepFor(kPause);
    const TimePoint sent = Clock::Real().Now();
    WHARF_RETURN_IF_ERROR(connection_->Send(number, kBit, picture, quality_));
    const auto heard = [this, number]()
                           ABSL_NO_THREAD_SAFETY_ANALYSIS { return heard_number_ == number || !closed_.ok(); };
    const absl::MutexLock lock(&mutex_);
    mutex_.AwaitWithTimeout(absl::Condition(&heard), absl::Nanoseconds(kPatience.count()));
    if (heard_number_ == number) return Answer{std::move(heard_), Milliseconds(Clock::Real().Now() - sent)};
    if (!closed_.ok()) return closed_;
    return DeadlineExceeded("the server has not answered for {} s",
                            std::chrono::duration_cast<std::chrono::seconds>(kPatience).count());
  }

 private:
  static constexpr uint8_t kBit = 1 << kTasks;

  explicit Asker(int quality) : quality_(quality) {}
  void OnResult(const Result&, int64_t number, std::vector<std::byte> found) override {
    Keep(number, DecodeOutputs(found));
  }
  void OnFailed(Task, int64_t number, const absl::Status& why) override { Keep(number, why); }
  void OnClosed(const absl::Status& why) override {
    const absl::MutexLock lock(&mutex_);
    closed_ = why.ok() ? Unavailable("the server has closed the connection") : why;
  }
  void Keep(int64_t number, absl::StatusOr<Outputs> outputs) {
    const absl::MutexLock lock(&mutex_);
    heard_number_ = number;
    heard_ = std::move(outputs);
  }

  const int quality_;
  int64_t asked_ = 0;
  absl::Mutex mutex_;
  int64_t heard_number_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::StatusOr<Outputs> heard_ ABSL_GUARDED_BY(mutex_) = Outputs();
  absl::Status closed_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Connection> connection_;  // first to go
};

struct Sample {
  size_t video = 0;
  int stride = 0;
  double tracked = 0, held = 0;
};

// Of `samples` that count.
template <typename Counts>
std::vector<TrackedLoss> MeansOf(const std::vector<Sample>& samples, const std::vector<int>& strides,
                                 const Counts& counts) {
  std::vector<TrackedLoss> means;
  for (const int stride : strides) {
    TrackedLoss mean{.stride = stride};
    for (const Sample& sample : samples) {
      if (sample.stride != stride || !counts(sample)) continue;
      ++mean.samples;
      mean.tracked += (sample.tracked - mean.tracked) / mean.samples;
      mean.held += (sample.held - mean.held) / mean.samples;
    }
    if (mean.samples > 0) means.push_back(mean);
  }
  return means;
}

absl::StatusOr<PowerLaw> Fit(const std::vector<TrackedLoss>& means) {
  std::vector<LossAtStride> losses;
  for (const TrackedLoss& mean : means)
    losses.push_back({static_cast<double>(mean.stride), mean.tracked, static_cast<double>(mean.samples)});
  return FitPowerLaw(losses);
}

class Calibrator {
 public:
  Calibrator(AnyTracker& tracker, const CalibrateOptions& options) : tracker_(tracker), options_(options) {
    std::ranges::sort(options_.strides);
    const auto same = std::ranges::unique(options_.strides);
    options_.strides.erase(same.begin(), same.end());
  }

  absl::StatusOr<CalibrationReport> Run(std::span<const std::unique_ptr<scene::Source>> videos) {
    WHARF_RETURN_IF_ERROR(Check(videos));
    WHARF_ASSIGN_OR_RETURN(asker_, Asker::Open(options_, videos[0]->Camera()));
    for (size_t i = 0; i < videos.size(); ++i) WHARF_RETURN_IF_ERROR(Watch(i, *videos[i]));
    return Learn(videos.size());
  }

 private:
  // Tracking from one frame on.
  struct Start {
    int64_t number = 0;  // of its frame in the video
    AnyResult answer;
    FramePointer tracked_to;
    AnyResult tracked;
  };

  absl::Status Check(std::span<const std::unique_ptr<scene::Source>> videos) const {
    if (videos.empty()) return InvalidArgument("there are no videos to calibrate on");
    WHARF_RETURN_IF_ERROR(CheckModelName(options_.task));
    if (options_.strides.size() < 2 || options_.strides[0] < 1)
      return InvalidArgument("strides must be two or more, of 1 frame or more");
    if (options_.every < 1 || options_.latency_frames < 1)
      return InvalidArgument("starts and answers are 1 frame apart at least");
    const scene::Intrinsics first = videos[0]->Camera();
    for (const auto& video : videos) {
      const scene::Intrinsics camera = video->Camera();
      if (camera.width != first.width || camera.height != first.height)
        return InvalidArgument("videos of {} x {} and of {} x {}: a client's pictures have one size", first.width,
                               first.height, camera.width, camera.height);
    }
    return absl::OkStatus();
  }

  absl::Status Watch(size_t video, scene::Source& source) {
    std::deque<Start> starts;
    for (int64_t number = 0;; ++number) {
      WHARF_ASSIGN_OR_RETURN(std::optional<scene::Frame> next, source.Next());
      if (!next) return absl::OkStatus();
      ++report_.frames;
      const auto frame = std::make_shared<const scene::Frame>(*std::move(next));
      answer_.reset();
      if (!starts.empty() && number - starts.front().number > options_.strides.back()) starts.pop_front();
      for (Start& start : starts) {
        const auto stride = static_cast<int>(number - start.number);
        const bool measured = std::ranges::binary_search(options_.strides, stride);
        const AnyResult tracked = TrackedTo(start, frame, stride, measured);
        if (measured) WHARF_RETURN_IF_ERROR(Measure(video, start, tracked, stride, frame));
      }
      if (number % options_.every != 0) continue;
      WHARF_ASSIGN_OR_RETURN(const AnyResult answer, AnswerTo(frame));
      if (answer == nullptr) continue;
      starts.push_back({number, answer, frame, answer});
      MeasureLocally(*frame, answer);
    }
  }

  // As a client has it: from the answer in one step to the frame in which that has come, then frame by frame. A frame
  // that the tracker cannot follow to shows the result before.
  AnyResult TrackedTo(Start& start, const FramePointer& frame, int stride, bool wanted) const {
    if (stride < options_.latency_frames && !wanted) return nullptr;
    const auto result = tracker_.TrackAny(start.tracked, *start.tracked_to, *frame);
    if (!result.ok()) return start.tracked;
    if (stride < options_.latency_frames) return *result;
    start.tracked = *result;
    start.tracked_to = frame;
    return *result;
  }

  absl::Status Measure(size_t video, const Start& start, const AnyResult& tracked, int stride,
                       const FramePointer& frame) {
    WHARF_ASSIGN_OR_RETURN(const AnyResult answer, AnswerTo(frame));
    if (answer == nullptr) return absl::OkStatus();
    const Sample sample{video, stride, tracker_.LossAny(tracked, answer), tracker_.LossAny(start.answer, answer)};
    for (const double loss : {sample.tracked, sample.held}) {
      if (!std::isfinite(loss) || loss < 0)
        return InvalidArgument("the tracker says that {:g} is lost at stride {}: from 0 on it can be", loss, stride);
    }
    samples_.push_back(sample);
    return absl::OkStatus();
  }

  void MeasureLocally(const scene::Frame& frame, const AnyResult& answer) {
    if (!tracker_.HasLocalAlgorithm()) return;
    const auto local = tracker_.RunAnyLocally(frame);
    if (!local.ok()) return;
    const double loss = tracker_.LossAny(*local, answer);
    if (std::isfinite(loss) && loss >= 0) local_losses_.push_back(loss);
  }

  // The model's of this frame, which is asked for once; nullptr if there is none.
  absl::StatusOr<AnyResult> AnswerTo(const FramePointer& frame) {
    if (answer_.has_value()) return *answer_;
    ++report_.asked;
    WHARF_ASSIGN_OR_RETURN(Asker::Answer said, asker_->Ask(frame->image));
    answer_ = nullptr;
    if (said.outputs.ok()) {
      latencies_ms_.push_back(said.took_ms);
      auto read = tracker_.ReadAny(*said.outputs, *frame);
      if (read.ok()) answer_ = *std::move(read);
      why_refused_ = read.status();
    } else {
      why_refused_ = said.outputs.status();
    }
    if (*answer_ == nullptr) ++report_.refused;
    return *answer_;
  }

  absl::StatusOr<CalibrationReport> Learn(size_t videos) {
    report_.losses = MeansOf(samples_, options_.strides, [](const Sample&) { return true; });
    if (report_.losses.size() < 2) {
      if (report_.refused == report_.asked && report_.asked > 0) return why_refused_;
      return FailedPrecondition("{} frames are too few: {} strides of {} could be measured", report_.frames,
                                report_.losses.size(), options_.strides.size());
    }
    WHARF_ASSIGN_OR_RETURN(const PowerLaw law, Fit(report_.losses));
    TaskCalibration& calibration = report_.calibration;
    calibration = {.task = options_.task, .source = options_.source, .rate = law.rate, .exponent = law.exponent};
    calibration.offload_ms = track::Median(latencies_ms_);
    if (!local_losses_.empty())
      calibration.local_drop =
          std::accumulate(local_losses_.begin(), local_losses_.end(), 0.0) / static_cast<double>(local_losses_.size());
    report_.held_out_error = HeldOutError(videos);
    return std::move(report_);
  }

  // Every video by the curve that the others give.
  std::optional<double> HeldOutError(size_t videos) const {
    double error = 0, lost = 0;
    for (size_t video = 0; video < videos; ++video) {
      const auto law =
          Fit(MeansOf(samples_, options_.strides, [&](const Sample& sample) { return sample.video != video; }));
      if (!law.ok()) return std::nullopt;
      for (const TrackedLoss& mean :
           MeansOf(samples_, options_.strides, [&](const Sample& sample) { return sample.video == video; })) {
        error += mean.samples * std::abs(mean.tracked - law->At(mean.stride));
        lost += mean.samples * mean.tracked;
      }
    }
    if (lost == 0) return std::nullopt;
    return error / lost;
  }

  AnyTracker& tracker_;
  CalibrateOptions options_;
  std::unique_ptr<Asker> asker_;
  std::optional<AnyResult> answer_;  // to the frame at hand, once it was needed
  absl::Status why_refused_;
  std::vector<Sample> samples_;
  std::vector<double> local_losses_, latencies_ms_;
  CalibrationReport report_;
};

}  // namespace

std::string CalibrationReport::Text() const {
  std::string text =
      fmt::format("{:>6} {:>8} {:>10} {:>10} {:>10}\n", "stride", "samples", "tracked", "the curve", "held");
  for (const TrackedLoss& loss : losses) {
    text += fmt::format("{:>6} {:>8} {:>10.4f} {:>10.4f} {:>10.4f}\n", loss.stride, loss.samples, loss.tracked,
                        calibration.DropAt(loss.stride), loss.held);
  }
  text += fmt::format("{} loses {:.4f} * stride^{:.2f}", calibration.task, calibration.rate, calibration.exponent);
  if (held_out_error)
    text += fmt::format("; on videos left out the curve is off by {:.0f} % of what is lost", 100 * *held_out_error);
  text += fmt::format("\n{} frames, {} answers in {:.1f} ms each (median)", frames, asked - refused,
                      calibration.offload_ms);
  if (refused > 0) text += fmt::format(", {} refused", refused);
  if (std::isfinite(calibration.local_drop))
    text += fmt::format("; the local algorithm loses {:.4f}", calibration.local_drop);
  return text + "\n";
}

absl::StatusOr<CalibrationReport> Calibrate(AnyTracker& tracker, std::span<const std::unique_ptr<scene::Source>> videos,
                                            const CalibrateOptions& options) {
  return Calibrator(tracker, options).Run(videos);
}

}  // namespace wharf::ar
