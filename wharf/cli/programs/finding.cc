#include "wharf/cli/programs/finding.h"

#include <nlohmann/json.hpp>

namespace wharf::cli {

const char* Word(Health health) {
  switch (health) {
    case Health::kGood:
      return "good";
    case Health::kNote:
      return "note";
    case Health::kBroken:
      return "broken";
  }
  return "broken";
}

std::string FindingsAsJson(const std::vector<Finding>& findings, int indent) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Finding& finding : findings) {
    rows.push_back(
        {{"name", finding.name}, {"health", Word(finding.health)}, {"detail", finding.detail}, {"mend", finding.mend}});
  }
  return rows.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

absl::StatusOr<std::vector<Finding>> ParseFindings(std::string_view json) {
  const nlohmann::json rows = nlohmann::json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!rows.is_array()) return InvalidArgument("no list of findings");
  std::vector<Finding> findings;
  for (const nlohmann::json& row : rows) {
    Finding& finding = findings.emplace_back();
    finding.health = Health::kBroken;
    for (const Health health : {Health::kGood, Health::kNote}) {
      if (row.is_object() && row.value("health", "") == Word(health)) finding.health = health;
    }
    for (const auto& [name, text] :
         {std::pair("name", &finding.name), std::pair("detail", &finding.detail), std::pair("mend", &finding.mend)}) {
      if (!row.is_object() || !row.contains(name) || !row[name].is_string())
        return InvalidArgument("a finding without {}", name);
      *text = row[name];
    }
  }
  return findings;
}

}  // namespace wharf::cli
