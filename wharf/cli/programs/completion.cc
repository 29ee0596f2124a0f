#include "wharf/cli/programs/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <nlohmann/json.hpp>

#include "wharf/base/split_text.h"

namespace wharf::cli {
namespace {

// A word that means itself in a shell.
bool IsPlainWord(std::string_view word) {
  const auto plain = [](unsigned char c) {
    return std::isalnum(c) || std::string_view("-_.:/+%").find(c) != std::string::npos;
  };
  return !word.empty() && std::ranges::all_of(word, plain);
}

// CLI11 says what CLI::IsMember allows in the type's name: "TEXT:{ours,np}". None if a value is not a plain word.
std::vector<std::string> ValuesOf(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const size_t begin = type.find('{'), end = type.find('}');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return {};
  std::vector<std::string> values;
  for (const std::string_view value : SplitText(std::string_view(type).substr(begin + 1, end - begin - 1), ',')) {
    if (!IsPlainWord(value)) return {};
    values.emplace_back(value);
  }
  return values;
}

void AddOptions(const CLI::App& app, std::vector<CompletedOption>& options) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    const bool takes_value = option->get_items_expected_max() > 0;
    for (const std::string& name : option->get_lnames()) {
      options.push_back({"--" + name, option->get_description(), takes_value, ValuesOf(*option)});
    }
    for (const std::string& name : option->get_snames()) {
      options.push_back({"-" + name, option->get_description(), takes_value, ValuesOf(*option)});
    }
  }
}

void Collect(const CLI::App& app, const std::string& path, std::vector<CompletedCommand>& completions) {
  const size_t place = completions.size();
  completions.push_back(
      {path, {}, {}, app.get_formatter()->make_help(&app, "wharf" + path, CLI::AppFormatMode::Normal)});
  AddOptions(app, completions[place].options);
  for (const CLI::App* command : app.get_subcommands([](const CLI::App* each) { return !each->get_group().empty(); })) {
    completions[place].commands.emplace_back(command->get_name(), command->get_description());
    Collect(*command, path + " " + command->get_name(), completions);
  }
}

// Between single quotes.
std::string Quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c == '\n' ? ' ' : c);
  return quoted + "'";
}

// Patterns of a shell's `case`.
std::string AnyOf(const std::vector<std::string>& words) {
  std::vector<std::string> quoted;
  for (const std::string& word : words) quoted.push_back(Quoted(word));
  return fmt::format("{}", fmt::join(quoted, "|"));
}

// What the two scripts have in common: where a command line can be, as patterns.
struct Places {
  std::vector<std::string> paths;      // of every command but wharf itself
  std::vector<std::string> any_value;  // "PATH OPTION" whose value can be anything
  std::vector<std::pair<std::string, std::vector<std::string>>> values;
};

Places PlacesOf(const std::vector<CompletedCommand>& completions) {
  Places places;
  for (const CompletedCommand& command : completions) {
    if (!command.path.empty()) places.paths.push_back(command.path);
    for (const CompletedOption& option : command.options) {
      const std::string place = command.path + " " + option.name;
      if (!option.values.empty()) places.values.emplace_back(place, option.values);
      if (option.takes_value && option.values.empty()) places.any_value.push_back(place);
    }
  }
  return places;
}

}  // namespace

std::vector<CompletedCommand> CompletionsOf(const CLI::App& app) {
  std::vector<CompletedCommand> completions;
  Collect(app, "", completions);
  return completions;
}

void AddCompletions(std::vector<CompletedCommand>& completions, const std::vector<CompletedCommand>& more) {
  for (const CompletedCommand& command : more) {
    const auto known = std::ranges::find(completions, command.path, &CompletedCommand::path);
    if (known == completions.end()) {
      completions.push_back(command);
      continue;
    }
    if (command.commands.empty()) known->help = command.help;
    for (const auto& each : command.commands) {
      if (std::ranges::find(known->commands, each.first, &std::pair<std::string, std::string>::first) ==
          known->commands.end()) {
        known->commands.push_back(each);
      }
    }
    for (const CompletedOption& option : command.options) {
      if (std::ranges::find(known->options, option.name, &CompletedOption::name) == known->options.end()) {
        known->options.push_back(option);
      }
    }
  }
}

std::string CompletionsAsJson(const std::vector<CompletedCommand>& completions) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const CompletedCommand& command : completions) {
    auto options = nlohmann::ordered_json::array();
    for (const CompletedOption& option : command.options) {
      options.push_back({{"name", option.name},
                         {"help", option.help},
                         {"takes_value", option.takes_value},
                         {"values", option.values}});
    }
    rows.push_back(
        {{"path", command.path}, {"commands", command.commands}, {"options", options}, {"help", command.help}});
  }
  return rows.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

