#include "wharf/offload/partition/cut_planner.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "wharf/offload/replay/operation_history.h"

namespace wharf::offload {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr size_t kRemembered = size_t{1} << 16;  // operations: the longest sequence that can be planned
constexpr size_t kMaxSequences = 16;
// What Timed says: the sequence's number above, the operator's below.
constexpr int kTokenBits = 20;
// How many inferences pass between two looks at the link.
constexpr uint64_t kProbeInterval = 16;
// A plan is made anew when the link has changed by more, and replaced if that saves more.
constexpr double kLinkChange = 0.1, kWorthwhile = 0.05;
// What a transfer costs beside the link: threads of both sides wait and wake.
constexpr double kHandOverSeconds = 200e-6;

// Arguments that are numbers may change from one inference to the next; what is done to which memory does not.
struct NameOf {
  uint64_t operator()(const Launch& op) const { return op.function; }
  uint64_t operator()(const RunGemm& op) const { return static_cast<uint64_t>(op.gemm.m * op.gemm.n * op.gemm.k); }
  template <typename Op>
  uint64_t operator()(const Op&) const {
    return 0;
  }
};

OperatorClass ClassOf(const StepOp& op) {
  if (std::holds_alternative<CopyToDevice>(op)) return OperatorClass::kHostToDevice;
  if (std::holds_alternative<CopyToHost>(op)) return OperatorClass::kDeviceToHost;
  if (std::holds_alternative<CopyOnDevice>(op)) return OperatorClass::kDeviceToDevice;
  return OperatorClass::kCompute;
}

bool Differs(double a, double b) { return std::abs(a - b) > kLinkChange * std::max(a, b); }

// Everything on one side, as far as it can run there.
std::vector<Side> Uniform(const CutProblem& problem, Side side) {
  std::vector<Side> sides;
  for (const CutOperator& op : problem.operators) {
    sides.push_back(std::isinf(side == Side::kLocal ? op.local_s : op.remote_s) ? Other(side) : side);
  }
  return sides;
}

double DownRate(const link::LinkEstimate& link) { return link.down_bits_per_second; }
// Nobody reports how fast uploads arrive: like downloads, if nothing better is known.
double UpRate(const link::LinkEstimate& link) {
  return link.up_bits_per_second > 0 ? link.up_bits_per_second : link.down_bits_per_second;
}

}  // namespace

CutPlanner::CutPlanner(std::function<link::LinkEstimate()> link)
    : link_(std::move(link)), finder_(MakeSequenceFinder({})) {}

CutPlanner::Made CutPlanner::Describe(const StepOp& op, const Access& access) {
  std::vector<uint64_t> words = {op.index(), std::visit(NameOf(), op), StreamOf(op).value_or(0)};
  for (const MemoryRange& range : access.named) words.insert(words.end(), {range.address, range.size});
  return {HashOperation(0, std::as_bytes(std::span(words))), ClassOf(op), access};
}

Side CutPlanner::Next(const StepOp& op, const Access& access) {
  timed_.reset();
  Made made = Describe(op, access);
  const uint64_t key = made.key;
  const bool expected = current_ != nullptr && current_->keys[position_] == key;
  Side side = Side::kRemote;
  if (expected || Begin(key)) side = Follow();
  Remember(std::move(made));
  return side;
}

// --- the sequence ---

void CutPlanner::Remember(Made made) {
  std::vector<uint64_t> reads, writes;
  for (const MemoryRange& range : made.access.needs) reads.push_back(range.address);
  for (const MemoryRange& range : made.access.writes) writes.push_back(range.address);
  OperatorRecord record;
  record.operator_class = made.operator_class;
  record.tag = record.identity = made.key;
  record.reads = reads;
  record.writes = writes;
  recent_.push_back(std::move(made));
  if (recent_.size() > kRemembered) recent_.pop_front();
  const SearchEvent event = finder_->Add(record);
  const std::optional<FoundSequence>& found = finder_->Current();
  if (event == SearchEvent::kFound && found && found->length <= recent_.size()) Learn(found->length);
}

