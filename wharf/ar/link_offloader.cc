#include "wharf/ar/link_offloader.h"

#include <algorithm>
#include <utility>

#include "absl/time/time.h"
#include "wharf/ar/result_coding.h"
#include "wharf/base/log.h"
#include "wharf/multitask/tasks/boxes_task.h"
#include "wharf/multitask/tasks/depth_task.h"
#include "wharf/multitask/tasks/odometry_task.h"

namespace wharf::ar {
namespace {

constexpr Nanoseconds kLongestPause = std::chrono::seconds(5);

}  // namespace

absl::StatusOr<std::unique_ptr<LinkOffloader>> LinkOffloader::Open(Dial dial, LinkOffloaderOptions options) {
  for (const Task task : options.tasks) options.hello.tasks |= static_cast<uint8_t>(1 << static_cast<int>(task));
  std::unique_ptr<LinkOffloader> offloader(new LinkOffloader(std::move(dial), std::move(options)));
  WHARF_RETURN_IF_ERROR(offloader->Connect());
  offloader->thread_ = std::thread([raw = offloader.get()] { raw->Loop(); });
  return offloader;
}

LinkOffloader::~LinkOffloader() {
  {
    absl::MutexLock lock(&mutex_);
    ending_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

absl::Status LinkOffloader::Connect() {
  WHARF_ASSIGN_OR_RETURN(std::unique_ptr<link::ByteStream> stream, dial_());
  {
    absl::MutexLock lock(&mutex_);
    lost_ = absl::OkStatus();  // before anything can be heard of the new one
  }
  auto connection = Connection::Open(std::move(stream), options_.hello, *this, options_.timeout);
  absl::MutexLock lock(&mutex_);
  if (connection.ok()) {
    connection_ = *std::move(connection);
  } else {
    lost_ = connection.status();
  }
  return connection.status();
}

absl::Status LinkOffloader::Send(const multitask::FramePointer& frame, std::span<const int> tasks) {
  absl::MutexLock lock(&mutex_);
  if (!lost_.ok()) return Unavailable("not connected: {}", Message(lost_));
  asked_ = Asked{frame, {tasks.begin(), tasks.end()}, false, {}};
  asked_->answers.resize(tasks.size());
  return absl::OkStatus();
}

std::optional<absl::StatusOr<multitask::Reply>> LinkOffloader::Poll() {
  absl::MutexLock lock(&mutex_);
  if (!asked_) return std::nullopt;
  if (!lost_.ok()) {
    asked_.reset();
    return lost_;
  }
  if (!std::ranges::all_of(asked_->answers, [](const auto& answer) { return answer.has_value(); })) return std::nullopt;
  multitask::Reply reply{.frame = asked_->frame->index, .answers = {}};
  for (auto& answer : asked_->answers) reply.answers.push_back(*std::move(answer));
  asked_.reset();
  return reply;
}

void LinkOffloader::Cancel() {
  absl::MutexLock lock(&mutex_);
  asked_.reset();
}

void LinkOffloader::Keep(Task task, int64_t frame, absl::StatusOr<multitask::AnswerPointer> answer) {
  absl::MutexLock lock(&mutex_);
  if (!asked_ || asked_->frame->index != frame) return;  // given up
  for (size_t i = 0; i < asked_->tasks.size(); ++i) {
    if (options_.tasks[asked_->tasks[i]] == task) asked_->answers[i] = std::move(answer);
  }
}

void LinkOffloader::OnResult(Task task, int64_t frame, std::vector<std::byte> found) {
  Keep(task, frame, Decode(task, std::move(found)));
}

void LinkOffloader::OnFailed(Task task, int64_t frame, const absl::Status& why) { Keep(task, frame, why); }

void LinkOffloader::OnClosed(const absl::Status& why) {
  absl::MutexLock lock(&mutex_);
  lost_ = why;
}

absl::StatusOr<multitask::AnswerPointer> LinkOffloader::Decode(Task task, std::vector<std::byte> found) const {
  switch (task) {
    case Task::kDepth: {
      WHARF_ASSIGN_OR_RETURN(scene::DepthMap depth, DecodeDepth(std::move(found), options_.hello.depth_coding,
                                                                options_.hello.width, options_.hello.height));
      auto answer = std::make_shared<multitask::DepthAnswer>();
      answer->depth = std::make_shared<const scene::DepthMap>(std::move(depth));
      return answer;
    }
    case Task::kOdometry: {
      auto answer = std::make_shared<multitask::OdometryAnswer>();
      if (found.empty()) return answer;  // the first picture
      WHARF_ASSIGN_OR_RETURN(const Motion motion, DecodeMotion(found));
      answer->measured = {motion.from, motion.estimate};
      return answer;
    }
    case Task::kBoxes: {
      auto answer = std::make_shared<multitask::BoxesAnswer>();
      WHARF_ASSIGN_OR_RETURN(answer->boxes, DecodeBoxes(found));
      return answer;
    }
  }
  return InvalidArgument("the server answers for an unknown task");
}

void LinkOffloader::SendAsked() {
  multitask::FramePointer frame;
  uint8_t tasks = 0;
  {
    absl::MutexLock lock(&mutex_);
    if (!asked_ || asked_->sent) return;
    asked_->sent = true;
    frame = asked_->frame;
    for (const int task : asked_->tasks) tasks |= static_cast<uint8_t>(1 << static_cast<int>(options_.tasks[task]));
  }
  const absl::Status sent = connection_->Send(frame->index, tasks, frame->image, options_.jpeg_quality);
  if (!sent.ok()) OnClosed(sent);
}

void LinkOffloader::Loop() {
  const auto work = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return ending_ || !lost_.ok() || (asked_.has_value() && !asked_->sent);
  };
  Nanoseconds pause = options_.first_pause;
  for (;;) {
    bool connected = false;
    {
      absl::MutexLock lock(&mutex_, absl::Condition(&work));
      if (ending_) break;
      connected = lost_.ok();
    }
    if (connected) {
      SendAsked();
      pause = options_.first_pause;
      continue;
    }
    connection_.reset();
    if (Connect().ok()) continue;
    absl::MutexLock lock(&mutex_);
    mutex_.AwaitWithTimeout(absl::Condition(&ending_), absl::FromChrono(pause));
    pause = std::min(2 * pause, kLongestPause);
  }
  connection_.reset();
}

}  // namespace wharf::ar
