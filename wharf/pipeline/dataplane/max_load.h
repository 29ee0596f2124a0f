// The most that a deployment can serve within its SLOs: the largest load factor at which 99 % of the requests are
// answered on time (thesis 4.7.1).
#pragma once

#include <vector>

#include "wharf/pipeline/dataplane/simulator.h"

namespace wharf::pipeline {

struct LoadSearch {
  double attainment = 0.99;
  double seconds = 30;  // simulated for each load and seed
  int seeds = 2;        // their requests are counted together
  double step = 0.01;   // load factors are multiples of it, at most `highest`
  double highest = 1.5;
  int curve_steps = 0;           // if above 0, of MaxLoad::curve
  SimulationOptions simulation;  // seconds and seed are set by the search
};

struct MaxLoad {
  // Of each model, all models having the same load factor: 0 if even one step is too much.
  std::vector<double> by_model;
  std::vector<double> utilisation;  // of each GPU class, each model at its largest load factor
  // The attainment at curve_steps, 2 · curve_steps … steps up to load factor 1, the mean over the models (Figure 4.7).
  std::vector<double> curve;

  double Mean() const;
};

// `rates`: requests/s of each model at load factor 1, Poisson arrivals. By bisection: taken for granted is that a model
// which has enough attainment at one load has it at every lower one.
MaxLoad FindMaxLoad(const Deployment& deployment, const std::vector<double>& rates, const LoadSearch& search);

}  // namespace wharf::pipeline
