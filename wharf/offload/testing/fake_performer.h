// A performer for tests of the server's half of replay: it notes what it is asked to do; fills are done on a device.
#pragma once

#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "wharf/device/device.h"
#include "wharf/offload/replay/replay_performer.h"

namespace wharf::offload {

class FakePerformer final : public ReplayPerformer {
 public:
  explicit FakePerformer(device::Device* device) : device_(device) {}

  // --- for tests ---
  struct Performed {
    uint16_t number = 0;
    ReplyTicket ticket;
    std::vector<std::byte> bulk;
  };
  std::vector<Performed> performed;
  std::vector<uint16_t> Numbers() const {
    std::vector<uint16_t> numbers;
    for (const Performed& one : performed) numbers.push_back(one.number);
    return numbers;
  }
  std::set<uint16_t> refused;  // operations of these numbers
  std::vector<absl::Status> latched;
  Mappings mappings;
  bool has_idle_room = true, others_are_idle = true;
  std::shared_ptr<const SmallAnswer> awaited;

  // --- ReplayPerformer ---
  absl::Status Perform(const StepOp& op, std::vector<std::byte> bulk, const ReplyTicket& ticket) override {
    const uint16_t number = std::visit([]<typename Op>(const Op&) { return Op::kNumber; }, op);
    performed.push_back({number, ticket, std::move(bulk)});
    if (refused.contains(number)) return device::CudaStatus(device::CudaError::kInvalidValue, "refused");
    if (const auto* const fill = std::get_if<Fill>(&op)) {
      return device_->Fill(fill->stream, fill->to, fill->extent, fill->value, fill->element_bytes);
    }
    return absl::OkStatus();
  }
  device::Submission Submit(device::WorkList&, size_t, size_t, size_t, device::StreamId) override { return {}; }
  absl::Status LaunchGuarded(const Launch&, const device::Guard&) override { return absl::OkStatus(); }
  void Latch(const absl::Status& status) override { latched.push_back(status); }
  void ResumeWhenHere(const std::shared_ptr<const SmallAnswer>& answer) override { awaited = answer; }
  bool HasIdleRoom() override { return has_idle_room; }
  const Mappings& Allocations() const override { return mappings; }
  bool HasOneStream() const override { return true; }
  bool OthersAreIdle(device::StreamId) override { return others_are_idle; }

 private:
  device::Device* const device_;
};

}  // namespace wharf::offload
