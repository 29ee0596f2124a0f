#include "wharf/base/log.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <iterator>

#include "wharf/base/clock.h"
#include "wharf/base/control_character.h"
#include "wharf/base/log_limit.h"

namespace wharf {
namespace {

struct NamedLevel {
  const char *setting, *name, *colour;  // by LogLevel; colours are of terminals
};
constexpr NamedLevel kLevels[] = {{"debug", "debug", "\033[36m"},
                                  {"info", "info", "\033[32m"},
                                  {"warn", "warning", "\033[33m\033[1m"},
                                  {"error", "error", "\033[31m\033[1m"}};

// Of what is written the lowest. Nothing is, where WHARF_LOG names no level.
std::atomic<int>& Lowest() {
  static std::atomic<int> lowest = [] {
    const char* const wanted = std::getenv("WHARF_LOG");
    if (wanted == nullptr) return static_cast<int>(LogLevel::kWarning);
    int level = 0;
    while (level < static_cast<int>(std::size(kLevels)) && kLevels[level].setting != std::string_view(wanted)) ++level;
    return level;
  }();
  return lowest;
}

// "2026-01-31T12:00:00.123", here.
std::string TimeOfDay() {
  const auto now = std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm here{};
  localtime_r(&seconds, &here);
  char text[32] = {};
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &here);
  return fmt::format("{}.{:03}", text, now.time_since_epoch().count() % 1000);
}

std::atomic<int> log_descriptor{STDERR_FILENO};

bool IsTerminal() {
  static const bool is = isatty(STDERR_FILENO) == 1 && std::getenv("TERM") != nullptr;
  return is;
}

// As one piece, so that lines of threads and processes do not mix.
void Write(LogLevel level, std::string_view text) {
  const NamedLevel& named = kLevels[static_cast<int>(level)];
  const std::string name = IsTerminal() ? fmt::format("{}{}\033[m", named.colour, named.name) : named.name;
  const std::string line = fmt::format("{} {} {}\n", TimeOfDay(), name, text);
  for (std::string_view left = line; !left.empty();) {
    const ssize_t written = write(log_descriptor.load(std::memory_order_relaxed), left.data(), left.size());
    if (written < 0 && errno != EINTR) return;
    if (written > 0) left.remove_prefix(static_cast<size_t>(written));
  }
}

// In quotes where that is needed. Strangers' words come here: none of them is a line of its own, or a command to the
// terminal that shows the log.
std::string Quoted(std::string_view value) {
  std::string quoted;
  bool needs_quotes = value.empty() || value.find_first_of(" \"=\\") != std::string_view::npos;
  while (!value.empty()) {
    const size_t control = ControlCharacter(value);
    needs_quotes |= control > 0;
    if (value[0] == '\n') {
      quoted += "\\n";
    } else if (control > 0) {
      for (const char c : value.substr(0, control)) quoted += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      if (value[0] == '"' || value[0] == '\\') quoted += '\\';
      quoted += value[0];
    }
    value.remove_prefix(control > 0 ? control : 1);
  }
  return needs_quotes ? '"' + quoted + '"' : quoted;
}

}  // namespace

void SetLogDescriptor(int descriptor) { log_descriptor.store(descriptor, std::memory_order_relaxed); }

void Log(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) {
  if (!LogEnabled(level)) return;
  // Leaked on purpose: programs log from threads that outlive static destructors.
  static LogLimit* const limit = new LogLimit;
  const LogLimit::Verdict verdict = limit->Ask(event, Clock::Real().Now());
  if (!verdict.write) return;
  if (verdict.left_out > 0) {
    Write(level, fmt::format("lines left out event=\"{}\" count={}", event, verdict.left_out));
  }
  std::string line(event);
  for (const LogField& field : fields) {
    line += ' ';
    line += field.key;
    line += '=';
    line += Quoted(field.value);
  }
  Write(level, line);
}

bool LogEnabled(LogLevel level) { return static_cast<int>(level) >= Lowest().load(std::memory_order_relaxed); }

void SetDefaultLogLevel(LogLevel level) {
  if (std::getenv("WHARF_LOG") == nullptr) Lowest().store(static_cast<int>(level), std::memory_order_relaxed);
}

}  // namespace wharf
