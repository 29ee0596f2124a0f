// What SVG and HTML share.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace wharf::report {

// `text` where markup is read: < > & " escaped.
std::string EscapeMarkup(std::string_view text);

// A value as charts show it: four digits, and all of them before the point.
std::string ChartNumber(double value);

// An SVG document of this size, as wide as what it stands in but not much wider than it was drawn. Text in `body` is 14
// high unless it says otherwise.
std::string SvgDocument(double width, double height, const std::string& body);

// A chart's title over its whole width, in as many lines as it needs; `top` becomes where what is below it begins.
std::string ChartTitle(const std::string& title, double width, double& top);

// A colour for each label, the same for the same label, in the order of first use; distinguishable without colour
// vision (Okabe and Ito). After eight labels they repeat.
class Palette {
 public:
  const char* ColourOf(const std::string& label);

 private:
  std::vector<std::string> seen_;
};

}  // namespace wharf::report
