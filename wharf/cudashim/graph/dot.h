// A graph in Graphviz's language, for people who debug programs (cudaGraphDebugDotPrint).
#pragma once

#include <functional>
#include <string>

#include "wharf/cudashim/graph/graph.h"

namespace wharf::cudagraph {

// `label` gives a node's text, of one or several lines.
std::string ToDot(const Graph& graph, const std::function<std::string(const Node&)>& label);

}  // namespace wharf::cudagraph
