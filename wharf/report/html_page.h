// HtmlPage: headings, paragraphs, tables and SVG pictures in one file that needs nothing else. It is read on a screen
// as on a telephone: pictures shrink, and a table's rows become blocks of lines where the screen is narrow.
#pragma once

#include <string>
#include <string_view>

#include "wharf/report/run_record.h"
#include "wharf/report/table.h"

namespace wharf::report {

class HtmlPage {
 public:
  // `record`: how what is on it came about; it stands below the title.
  HtmlPage(std::string title, RunRecord record) : title_(std::move(title)), record_(std::move(record)) {}
  void AddHeading(std::string_view text);
  void AddParagraph(std::string_view text);
  void AddTable(const Table& table);
  // An SVG document, as the charts of this room give it.
  void AddPicture(std::string_view svg);
  // Markup of the caller's own, as it is: for what the above do not draw.
  void AddMarkup(std::string_view markup) { body_ += markup; }
  std::string Text() const;

 private:
  const std::string title_;
  const RunRecord record_;
  std::string body_;
};

}  // namespace wharf::report
