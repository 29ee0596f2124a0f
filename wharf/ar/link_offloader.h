// LinkOffloader: a multitask client's way to an AR server over a connection. Pictures are encoded and sent on a thread
// of its own; a connection that is lost is opened again, and what was in flight is lost with it.
#pragma once

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "wharf/ar/connection.h"
#include "wharf/multitask/client.h"

namespace wharf::ar {

struct LinkOffloaderOptions {
  Hello hello;              // with the tasks below
  std::vector<Task> tasks;  // of the client, by their numbers there
  int jpeg_quality = 90;
  Nanoseconds timeout = std::chrono::seconds(5);             // for the server's Welcome
  Nanoseconds first_pause = std::chrono::milliseconds(100);  // before a connection is opened again; doubles up to 5 s
};
using Dial = std::function<absl::StatusOr<std::unique_ptr<link::ByteStream>>()>;

// For one thread, as Offloader.
class LinkOffloader final : public multitask::Offloader, private ConnectionListener {
 public:
  // Opens the first connection. Fails as `dial` and Connection::Open.
  static absl::StatusOr<std::unique_ptr<LinkOffloader>> Open(Dial dial, LinkOffloaderOptions options);
  ~LinkOffloader() override;

  // kUnavailable: there is no connection now.
  absl::Status Send(const multitask::FramePointer& frame, std::span<const int> tasks) override;
  std::optional<absl::StatusOr<multitask::Reply>> Poll() override;
  void Cancel() override;

 private:
  struct Asked {
    multitask::FramePointer frame;
    std::vector<int> tasks;
    bool sent = false;
    std::vector<std::optional<absl::StatusOr<multitask::AnswerPointer>>> answers;  // of the tasks, as they come
  };

  LinkOffloader(Dial dial, LinkOffloaderOptions options) : dial_(std::move(dial)), options_(std::move(options)) {}
  void OnResult(Task task, int64_t frame, std::vector<std::byte> found) override;
  void OnFailed(Task task, int64_t frame, const absl::Status& why) override;
  void OnSchedule(std::vector<int64_t>, int) override {}
  void OnClosed(const absl::Status& why) override;

  void Keep(Task task, int64_t frame, absl::StatusOr<multitask::AnswerPointer> answer);
  absl::StatusOr<multitask::AnswerPointer> Decode(Task task, std::vector<std::byte> found) const;
  absl::Status Connect();
  void Loop();
  void SendAsked();

  const Dial dial_;
  const LinkOffloaderOptions options_;
  absl::Mutex mutex_;
  std::optional<Asked> asked_ ABSL_GUARDED_BY(mutex_);
  absl::Status lost_ ABSL_GUARDED_BY(mutex_) = absl::UnavailableError("not connected yet");  // OK while connected
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::unique_ptr<Connection> connection_;  // of Open, then of the thread
  std::thread thread_;
};

}  // namespace wharf::ar
