#include "wharf/report/run_record.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

namespace wharf::report {
namespace {

std::string Quoted(const std::string& word) {
  const bool plain = !word.empty() && word.find_first_of(" \t\n'\"\\$&|;<>()*?#`") == std::string::npos;
  if (plain) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

// Words are separated by zeros. The program is named as people call it: `wharf` hands command lines to wharf-model.
std::string CommandLine() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text, word;
  bool first = true;
  for (std::istreambuf_iterator<char> at(file), end; at != end; ++at) {
    if (*at != '\0') {
      word += *at;
      continue;
    }
    if (first) word = std::filesystem::path(word).filename().string();
    if (first && (word == "wharf-model" || word == "wharf-plan")) word = "wharf";
    if (!first) text += ' ';
    text += Quoted(word);
    first = false;
    word.clear();
  }
  return text.empty() ? "unknown" : text;
}

std::string ProcessorName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name") && line.find(": ") != std::string::npos) return line.substr(line.find(": ") + 2);
  }
  return "an unknown processor";
}

std::string Machine() {
  std::string text = fmt::format("{}, {} cores", ProcessorName(), sysconf(_SC_NPROCESSORS_ONLN));
  const double bytes = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  text += fmt::format(", {:.0f} GiB", bytes / (1 << 30));
  utsname system;
  if (uname(&system) == 0) text += fmt::format(", {} {}", system.sysname, system.release);
  return text;
}

std::string Load() {
  double loads[3];
  if (getloadavg(loads, 3) != 3) return "unknown";
  return fmt::format("{:.1f}, {:.1f}, {:.1f} (means of 1, 5 and 15 minutes at the end)", loads[0], loads[1], loads[2]);
}

std::string Date() {
  const std::time_t now = std::time(nullptr);
  std::tm parts;
  char text[32] = "unknown";
  if (gmtime_r(&now, &parts) != nullptr) std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &parts);
  return text;
}

}  // namespace

RunRecord RunRecord::OfThisProcess(std::string sample) {
  return {CommandLine(), Date(), Machine(), Load(), std::move(sample)};
}

}  // namespace wharf::report
