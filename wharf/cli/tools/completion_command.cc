// wharf completion: scripts by which shells complete wharf's command lines.
#include <cstdio>
#include <memory>

#include "wharf/cli/bench/common/child.h"
#include "wharf/cli/common/commands.h"
#include "wharf/cli/programs/completion.h"
#include "wharf/cli/programs/own_programs.h"

namespace wharf::cli {
namespace {

constexpr const char* kCompletionFooter = R"(
For this shell:        source <(wharf completion bash)
For every one, bash:   wharf completion bash > ~/.local/share/bash-completion/completions/wharf
For every one, zsh:    wharf completion zsh > FOLDER/_wharf, a folder of $fpath (in .zshrc: autoload -U compinit; compinit))";

// Of another program's commands only that one knows the options.
absl::Status AddCompletionsOf(const char* name, std::vector<CompletedCommand>& completions) {
  const std::string program = FindOwnProgram(name);
  if (program.empty()) return absl::OkStatus();
  WHARF_ASSIGN_OR_RETURN(const auto child, Child::Start(program, {name, "completion"}));
  WHARF_ASSIGN_OR_RETURN(const std::string line, child->ReadLine());
  WHARF_ASSIGN_OR_RETURN(const auto more, ParseCompletions(line));
  AddCompletions(completions, more);
  return child->Wait();
}

using Format = std::string (*)(const std::vector<CompletedCommand>& completions);

absl::Status Print(const CLI::App& app, Format format) {
  std::vector<CompletedCommand> completions = CompletionsOf(app);
  for (const char* other : {kPlanProgram, kModelProgram}) WHARF_RETURN_IF_ERROR(AddCompletionsOf(other, completions));
  std::fputs(format(completions).c_str(), stdout);
  return absl::OkStatus();
}

void PrintOrFail(const CLI::App& app, Format format) {
  if (const absl::Status done = Print(app, format); !done.ok()) Fail(done);
}

}  // namespace

void AddCompletionCommand(CLI::App& app) {
  CLI::App* command = app.add_subcommand("completion", "Print a script by which a shell completes wharf's commands.");
  command->footer(kCompletionFooter);
  auto shell = std::make_shared<std::string>();
  command->add_option("shell", *shell, "Which shell")->check(CLI::IsMember({"bash", "zsh"}))->required();
  command->callback([&app, shell] { PrintOrFail(app, *shell == "bash" ? BashCompletion : ZshCompletion); });

  CLI::App* describe = app.add_subcommand("describe", "Every command with its options and help, as JSON.");
  describe->group("");  // for packaging/man_pages.py
  describe->callback([&app] { PrintOrFail(app, CompletionsAsJson); });
}

}  // namespace wharf::cli
