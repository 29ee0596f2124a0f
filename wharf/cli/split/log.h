// What `wharf split` says of its inferences: a table for people, a flat object each for machines, a summary.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "wharf/report/table.h"
#include "wharf/split/runtime/client.h"
#include "wharf/split/timeline_error.h"

namespace wharf::cli {

class SplitLog {
 public:
  // What the objects call them; `plan_file`: where the plans came from, "" if they were made by the session.
  SplitLog(std::string model, std::string mode, std::string plan_file);
  // The session's last inference. If they are known: its results' largest difference from the whole model's, and what
  // this machine's sensor says it took.
  void Add(split::SplitClient& session, std::optional<double> error, std::optional<double> joules);

  int Count() const { return static_cast<int>(latencies_.size()); }
  // The first kTableRows of them.
  std::string Table() const;
  // REQUIRES: Count() > 0.
  std::string Summary() const;
  std::string Json() const { return rows_.dump(1) + "\n"; }

  static constexpr int kTableRows = 100;

 private:
  void AddRow(const split::InferenceReport& report, const split::TimelineError& timeline, double up_bytes,
              double down_bytes);

  const std::string model_, mode_, plan_file_;
  report::Table table_;
  nlohmann::ordered_json rows_ = nlohmann::ordered_json::array();
  std::vector<double> latencies_, planned_, message_errors_, joules_, slowness_;
  int lost_ = 0, beyond_predicted_ = 0;
  double longest_share_ = 0;  // of the bound
  double worst_error_ = 0;
  bool checked_ = false;
};

}  // namespace wharf::cli
