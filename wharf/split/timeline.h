// Timeline: what happens when a plan is carried out. Two processors and a full-duplex link; exact, and fast enough to
// be called millions of times.
//
// Each side computes its operators in their order, all rows of one in one go, and starts one as soon as it is free and
// holds every row the operator reads. What the other side needs is sent as one message when the operator is done;
// messages of one direction queue and overlap with computing and with the other direction (Intra-DP, equation 3, with
// queueing). A message that is encoded and decoded holds up its direction for that long as well, no computation. The
// inference ends when the device holds the output.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "wharf/split/plan.h"

namespace wharf::split {

// Bandwidth over time; repeats when it ends.
struct RateTrace {
  double step_ms = 100;
  std::vector<double> bytes_per_ms;  // one a step, not negative, not all 0
};

struct Link {
  double bytes_per_ms = 0;            // of each direction; 0: nothing arrives, ever
  double round_trip_ms = 2.6;         // half each way
  double message_overhead_ms = 0.05;  // of link time, each message
  const RateTrace* trace = nullptr;   // instead of bytes_per_ms; not owned
  double trace_start_ms = 0;          // where in the trace the inference begins

  // When `bytes` whose sending begins at `start_ms` have left the sender; infinity if never. O(steps crossed).
  double Sent(double start_ms, double bytes) const;
};

// Watts (Intra-DP, table II).
struct PowerStates {
  double inference = 13.35, communication = 4.25, standby = 4.04;
};

struct Outcome {
  double latency_ms = 0;
  std::array<double, 2> busy_ms{};  // computing, by Side
  double link_ms = 0;               // a message is on its way out, in either direction or both
  double up_bytes = 0, down_bytes = 0;
  int messages = 0;

  double TransmissionShare() const { return latency_ms > 0 ? link_ms / latency_ms : 0; }
  // Modelled joules on the device: computing, else standing by; sending or receiving adds what communication draws
  // beyond standby, whatever else happens.
  double Joules(const PowerStates& power = {}) const;
};

enum class Resource { kDevice, kUplink, kServer, kDownlink };
struct Event {
  Resource resource = Resource::kDevice;
  int op = 0;  // of the graph, laid out as the plan says
  RowRange
      rows;  // of the whole operator; computed, or of a message the rows its receiver reads (some it may hold already)
  double start_ms = 0, end_ms = 0, bytes = 0;
};

// Not thread-safe: it keeps its working memory between calls. No allocation after the first.
class Evaluator {
 public:
  // `graph` must outlive it.
  explicit Evaluator(const RowGraph& graph);
  // REQUIRES: Check(graph, plan).ok(). O(operators + edges).
  Outcome Evaluate(const Plan& plan, const Link& link);
  // For those who know them already. REQUIRES: needed == NeededRows(graph, plan).
  Outcome Evaluate(const Plan& plan, const std::array<std::vector<RowRange>, 2>& needed, const Link& link) {
    return Run(plan, needed, link, nullptr);
  }
  // The same, and everything that took time, in the order of operators.
  Outcome Record(const Plan& plan, const Link& link, std::vector<Event>& events);

 private:
  struct Interval {
    double start, end;
  };
  using Needed = std::array<std::vector<RowRange>, 2>;
  Outcome Run(const Plan& plan, const Needed& needed, const Link& link, std::vector<Event>* events);
  // When `side` can start `op`: free, and with every row it reads.
  double Start(const Plan& plan, Side side, int op) const;
  void Compute(const Plan& plan, Side side, int op, Outcome& outcome, std::vector<Event>* events);
  // `needed`: by the other side.
  void Send(const Plan& plan, RowRange needed, const Link& link, Side from, int op, Outcome& outcome,
            std::vector<Event>* events);
  double LinkTime() const;

  const RowGraph& graph_;
  std::array<std::vector<double>, 2> arrival_;     // of the rows a side lacks, by receiving side
  std::array<std::vector<Interval>, 2> messages_;  // by sending side
  std::array<double, 2> free_{}, link_free_{};
};

}  // namespace wharf::split
