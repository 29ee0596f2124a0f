// SessionRegistry: which sessions the daemon's workers serve, and the rules for them: how many there may be, who may
// come back to one, and which makes room for another. It starts and tells nobody: it knows a worker by its process id
// only.
//
// A connection is given to a worker under a session's number of its own. The worker's handshake ends in one of three
// ways: the session is opened there; the connection is passed on, to another worker that has the session it asks for or
// that serves models; or the worker ends.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "wharf/base/clock.h"
#include "wharf/link/resume/resume_opening.h"
#include "wharf/server/front/handshakes.h"
#include "wharf/server/process/control.h"

namespace wharf::server {

enum class SessionState {
  kHandshake,
  kOpen,
  kEvicted,    // was open and is ending: its place is another's
  kPassedOn,   // the connection belongs to another worker's session
  kTurnedAway  // its handshake took too long while others came
};

struct Session {
  uint64_t number = 0;
  pid_t worker = 0;
  SessionState state = SessionState::kHandshake;
  bool runs_models = false;                   // a split session
  std::optional<link::ResumeKey> resume_key;  // of a split session: by which its client may come back
  uint32_t share_slot = kNoShareSlot;
  std::optional<TimePoint> waiting_since;  // for its client to come back
};

struct SessionCounts {
  uint64_t opened = 0, closed = 0;
  uint64_t resumed = 0;  // connections that were passed on to their session
};

// Pointers that it returns hold until the worker's End. Not thread-safe.
class SessionRegistry {
 public:
  explicit SessionRegistry(int max_open, const Clock& clock = Clock::Real()) : max_open_(max_open), clock_(clock) {}

  // Of a session; none is given twice.
  uint64_t NewNumber() { return ++last_number_; }
  // A worker was given a connection; `handshake` is under way until it is known what becomes of it.
  // REQUIRES: the worker has none.
  void Begin(pid_t worker, uint64_t number, uint32_t share_slot, Handshake handshake);
  // The worker has ended, or was never given what it was to be. Its last state; nothing if it had no session.
  std::optional<Session> End(pid_t worker);

  // What `from` was given was given to `to` instead, which has none. Nothing if it had none either.
  void Move(pid_t from, pid_t to);

  // Null: it has none.
  const Session* Find(pid_t worker) const;
  bool InHandshake(pid_t worker) const;
  // The session of this number, if its handshake is under way.
  const Session* FindHandshake(uint64_t number) const;
  size_t Open() const;
  bool HasRoom() const { return Open() < static_cast<size_t>(max_open_); }
  const SessionCounts& Counts() const { return counts_; }
  template <typename Visit>
  void ForEachOpen(const Visit& visit) const {
    for (const auto& [worker, entry] : entries_) {
      if (entry.session.state == SessionState::kOpen) visit(entry.session);
    }
  }

  // The handshake's client is let in. REQUIRES: InHandshake(worker).
  void Admit(pid_t worker);
  // The handshake's client wants models: its session, with its number and its share, is opened in the worker
  // `model_worker`; `worker` keeps the connection only to relay it. REQUIRES: InHandshake(worker).
  void AdmitToModels(pid_t worker, pid_t model_worker, const link::ResumeKey& key);

  // The worker to which a connection that resumes session `number` may be passed on: it has the session, whose
  // client's secret it will check itself. Null: there is none, or only `asking`.
  const Session* FindToResume(uint64_t number, pid_t asking) const;
  // The same of a split session, whose secret is checked here: the daemon made it.
  const Session* FindModelsToResume(uint64_t number, const std::array<std::byte, 16>& secret) const;
  // The handshake's connection was passed on to such a worker. REQUIRES: InHandshake(worker).
  void PassOn(pid_t worker);

  // The handshake leads to nothing: its worker is being ended. REQUIRES: InHandshake(worker).
  void TurnAway(pid_t worker);

  // The session's connection is gone, or back.
  void SetWaiting(pid_t worker, bool waiting);
  // Whoever is here comes before whoever may come back: the session that has waited longest. Null: none waits.
  const Session* LongestWaiting() const;
  // It counts no more. REQUIRES: open.
  void Evict(pid_t worker);

 private:
  struct Entry {
    Session session;
    Handshake handshake;
  };
  Entry& EndHandshake(pid_t worker);

  const int max_open_;
  const Clock& clock_;
  uint64_t last_number_ = 0;
  std::map<pid_t, Entry> entries_;
  SessionCounts counts_;
};

}  // namespace wharf::server
