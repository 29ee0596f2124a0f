#include "wharf/cli/common/text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <utility>

namespace wharf::cli {
namespace {

struct Quantity {
  double number = 0;
  std::string written, unit;  // the unit as it is written, and in lower case
};

absl::StatusOr<Quantity> Split(const std::string& text, const char* example) {
  Quantity quantity;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, quantity.number, std::chars_format::fixed);
  if (error != std::errc() || quantity.number < 0 || !std::isfinite(quantity.number)) {
    return InvalidArgument("\"{}\" is no quantity like {}", text, example);
  }
  quantity.written.assign(rest, end);
  quantity.unit = quantity.written;
  std::transform(quantity.unit.begin(), quantity.unit.end(), quantity.unit.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return quantity;
}

using Unit = std::pair<const char*, double>;  // a name with capitals is taken as it is only

absl::StatusOr<double> Scale(const std::string& text, std::initializer_list<Unit> units, const char* example) {
  WHARF_ASSIGN_OR_RETURN(const Quantity quantity, Split(text, example));
  std::string names;
  for (const auto& [name, factor] : units) {
    if (quantity.unit == name || quantity.written == name) return quantity.number * factor;
    if (*name != '\0') names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
  }
  return InvalidArgument("\"{}\" has no known unit ({}); write it like {}", text, names, example);
}

}  // namespace

absl::StatusOr<uint64_t> ParseBytes(const std::string& text) {
  constexpr double k = 1024, m = k * k, g = m * k, t = g * k;
  WHARF_ASSIGN_OR_RETURN(const double bytes, Scale(text,
                                                   {{"", 1},
                                                    {"b", 1},
                                                    {"k", k},
                                                    {"kb", k},
                                                    {"kib", k},
                                                    {"m", m},
                                                    {"mb", m},
                                                    {"mib", m},
                                                    {"g", g},
                                                    {"gb", g},
                                                    {"gib", g},
                                                    {"t", t},
                                                    {"tb", t},
                                                    {"tib", t}},
                                                   "2GiB"));
  if (bytes >= 9e18) return InvalidArgument("\"{}\" is too much", text);
  return static_cast<uint64_t>(bytes);
}

absl::StatusOr<Nanoseconds> ParseDuration(const std::string& text) {
  WHARF_ASSIGN_OR_RETURN(
      const double seconds,
      Scale(text, {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {"m", 60}, {"min", 60}, {"h", 3600}},
            "2.6ms"));
  if (seconds > 1e9) return InvalidArgument("\"{}\" is too long", text);
  return FromSeconds(seconds);
}

absl::StatusOr<double> ParseBitRate(const std::string& text) {
  if (text.find("BPS") != std::string::npos) {
    return InvalidArgument("\"{}\" may be of bits or of bytes: write it like 93mbit or 10MB/s", text);
  }
  return Scale(text,
               {{"kBps", 8e3},  // before those that are taken in capitals, too
                {"MBps", 8e6},
                {"GBps", 8e9},
                {"bit", 1},
                {"kbit", 1e3},
                {"kbps", 1e3},
                {"mbit", 1e6},
                {"mbps", 1e6},
                {"mbit/s", 1e6},
                {"gbit", 1e9},
                {"gbps", 1e9},
                {"gbit/s", 1e9},
                {"kB/s", 8e3},
                {"MB/s", 8e6},
                {"GB/s", 8e9}},
               "93mbit");
}

std::string FormatBytes(uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string WriteBytes(uint64_t bytes) {
  const std::string text = FormatBytes(bytes);
  const size_t space = text.find(' ');
  std::string number = text.substr(0, space);
  if (number.ends_with(".0")) number.resize(number.size() - 2);
  return number + text.substr(space + 1);
}

}  // namespace wharf::cli
