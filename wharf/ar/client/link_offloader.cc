#include "wharf/ar/client/link_offloader.h"

#include <algorithm>
#include <utility>

#include "wharf/ar/client/model_answer.h"
#include "wharf/ar/result_coding.h"
#include "wharf/multitask/tasks/boxes_task.h"
#include "wharf/multitask/tasks/depth_task.h"
#include "wharf/multitask/tasks/odometry_task.h"

namespace wharf::ar {

absl::StatusOr<std::unique_ptr<LinkOffloader>> LinkOffloader::Open(Dial dial, UplinkOptions options,
                                                                   std::vector<Task> tasks) {
  for (const Task task : tasks) options.hello.tasks |= static_cast<uint8_t>(1 << static_cast<int>(task));
  std::unique_ptr<LinkOffloader> offloader(new LinkOffloader(options.hello, std::move(tasks)));
  WHARF_ASSIGN_OR_RETURN(offloader->uplink_, Uplink::Open(std::move(dial), std::move(options), *offloader));
  return offloader;
}

absl::Status LinkOffloader::Send(const multitask::FramePointer& frame, std::span<const int> tasks) {
  uint8_t bits = 0;
  for (const int task : tasks) bits |= static_cast<uint8_t>(1 << static_cast<int>(tasks_[task]));
  {
    absl::MutexLock lock(&mutex_);  // before its answer can come
    asked_ = Asked{frame, {tasks.begin(), tasks.end()}, {}, {}};
    asked_->answers.resize(tasks.size());
  }
  const absl::Status sent = uplink_->Send(frame, bits);
  if (!sent.ok()) Cancel();
  return sent;
}

std::optional<absl::StatusOr<multitask::Reply>> LinkOffloader::Poll() {
  absl::MutexLock lock(&mutex_);
  if (!asked_) return std::nullopt;
  if (!asked_->lost.ok()) {
    const absl::Status lost = asked_->lost;
    asked_.reset();
    return lost;
  }
  if (!std::ranges::all_of(asked_->answers, [](const auto& answer) { return answer.has_value(); })) return std::nullopt;
  uplink_->Settle();
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
    if (tasks_[asked_->tasks[i]] == task) asked_->answers[i] = std::move(answer);
  }
}

void LinkOffloader::OnResult(const Result& result, int64_t frame, std::vector<std::byte> found) {
  Keep(result.task, frame, Decode(result.task, std::move(found)));
}

void LinkOffloader::OnFailed(Task task, int64_t frame, const absl::Status& why) { Keep(task, frame, why); }

void LinkOffloader::OnClosed(const absl::Status& why) {
  absl::MutexLock lock(&mutex_);
  if (asked_) asked_->lost = why;
}

absl::StatusOr<multitask::AnswerPointer> LinkOffloader::Decode(Task task, std::vector<std::byte> found) const {
  switch (task) {
    case Task::kDepth: {
      WHARF_ASSIGN_OR_RETURN(scene::DepthMap depth,
                             DecodeDepth(std::move(found), hello_.depth_coding, hello_.width, hello_.height));
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
  if (task < ModelTaskAt(0) || task >= ModelTaskAt(kMostModels))
    return InvalidArgument("the server answers for an unknown task");
  auto answer = std::make_shared<ModelAnswer>();
  WHARF_ASSIGN_OR_RETURN(answer->outputs, DecodeOutputs(found));
  return answer;
}

}  // namespace wharf::ar
