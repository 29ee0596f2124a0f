// What `wharf bench multitask` shows: the thesis's tables and figures of AccuMO, ours beside the thesis's.
#pragma once

#include <string>
#include <vector>

#include "wharf/cli/bench/multitask/rows.h"
#include "wharf/multitask/experiment/component_times.h"
#include "wharf/report/html_page.h"
#include "wharf/report/table.h"

namespace wharf::cli {

struct TitledTable {
  std::string title;
  report::Table table;
};

// Those of Tables 2.1, 2.3, 2.4, 2.5 and Figure 2.12 that there are rows for, the thesis's figures in brackets; what
// accuracy models and the scheduler are worth. All errors: lower is better.
std::vector<TitledTable> MultitaskTables(const std::vector<MultitaskRow>& rows, const std::vector<Weights>& weights);

// Beside the thesis's, which are a phone's and an RTX 2080 Ti's (2.8.3).
TitledTable TimesTable(const multitask::ComponentTimes& times);

// Overall errors as bars, one chart a weight ratio (Figure 2.12).
void AddOverallCharts(const std::vector<MultitaskRow>& rows, const std::vector<Weights>& weights,
                      report::HtmlPage& page);

// A system's, by its name.
struct NamedTimeline {
  std::string system;
  const multitask::Timeline* timeline;
};
// One video (Figures 2.3, 2.8, 2.9 and 2.15): AccuMO's estimates beside the truth, its offload ratios, its errors
// beside those of others, from a few points a second.
void AddTimelines(const std::string& title, const multitask::Timeline& accumo, const std::vector<NamedTimeline>& others,
                  report::HtmlPage& page);

}  // namespace wharf::cli
