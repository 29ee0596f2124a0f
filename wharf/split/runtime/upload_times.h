// When the rows that one side sent had left it, from when it sent them and when the other side says they came.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "wharf/split/messages/messages.h"

namespace wharf::split {

struct UploadTimes {
  std::vector<Event> sent;  // each from when it could be sent until the link had carried it
  double bytes = 0;
  // How long the link was at it, all together: a receiver that is held up makes one message look slow and the next one
  // fast. Nothing if the other clock cannot be trusted: it begins when Begin arrives, and if Begin was held up longer
  // than a message, that seems to have come before it was sent.
  std::optional<double> busy_ms;
};

// `recorded`: what the sender recorded of the inference, uplink events in the order of sending. `arrivals`: of the
// first of them, since Begin arrived. `begun_ms`: when Begin was sent; what both took to get there cancels out. No
// message takes less than its bytes took to come in.
UploadTimes TimeUploads(std::span<const Event> recorded, std::span<const Arrival> arrivals, double begun_ms);

}  // namespace wharf::split
