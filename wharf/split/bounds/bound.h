// Lower bounds: no valid plan, with or without replication, is faster than this on a constant link.
#pragma once

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "wharf/split/bounds/chain_bound.h"
#include "wharf/split/planners/layer_cut.h"
#include "wharf/split/timeline.h"

namespace wharf::split {

// How it is proved. Let s, d be the shares of each operator's rows that are of use and computed on server and device,
// x, y the shares of its output sent up and down. Then s + d >= 1, and a share of an operator needs as large a share of
// its inputs, computed or received (what windows at borders save is subtracted). Let the gate be the first operator of
// one row that everything before it leads to. If the server computes the gate, all useful work before it is done and
// its bytes are sent before it starts; if the device does, the same downwards. So the end is not before, each plus the
// time from the gate on and the messages there must be: the device's work; the server's work; the bytes of a direction.
// Nothing is said of the order among them: in bands, sending and computing overlap as they like. Any weighted mean of
// these bounds the end. For given weights, its least value over all shares is a minimum cut, since the extreme points
// are layer partitions with replication (LayerCutter). The weights are improved by multiplicative updates; every round
// gives a valid bound and the best is kept.
//
// Not thread-safe; keeps weights between calls, so that a sweep over bandwidths is faster than its parts.
class LowerBound {
 public:
  // `graph` must outlive it. O(rows^2) for every kind of window.
  explicit LowerBound(const RowGraph& graph);
  // Milliseconds: the higher of Quick and ChainBound's, which takes seconds. REQUIRES: no trace in `link`.
  double Latency(const Link& link, int rounds = 40);
  // What is said above. `rounds`: minimum cuts to spend on each case. REQUIRES: no trace in `link`.
  double Quick(const Link& link, int rounds = 40);

  // A layer partition (with replication) of what is before the gate: what each side computes and what is sent, in
  // milliseconds.
  struct Partition {
    double share = 0, device_ms = 0, server_ms = 0, up_ms = 0, down_ms = 0;
  };
  // Why the bound is no higher: the partitions that it takes for mixed, so many shares of one and of another, the
  // largest first. No plan need come near such a mixture: rows around a border are computed twice or sent, and a side
  // waits for what it reads. Empty where the device alone is the bound, or ChainBound's is higher. REQUIRES: as above.
  std::vector<Partition> Mixture(const Link& link, int rounds = 200);

 private:
  // What the end cannot come before: a constant, and before the gate all work of a side or all bytes it sends.
  struct Limit {
    double constant_ms = 0;
    Side side = kDevice;
    bool sends = false;  // else it computes
  };
  std::vector<Limit> Limits(const Link& link, Side gate_side) const;
  double OfChain(const Link& link);
  double Bound(const Link& link, Side gate_side, int rounds);
  // Nothing useful on the server at all, or only behind the gate.
  double BoundAlone(const Link& link) const;
  // Towards the limits that this partition comes closest to.
  static void Shift(std::vector<double>& weights, const std::vector<double>& values, double step);
  LayerCosts Weigh(const Link& link, const std::vector<Limit>& limits, const std::vector<double>& weights) const;
  double Value(const Link& link, const Limit& limit, const LayerCut& cut) const;
  // Of `op`, what counts for the limit if the side computes it or sends it.
  double Ms(const Link& link, const Limit& limit, int op) const;
  void FindRequired();
  void FindSavings();
  void FindGate();
  void FindTail();

  const RowGraph& graph_;
  LayerCutter cutter_;
  std::optional<ChainBound> chain_;  // always there
  int gate_ = 0;
  double tail_ms_ = 0;          // from the gate's end on, at least
  double smallest_result_ = 0;  // bytes: from the gate on, nothing smaller can be sent
  std::vector<bool> required_;  // every row is of use in every plan
  std::vector<double> saving_;  // share of an output its users may do without
  std::vector<int> last_user_;
  std::array<std::vector<double>, 2> weights_;                        // of the limits, by the gate's side
  std::optional<std::pair<std::array<double, 3>, double>> of_chain_;  // the last link asked about, and the answer
};

}  // namespace wharf::split