void CutPlanner::Learn(uint64_t length) {
  const size_t first = recent_.size() - length;
  auto sequence = std::make_unique<Sequence>();
  for (size_t i = first; i < recent_.size(); ++i) sequence->keys.push_back(recent_[i].key);
  const auto same = [&](const auto& known) { return known->keys == sequence->keys; };
  if (std::any_of(sequences_.begin(), sequences_.end(), same) || sequences_.size() >= kMaxSequences) return;
  AddBuffers(recent_, first, *sequence);
  for (size_t i = first; i < recent_.size(); ++i) {
    CutOperator& op = sequence->problem.operators[i - first];
    const OperatorClass kind = recent_[i].operator_class;
    const bool host = kind == OperatorClass::kHostToDevice || kind == OperatorClass::kDeviceToHost;
    const bool only_remote = recent_[i].access.only_remote;
    sequence->timed.push_back(!host);
    op.local_s = host && !only_remote ? 0 : kNever;
    op.remote_s = host && !only_remote ? kNever : 0;
    if (!host) op.remote_s = kNever;  // until it is timed
  }
  sequence->number = sequences_.size();
  sequences_.push_back(std::move(sequence));
  counters_.sequences = sequences_.size();
}

// While it ran here more has become known of what its operations write.
void CutPlanner::Refresh(Sequence& sequence) {
  if (recent_.size() < sequence.keys.size()) return;
  const std::vector<CutOperator> timed = std::exchange(sequence.problem.operators, {});
  sequence.problem.buffer_bytes.clear();
  AddBuffers(recent_, recent_.size() - timed.size(), sequence);
  for (size_t i = 0; i < timed.size(); ++i) {
    sequence.problem.operators[i].local_s = timed[i].local_s;
    sequence.problem.operators[i].remote_s = timed[i].remote_s;
  }
}

// Numbers the allocations; a part of one that something else uses as a whole is that one.
void CutPlanner::AddBuffers(const std::deque<Made>& made, size_t first, Sequence& sequence) {
  std::vector<MemoryRange> ranges;
  for (size_t i = first; i < made.size(); ++i) {
    ranges.insert(ranges.end(), made[i].access.needs.begin(), made[i].access.needs.end());
    ranges.insert(ranges.end(), made[i].access.writes.begin(), made[i].access.writes.end());
  }
  std::sort(ranges.begin(), ranges.end(), [](const auto& a, const auto& b) {
    return a.address != b.address ? a.address < b.address : a.size > b.size;
  });
  std::map<device::DeviceAddress, uint32_t> starts;
  device::DeviceAddress end = 0;
  std::vector<uint64_t>& bytes = sequence.problem.buffer_bytes;
  for (const MemoryRange& range : ranges) {
    const device::DeviceAddress behind = range.address + range.size;
    if (starts.empty() || range.address >= end) {
      starts[range.address] = static_cast<uint32_t>(bytes.size());
      bytes.push_back(range.size);
      end = behind;
    } else if (behind > end) {
      bytes.back() += behind - end;
      end = behind;
    }
  }
  std::vector<uint32_t> all(bytes.size());
  for (uint32_t i = 0; i < all.size(); ++i) all[i] = i;
  const auto numbers = [&](const Access& access, const std::vector<MemoryRange>& touched) {
    if (access.anything) return all;
    std::vector<uint32_t> result;
    for (const MemoryRange& range : touched) result.push_back(std::prev(starts.upper_bound(range.address))->second);
    return result;
  };
  for (size_t i = first; i < made.size(); ++i) {
    const Access& access = made[i].access;
    sequence.problem.operators.push_back({0, 0, numbers(access, access.needs), numbers(access, access.writes)});
  }
}

// --- an inference ---

CutPlanner::Phase CutPlanner::PhaseOf(const Sequence& sequence) const {
  if (sequence.rounds_remote < kRounds) return Phase::kTimeRemote;
  return sequence.rounds_local < kRounds ? Phase::kTimeLocal : Phase::kPlanned;
}

// Whether the operation is the first of a sequence that is known.
bool CutPlanner::Begin(uint64_t key) {
  position_ = 0;
  const auto found = std::find_if(sequences_.begin(), sequences_.end(),
                                  [key](const auto& sequence) { return sequence->keys.front() == key; });
  current_ = found == sequences_.end() ? nullptr : found->get();
  if (current_ == nullptr) return false;
  if (PhaseOf(*current_) == Phase::kPlanned) Plan(*current_);
  return true;
}

