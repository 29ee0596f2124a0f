// Rows that nobody reads: a classifier on tokens reads one of them in the end, and so nothing behind the last attention
// needs the others.
#pragma once

#include "wharf/graph/graph.h"

namespace wharf::graph {

// Leaves out the rows (row_rules.h) of values that no output depends on: behind what every row needs, up to where one
// row is gathered, operators that make rows apart from each other make that row only. Results stay as they are.
// REQUIRES: Validate(graph).ok(); so is the result. A graph without row rules stays as it is. O(values + nodes).
Graph DropUnreadRows(Graph graph);

}  // namespace wharf::graph
