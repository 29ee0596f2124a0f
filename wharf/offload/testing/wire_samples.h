// Random messages and their comparison, for the codec's property test; and the list of every message there is, which
// the fuzz target shares.
#pragma once

#include <tuple>
#include <type_traits>

#include "wharf/offload/wire.h"

namespace wharf::offload {

template <typename... Messages>
struct MessageList {};

// The messages that are not operations.
using SessionMessages = MessageList<Hello, Welcome, Refusal, ReplyHeader, Output, HostCall, Arrived, Goodbye, Nothing>;

// Calls visit(Message{}) for every message: session messages, operations, and the replies of blocking ones.
template <typename Visit>
void ForEachMessage(Visit visit) {
  const auto session = [&visit]<typename... M>(MessageList<M...>) { (visit(M{}), ...); };
  session(SessionMessages{});
  const auto operation = [&visit]<typename Op>(Op) {
    visit(Op{});
    if constexpr (Op::kAnswer == Answer::kBlocking) visit(typename Op::Reply{});
  };
  const auto operations = [&operation]<typename... Op>(OpList<Op...>) { (operation(Op{}), ...); };
  operations(AllOps{});
}

}  // namespace wharf::offload
