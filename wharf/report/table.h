// Table: rows of text for terminals and for documents.
//
//   Table table({{"mode"}, {"latency ms", Align::kRight}});
//   table.AddRow({"posted", "41.2"});
//   std::fputs(table.Text().c_str(), stdout);
#pragma once

#include <string>
#include <vector>

namespace wharf::report {

enum class Align { kLeft, kRight };

struct Column {
  std::string title;
  Align align = Align::kLeft;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  // Missing cells are empty. REQUIRES: not more cells than columns.
  void AddRow(std::vector<std::string> cells);
  // A line between the rows before and after.
  void AddRule();
  // Columns as wide as their widest cell, a line under the titles, no trailing blanks.
  std::string Text() const;
  // A Markdown table; rules are left out.
  std::string Markdown() const;
  // A <table>; rules are left out.
  std::string Html() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;  // an empty one is a rule
};

// Columns `text` takes on a terminal: code points, for UTF-8 without combining or wide characters.
size_t DisplayWidth(const std::string& text);

}  // namespace wharf::report
