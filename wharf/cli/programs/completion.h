// Completion of command lines by shells, made from what CLI11 knows of the commands.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "wharf/base/status.h"

namespace wharf::cli {

struct CompletedOption {
  std::string name, help;
  bool takes_value = false;
  std::vector<std::string> values;  // empty: any, a file's name perhaps
};

struct CompletedCommand {
  std::string path;                                           // " pipeline plan"; "" is wharf itself
  std::vector<std::pair<std::string, std::string>> commands;  // that can follow, with what they do
  std::vector<CompletedOption> options;
  std::string help;  // what --help prints
};

// Of every command below `app` and of itself, hidden ones left out.
std::vector<CompletedCommand> CompletionsOf(const CLI::App& app);
// Adds what `more` has and `completions` lacks: commands, and of those that both have, options and commands. A command
// without commands is explained by `more`, if that has it.
void AddCompletions(std::vector<CompletedCommand>& completions, const std::vector<CompletedCommand>& more);

// How other programs tell wharf about their commands, and wharf tells what makes its pages of manual: one line.
std::string CompletionsAsJson(const std::vector<CompletedCommand>& completions);
// kInvalidArgument: something else.
absl::StatusOr<std::vector<CompletedCommand>> ParseCompletions(std::string_view json);

// Scripts that a shell reads.
std::string BashCompletion(const std::vector<CompletedCommand>& completions);
std::string ZshCompletion(const std::vector<CompletedCommand>& completions);

}  // namespace wharf::cli
