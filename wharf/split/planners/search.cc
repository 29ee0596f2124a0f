#include "wharf/split/planners/search.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace wharf::split {
namespace {

constexpr size_t kStarts = 3;   // of which this many are improved
constexpr size_t kLayouts = 2;  // of the pool, this many are improved for each rate
constexpr size_t kSampledRates = 6, kLayoutsPerRate = 4, kSegmentsPerRate = 2;
constexpr int64_t kLayingOut = 15;  // laying a graph out takes as long as walking it this often
const std::vector<std::vector<double>> kEnds = {
    {0.5}, {0.75}, {0.9}, {0.34, 0.67}, {0.5, 0.9}, {0.25, 0.5, 0.75}, {0.4, 0.7, 0.9}};
constexpr size_t kMaxEnds = 5;
constexpr int kBandsOfSegment[] = {0, 1, 2, 3, 5};

// Whether bands of every operator read what the operator does. Else plans without layout are not always valid in one.
bool BandsReadAlike(const RowGraph& graph) {
  for (int op = 0; op < graph.Size(); ++op) {
    for (const RowGraph::Edge& edge : graph.Inputs(op)) {
      if (AsBandsRead(graph, op, edge).rule != edge.rule) return false;
    }
  }
  return true;
}

}  // namespace

IntraDpPlanner::IntraDpPlanner(const RowGraph& graph, const PlannerOptions& options)
    : graph_(graph), options_(options), search_(graph, options.seed), cutter_(graph), evaluator_(graph) {
  for (const int position : search_.FrontierPositions()) {
    if (position > 0) untils_.push_back(position + 1);
  }
  if (untils_.empty() || untils_.back() != graph.Output()) untils_.push_back(graph.Output());
}

void IntraDpPlanner::Ask(const Question& question, size_t rate) {
  Link link = question.link;
  link.bytes_per_ms = question.rates[rate];
  search_.Ask(link, question.objective);
}

std::vector<size_t> IntraDpPlanner::Sampled(const Question& question) {
  std::vector<size_t> sampled;
  for (size_t i = 0; i < question.rates.size(); ++i) {
    if (question.rates[i] > 0) sampled.push_back(i);
  }
  for (size_t i = 0, all = sampled.size(); all > kSampledRates && i < kSampledRates; ++i) {
    sampled[i] = sampled[(2 * i + 1) * all / (2 * kSampledRates)];
  }
  sampled.resize(std::min(sampled.size(), kSampledRates));
  return sampled;
}

IntraDpPlanner::Found IntraDpPlanner::Make(const Parted& parted) {
  Found found{{search_.Part(parted.segment, parted.share), std::numeric_limits<double>::infinity()}, nullptr};
  if (parted.bands > 0) {
    Banding banding{search_.EndOf(parted.segment), {}, Anchor::kFrontier};
    for (int band = 1; band <= parted.bands; ++band) banding.ends.push_back(parted.share * band / parted.bands);
    found.laid_out = std::make_shared<LaidOut>(graph_, banding);
    search_.Spend(kLayingOut * found.laid_out->graph.Size());
  }
  return found;
}

bool IntraDpPlanner::GoesOn(double share) {
  stopped_ = stopped_ || (options_.go_on != nullptr && !options_.go_on(share));
  return !stopped_;
}

