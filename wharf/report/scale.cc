#include "wharf/report/scale.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "wharf/report/table.h"

namespace wharf::report {

namespace {

// Bytes of the first `columns` code points.
size_t Bytes(const std::string& text, size_t columns) {
  size_t at = 0;
  for (; at < text.size() && columns > 0; --columns) {
    do {
      ++at;
    } while (at < text.size() && (text[at] & 0xc0) == 0x80);
  }
  return at;
}
std::string Head(const std::string& text, size_t columns) { return text.substr(0, Bytes(text, columns)); }
std::string Tail(const std::string& text, size_t columns) { return text.substr(Bytes(text, columns)); }

}  // namespace

double RoundStep(double range, int about) {
  const double rough = range / about, power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

bool Scale::Shows(double value) const { return std::isfinite(value) && (!logarithmic_ || value > 0); }

Scale::Scale(const std::vector<double>& values, bool logarithmic) : logarithmic_(logarithmic) {
  double least = logarithmic ? INFINITY : 0, most = 0;
  for (const double value : values) {
    if (!Shows(value)) continue;
    least = std::min(least, value);
    most = std::max(most, value);
  }
  if (!(most > 0) && !(least < 0)) most = 1, least = std::min(least, 1.0);
  if (!logarithmic_) {
    const double step = RoundStep(most - least, 5);
    const double first = std::floor(least / step * (1 - 1e-9)), last = std::ceil(most / step * (1 - 1e-9));
    for (double i = first; i <= last; ++i) ticks_.push_back(i == 0 ? 0 : i * step);
    low_ = ticks_.front();
    high_ = ticks_.back();
    return;
  }
  // From a 1, 2 or 5 below the least to one above the most. Of many decades only the powers of ten are ticks.
  const bool many = most / least > 300;
  for (double power = std::pow(10, std::floor(std::log10(least)) - 1); power <= 10 * most; power *= 10) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (!many || factor == 1) ticks_.push_back(factor * power);
    }
  }
  while (ticks_.size() > 2 && ticks_[1] <= least * (1 + 1e-9)) ticks_.erase(ticks_.begin());
  while (ticks_.size() > 2 && ticks_[ticks_.size() - 2] >= most * (1 - 1e-9)) ticks_.pop_back();
  low_ = ticks_.front();
  high_ = ticks_.back();
}

double Scale::Share(double value) const {
  return logarithmic_ ? std::log(value / low_) / std::log(high_ / low_) : (value - low_) / (high_ - low_);
}

std::vector<std::string> WrapText(const std::string& text, size_t columns) {
  std::vector<std::string> lines;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    for (; DisplayWidth(word) > columns; word = Tail(word, columns)) lines.push_back(Head(word, columns));
    const bool fits = !lines.empty() && DisplayWidth(lines.back()) + 1 + DisplayWidth(word) <= columns;
    if (fits) {
      lines.back() += " " + word;
    } else {
      lines.push_back(word);
    }
  }
  return lines;
}

double TextWidth(const std::string& text) { return 0.62 * static_cast<double>(DisplayWidth(text)); }

}  // namespace wharf::report
