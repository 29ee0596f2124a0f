#include "wharf/report/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "wharf/report/markup.h"

namespace wharf::report {
namespace {

constexpr char kGap[] = "  ";

std::string Repeat(const std::string& text, size_t times) {
  std::string repeated;
  for (size_t i = 0; i < times; ++i) repeated += text;
  return repeated;
}

std::string Pad(const std::string& cell, size_t width, Align align) {
  const std::string blanks(width - std::min(width, DisplayWidth(cell)), ' ');
  return align == Align::kLeft ? cell + blanks : blanks + cell;
}

void TrimRight(std::string& line) { line.erase(line.find_last_not_of(' ') + 1); }

// In a Markdown cell a bar would end it.
std::string Escape(const std::string& cell) {
  std::string escaped;
  for (char c : cell) {
    if (c == '|') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

}  // namespace

size_t DisplayWidth(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

void Table::AddRow(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

void Table::AddRule() { rows_.emplace_back(); }

std::string Table::Text() const {
  std::vector<size_t> widths;
  for (size_t i = 0; i < columns_.size(); ++i) {
    size_t width = DisplayWidth(columns_[i].title);
    for (const auto& row : rows_) {
      if (!row.empty()) width = std::max(width, DisplayWidth(row[i]));
    }
    widths.push_back(width);
  }
  auto line = [&](auto cell) {
    std::string text;
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (i > 0) text += kGap;
      text += Pad(cell(i), widths[i], columns_[i].align);
    }
    TrimRight(text);
    return text + "\n";
  };
  const std::string rule = line([&](size_t i) { return Repeat("─", widths[i]); });
  std::string text = line([&](size_t i) { return columns_[i].title; }) + rule;
  for (const auto& row : rows_) text += row.empty() ? rule : line([&](size_t i) { return row[i]; });
  return text;
}

std::string Table::Markdown() const {
  std::string titles = "|", rule = "|";
  for (const Column& column : columns_) {
    titles += fmt::format(" {} |", Escape(column.title));
    rule += column.align == Align::kLeft ? " --- |" : " ---: |";
  }
  std::string text = titles + "\n" + rule + "\n";
  for (const auto& row : rows_) {
    if (row.empty()) continue;
    text += "|";
    for (const std::string& cell : row) text += fmt::format(" {} |", Escape(cell));
    text += "\n";
  }
  return text;
}

std::string Table::Html() const {
  const auto line = [this](const char* tag, const auto& cell) {
    std::string text = "<tr>";
    for (size_t i = 0; i < columns_.size(); ++i) {
      const char* right = columns_[i].align == Align::kRight ? " class=\"right\"" : "";
      // For narrow screens, where a row is a block and a cell a line of it, each cell has its column's title.
      const std::string title =
          *tag == 't' && tag[1] == 'd' ? fmt::format(" data-title=\"{}\"", EscapeMarkup(columns_[i].title)) : "";
      text += fmt::format("<{0}{1}{2}>{3}</{0}>", tag, right, title, EscapeMarkup(cell(i)));
    }
    return text + "</tr>\n";
  };
  std::string text = "<table>\n" + line("th", [this](size_t i) { return columns_[i].title; });
  for (const auto& row : rows_) {
    if (!row.empty()) text += line("td", [&row](size_t i) { return row[i]; });
  }
  return text + "</table>\n";
}

}  // namespace wharf::report
