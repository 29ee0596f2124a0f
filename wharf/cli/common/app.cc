#include "wharf/cli/common/app.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <string_view>
#include <utility>

#include "wharf/base/status.h"
#include "wharf/cli/common/commands.h"

namespace wharf::cli {
namespace {

int exit_code = 0;

// Every word that can follow `wharf`, those that are for itself left out.
std::string Commands(const CLI::App& app) {
  std::string names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App* each) { return !each->get_group().empty(); })) {
    names += (names.empty() ? "" : ", ") + command->get_name();
  }
  return names;
}

bool IsUnknownCommand(const CLI::App& app, const std::string& word) {
  const auto named = [&word](const CLI::App* command) { return command->check_name(word); };
  return !word.starts_with("-") && app.get_subcommands(named).empty();
}

// `path`: what was said up to a command that wants another one behind it, and got none.
std::string WhichCommand(const CLI::App& command, const std::string& path) {
  const std::vector<std::string> words = command.remaining();
  if (words.empty() || !IsUnknownCommand(command, words.front())) {
    return fmt::format("{}: say which: {} (see wharf{} --help)", path.substr(1), Commands(command), path);
  }
  return fmt::format("there is no command \"{}\" of wharf{}; there are: {}", words.front(), path, Commands(command));
}

// How many letters have to be put in, taken out or changed to make `b` of `a` (Levenshtein). O(|a| |b|).
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t changed = diagonal + (a[i] != b[j] ? 1 : 0);
      diagonal = std::exchange(row[j + 1], std::min({changed, row[j] + 1, row[j + 1] + 1}));
    }
  }
  return row.back();
}

// What of `command`'s options looks like `word`: differs by at most a third of its letters, or goes on where it ends.
// Empty: none does.
std::string NearestOption(const CLI::App& command, const std::string& word) {
  std::string nearest;
  size_t least = word.size() / 3 + 1;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      const std::string flag = "--" + name;
      const size_t distance = flag.starts_with(word) ? 0 : Distance(word, flag);
      if (distance >= least) continue;
      least = distance;
      nearest = flag;
    }
  }
  return nearest;
}

// The first option in the command line that `command` does not have; empty: there is none.
std::string UnknownOption(const CLI::App& command) {
  const std::vector<std::string> words = command.remaining();
  const auto option = std::find_if(words.begin(), words.end(), [](const std::string& w) { return w.starts_with("-"); });
  return option == words.end() || *option == "--" ? "" : option->substr(0, option->find('='));
}

// What was wrong with what was said to `command`. An unknown option comes before one that is missing: it was probably
// meant to be it.
std::string WhatIsWrong(const CLI::App& command, const CLI::ParseError& error) {
  const std::string option = UnknownOption(command);
  if (option.empty()) return error.what();
  const std::string nearest = NearestOption(command, option);
  return fmt::format("there is no option {}{}", option,
                     nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest));
}

}  // namespace

void SetExitCode(int code) { exit_code = code; }
int ExitCode() { return exit_code; }

void Fail(const absl::Status& status) {
  const std::string message(Message(status));
  std::fprintf(stderr, "wharf: %s\n", message.c_str());
  exit_code = kExitFailure;
}

int RunCommandLine(CLI::App& app, std::vector<std::string> arguments) {
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  if (arguments.empty()) {
    std::fputs(app.help().c_str(), stdout);
    return kExitUsage;
  }
  if (IsUnknownCommand(app, arguments.front())) {
    std::fprintf(stderr, "wharf: there is no command \"%s\"; there are: %s\n", arguments.front().c_str(),
                 Commands(app).c_str());
    return kExitUsage;
  }
  try {
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants it
    app.parse(arguments);
  } catch (const CLI::Success& wanted) {  // --help, --version
    return app.exit(wanted);
  } catch (const CLI::ParseError& error) {
    const CLI::App* command = &app;
    std::string path;
    for (auto used = app.get_subcommands(); !used.empty(); used = command->get_subcommands()) {
      command = used.front();
      path += " " + command->get_name();
    }
    const bool unfinished = command != &app && command->get_require_subcommand_min() > 0;
    const std::string why = unfinished ? WhichCommand(*command, path)
                                       : fmt::format("{} (see wharf{} --help)", WhatIsWrong(*command, error), path);
    std::fprintf(stderr, "wharf: %s\n", why.c_str());
    return kExitUsage;
  }
  return exit_code;
}

}  // namespace wharf::cli
