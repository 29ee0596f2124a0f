// Structured logs on standard error: `time level event key=value …`, one event a line. WHARF_LOG=debug|info|warn|error
// sets the level (default: warn in client programs, info in `wharf serve`). Never pass a secret.
//
//   Log(LogLevel::kInfo, "session opened", {{"session", id}, {"peer", address}});
#pragma once

#include <fmt/format.h>

#include <initializer_list>
#include <string>
#include <string_view>

namespace wharf {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

struct LogField {
  template <typename T>
  LogField(std::string_view key, const T& value) : key(key), value(fmt::format("{}", value)) {}
  std::string key;
  std::string value;
};

// Thread-safe. Cheap when the level is off, but the fields are formatted by the caller: guard hot paths with
// LogEnabled.
void Log(LogLevel level, std::string_view event, std::initializer_list<LogField> fields = {});
bool LogEnabled(LogLevel level);
// WHARF_LOG overrides.
void SetDefaultLogLevel(LogLevel level);
// For a process whose standard error is needed for something else: logs go to this descriptor.
void SetLogDescriptor(int descriptor);

}  // namespace wharf
