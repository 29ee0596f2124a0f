#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "wharf/cli/common/commands.h"
#include "wharf/cli/split/operator_table.h"
#include "wharf/cli/tools/health.h"

namespace wharf::cli {
namespace {

const char* Word(Health health) {
  switch (health) {
    case Health::kGood:
      return "good";
    case Health::kNote:
      return "note";
    case Health::kBroken:
      return "broken";
  }
  return "broken";
}

void PrintJson(const std::vector<Finding>& findings) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Finding& finding : findings) {
    rows.push_back(
        {{"name", finding.name}, {"health", Word(finding.health)}, {"detail", finding.detail}, {"mend", finding.mend}});
  }
  std::printf("%s\n", rows.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

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
  command->callback([json, operators, sandbox] {
    if (*operators) {
      std::fputs(SupportedOperatorsAsText().c_str(), stdout);
      return;
    }
    const std::vector<Finding> findings = *sandbox ? std::vector{ExamineSandbox()} : Examine();
    if (*json) {
      PrintJson(findings);
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