Side CutPlanner::Follow() {
  Sequence& sequence = *current_;
  const size_t index = position_++;
  const Phase phase = PhaseOf(sequence);
  Side side = phase == Phase::kTimeLocal ? Side::kLocal : Side::kRemote;
  if (phase == Phase::kPlanned && !sequence.plan.empty()) side = sequence.plan[index];
  if (phase != Phase::kPlanned && sequence.timed[index]) timed_ = sequence.number << kTokenBits | index;
  if (phase != Phase::kPlanned) timing_ = &sequence;
  if (position_ < sequence.keys.size()) return side;
  ++counters_.inferences;
  wants_times_ = phase != Phase::kPlanned;
  // The next one begins where this one ends, as far as is known.
  position_ = 0;
  current_ = nullptr;
  return side;
}

void CutPlanner::NoteTimes(std::span<const MeasuredTime> times) {
  wants_times_ = false;
  if (timing_ == nullptr) return;
  Sequence& sequence = *std::exchange(timing_, nullptr);
  for (const MeasuredTime& time : times) {
    if (time.token >> kTokenBits != sequence.number) continue;
    CutOperator& op = sequence.problem.operators[time.token & ((size_t{1} << kTokenBits) - 1)];
    // Kernels are compiled here when they run first. There an operation may wait for its frame, in one round or
    // another.
    if (time.side == Side::kLocal) {
      op.local_s = time.seconds;
    } else {
      op.remote_s = std::min(op.remote_s, time.seconds);
    }
  }
  ++(PhaseOf(sequence) == Phase::kTimeRemote ? sequence.rounds_remote : sequence.rounds_local);
  if (PhaseOf(sequence) == Phase::kPlanned) Refresh(sequence);
}

void CutPlanner::Plan(Sequence& sequence) {
  const link::LinkEstimate link = link_();
  wants_probe_ = DownRate(link) <= 0 || counters_.inferences % kProbeInterval == 0;
  if (DownRate(link) <= 0) return;
  const bool same = !sequence.plan.empty() && !Differs(DownRate(link), DownRate(sequence.planned_for)) &&
                    !Differs(UpRate(link), UpRate(sequence.planned_for)) &&
                    !Differs(Seconds(link.round_trip), Seconds(sequence.planned_for.round_trip));
  if (same) return;
  sequence.planned_for = link;
  CutProblem& problem = sequence.problem;
  problem.up_s_per_byte = 8 / UpRate(link);
  problem.down_s_per_byte = 8 / DownRate(link);
  // What goes up is followed by what it is for; what comes down was asked for.
  problem.up_latency_s = kHandOverSeconds;
  problem.down_latency_s = kHandOverSeconds + Seconds(link.round_trip);
  for (CutOperator& op : problem.operators) {
    if (std::isinf(op.local_s) && std::isinf(op.remote_s)) op.remote_s = 0;  // its time could not be had
  }
  ++counters_.plans;
  counters_.operators = sequence.keys.size();
  // The fewer changes of side the better, if there is nothing in it: times are not exact.
  if (sequence.plan.empty()) sequence.plan = Uniform(problem, Side::kRemote);
  for (std::vector<Side> other :
       {Uniform(problem, Side::kRemote), Uniform(problem, Side::kLocal), SolveCut(problem).sides}) {
    if (other == sequence.plan) continue;
    if (CutSeconds(problem, other) >= (1 - kWorthwhile) * CutSeconds(problem, sequence.plan)) continue;
    sequence.plan = std::move(other);
    ++counters_.changes;
  }
  counters_.seconds = CutSeconds(problem, sequence.plan);
  counters_.operators_local =
      static_cast<uint64_t>(std::count(sequence.plan.begin(), sequence.plan.end(), Side::kLocal));
}

std::string CutPlanner::Report() const {
  return fmt::format(
      "{{\"sequences\": {}, \"inferences\": {}, \"plans\": {}, \"changes\": {}, \"operators\": {}, "
      "\"operators_local\": {}, \"expected_s\": {:.6f}}}",
      counters_.sequences, counters_.inferences, counters_.plans, counters_.changes, counters_.operators,
      counters_.operators_local, counters_.seconds);
}

}  // namespace wharf::offload
