#include "wharf/report/html_page.h"

#include <fmt/format.h>

#include "wharf/report/markup.h"

namespace wharf::report {
namespace {

constexpr const char* kStyle =
    "body{font-family:sans-serif;margin:2em;max-width:80em}table{border-collapse:collapse;font-size:90%}"
    "th,td{padding:.2em .7em;border-bottom:1px solid #ddd;text-align:left}.right{text-align:right}"
    "figure{margin:1em 0;overflow-x:auto}";

}  // namespace

void HtmlPage::AddHeading(std::string_view text) { body_ += fmt::format("<h2>{}</h2>\n", EscapeMarkup(text)); }

void HtmlPage::AddParagraph(std::string_view text) { body_ += fmt::format("<p>{}</p>\n", EscapeMarkup(text)); }

void HtmlPage::AddPicture(std::string_view svg) { body_ += fmt::format("<figure>\n{}</figure>\n", svg); }

std::string HtmlPage::Text() const {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>{0}</title><style>{1}</style></head>\n"
      "<body>\n<h1>{0}</h1>\n{2}</body>\n</html>\n",
      EscapeMarkup(title_), kStyle, body_);
}

}  // namespace wharf::report
