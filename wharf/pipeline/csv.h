// CsvTable: a table of numbers and names with a known header. Of this room's own files.
#pragma once

#include <charconv>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "wharf/base/split_text.h"
#include "wharf/base/status.h"

namespace wharf::pipeline {

// Cells may be quoted ("[4, 1]"); a quoted cell holds no quotes. Points into the text it was read from.
class CsvTable {
 public:
  // `what` names it in messages. kInvalidArgument: another header than `columns` in that order, or a line with another
  // number of cells. Empty lines are left out.
  static absl::StatusOr<CsvTable> Parse(std::string_view text, std::string what,
                                        std::initializer_list<std::string_view> columns);

  size_t Rows() const { return rows_.size(); }
  std::string_view Text(size_t row, size_t column) const { return rows_[row].cells[column]; }
  // kInvalidArgument names table, line and column.
  absl::StatusOr<double> Number(size_t row, size_t column) const;  // finite
  absl::StatusOr<int> Integer(size_t row, size_t column, int least, int most) const;
  // "the table, line 7".
  std::string Where(size_t row) const;

 private:
  struct Row {
    size_t line;
    std::vector<std::string_view> cells;
  };
  std::string what_;
  std::vector<std::string> columns_;
  std::vector<Row> rows_;
};

// kInvalidArgument: "WHAT "TEXT" is no finite number".
absl::StatusOr<double> ParseFinite(std::string_view text, std::string_view what);

}  // namespace wharf::pipeline
