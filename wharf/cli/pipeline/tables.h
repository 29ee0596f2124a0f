// What `wharf pipeline plan` prints: a plan, or the comparison with published ones.
#pragma once

#include <string>
#include <vector>

#include "wharf/pipeline/plan.h"

namespace wharf::cli {

// Pipelines with their pools, cut points, batch sizes and rates; models; GPUs used; value and bounds.
std::string PlanAsText(const pipeline::Plan& plan);

// One published plan and ours for the same models, cluster and rules.
struct ComparedPlan {
  std::string algorithm;  // as published: bl, dart-r, v4
  double published = 0;   // least normalised throughput, requests/s
  pipeline::Plan plan;
};

// Rows, and what they come to: cases, least ratio, largest gap, mean and largest seconds.
std::string ComparisonAsText(const std::vector<ComparedPlan>& compared, bool markdown);
// An array of flat objects: dnns, weights, cluster, algorithm, published_xput, planned_xput, ratio, bound_xput, gap,
// linear_bound_xput, solve_s.
std::string ComparisonAsJson(const std::vector<ComparedPlan>& compared);

}  // namespace wharf::cli
