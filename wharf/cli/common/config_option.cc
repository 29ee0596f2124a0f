#include "wharf/cli/common/config_option.h"

#include <fmt/format.h>

#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "wharf/base/read_file.h"

namespace wharf::cli {
namespace {

constexpr const char* kName = "--config";

// A command line that is refused.
[[noreturn]] void Refuse(const std::string& file, const std::string& why) {
  throw CLI::ConfigError(fmt::format("{}: {}", file, why));
}

// Of sections CLI11 makes items as well, of their beginnings and ends.
bool IsOfSection(const CLI::ConfigItem& item) { return !item.parents.empty(); }

CLI::Option& Find(CLI::App& command, const CLI::ConfigItem& item, const std::string& file) {
  if (IsOfSection(item)) {
    Refuse(file, fmt::format("there is no section \"{}\": options stand outside of sections", item.parents.front()));
  }
  CLI::Option* option = command.get_option_no_throw("--" + item.name);
  if (option == nullptr) Refuse(file, fmt::format("there is no option \"{}\"", item.name));
  if (!option->get_configurable()) Refuse(file, fmt::format("\"{}\" is for the command line only", item.name));
  return *option;
}

// CLI11 takes what follows a # for a comment, in a string too, and lets strings without an end pass.
bool IsMisread(const std::string& line) {
  if (line.find_first_not_of(" \t") == line.find(';')) return false;  // a comment, or empty
  char quote = '\0';
  for (const char c : line) {
    if (quote == '\0' && c == '#') return false;
    if (c == '#') return true;
    if (quote == '\0' && (c == '"' || c == '\'')) {
      quote = c;
    } else if (c == quote) {
      quote = '\0';
    }
  }
  return quote != '\0';
}

// As if they stood on the command line.
void Give(CLI::Option& option, const CLI::ConfigItem& item) {
  std::vector<std::string> values = item.inputs;
  const bool single = values.size() == 1;
  if (single && values.front().empty() && option.get_default_str().empty()) return;
  if (option.get_expected_min() == 0) {
    if (single && values.front() == "false") return;
    const bool is_flag = option.get_items_expected_max() == 0;
    if (single && values.front() == "true") {
      values.front() = option.get_flag_value(item.name, "");
    } else if (is_flag) {
      throw CLI::ValidationError(item.name, "is true or false");
    }
  }
  if (values.empty()) return;
  option.add_result(values);
  option.run_callback();
}

void ReadConfig(CLI::App& command, const std::string& file) {
  const absl::StatusOr<std::string> text = ReadFile(file);
  if (!text.ok()) throw CLI::ConfigError(std::string(Message(text.status())));
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    if (IsMisread(line)) Refuse(file, fmt::format("a string ends on its line and has no # in it: {}", line));
  }
  lines = std::istringstream(*text);
  std::set<std::string> seen;
  for (const CLI::ConfigItem& item : CLI::ConfigTOML().from_config(lines)) {
    CLI::Option& option = Find(command, item, file);
    if (!seen.insert(item.name).second) Refuse(file, fmt::format("\"{}\" is there twice", item.name));
    if (!option.empty()) continue;  // the command line has it
    try {
      Give(option, item);
    } catch (const CLI::ParseError& error) {
      Refuse(file, error.what());
    }
  }
}

}  // namespace

void AddConfigOption(CLI::App* command) {
  command
      ->add_option_function<std::string>(
          kName, [command](const std::string& file) { ReadConfig(*command, file); },
          "Options from a file, as lines of TOML: `listen = \"HOST:PORT\"` is --listen HOST:PORT; the command line "
          "wins")
      ->type_name("FILE")
      ->configurable(false);
}

}  // namespace wharf::cli
