#include "wharf/offload/client/call_scope.h"

namespace wharf::offload {
namespace {
thread_local CallScope* current = nullptr;
}

CallScope::CallScope(uint32_t function, CallClass call_class)
    : function_(function), call_class_(call_class), outer_(current) {
  current = this;
}

CallScope::~CallScope() { current = outer_; }

CallScope* CallScope::Current() { return current; }

const CallScope& CallScope::Outermost() const {
  const CallScope* scope = this;
  while (scope->outer_ != nullptr) scope = scope->outer_;
  return *scope;
}

void CallScope::CountRoundTrip() {
  for (CallScope* scope = this; scope != nullptr; scope = scope->outer_) ++scope->round_trips_;
}

void CallScope::AddWait(Nanoseconds time) {
  for (CallScope* scope = this; scope != nullptr; scope = scope->outer_) scope->waited_ += time;
}

}  // namespace wharf::offload
