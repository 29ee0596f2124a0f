// Memory that two processes see: the input of a model, and slots for its outputs, so that tensors need not travel.
//
//   | input | slot 0: output 0, output 1, … | slot 1: … |
//
// The input and every slot begin with a page, every output at a multiple of 64 bytes.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/graph/tensor.h"

namespace wharf::cli {

class SharedTensors {
 public:
  // Its size is sealed: nobody can cut it from under us. kResourceExhausted: it cannot be had. REQUIRES: valid types.
  static absl::StatusOr<std::unique_ptr<SharedTensors>> Make(size_t input_bytes,
                                                             const std::vector<graph::TensorType>& outputs, int slots);
  ~SharedTensors();
  SharedTensors(const SharedTensors&) = delete;
  SharedTensors& operator=(const SharedTensors&) = delete;

  int Descriptor() const { return fd_; }
  size_t Bytes() const { return bytes_; }
  int Slots() const { return slots_; }
  // Where the first slot begins, and how far apart slots are.
  size_t FirstSlot() const { return first_slot_; }
  size_t SlotBytes() const { return slot_bytes_; }
  // Of each output, in its slot.
  const std::vector<size_t>& OutputOffsets() const { return offsets_; }

  // Whoever is on the other side may write there at any time.
  std::span<const std::byte> Input() const { return {memory_, input_bytes_}; }
  // REQUIRES: 0 <= slot < Slots().
  const std::vector<std::span<std::byte>>& Outputs(int slot) const { return outputs_[static_cast<size_t>(slot)]; }

 private:
  SharedTensors(size_t input_bytes, const std::vector<graph::TensorType>& outputs, int slots);
  absl::Status Map(const std::vector<graph::TensorType>& outputs);

  const size_t input_bytes_;
  const int slots_;
  size_t first_slot_ = 0, slot_bytes_ = 0, bytes_ = 0;
  std::vector<size_t> offsets_;
  int fd_ = -1;
  std::byte* memory_ = nullptr;
  std::vector<std::vector<std::span<std::byte>>> outputs_;  // by slot
};

}  // namespace wharf::cli
