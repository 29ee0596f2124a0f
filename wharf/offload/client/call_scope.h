// How an intercepted CUDA call may talk to the server, and the scope that holds it to that.
//
//   CallScope scope(function, CallClass::kPosted);
//   session.Post(RecordEvent{...});        // allowed; Ask would be a programming error
//   error = session.Finish(scope, error);  // `percall` and `cached`: the call's one round trip, if it made none
#pragma once

#include <cstdint>

#include "wharf/base/clock.h"

namespace wharf::offload {

enum class CallClass : uint8_t {
  kPlumbing,  // emitted by the compiler around a launch or at start-up; not a call of the program, sends nothing
  kLocal,     // answered on the client
  kPosted,    // sends one way; errors surface at a later call that waits
  kBlocking,  // waits for the server if its arguments require it
};

enum class Mode : uint8_t {
  kPosted,   // the classes above
  kPerCall,  // every call costs exactly one blocking round trip, as in per-call remoting
  kCached,   // the same, but kLocal calls are answered locally
  kReplay,   // kPosted, and what the server can predict is not sent (docs/replay.md)
};

// Whether every call costs a round trip.
inline bool IsPerCall(Mode mode) { return mode == Mode::kPerCall || mode == Mode::kCached; }

// One call of the program on this thread. Scopes nest (a function implemented by others): the outermost one counts.
class CallScope {
 public:
  CallScope(uint32_t function, CallClass call_class);
  ~CallScope();
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

  static CallScope* Current();

  uint32_t function() const { return function_; }
  CallClass call_class() const { return call_class_; }
  bool outermost() const { return outer_ == nullptr; }
  // What the outermost call, the one the program made, permits.
  bool MayPost() const { return Outermost().call_class_ >= CallClass::kPosted; }
  bool MayAsk() const { return Outermost().call_class_ == CallClass::kBlocking; }
  // Round trips of this call and those inside it.
  uint32_t round_trips() const { return round_trips_; }
  void CountRoundTrip();
  // How long these waited for answers.
  Nanoseconds waited() const { return waited_; }
  void AddWait(Nanoseconds time);

 private:
  const CallScope& Outermost() const;

  const uint32_t function_;
  const CallClass call_class_;
  CallScope* const outer_;
  uint32_t round_trips_ = 0;
  Nanoseconds waited_{0};
};

}  // namespace wharf::offload