std::vector<IntraDpPlanner::Found> IntraDpPlanner::PartSegments(const Question& question, bool in_bands) {
  std::vector<CutSearch::Segment> segments;
  search_.Use(nullptr);
  for (const size_t rate : Sampled(question)) {
    Ask(question, rate);
    for (const CutSearch::Segment& segment : search_.BestSegments(kSegmentsPerRate)) {
      if (std::find(segments.begin(), segments.end(), segment) == segments.end()) segments.push_back(segment);
    }
  }
  std::vector<Found> best(question.rates.size());
  std::vector<Parted> how(question.rates.size());
  for (const CutSearch::Segment& segment : segments) {
    if (!GoesOn(0.2)) break;
    for (int eighths = 1; eighths < 8; ++eighths) {
      for (const int bands : kBandsOfSegment) {
        if (bands > 0 && !in_bands) continue;
        const Parted parted{segment, eighths / 8.0, bands};
        const Found found = Make(parted);
        search_.Use(found.laid_out.get());
        for (size_t i = 0; i < best.size(); ++i) {
          if (question.rates[i] <= 0) continue;
          Ask(question, i);
          const double score = search_.Score(found.cuts.cuts);
          if (score < best[i].cuts.score) best[i] = {{found.cuts.cuts, score}, found.laid_out}, how[i] = parted;
        }
      }
    }
  }
  for (size_t i = 0; i < best.size(); ++i) {
    if (!std::isfinite(best[i].cuts.score)) continue;
    Ask(question, i);
    best[i] = Refined(how[i], std::move(best[i]));
  }
  return best;
}

IntraDpPlanner::Found IntraDpPlanner::Refined(Parted parted, Found best) {
  for (double step = 1.0 / 16; step > 1.0 / 512; step /= 2) {
    for (Parted changed : {Parted{parted.segment, parted.share - step, parted.bands},
                           Parted{parted.segment, parted.share + step, parted.bands},
                           Parted{parted.segment, parted.share + step, parted.bands + 1}}) {
      if (parted.bands == 0 || changed.bands > static_cast<int>(kMaxEnds)) changed.bands = parted.bands;
      Found found = Make(changed);
      search_.Use(found.laid_out.get());
      found.cuts.score = search_.Score(found.cuts.cuts);
      if (!Better(found.cuts.score, best.cuts.score)) continue;
      best = std::move(found);
      parted = changed;
      break;
    }
  }
  return best;
}

CutSearch::Candidate IntraDpPlanner::Solve(int64_t budget) {
  search_.Use(nullptr);
  std::vector<CutSearch::Candidate> starts = search_.Starts();
  const auto better = [](const CutSearch::Candidate& a, const CutSearch::Candidate& b) { return a.score < b.score; };
  std::stable_sort(starts.begin(), starts.end(), better);
  starts.resize(std::min(starts.size(), kStarts));
  for (CutSearch::Candidate& start : starts) search_.Polish(start, search_.Spent() + budget / 8);
  CutSearch::Candidate best = *std::min_element(starts.begin(), starts.end(), better);
  search_.Wander(best, budget * 3 / 4);
  search_.Polish(best, budget);
  return best;
}

std::vector<Banding> IntraDpPlanner::Bandings() const {
  std::vector<Banding> all;
  for (const int until : untils_) {
    for (const auto& ends : kEnds) {
      for (const Anchor anchor : {Anchor::kInput, Anchor::kFrontier}) all.push_back({until, ends, anchor});
    }
  }
  return all;
}

std::vector<Cuts> IntraDpPlanner::WholeSides(const Link& link) {
  return {CutsOf(graph_, ServerOnlyPlan(graph_)),
          CutsOf(graph_, PlanOf(graph_, cutter_.Cheapest(LatencyCosts(graph_, link), Replication::kNo)))};
}

