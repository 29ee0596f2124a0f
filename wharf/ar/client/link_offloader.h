// LinkOffloader: a multitask client's way to AR servers. What is in flight when a connection is lost is lost with it.
#pragma once

#include <memory>
#include <vector>

#include "wharf/ar/client/uplink.h"
#include "wharf/multitask/client.h"

namespace wharf::ar {

// For one thread, as Offloader.
class LinkOffloader final : public multitask::Offloader, private ConnectionListener {
 public:
  // `tasks`: of the client, by their numbers there; the Hello names them as well. Opens the first connection; fails as
  // Uplink::Open.
  static absl::StatusOr<std::unique_ptr<LinkOffloader>> Open(Dial dial, UplinkOptions options, std::vector<Task> tasks);

  // kUnavailable: there is no connection now.
  absl::Status Send(const multitask::FramePointer& frame, std::span<const int> tasks) override;
  std::optional<absl::StatusOr<multitask::Reply>> Poll() override;
  void Cancel() override;

  UplinkState State() const { return uplink_->State(); }

 private:
  struct Asked {
    multitask::FramePointer frame;
    std::vector<int> tasks;
    std::vector<std::optional<absl::StatusOr<multitask::AnswerPointer>>> answers;  // of the tasks, as they come
    absl::Status lost;
  };

  LinkOffloader(const Hello& hello, std::vector<Task> tasks) : hello_(hello), tasks_(std::move(tasks)) {}
  void OnResult(const Result& result, int64_t frame, std::vector<std::byte> found) override;
  void OnFailed(Task task, int64_t frame, const absl::Status& why) override;
  void OnClosed(const absl::Status& why) override;

  void Keep(Task task, int64_t frame, absl::StatusOr<multitask::AnswerPointer> answer);
  absl::StatusOr<multitask::AnswerPointer> Decode(Task task, std::vector<std::byte> found) const;

  const Hello hello_;
  const std::vector<Task> tasks_;
  absl::Mutex mutex_;
  std::optional<Asked> asked_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Uplink> uplink_;  // first to go
};

}  // namespace wharf::ar
