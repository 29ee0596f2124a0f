// Uplink: an AR client's way to servers, over one connection at a time. Pictures are encoded and sent on a thread of
// its own. A connection that is lost is opened again; a client that is handed over goes to another server.
//
// Redirects are bounded: until it is settled somewhere, a client tries no server twice. One that all servers send on
// stays at the last of them.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "wharf/ar/connection.h"
#include "wharf/link/connect_again.h"

namespace wharf::ar {

// Of a server, HOST:PORT.
using Dial = std::function<absl::StatusOr<std::unique_ptr<link::ByteStream>>(const std::string& server)>;
using FramePointer = std::shared_ptr<const scene::Frame>;

struct UplinkOptions {
  Hello hello;
  std::string token;   // "": none; proved to whatever server it is sent to
  std::string server;  // to begin with
  int jpeg_quality = 90;
  Nanoseconds timeout = std::chrono::seconds(5);             // for a server's Welcome
  Nanoseconds opening = link::kFirstWay;                     // how long the first connection is tried
  Nanoseconds first_pause = std::chrono::milliseconds(100);  // before a connection is opened again; doubles up to 5 s
};

struct UplinkState {
  std::string server;  // where it is, or is trying to get
  bool connected = false;
  int redirects = 0;      // to servers that let it in
  bool nowhere = false;   // it was sent on from here, but only to servers it has tried
  std::string last_lost;  // why the last connection ended; "" if none has
};

// Thread-safe.
class Uplink final : private ConnectionListener {
 public:
  // Opens the first connection: link::TryAgain. Fails as `dial` and Connection::Open. The listener, which must outlive
  // it, hears OnClosed of every connection that is lost, and OnWelcome of the next.
  static absl::StatusOr<std::unique_ptr<Uplink>> Open(Dial dial, UplinkOptions options, ConnectionListener& listener);
  ~Uplink() override;

  // Puts it on its way; waits for nothing. kUnavailable: there is no connection now. kResourceExhausted: the link is
  // slower than the pictures.
  absl::Status Send(FramePointer frame, uint8_t tasks);
  // In place of a report that has not left yet.
  void Tell(const Report& report);
  // The server does what it is there for: others may be tried again should it send the client away.
  void Settle();
  UplinkState State() const;

 private:
  struct Outgoing {
    FramePointer frame;
    uint8_t tasks = 0;
  };

  Uplink(Dial dial, UplinkOptions options, ConnectionListener& listener)
      : dial_(std::move(dial)), options_(std::move(options)), listener_(listener), tried_{options_.server} {
    state_.server = options_.server;
  }
  // What a connection says that is given up already is not passed on.
  bool Hears() const;
  void OnWelcome(const Welcome& welcome) override;
  void OnResult(const Result& result, int64_t frame, std::vector<std::byte> found) override;
  void OnFailed(Task task, int64_t frame, const absl::Status& why) override;
  void OnSchedule(serving::ClientPlan plan, bool served, const std::string& why) override;
  void OnRedirect(std::vector<std::string> servers) override;
  void OnClosed(const absl::Status& why) override;

  absl::Status Connect(const std::string& server);
  // Where it is sent, where it was, where it began: at the first that lets it in.
  bool Reconnect();
  void Loop();
  void SendNext();

  const Dial dial_;
  const UplinkOptions options_;
  ConnectionListener& listener_;
  mutable absl::Mutex mutex_;
  std::deque<Outgoing> pictures_ ABSL_GUARDED_BY(mutex_);  // a few
  std::optional<Report> report_ ABSL_GUARDED_BY(mutex_);
  absl::Status lost_ ABSL_GUARDED_BY(mutex_) = absl::UnavailableError("not connected yet");  // OK while connected
  std::deque<std::string> sent_to_ ABSL_GUARDED_BY(mutex_);                                  // by the last redirect
  std::set<std::string> tried_ ABSL_GUARDED_BY(mutex_);                                      // since it was settled
  UplinkState state_ ABSL_GUARDED_BY(mutex_);
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::unique_ptr<Connection> connection_;  // of Open, then of the thread
  std::thread thread_;
};

}  // namespace wharf::ar