std::vector<std::shared_ptr<LaidOut>> IntraDpPlanner::ChooseLayouts(const Question& question,
                                                                    const std::vector<Found>& plain) {
  const std::vector<size_t> sampled = Sampled(question);
  std::vector<std::vector<Cuts>> cuts;
  for (const size_t rate : sampled) {
    Link link = question.link;
    link.bytes_per_ms = question.rates[rate];
    cuts.push_back(WholeSides(link));
    cuts.back().push_back(plain[rate].cuts.cuts);
  }
  using Scored = std::pair<double, std::shared_ptr<LaidOut>>;
  std::vector<std::vector<Scored>> best(sampled.size());
  for (const Banding& banding : Bandings()) {
    const auto laid_out = std::make_shared<LaidOut>(graph_, banding);
    if (laid_out->graph.Size() == graph_.Size()) continue;  // nothing was parted
    search_.Use(laid_out.get());
    for (size_t i = 0; i < sampled.size(); ++i) {
      Ask(question, sampled[i]);
      double score = std::numeric_limits<double>::infinity();
      for (const Cuts& one : cuts[i]) score = std::min(score, search_.Score(one));
      const auto place = std::find_if(best[i].begin(), best[i].end(), [&](const Scored& s) { return score < s.first; });
      best[i].insert(place, {score, laid_out});
      if (best[i].size() > kLayoutsPerRate) best[i].pop_back();
    }
  }
  std::vector<std::shared_ptr<LaidOut>> chosen;
  for (const auto& of_rate : best) {
    for (const auto& [score, laid_out] : of_rate) {
      if (std::find(chosen.begin(), chosen.end(), laid_out) == chosen.end()) chosen.push_back(laid_out);
    }
  }
  return chosen;
}

void IntraDpPlanner::TryLayouts(const std::vector<std::shared_ptr<LaidOut>>& layouts, const Found& parted, Found& best,
                                int64_t budget) {
  std::vector<Cuts> cuts = WholeSides(search_.AskedLink());
  cuts.push_back(best.cuts.cuts);
  std::vector<Found> found;
  if (!parted.cuts.cuts.empty()) found.push_back(parted);
  for (const auto& laid_out : layouts) {
    search_.Use(laid_out.get());
    Found one{{}, laid_out};
    for (const Cuts& start : cuts) {
      const double score = search_.Score(start);
      if (score < one.cuts.score) one.cuts = {start, score};
    }
    found.push_back(std::move(one));
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Found& a, const Found& b) { return a.cuts.score < b.cuts.score; });
  found.resize(std::min(found.size(), kLayouts));
  for (Found& one : found) {
    search_.Use(one.laid_out.get());
    search_.Polish(one.cuts, search_.Spent() + budget / 6);
    if (one.laid_out != nullptr) WanderLayouts(one, search_.Spent() + budget / 6);
    if (Better(one.cuts.score, best.cuts.score)) best = std::move(one);
  }
  search_.Use(best.laid_out.get());
  search_.Wander(best.cuts, search_.Spent() + budget / 6);
  search_.Polish(best.cuts, search_.Spent() + budget / 6);
}

Banding IntraDpPlanner::Changed(const Banding& banding) {
  Random& dice = search_.Dice();
  Banding changed = banding;
  std::vector<double>& ends = changed.ends;
  const auto moved_until = [&] {
    const auto place = std::find(untils_.begin(), untils_.end(), banding.until) - untils_.begin();
    const int64_t to = place + dice.Between(-3, 3);
    return untils_[std::clamp<int64_t>(to, 0, static_cast<int64_t>(untils_.size()) - 1)];
  };
  switch (dice.Below(5)) {
    case 0:
      changed.until = moved_until();
      break;
    case 1:
      changed.anchor = banding.anchor == Anchor::kInput ? Anchor::kFrontier : Anchor::kInput;
      break;
    case 2:
      if (ends.size() < kMaxEnds) ends.push_back(dice.Uniform());
      break;
    case 3:
      if (ends.size() > 1) ends.erase(ends.begin() + dice.Below(static_cast<int>(ends.size())));
      break;
    default:
      double& end = ends[dice.Below(static_cast<int>(ends.size()))];
      end = std::clamp(end + (dice.Uniform() - 0.5) * 0.3, 0.0, 1.0);
  }
  std::sort(ends.begin(), ends.end());
  return changed;
}

void IntraDpPlanner::WanderLayouts(Found& best, int64_t limit) {
  while (search_.Spent() < limit) {
    const auto laid_out = std::make_shared<LaidOut>(graph_, Changed(best.laid_out->banding));
    search_.Spend(kLayingOut * laid_out->graph.Size());
    search_.Use(laid_out.get());
    const double score = search_.Score(best.cuts.cuts);
    if (score > best.cuts.score) continue;
    best.cuts.score = score;
    best.laid_out = laid_out;
  }
  search_.Use(best.laid_out.get());
}

