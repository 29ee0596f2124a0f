// What `wharf bench pipeline` shows: rows as JSON and tables, means beside the thesis's, plots.
#pragma once

#include <string>
#include <vector>

#include "wharf/cli/pipeline/case.h"
#include "wharf/report/html_page.h"
#include "wharf/report/table.h"

namespace wharf::cli {

// A flat object each.
std::string PipelineRowsAsJson(const std::vector<PipelineBenchRow>& rows);
// All of them; rules between cases.
report::Table PipelineRowsAsTable(const std::vector<PipelineBenchRow>& rows);
// Means over the groups of models, by cluster and what is varied: each algorithm's load factor, what ours is above it,
// and utilisation.
report::Table PipelineMeansAsTable(const std::vector<PipelineBenchRow>& rows);
// The same as bars: load factors, and utilisation of the slower GPUs (thesis, Figures 4.5, 4.6, 4.9 and 4.12).
void AddPipelineCharts(const std::vector<PipelineBenchRow>& rows, report::HtmlPage& page);

}  // namespace wharf::cli
