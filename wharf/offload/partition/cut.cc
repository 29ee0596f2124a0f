#include "wharf/offload/partition/cut.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "wharf/base/min_cut.h"

namespace wharf::offload {
namespace {

constexpr double kForbidden = std::numeric_limits<double>::infinity();

double TransferSeconds(const CutProblem& problem, uint32_t buffer, Side to) {
  const auto bytes = static_cast<double>(problem.buffer_bytes[buffer]);
  return to == Side::kRemote ? problem.up_latency_s + bytes * problem.up_s_per_byte
                             : problem.down_latency_s + bytes * problem.down_s_per_byte;
}

// Contents of a buffer: who wrote them, and who needs them before they are overwritten, perhaps in the next inference.
struct Version {
  size_t writer = 0;
  uint32_t buffer = 0;
  std::vector<size_t> readers;
};

// Buffers that nobody writes are on both sides.
std::vector<Version> Versions(const CutProblem& problem) {
  std::vector<Version> versions;
  std::vector<std::optional<size_t>> current(problem.buffer_bytes.size());
  // In the second round every buffer holds what the inference before has left in it.
  for (const bool first : {true, false}) {
    size_t version = 0;
    for (size_t i = 0; i < problem.operators.size(); ++i) {
      const CutOperator& op = problem.operators[i];
      for (const uint32_t buffer : op.needs) {
        if (current[buffer]) versions[*current[buffer]].readers.push_back(i);
      }
      for (const uint32_t buffer : op.writes) {
        if (first) versions.push_back({i, buffer, {}});
        current[buffer] = version++;
      }
    }
  }
  return versions;
}

// Here is the source's side.
class CutGraph {
 public:
  explicit CutGraph(const CutProblem& problem) : problem_(problem) {
    for (const CutOperator& op : problem.operators) {
      nodes_.push_back(cut_.AddNode());
      cut_.AddArc(MinCut::kSource, nodes_.back(), op.remote_s);
      cut_.AddArc(nodes_.back(), MinCut::kSink, op.local_s);
    }
    for (const Version& version : Versions(problem)) AddTransfers(version);
  }

  CutPlan Solve() {
    CutPlan plan;
    cut_.Solve();
    for (const int node : nodes_) plan.sides.push_back(cut_.OnSourceSide(node) ? Side::kLocal : Side::kRemote);
    plan.seconds = CutSeconds(problem_, plan.sides);
    return plan;
  }

 private:
  // One node for each direction stands for "it is sent", so that many readers cost one transfer.
  void AddTransfers(const Version& version) {
    std::vector<size_t> readers = version.readers;
    std::sort(readers.begin(), readers.end());
    readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
    std::erase(readers, version.writer);
    if (readers.empty()) return;
    const int writer = nodes_[version.writer], up = cut_.AddNode(), down = cut_.AddNode();
    cut_.AddArc(writer, up, TransferSeconds(problem_, version.buffer, Side::kRemote));
    cut_.AddArc(down, writer, TransferSeconds(problem_, version.buffer, Side::kLocal));
    for (const size_t reader : readers) {
      cut_.AddArc(up, nodes_[reader], kForbidden);
      cut_.AddArc(nodes_[reader], down, kForbidden);
    }
  }

  const CutProblem& problem_;
  MinCut cut_;
  std::vector<int> nodes_;
};

}  // namespace

CutPlan SolveCut(const CutProblem& problem) { return CutGraph(problem).Solve(); }

double CutSeconds(const CutProblem& problem, const std::vector<Side>& sides) {
  struct Valid {
    bool local = true, remote = true;
  };
  std::vector<Valid> valid(problem.buffer_bytes.size());
  double seconds = 0;
  for (const bool counts : {false, true}) {
    for (size_t i = 0; i < problem.operators.size(); ++i) {
      const CutOperator& op = problem.operators[i];
      const Side side = sides[i];
      double cost = side == Side::kLocal ? op.local_s : op.remote_s;
      for (const uint32_t buffer : op.needs) {
        bool& local = side == Side::kLocal ? valid[buffer].local : valid[buffer].remote;
        if (!std::exchange(local, true)) cost += TransferSeconds(problem, buffer, side);
      }
      for (const uint32_t buffer : op.writes) valid[buffer] = {side == Side::kLocal, side == Side::kRemote};
      if (counts) seconds += cost;
    }
  }
  return seconds;
}

}  // namespace wharf::offload
