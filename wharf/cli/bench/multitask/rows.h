// What `wharf bench multitask` measured, as rows: means and spreads over videos, by category, system and weights.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "wharf/multitask/experiment/experiment.h"
#include "wharf/report/statistics.h"

namespace wharf::cli {

using Weights = std::vector<double>;              // of depth, odometry and, with three tasks, boxes
std::string WeightsText(const Weights& weights);  // "2:1"

struct MultitaskVideo {
  std::string category;  // "L/H"
  uint64_t seed = 0;
  std::vector<multitask::SystemResult> results;  // of the systems, in their order
};

struct MultitaskRow {
  std::string category, system, weights, latencies;
  std::vector<uint64_t> seeds;
  std::map<std::string, report::MeanAndSpread>
      metrics;  // the Score's fields, and "overall": the weighted mean of the errors
};

// A system that plans by weights has rows for its own, the others have one for each of `weights`. Category "all": the
// mean over the categories' means, where every category has videos; its spread is over the categories.
std::vector<MultitaskRow> Summarise(const std::vector<multitask::System>& systems, const std::vector<Weights>& weights,
                                    const std::vector<MultitaskVideo>& videos);

// nullptr if there is none. `latencies`: "" for the first there are.
const MultitaskRow* FindRow(const std::vector<MultitaskRow>& rows, const std::string& category,
                            const std::string& system, const std::string& weights, const std::string& latencies = "");

// An array of flat objects: "abs_rel" and "abs_rel_spread" for each metric.
std::string RowsAsJson(const std::vector<MultitaskRow>& rows, bool oracle);

}  // namespace wharf::cli
