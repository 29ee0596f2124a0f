// A lower bound that counts rows: what no plan can gain, along the one path through the model with the most work.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "wharf/split/timeline.h"

namespace wharf::split {

// How it is proved. Of the model only one path from input to output is looked at, and what hangs on it alone. At every
// operator of the path, its level, let the server hold x rows of use: c that it computes and x - c that it receives. Of
// the next level it can compute no more rows than x rows allow, wherever they lie (border rows of windows are lost),
// and the device has to compute the others. A dynamic program over levels and rows finds for every c which times of the
// uplink go with which savings of the device; both are kept, never a mean of them, so that no plan is mixed of "all
// here" and "all there". A row cannot be sent before the device has computed what it depends on, without what the
// server has saved it so far; what the server computes in full from levels on where every row depends on all that was
// received follows the last byte; and so does what the device computes once the server has nothing left to do. Rows
// that the device needs beside its own are computed twice or weigh on the downlink.
//
// Where many operators read far back (DenseNet), a path sees little of what has to be sent, and LowerBound says more.
// Immutable; safe to share between threads.
class ChainBound {
 public:
  // `graph` must outlive it. `required`: by operator, whether every plan has to compute all its rows. O(levels^2 * rows
  // + levels * rows^2).
  ChainBound(const RowGraph& graph, const std::vector<bool>& required);
  // Milliseconds; `limit_ms` if it is not above that; 0 for models of so many rows that it would take minutes. Seconds
  // of work: O(levels * rows^2) steps with some ways each, fewer where that is too many: the bound is lower then.
  // `most_steps`: of a search, in all; the default takes seconds. REQUIRES: no trace in `link`, bytes_per_ms > 0.
  double Latency(const Link& link, double limit_ms, int64_t most_steps = kMostSteps) const;

  static constexpr int64_t kMostSteps = 50'000'000;

 private:
  struct Level {
    int op = 0, rows = 0;
    bool required = false, only_live = false;  // the latter: nothing before it is read behind it
    std::array<double, 2> row_ms{};            // by Side, at least
    double bytes_per_row = 0;
    std::vector<int> need;             // rows of this level that so many of the next read, at least
    std::vector<double> more_per_row;  // of the next, of so many: rows here that each more of them reads, at least
    std::vector<double> attached;      // ms of operators beside the path that so many rows here can save the device
    std::vector<double> cone_ms;       // of the device, for so many rows and all on the path that they depend on
    double rest_ms = 0;                // all that can be saved behind it
    double tail_ms = 0;                // of the device behind it, on the path: what depends on any one row
    // First level of which every row depends on all rows here; or, of one that is bypassed, of the next that is not.
    int mixed = 0;
    double unmixed_ms = 0;  // of both sides at once, levels until here that not all rows here depend on all rows of

    // A row's share of both sides' time, if they computed as much of it as they can at once.
    double BothMs() const {
      const double sum = row_ms[kDevice] + row_ms[kServer];
      return sum > 0 ? row_ms[kDevice] * row_ms[kServer] / sum : 0;
    }
  };
  // One way to have come to a level.
  struct Way {
    double sent_ms = 0;    // when all that was received has been sent, and what follows that has been computed
    double gain_ms = 0;    // what it saves the device, less what it weighs
    double saved_ms = 0;   // what it saves the device, at most
    double lack_ms = 0;    // what it weighs if the device needs a row that the server computed here, at least
    double behind_ms = 0;  // of both sides at once, what follows the last byte so far
    int serial_from = 0;   // level from which the server's work follows the last byte

    bool AsGoodAs(const Way& other) const {
      return sent_ms <= other.sent_ms && gain_ms >= other.gain_ms && saved_ms >= other.saved_ms &&
             lack_ms <= other.lack_ms && behind_ms <= other.behind_ms && serial_from >= other.serial_from;
    }
    void Join(const Way& other) {
      sent_ms = std::min(sent_ms, other.sent_ms);
      gain_ms = std::max(gain_ms, other.gain_ms);
      saved_ms = std::max(saved_ms, other.saved_ms);
      lack_ms = std::min(lack_ms, other.lack_ms);
      behind_ms = std::min(behind_ms, other.behind_ms);
      serial_from = std::max(serial_from, other.serial_from);
    }
  };
  using Ways = std::vector<std::vector<Way>>;  // by rows that the server computes
  struct Search;

  void FindPath(const RowGraph& graph, const std::vector<bool>& required);
  void AddAttached(const RowGraph& graph, const std::vector<bool>& required);
  void FindNeeds(const RowGraph& graph);
  void FindCones();
  void FindTails();

  std::vector<Level> levels_;
  int ways_ = 2;          // that something travels, where the server is of use: none where rows depend on no others
  double device_ms_ = 0;  // of the path and what is attached
};

}  // namespace wharf::split
