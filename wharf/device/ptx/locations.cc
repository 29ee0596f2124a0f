#include "wharf/device/ptx/locations.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace wharf::device::ptx {
namespace {

void SkipBlanks(std::string_view* text) { text->remove_prefix(std::min(text->find_first_not_of(" \t"), text->size())); }

bool SkipWord(std::string_view word, std::string_view* text) {
  SkipBlanks(text);
  if (!text->starts_with(word)) return false;
  text->remove_prefix(word.size());
  return true;
}

std::optional<uint32_t> ReadNumber(std::string_view* text) {
  SkipBlanks(text);
  uint32_t number = 0;
  const auto read = std::from_chars(text->data(), text->data() + text->size(), number);
  if (read.ec != std::errc()) return std::nullopt;
  text->remove_prefix(static_cast<size_t>(read.ptr - text->data()));
  return number;
}

// `.loc 1 12 5`, or `.loc 2 7 1, function_name NAME, inlined_at 1 14 9`.
std::optional<Location> ReadLocation(std::string_view text) {
  if (!SkipWord(".loc", &text)) return std::nullopt;
  const std::optional<uint32_t> file = ReadNumber(&text), line = ReadNumber(&text);
  if (!file || !line) return std::nullopt;
  Location location{*file, *line};
  constexpr std::string_view kInlinedAt = "inlined_at";
  const size_t inlined = text.find(kInlinedAt);
  if (inlined == std::string_view::npos) return location;
  text.remove_prefix(inlined + kInlinedAt.size());
  location.caller_file = ReadNumber(&text).value_or(0);
  location.caller_line = ReadNumber(&text).value_or(0);
  return location;
}

}  // namespace

std::vector<Location> LocationsOf(const Body& body) {
  std::vector<Location> locations;
  Location now;
  auto next = body.locations.begin();
  for (const Instruction& instruction : body.instructions) {
    for (; next != body.locations.end() && next->data() < instruction.source.data(); ++next) {
      now = ReadLocation(*next).value_or(now);
    }
    locations.push_back(now);
  }
  return locations;
}

std::map<uint32_t, std::string> FilesOf(const Module& module) {
  std::map<uint32_t, std::string> files;
  std::string_view text = *module.text;
  constexpr std::string_view kFile = ".file";
  for (size_t at = text.find(kFile); at != std::string_view::npos; at = text.find(kFile, at)) {
    at += kFile.size();
    std::string_view rest = text.substr(at, text.find('\n', at) - at);
    const std::optional<uint32_t> number = ReadNumber(&rest);
    if (!number || !SkipWord("\"", &rest)) continue;
    const size_t end = rest.find('"');
    if (end != std::string_view::npos) files.emplace(*number, rest.substr(0, end));
  }
  return files;
}

}  // namespace wharf::device::ptx
