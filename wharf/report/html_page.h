// HtmlPage: headings, paragraphs, tables and SVG pictures in one file that needs nothing else.
#pragma once

#include <string>
#include <string_view>

#include "wharf/report/table.h"

namespace wharf::report {

class HtmlPage {
 public:
  explicit HtmlPage(std::string title) : title_(std::move(title)) {}
  void AddHeading(std::string_view text);
  void AddParagraph(std::string_view text);
  void AddTable(const Table& table) { body_ += table.Html(); }
  // An SVG document, as the charts of this room give it.
  void AddPicture(std::string_view svg);
  std::string Text() const;

 private:
  const std::string title_;
  std::string body_;
};

}  // namespace wharf::report
