// How the rows of `wharf bench offload` are shown: JSON, tables, a chart, a page.
#pragma once

#include <string>
#include <vector>

#include "wharf/cli/bench/offload/model.h"

namespace wharf::cli {

// A flat array of rows.
std::string RowsAsJson(const std::vector<BenchRow>& rows);
enum class TableStyle { kText, kMarkdown };
std::string RowsAsTable(const std::vector<BenchRow>& rows, TableStyle style);
// By function: how many calls in each stage, and which share of the stage's.
std::string CallsAsTable(const CallStages& stages, TableStyle style);
// Latency by scenario and mode, as an SVG document.
std::string RowsAsChart(const std::vector<BenchRow>& rows);
// Everything, with pictures of latency, round trips, bytes, use of the device and energy, in one HTML file. `stages`
// may be null.
std::string RowsAsPage(const std::vector<BenchRow>& rows, const CallStages* stages);

}  // namespace wharf::cli
