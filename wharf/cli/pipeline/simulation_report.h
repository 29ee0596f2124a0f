// What `wharf pipeline simulate` shows: how requests fared, where their time went, and what the GPUs did.
#pragma once

#include <string>
#include <vector>

#include "wharf/pipeline/dataplane/simulator.h"

namespace wharf::cli {

// How a simulation was asked for.
struct SimulationSetup {
  std::string plan, trace, scheduler;  // as named on the command line
  double load = 0, seconds = 0;
  uint64_t seed = 0;
  double compute_cv = 0, transfer_cv = 0;
};

// Tables for a terminal: models, pipelines, GPU classes.
std::string SimulationAsText(const SimulationSetup& setup, const pipeline::Deployment& deployment,
                             const pipeline::SimulationResult& result);
std::string SimulationAsJson(const SimulationSetup& setup, const pipeline::Deployment& deployment,
                             const pipeline::SimulationResult& result);
// A line a request, in the order of ending; times in ms. REQUIRES: records were kept.
std::string RequestsAsCsv(const pipeline::Deployment& deployment, const pipeline::SimulationResult& result);

// A row for each virtual GPU that a pipeline uses, by pipeline and stage; boxes are computations of [from, to), thin
// bars under them what was received; colours are pipelines. REQUIRES: a timeline was kept, from < to.
std::string SimulationAsSvg(const SimulationSetup& setup, const pipeline::Deployment& deployment,
                            const pipeline::SimulationResult& result, TimePoint from, TimePoint to);

}  // namespace wharf::cli