absl::StatusOr<std::vector<CompletedCommand>> ParseCompletions(std::string_view json) {
  try {
    std::vector<CompletedCommand> completions;
    for (const auto& row : nlohmann::json::parse(json)) {
      CompletedCommand command{row.at("path"), row.at("commands"), {}, row.at("help")};
      for (const auto& option : row.at("options")) {
        command.options.push_back(
            {option.at("name"), option.at("help"), option.at("takes_value"), option.at("values")});
      }
      completions.push_back(std::move(command));
    }
    return completions;
  } catch (const nlohmann::json::exception& error) {
    return InvalidArgument("these are no completions: {}", error.what());
  }
}

std::string BashCompletion(const std::vector<CompletedCommand>& completions) {
  const Places places = PlacesOf(completions);
  std::string script = fmt::format(R"(# Completes wharf's command lines in bash. Made by: wharf completion bash
_wharf() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} at= names= flags= i
  COMPREPLY=()  # nothing: names of files
  for ((i = 1; i < COMP_CWORD; ++i)); do
    [[ ${{COMP_WORDS[i]}} == -- ]] && return  # a program's own
    case "$at ${{COMP_WORDS[i]}}" in
      {}) at="$at ${{COMP_WORDS[i]}}" ;;
    esac
  done
  # --option=value is three words.
  if [[ $word == = ]]; then word=; elif [[ $before == = ]]; then before=${{COMP_WORDS[COMP_CWORD - 2]}}; fi
  case "$at $before" in
)",
                                   AnyOf(places.paths));
  for (const auto& [place, values] : places.values) {
    script += fmt::format("    {}) COMPREPLY=($(compgen -W {} -- \"$word\")); return ;;\n", Quoted(place),
                          Quoted(fmt::format("{}", fmt::join(values, " "))));
  }
  if (!places.any_value.empty()) script += fmt::format("    {}) return ;;\n", AnyOf(places.any_value));
  script += "  esac\n  case $at in\n";
  for (const CompletedCommand& command : completions) {
    std::vector<std::string> names, flags;
    for (const auto& each : command.commands) names.push_back(each.first);
    for (const CompletedOption& option : command.options) flags.push_back(option.name);
    script +=
        fmt::format("    {}) names={} flags={} ;;\n", Quoted(command.path),
                    Quoted(fmt::format("{}", fmt::join(names, " "))), Quoted(fmt::format("{}", fmt::join(flags, " "))));
  }
  return script + R"(  esac
  if [[ $word == -* ]]; then names=$flags; fi
  COMPREPLY=($(compgen -W "$names" -- "$word"))
}
complete -o default -F _wharf wharf
)";
}

std::string ZshCompletion(const std::vector<CompletedCommand>& completions) {
  const Places places = PlacesOf(completions);
  std::string script = fmt::format(R"(#compdef wharf
# Completes wharf's command lines in zsh. Made by: wharf completion zsh
_wharf() {{
  local word=${{words[CURRENT]}} before=${{words[CURRENT - 1]}} at= i
  local -a names flags
  for ((i = 2; i < CURRENT; ++i)); do
    if [[ ${{words[i]}} == -- ]]; then _files; return; fi  # a program's own
    case "$at ${{words[i]}}" in
      ({}) at="$at ${{words[i]}}" ;;
    esac
  done
  if [[ $word == --*=* ]]; then before=${{word%%=*}}; compset -P '*='; fi
  case "$at $before" in
)",
                                   AnyOf(places.paths));
  for (const auto& [place, values] : places.values) {
    script += fmt::format("    ({}) compadd -- {}; return ;;\n", Quoted(place), fmt::join(values, " "));
  }
  if (!places.any_value.empty()) script += fmt::format("    ({}) _files; return ;;\n", AnyOf(places.any_value));
  script += "  esac\n  case $at in\n";
  for (const CompletedCommand& command : completions) {
    std::string names, flags;
    for (const auto& [name, help] : command.commands) names += fmt::format(" {}", Quoted(name + ":" + help));
    for (const CompletedOption& option : command.options) {
      flags += fmt::format(" {}", Quoted(option.name + ":" + option.help));
    }
    script += fmt::format("    ({}) names=({}) flags=({}) ;;\n", Quoted(command.path), names, flags);
  }
  return script + R"(  esac
  if [[ $word == -* ]]; then
    _describe option flags
  elif (($#names)); then
    _describe command names
  else
    _files
  fi
}
# Found in fpath, or read by `source`.
if [[ ${funcstack[1]} == _wharf ]]; then _wharf "$@"; else compdef _wharf wharf; fi
)";
}

}  // namespace wharf::cli
