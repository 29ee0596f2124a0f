#include "wharf/report/markup.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

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

std::string ChartNumber(double value) {
  return std::fabs(value) < 1e4 ? fmt::format("{:.4g}", value) : fmt::format("{:.0f}", value);
}

const char* Palette::ColourOf(const std::string& label) {
  auto it = std::find(seen_.begin(), seen_.end(), label);
  if (it == seen_.end()) it = seen_.insert(seen_.end(), label);
  return kColours[static_cast<size_t>(it - seen_.begin()) % std::size(kColours)];
}

}  // namespace wharf::report
