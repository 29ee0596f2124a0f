// What `wharf bench serving` shows: tables and plots, the thesis's figures beside ours.
#pragma once

#include <vector>

#include "wharf/cli/bench/serving/rows.h"
#include "wharf/report/html_page.h"
#include "wharf/report/table.h"

namespace wharf::cli {

// Figures 3.13, 3.15, 3.16, 3.17 and 3.22: clients, how many times as many ARISE serves, that of the thesis, batches,
// idle time.
report::Table ServingClientsTable(const std::vector<ServingRow>& rows);
// Figures 3.14, 3.20 and 3.21, and what the scheduler takes: how well plans and estimates hold.
report::Table ServingQualityTable(const std::vector<ServingRow>& rows);
// How many clients kept their agreements, over all seeds, and in how many hours of theirs.
report::Table ServingAdherenceTable(const std::vector<ServingRow>& rows);
// Figures 3.14, 3.18 and 3.21: percentiles over clients of their mean drops, and over videos of how far estimates are
// off.
report::Table ServingDistributionsTable(const std::vector<ServingRow>& rows);
// Bars of the clients, drops against SLAs (Figure 3.14), of all systems (3.18) and errors of estimates (3.21) in order,
// ARISE over time (3.19) and when its batches begin (3.20).
void AddServingCharts(const std::vector<ServingRow>& rows, report::HtmlPage& page);

}  // namespace wharf::cli
