#include "wharf/report/markup.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "wharf/report/scale.h"

namespace wharf::report {
namespace {

constexpr const char* kColours[] = {"#0072b2", "#e69f00", "#009e73", "#cc79a7",
                                    "#56b4e9", "#d55e00", "#999999", "#000000"};

}  // namespace

std::string EscapeMarkup(std::string_view text) {
  std::string escaped;
  for (char c : text) {
    switch (c) {
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '&':
        escaped += "&amp;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string SvgDocument(double width, double height, const std::string& body) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "style=\"max-width:{0:.0f}px\" font-family=\"sans-serif\" font-size=\"14\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{2}</svg>\n",
      width, height, body);
}

std::string ChartTitle(const std::string& title, double width, double& top) {
  constexpr double kTitle = 17;
  std::string text;
  top = 8;
  for (const std::string& line : WrapText(title, static_cast<size_t>((width - 16) / (kTitle * 0.62)))) {
    top += kTitle + 5;
    text += fmt::format("<text x=\"8\" y=\"{:.0f}\" font-size=\"17\">{}</text>\n", top, EscapeMarkup(line));
  }
  top += 18;
  return text;
}

std::string ChartNumber(double value) {
  if (value == 0) value = 0;  // not -0
  return std::fabs(value) < 1e4 ? fmt::format("{:.4g}", value) : fmt::format("{:.0f}", value);
}

const char* Palette::ColourOf(const std::string& label) {
  auto it = std::find(seen_.begin(), seen_.end(), label);
  if (it == seen_.end()) it = seen_.insert(seen_.end(), label);
  return kColours[static_cast<size_t>(it - seen_.begin()) % std::size(kColours)];
}

}  // namespace wharf::report
