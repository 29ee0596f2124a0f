// StepGraph: the operations a program has made, as client and server of a session both know them. A step is one
// operation with its arguments; its successor is the step the program took after it the last times. Both ends build the
// same graph from the same events, in the order of the connection, so a step is named by its number.
// docs/replay.md, "What both ends know".
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace wharf::offload {

using StepId = uint32_t;
inline constexpr StepId kNoStep = UINT32_MAX;

// What a peer may make us keep.
inline constexpr size_t kMaxSteps = size_t{1} << 17;
inline constexpr size_t kMaxStepBytes = size_t{32} << 20;

class StepGraph {
 public:
  size_t size() const { return steps_.size(); }
  bool HasRoomFor(size_t head_bytes) const { return steps_.size() < kMaxSteps && head_bytes <= kMaxStepBytes - bytes_; }
  // A step like no other. REQUIRES: HasRoomFor(head.size()).
  StepId Append(uint16_t number, std::span<const std::byte> head);
  // The program made step `to` after `from` (kNoStep: nothing is learnt). The successor changes when the program
  // took another way twice in a row: one exception does not make it forget the rule.
  void Connect(StepId from, StepId to);
  void Clear();

  // REQUIRES: step < size().
  StepId Next(StepId step) const { return steps_[step].next; }
  uint16_t Number(StepId step) const { return steps_[step].number; }
  std::span<const std::byte> Head(StepId step) const { return steps_[step].head; }
  // To change arguments in place; the size stays.
  std::span<std::byte> MutableHead(StepId step) { return steps_[step].head; }
  bool Is(StepId step, uint16_t number, std::span<const std::byte> head) const;

 private:
  struct Step {
    std::vector<std::byte> head;
    StepId next = kNoStep;
    uint16_t number = 0;
    bool trusted = false;  // the successor was taken the last time
  };
  std::vector<Step> steps_;
  size_t bytes_ = 0;
};

}  // namespace wharf::offload
