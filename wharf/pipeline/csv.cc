#include "wharf/pipeline/csv.h"

#include <algorithm>
#include <cmath>

namespace wharf::pipeline {
namespace {

// The next cell; `line` is left behind its comma. A line that ends with a comma has an empty last cell.
std::string_view TakeCell(std::string_view& line, bool& more) {
  const bool quoted = line.starts_with('"');
  const size_t begin = quoted ? 1 : 0;
  const size_t end = std::min(quoted ? line.find('"', begin) : line.find(','), line.size());
  const std::string_view cell = line.substr(begin, end - begin);
  const size_t comma = std::min(line.find(',', end), line.size());
  more = comma < line.size();
  line.remove_prefix(more ? comma + 1 : comma);
  return cell;
}

std::vector<std::string_view> Cells(std::string_view line) {
  std::vector<std::string_view> cells;
  for (bool more = true; more;) cells.push_back(TakeCell(line, more));
  return cells;
}

}  // namespace

absl::StatusOr<double> ParseFinite(std::string_view text, std::string_view what) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    return InvalidArgument("{} \"{}\" is no finite number", what, text);
  }
  return value;
}

absl::StatusOr<CsvTable> CsvTable::Parse(std::string_view text, std::string what,
                                         std::initializer_list<std::string_view> columns) {
  CsvTable table;
  table.what_ = std::move(what);
  table.columns_.assign(columns.begin(), columns.end());
  size_t number = 0;
  for (std::string_view line : SplitText(text, '\n')) {
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (number == 1) {
      if (!std::ranges::equal(Cells(line), columns)) {
        return InvalidArgument("{}: its first line is not {}", table.what_, fmt::join(columns, ","));
      }
    } else if (!line.empty()) {
      table.rows_.push_back({number, Cells(line)});
      if (const size_t cells = table.rows_.back().cells.size(); cells != columns.size()) {
        return InvalidArgument("{}, line {}: {} cells, not {}", table.what_, number, cells, columns.size());
      }
    }
  }
  return table;
}

std::string CsvTable::Where(size_t row) const { return fmt::format("{}, line {}", what_, rows_[row].line); }

absl::StatusOr<double> CsvTable::Number(size_t row, size_t column) const {
  const auto value = ParseFinite(Text(row, column), columns_[column]);
  if (!value.ok()) return InvalidArgument("{}: {}", Where(row), Message(value.status()));
  return *value;
}

absl::StatusOr<int> CsvTable::Integer(size_t row, size_t column, int least, int most) const {
  WHARF_ASSIGN_OR_RETURN(const double value, Number(row, column));
  if (value < least || value > most || value != std::floor(value)) {
    return InvalidArgument("{}: {} is {}, not a whole number from {} to {}", Where(row), columns_[column], value, least,
                           most);
  }
  return static_cast<int>(value);
}

}  // namespace wharf::pipeline