void IntraDpPlanner::Retry(const std::vector<Found>& all, Found& best, int64_t budget) {
  for (const Found& other : all) {
    search_.Use(other.laid_out.get());
    const double score = search_.Score(other.cuts.cuts);
    if (Better(score, best.cuts.score)) best = {{other.cuts.cuts, score}, other.laid_out};
  }
  search_.Use(best.laid_out.get());
  if (best.laid_out != nullptr) WanderLayouts(best, search_.Spent() + budget / 4);
  search_.Wander(best.cuts, budget / 2);
  search_.Polish(best.cuts, budget);
}

// The plan found, or a layer partition where that is better: cuts cannot write down every one of those.
Plan IntraDpPlanner::BestPlan(const Found& found, const Link& link, const Objective& objective) {
  search_.Use(found.laid_out.get());
  Plan best = search_.PlanOf(found.cuts.cuts);
  double score = found.cuts.score;
  std::vector<Plan> others = {DeviceOnlyPlan(graph_), ServerOnlyPlan(graph_)};
  if (link.bytes_per_ms > 0) {
    others.push_back(PlanOf(graph_, cutter_.Cheapest(LatencyCosts(graph_, link), Replication::kNo)));
  }
  for (Plan& other : others) {
    const double its = objective.Score(evaluator_.Evaluate(other, link));
    if (its < score) best = std::move(other), score = its;
  }
  return best;
}

// Plans of nearby bandwidths are good starts, so they are made as well.
Plan IntraDpPlanner::MakePlan(const Link& link, const Objective& objective) {
  if (link.bytes_per_ms <= 0) return Sweep(link, {0}, objective).front();
  std::vector<double> rates;
  for (const double factor : {0.8, 0.9, 1.0, 1.1, 1.25}) rates.push_back(factor * link.bytes_per_ms);
  return Sweep(link, rates, objective)[2];
}

std::vector<Plan> IntraDpPlanner::Sweep(const Link& link, const std::vector<double>& bytes_per_ms,
                                        const Objective& objective) {
  const Question question{link, bytes_per_ms, objective};
  const size_t count = bytes_per_ms.size();
  std::vector<Found> best(count);
  // Four passes over all rates that take about as long as each other, and the sections, which take as long as one.
  const double steps = 5.0 * static_cast<double>(count);
  size_t done = 0;
  for (size_t i = 0; i < count; ++i) {
    Ask(question, i);
    best[i].cuts = Solve(bytes_per_ms[i] > 0 && GoesOn(static_cast<double>(++done) / steps) ? options_.budget / 4 : 0);
  }
  using Layouts = std::vector<std::shared_ptr<LaidOut>>;
  const bool in_bands = options_.bands && BandsReadAlike(graph_);
  const Layouts layouts = in_bands ? ChooseLayouts(question, best) : Layouts();
  const std::vector<Found> parted = PartSegments(question, in_bands);
  done += count;
  const auto improve = [&](size_t i, const auto& how) {
    if (bytes_per_ms[i] <= 0 || !GoesOn(static_cast<double>(++done) / steps)) return;
    Ask(question, i);
    how(best[i]);
  };
  for (size_t i = 0; i < count; ++i) {
    improve(i, [&](Found& one) { TryLayouts(layouts, parted[i], one, options_.budget / 4); });
  }
  for (size_t i = 0; i < count; ++i) improve(i, [&](Found& one) { Retry(best, one, options_.budget / 4); });
  for (size_t i = count; i-- > 0;) improve(i, [&](Found& one) { Retry(best, one, options_.budget / 4); });
  std::vector<Plan> plans;
  for (size_t i = 0; i < count; ++i) {
    Link at = link;
    at.bytes_per_ms = bytes_per_ms[i];
    plans.push_back(BestPlan(best[i], at, objective));
  }
  return plans;
}

}  // namespace wharf::split
