#include "wharf/report/html_page.h"

#include <fmt/format.h>

#include "wharf/report/markup.h"

namespace wharf::report {
namespace {

constexpr const char* kStyle =
    "*{box-sizing:border-box}"
    "body{font-family:sans-serif;line-height:1.4;margin:0 auto;padding:1em;max-width:80em;overflow-wrap:anywhere}"
    "h1{font-size:1.6em}h2{font-size:1.25em;margin-top:1.6em}"
    "table{border-collapse:collapse;font-size:85%;overflow-wrap:normal}"
    "th,td{padding:.25em .6em;border-bottom:1px solid #ddd;text-align:left;vertical-align:bottom}"
    ".right{text-align:right}td.right{white-space:nowrap}"
    ".wide{overflow-x:auto}"
    "figure{margin:1em 0;overflow-x:auto}figure svg{display:block;width:100%;height:auto}"
    "dl.record{display:grid;grid-template-columns:max-content 1fr;gap:.1em .8em;font-size:85%;color:#444}"
    "dl.record dt{font-weight:bold}dl.record dd{margin:0}"
    // A row as a block, a line a cell.
    "@media(max-width:45em){table,tbody,tr,td{display:block}th{display:none}"
    "tr{border-bottom:2px solid #999;padding:.3em 0}tr:first-child{display:none}"
    "td,td.right{display:flex;justify-content:space-between;gap:1em;border:0;padding:.1em 0;text-align:right;"
    "white-space:normal}"
    "td:empty{display:none}td::before{content:attr(data-title);font-weight:bold;text-align:left}}";

std::string RecordMarkup(const RunRecord& record) {
  std::string text = "<dl class=\"record\">\n";
  for (const auto& [name, value] : {std::pair{"command", &record.command},
                                    {"date", &record.date},
                                    {"machine", &record.machine},
                                    {"load", &record.load},
                                    {"sample", &record.sample}}) {
    text += fmt::format("<dt>{}</dt><dd>{}</dd>\n", name, EscapeMarkup(*value));
  }
  return text + "</dl>\n";
}

}  // namespace

void HtmlPage::AddHeading(std::string_view text) { body_ += fmt::format("<h2>{}</h2>\n", EscapeMarkup(text)); }

void HtmlPage::AddParagraph(std::string_view text) { body_ += fmt::format("<p>{}</p>\n", EscapeMarkup(text)); }

void HtmlPage::AddTable(const Table& table) { body_ += fmt::format("<div class=\"wide\">\n{}</div>\n", table.Html()); }

void HtmlPage::AddPicture(std::string_view svg) { body_ += fmt::format("<figure>\n{}</figure>\n", svg); }

std::string HtmlPage::Text() const {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" "
      "content=\"width=device-width,initial-scale=1\"><title>{0}</title><style>{1}</style></head>\n"
      "<body>\n<h1>{0}</h1>\n{2}{3}</body>\n</html>\n",
      EscapeMarkup(title_), kStyle, RecordMarkup(record_), body_);
}

}  // namespace wharf::report
