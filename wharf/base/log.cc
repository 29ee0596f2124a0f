#include "wharf/base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdlib>
#include <memory>

#include "wharf/base/clock.h"
#include "wharf/base/log_limit.h"

namespace wharf {
namespace {

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

spdlog::logger& Logger() {
  // Leaked on purpose: programs log from threads that outlive static destructors.
  static spdlog::logger* const logger = [] {
    auto* made = new spdlog::logger("wharf", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    made->set_pattern("%Y-%m-%dT%H:%M:%S.%e %^%l%$ %v");
    const char* wanted = std::getenv("WHARF_LOG");
    made->set_level(wanted != nullptr ? spdlog::level::from_str(wanted) : spdlog::level::warn);
    return made;
  }();
  return *logger;
}

bool NeedsQuotes(std::string_view value) {
  return value.empty() || value.find_first_of(" \"=\n\t") != std::string_view::npos;
}

}  // namespace

void Log(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) {
  if (!LogEnabled(level)) return;
  // Leaked, as the logger is.
  static LogLimit* const limit = new LogLimit;
  const LogLimit::Verdict verdict = limit->Ask(event, Clock::Real().Now());
  if (!verdict.write) return;
  if (verdict.left_out > 0) {
    Logger().log(ToSpdlog(level), "lines left out event=\"{}\" count={}", event, verdict.left_out);
  }
  std::string line(event);
  for (const LogField& field : fields) {
    line += ' ';
    line += field.key;
    line += '=';
    if (!NeedsQuotes(field.value)) {
      line += field.value;
      continue;
    }
    line += '"';
    for (const char c : field.value) {
      if (c == '\n') {
        line += "\\n";
        continue;
      }
      if (c == '"' || c == '\\') line += '\\';
      line += c;
    }
    line += '"';
  }
  Logger().log(ToSpdlog(level), "{}", line);
}

bool LogEnabled(LogLevel level) { return Logger().should_log(ToSpdlog(level)); }

void SetDefaultLogLevel(LogLevel level) {
  if (std::getenv("WHARF_LOG") == nullptr) Logger().set_level(ToSpdlog(level));
}

}  // namespace wharf
