#include "wharf/cli/split/operator_table.h"

#include <algorithm>
#include <map>
#include <vector>

#include "wharf/graph/fuse.h"
#include "wharf/graph/operators.h"
#include "wharf/graph/row_rules.h"
#include "wharf/report/table.h"

namespace wharf::cli {

using report::Align;

std::string SupportedOperatorsAsText() {
  report::Table table({{"operator"}, {"kind"}, {"operator sets", Align::kRight}, {"note"}});
  std::vector<graph::OperatorFacts> all(graph::Operators().begin(), graph::Operators().end());
  all.insert(all.end(), graph::NewerOperators().begin(), graph::NewerOperators().end());
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  for (const graph::OperatorFacts& facts : all) {
    table.AddRow({std::string(facts.name), std::string(Name(facts.kind)),
                  fmt::format("{}-{}", facts.first, graph::kLastOperatorSet), std::string(facts.note)});
  }
  return table.Text();
}

absl::StatusOr<std::string> ModelOperatorsAsText(const graph::Graph& written) {
  const graph::Graph graph = graph::FuseOperators(written);
  WHARF_ASSIGN_OR_RETURN(const graph::RowRules rules, graph::RowRulesOf(graph));
  struct Count {
    int local = 0, global = 0;
  };
  std::map<std::string, Count> counts;
  Count all;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const bool local = rules.IsLocal(graph, static_cast<int>(n));
    for (Count* count : {&counts[graph.nodes[n].op], &all}) ++(local ? count->local : count->global);
  }
  report::Table table({{"operator"}, {"local", Align::kRight}, {"global", Align::kRight}});
  for (const auto& [op, count] : counts) {
    table.AddRow({op, std::to_string(count.local), std::to_string(count.global)});
  }
  table.AddRule();
  table.AddRow({"all", std::to_string(all.local), std::to_string(all.global)});
  return table.Text();
}

}  // namespace wharf::cli
