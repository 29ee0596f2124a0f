// Membership: which workers there are. Workers join and are members as long as they live; whoever serves watches.
//
//   WHARF_ASSIGN_OR_RETURN(const auto registration, membership->Join({"rack1-a", "fast", "10.0.0.7:7090"}));
//   ...
//   View view;
//   for (;;) view = membership->Await(view.version, std::chrono::seconds(1));
//
// etcd_membership.h has the one that machines share; MemoryMembership is within a process.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "wharf/base/clock.h"
#include "wharf/base/status.h"

namespace wharf::pipeline {

struct Member {
  std::string name;       // unique among the members
  std::string gpu_class;  // as plans and profiles call it
  std::string address;    // where it listens
  int gpus = 1;           // of that class, on the one host that it is
  friend bool operator==(const Member&, const Member&) = default;
};

// kInvalidArgument: a name, class or address that is empty, longer than 200 bytes, or has characters other than
// letters, digits and ._-:[]/ ; a name has no slash; or not 1 to 64 GPUs.
absl::Status Check(const Member& member);

struct View {
  int64_t version = 0;          // grows with every change that is seen; 0: nothing is known yet
  std::vector<Member> members;  // by name
};

// Membership of one worker: ends when it is destroyed.
class Registration {
 public:
  virtual ~Registration() = default;
};

// Thread-safe.
class Membership {
 public:
  virtual ~Membership() = default;
  // Takes the place of a member of that name. kInvalidArgument by Check; kUnavailable: nobody keeps members now.
  virtual absl::StatusOr<std::unique_ptr<Registration>> Join(const Member& member) = 0;
  // What is known as soon as its version is not `seen`, or after `timeout`. While nobody can say, the last view stands.
  virtual View Await(int64_t seen, Nanoseconds timeout) = 0;
};

// The newest view, and those who wait for it. Thread-safe.
class ViewBoard {
 public:
  // A new version only if the members differ, or none were known.
  void Post(std::vector<Member> members);
  View Await(int64_t seen, Nanoseconds timeout) const;

 private:
  mutable absl::Mutex mutex_;
  mutable absl::CondVar changed_;
  View view_ ABSL_GUARDED_BY(mutex_);
};

// Must outlive its registrations.
class MemoryMembership final : public Membership {
 public:
  MemoryMembership() { board_.Post({}); }
  absl::StatusOr<std::unique_ptr<Registration>> Join(const Member& member) override;
  View Await(int64_t seen, Nanoseconds timeout) override { return board_.Await(seen, timeout); }
  // As if the member had not been heard of for too long. Its registration stays and means nothing.
  void Expire(const std::string& name);

 private:
  class Joined;
  void Leave(const std::string& name, int64_t registration);
  void PostAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  struct Entry {
    Member member;
    int64_t registration = 0;
  };
  absl::Mutex mutex_;
  int64_t registrations_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, Entry> entries_ ABSL_GUARDED_BY(mutex_);
  ViewBoard board_;
};

}  // namespace wharf::pipeline
