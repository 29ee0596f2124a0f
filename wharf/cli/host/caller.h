// Caller: calls functions of the program on the other side of the socket, while that waits for the answer to a request
// of its own: a task's tracker is the program's code. So there is one conversation and one thread on either side, and
// nothing to lock: the program asks, is called any number of times, and is answered.
//
//   ← {"id": 2, "ask": "frame", …}
//   → {"id": 2, "call": {"function": "track", "task": "free_space", …}, "dropped": [16]}
//   ← {"id": 2, "ask": "called", "result": 18}
//   → {"id": 2, "framed": {…}, "dropped": []}
//
// Results stay in the program, which numbers them; "dropped" says which nobody will name any more. A program that has
// stopped waiting (Ctrl-C) says something else instead of "called", or is gone: then no further function of this
// request is called, and what it said is served next.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/cli/host/request.h"

namespace wharf::cli {

// A result that the program has. When the last who holds this lets it go, the program hears of it.
class ProgramResult {
 public:
  ProgramResult(uint64_t number, std::shared_ptr<std::vector<uint64_t>> dropped)
      : number_(number), dropped_(std::move(dropped)) {}
  ~ProgramResult() { dropped_->push_back(number_); }
  ProgramResult(const ProgramResult&) = delete;
  ProgramResult& operator=(const ProgramResult&) = delete;
  uint64_t number() const { return number_; }

 private:
  const uint64_t number_;
  const std::shared_ptr<std::vector<uint64_t>> dropped_;
};
using Held = std::shared_ptr<const ProgramResult>;

// For one thread.
class Caller {
 public:
  enum class AfterError {
    kGoOn,  // a function that fails is one result less
    kStop,  // no function is called any more
  };

  // `socket`: of SOCK_SEQPACKET; not owned.
  explicit Caller(int socket) : socket_(socket) {}

  // From now on functions are called on behalf of this request.
  void Begin(uint64_t id, AfterError after_error);
  // What the function gave. kAborted: it failed, with what the program says of that. kCancelled: the program does not
  // wait any more. kUnavailable: it has gone.
  absl::StatusOr<CalledRequest> Call(nlohmann::json call);
  // OK as long as functions are called.
  const absl::Status& Stopped() const { return stopped_; }

  Held Hold(uint64_t number) { return std::make_shared<const ProgramResult>(number, dropped_); }
  // What the program need not keep any more, each once.
  nlohmann::json TakeDropped() { return std::exchange(*dropped_, {}); }
  // A packet that came instead of an answer, once.
  std::optional<std::string> TakeUnserved() { return std::exchange(unserved_, std::nullopt); }

 private:
  const int socket_;
  uint64_t id_ = 0;
  AfterError after_error_ = AfterError::kGoOn;
  absl::Status stopped_;
  std::optional<std::string> unserved_;
  const std::shared_ptr<std::vector<uint64_t>> dropped_ = std::make_shared<std::vector<uint64_t>>();
};

}  // namespace wharf::cli
