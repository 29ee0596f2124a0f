#include "wharf/offload/step_graph.h"

#include <cstring>

namespace wharf::offload {

StepId StepGraph::Append(uint16_t number, std::span<const std::byte> head) {
  Step step;
  step.head.assign(head.begin(), head.end());
  step.number = number;
  bytes_ += head.size();
  steps_.push_back(std::move(step));
  return static_cast<StepId>(steps_.size() - 1);
}

void StepGraph::Connect(StepId from, StepId to) {
  if (from == kNoStep) return;
  Step& step = steps_[from];
  if (step.next == to) {
    step.trusted = true;
  } else if (step.trusted) {
    step.trusted = false;
  } else {
    step.next = to;
  }
}

void StepGraph::Clear() {
  steps_.clear();
  bytes_ = 0;
}

bool StepGraph::Is(StepId step, uint16_t number, std::span<const std::byte> head) const {
  const Step& known = steps_[step];
  return known.number == number && known.head.size() == head.size() &&
         std::memcmp(known.head.data(), head.data(), head.size()) == 0;
}

}  // namespace wharf::offload
