#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

#include "wharf/cli/common/commands.h"
#include "wharf/cli/programs/own_programs.h"
#include "wharf/cli/tools/health.h"

namespace wharf::cli {
namespace {

void PrintTable(const std::vector<Finding>& findings) {
  const bool colours = isatty(STDOUT_FILENO) != 0;
  for (const Finding& finding : findings) {
    const char* colour = finding.health == Health::kGood ? "32" : finding.health == Health::kNote ? "33" : "31";
    const std::string word = colours ? fmt::format("\033[{}m{:<7}\033[0m", colour, Word(finding.health))
                                     : fmt::format("{:<7}", Word(finding.health));
    std::printf("%s%s: %s\n", word.c_str(), finding.name.c_str(), finding.detail.c_str());
    if (!finding.mend.empty()) std::printf("       -> %s\n", finding.mend.c_str());
  }
}

void AskForKernels(const std::string& path, const std::string& block, bool json) {
  std::vector<std::string> arguments = {"kernels", path, "--block", block};
  if (json) arguments.emplace_back("--json");
  SetExitCode(RunOwnProgram(kWorkerProgram, std::move(arguments)));
}

void AskForOperators() { SetExitCode(RunOwnProgram(kPlanProgram, {"operators"})); }

}  // namespace

void AddDoctorCommand(CLI::App& app) {
  CLI::App* command = app.add_subcommand("doctor", "Say what works on this machine, and how to mend what does not.");
  command->footer("\nExit code 1 if something that is needed is broken; notes are about speed or what is optional.");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "An array of {name, health, detail, mend}");
  auto operators = std::make_shared<bool>(false);
  command->add_flag("--operators", *operators, "List the ONNX operators that models may have instead");
  auto sandbox = std::make_shared<bool>(false);
  command->add_flag(
      "--sandbox", *sandbox,
      "Look only at the sandbox of workers; exit code 1 if `wharf serve` starts with --sandbox=weak only");
  auto kernels = std::make_shared<std::string>();
  command
      ->add_option(
          "--kernels", *kernels,
          "Say how the software device runs each kernel of this program (or library, fat binary, PTX), and why "
          "not faster")
      ->type_name("FILE")
      ->check(CLI::ExistingFile);
  auto block = std::make_shared<std::string>("256");
  command->add_option("--block", *block, "Threads of a block, for --kernels: 256, 16x16, 8x8x4")
      ->capture_default_str()
      ->type_name("X[xY[xZ]]");
  command->callback([json, operators, sandbox, kernels, block] {
    if (!kernels->empty()) return AskForKernels(*kernels, *block, *json);
    if (*operators) return AskForOperators();
    const std::vector<Finding> findings = *sandbox ? std::vector{ExamineSandbox()} : Examine();
    if (*json) {
      std::printf("%s\n", FindingsAsJson(findings, 2).c_str());
    } else {
      PrintTable(findings);
    }
    const bool broken = std::any_of(findings.begin(), findings.end(),
                                    [worst = *sandbox ? Health::kNote : Health::kBroken](const Finding& finding) {
                                      return finding.health >= worst;
                                    });
    if (broken) SetExitCode(kExitFailure);
  });
}

}  // namespace wharf::cli
