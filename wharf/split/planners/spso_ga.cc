#include "wharf/split/planners/spso_ga.h"

#include <algorithm>
#include <cmath>

namespace wharf::split {
namespace {

constexpr size_t kSwarm = 60;
constexpr int kPrices = 12;  // of time, in the seeds

}  // namespace

SpsoGaPlanner::SpsoGaPlanner(const RowGraph& graph, const PlannerOptions& options)
    : graph_(graph), options_(options), cutter_(graph), evaluator_(graph), random_(options.seed), plan_(graph.Size()) {}

void SpsoGaPlanner::Lay(const Position& at) {
  for (int op = 0; op < graph_.Size(); ++op) {
    const bool server = at[op] && op != 0 && op != graph_.Output();
    plan_.rows[server ? kServer : kDevice][op] = {0, graph_.Rows(op)};
    plan_.rows[server ? kDevice : kServer][op] = {};
  }
}

double SpsoGaPlanner::Score(const Position& at, const Link& link, const Objective& objective) {
  Lay(at);
  return objective.Score(evaluator_.Evaluate(plan_, link));
}

std::vector<SpsoGaPlanner::Position> SpsoGaPlanner::Seeds(const Link& link) {
  std::vector<Position> seeds = {Position(graph_.Size(), false), Position(graph_.Size(), true)};
  for (int i = 0; link.bytes_per_ms > 0 && i < kPrices; ++i) {
    const double joules_per_ms = i == 0 ? 0 : 1e-3 * std::exp2(i - 1);
    seeds.push_back(cutter_.Cheapest(EnergyCosts(graph_, link, joules_per_ms), Replication::kNo).on[kServer]);
  }
  return seeds;
}

void SpsoGaPlanner::CopySegment(Position& to, const Position& from) {
  int first = random_.Below(graph_.Size()), last = random_.Below(graph_.Size());
  if (first > last) std::swap(first, last);
  std::copy(from.begin() + first, from.begin() + last + 1, to.begin() + first);
}

void SpsoGaPlanner::Move(Particle& particle, const Position& best, double progress) {
  int different = 0;
  for (int op = 0; op < graph_.Size(); ++op) different += particle.at[op] != best[op] ? 1 : 0;
  const double distance = static_cast<double>(different) / graph_.Size();
  const double inertia = 0.9 - 0.5 * std::exp(distance / (distance - 1.01));
  if (random_.Uniform() < inertia) {
    const int op = random_.Below(graph_.Size());
    particle.at[op] = !particle.at[op];
  }
  if (random_.Uniform() < 0.9 - 0.7 * progress) CopySegment(particle.at, particle.best);
  if (random_.Uniform() < 0.4 + 0.5 * progress) CopySegment(particle.at, best);
}

Plan SpsoGaPlanner::MakePlan(const Link& link, const Objective& objective) {
  const int64_t evaluations = std::max<int64_t>(1, options_.budget / graph_.Size());
  std::vector<Position> seeds = Seeds(link);
  std::vector<Particle> swarm(kSwarm);
  for (size_t i = 0; i < kSwarm; ++i) {
    Position& at = swarm[i].at;
    at = i < seeds.size() ? seeds[i] : Position(graph_.Size());
    if (i >= seeds.size()) {
      for (int op = 0; op < graph_.Size(); ++op) at[op] = random_.Below(2) == 1;
    }
    swarm[i].best = at;
    swarm[i].score = Score(at, link, objective);
  }
  const auto better = [](const Particle& a, const Particle& b) { return a.score < b.score; };
  Particle best = *std::min_element(swarm.begin(), swarm.end(), better);
  for (int64_t spent = kSwarm; spent < evaluations;) {
    const double progress = static_cast<double>(spent) / static_cast<double>(evaluations);
    for (Particle& particle : swarm) {
      Move(particle, best.best, progress);
      ++spent;
      const double score = Score(particle.at, link, objective);
      if (!(score < particle.score)) continue;
      particle.best = particle.at;
      particle.score = score;
      if (score < best.score) best = particle;
    }
  }
  Lay(best.best);
  return plan_;
}

}  // namespace wharf::split
