// CutPlanner: Placement by cost. It finds the operator sequence of the program's inferences (search/), has each
// operator timed on both sides, the server first, and then cuts every inference where it takes least time (cut.h) for
// the link's bandwidth and round-trip time of that moment. Until then, and wherever the program leaves the sequence,
// operations run on the server.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "wharf/link/estimator.h"
#include "wharf/offload/partition/cut.h"
#include "wharf/offload/partition/placement.h"
#include "wharf/offload/search/sequence_finder.h"

namespace wharf::offload {

struct PlannerCounters {
  uint64_t sequences = 0, inferences = 0;       // known; that followed one to its end
  uint64_t plans = 0, changes = 0;              // made; that were not as before
  uint64_t operators = 0, operators_local = 0;  // of the sequence planned last; of these, here by plan
  double seconds = 0;                           // that the plan expects
};

class CutPlanner final : public Placement {
 public:
  // `link` is asked before an inference.
  explicit CutPlanner(std::function<link::LinkEstimate()> link);

  Side Next(const StepOp& op, const Access& access) override;
  std::optional<size_t> Timed() const override { return timed_; }
  bool WantsTimes() const override { return wants_times_; }
  void NoteTimes(std::span<const MeasuredTime> times) override;
  bool TakeProbe() override { return std::exchange(wants_probe_, false); }

  std::string Report() const override;

 private:
  // Each is timed so often on each side.
  static constexpr int kRounds = 2;

  // What is kept of an operation the program made.
  struct Made {
    uint64_t key = 0;  // equal if it does the same to the same memory
    OperatorClass operator_class = OperatorClass::kCompute;
    Access access;
  };
  struct Sequence {
    size_t number = 0;
    std::vector<uint64_t> keys;
    CutProblem problem;       // all but the link
    std::vector<bool> timed;  // which operators are
    int rounds_local = 0, rounds_remote = 0;
    std::vector<Side> plan;  // empty: none yet
    link::LinkEstimate planned_for;
  };
  enum class Phase { kTimeRemote, kTimeLocal, kPlanned };

  static Made Describe(const StepOp& op, const Access& access);
  void Remember(Made made);
  void Learn(uint64_t length);
  void Refresh(Sequence& sequence);
  static void AddBuffers(const std::deque<Made>& made, size_t first, Sequence& sequence);
  Phase PhaseOf(const Sequence& sequence) const;
  bool Begin(uint64_t key);
  void Plan(Sequence& sequence);
  Side Follow();

  const std::function<link::LinkEstimate()> link_;
  const std::unique_ptr<SequenceFinder> finder_;
  std::deque<Made> recent_;
  std::vector<std::unique_ptr<Sequence>> sequences_;
  Sequence* current_ = nullptr;  // that the program is in
  size_t position_ = 0;          // in it
  Sequence* timing_ = nullptr;   // whose times are wanted
  std::optional<size_t> timed_;
  bool wants_times_ = false, wants_probe_ = false;
  PlannerCounters counters_;
};

}  // namespace wharf::offload
