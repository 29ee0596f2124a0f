#include "wharf/pipeline/stages/blocks.h"

namespace wharf::pipeline {
namespace {

constexpr int kConstant = -1;  // nobody makes it

// Of every value: the place from which it is there, and the last place where it must travel.
struct Lives {
  std::vector<int> from, to;
};

Lives LivesOf(const graph::Graph& graph) {
  const int end = static_cast<int>(graph.nodes.size());
  Lives lives{std::vector<int>(graph.values.size(), kConstant), std::vector<int>(graph.values.size(), kConstant)};
  for (const int input : graph.inputs) lives.from[input] = 0;
  for (int node = 0; node < end; ++node) {
    for (const int value : graph.nodes[node].inputs) {
      if (value != graph::kAbsent) lives.to[value] = node;
    }
    for (const int value : graph.nodes[node].outputs) {
      if (value != graph::kAbsent) lives.from[value] = node + 1;
    }
  }
  for (const int output : graph.outputs) lives.to[output] = end;
  return lives;
}

bool Travels(const Lives& lives, int value, int place) {
  return lives.from[value] != kConstant && lives.from[value] <= place && place <= lives.to[value];
}

}  // namespace

std::vector<int> Frontier(const graph::Graph& graph, int place) {
  if (place == 0) return graph.inputs;
  const Lives lives = LivesOf(graph);
  std::vector<int> values;
  for (int value = 0; value < static_cast<int>(graph.values.size()); ++value) {
    if (Travels(lives, value, place)) values.push_back(value);
  }
  return values;
}

std::vector<int> CutPlaces(const graph::Graph& graph, int max_values) {
  const Lives lives = LivesOf(graph);
  const int nodes = static_cast<int>(graph.nodes.size());
  std::vector<int> change(nodes + 2, 0);  // in the number of values that travel
  for (size_t value = 0; value < graph.values.size(); ++value) {
    if (lives.from[value] == kConstant || lives.to[value] < lives.from[value]) continue;
    ++change[lives.from[value]];
    --change[lives.to[value] + 1];
  }
  std::vector<int> places;
  int travelling = change[0];
  for (int place = 1; place < nodes; ++place) {
    travelling += change[place];
    if (travelling <= max_values) places.push_back(place);
  }
  return places;
}

}  // namespace wharf::pipeline
