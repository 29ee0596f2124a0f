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

// A colour for each label, the same for the same label, in the order of first use; distinguishable without colour
// vision (Okabe and Ito). After eight labels they repeat.
class Palette {
 public:
  const char* ColourOf(const std::string& label);

 private:
  std::vector<std::string> seen_;
};

}  // namespace wharf::report
