// CLI11 options that hold quantities: a wrong one is a usage error that names the option.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "wharf/cli/common/text.h"

namespace wharf::cli {

template <typename T, typename Parse>
CLI::Option* AddQuantity(CLI::App* app, const std::string& name, T& value, Parse parse, const std::string& help,
                         const std::string& shown_default = "") {
  CLI::Option* option = app->add_option_function<std::string>(
      name,
      [&value, parse, name](const std::string& text) {
        auto parsed = parse(text);
        if (!parsed.ok()) throw CLI::ValidationError(name, std::string(Message(parsed.status())));
        value = *parsed;
      },
      help);
  if (!shown_default.empty()) option->default_str(shown_default);
  return option;
}

inline CLI::Option* AddBytes(CLI::App* app, const std::string& name, uint64_t& value, const std::string& help) {
  return AddQuantity(app, name, value, ParseBytes, help, WriteBytes(value))->type_name("SIZE");
}

inline CLI::Option* AddDuration(CLI::App* app, const std::string& name, Nanoseconds& value, const std::string& help) {
  return AddQuantity(app, name, value, ParseDuration, help, fmt::format("{:g}s", Seconds(value)))->type_name("TIME");
}

// `value`: major * 10 + minor; 0: what the device says unless it is told.
inline CLI::Option* AddComputeCapability(CLI::App* app, int& value, const std::string& help) {
  const auto parse = [](const std::string& text) -> absl::StatusOr<int> {
    if (text == "7.5") return 75;
    if (text == "8.0") return 80;
    if (text == "8.6") return 86;
    if (text == "8.9") return 89;
    return InvalidArgument("software devices have compute capability 7.5, 8.0, 8.6 or 8.9, not {}", text);
  };
  return AddQuantity(app, "--compute-capability", value, parse, help + "; with packs 7.5", "8.0")
      ->type_name("7.5|8.0|8.6|8.9");
}

}  // namespace wharf::cli
