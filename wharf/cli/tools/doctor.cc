#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "wharf/cli/common/commands.h"
#include "wharf/cli/split/operator_table.h"
#include "wharf/cli/tools/health.h"
#include "wharf/cli/tools/kernel_forms.h"
#include "wharf/report/table.h"

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

std::string Text(const device::Dim3& block) { return fmt::format("{}x{}x{}", block.x, block.y, block.z); }

// "256", "16x16" and "8x8x4".
absl::StatusOr<device::Dim3> ParseBlock(const std::string& text) {
  device::Dim3 block;
  char rest = 0;
  const int found = std::sscanf(text.c_str(), "%ux%ux%u%c", &block.x, &block.y, &block.z, &rest);
  const std::string again = found == 1   ? fmt::format("{}", block.x)
                            : found == 2 ? fmt::format("{}x{}", block.x, block.y)
                                         : Text(block);
  const bool fits = block.x > 0 && block.y > 0 && block.z > 0 && block.x <= 1024 && block.y <= 1024 && block.z <= 64 &&
                    block.Count() <= 1024;
  if (again != text || !fits)
    return InvalidArgument("--block: {} is not of up to 1024 threads, such as 256 or 16x16", text);
  return block;
}

void PrintKernelsAsJson(const std::vector<ExaminedKernel>& kernels) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const ExaminedKernel& kernel : kernels) {
    rows.push_back({{"kernel", kernel.name},
                    {"block", {kernel.block.x, kernel.block.y, kernel.block.z}},
                    {"runs", kernel.form.ok() ? WordsFor(kernel.form->way) : "not at all"},
                    {"reason", kernel.form.ok() ? kernel.form->reason : std::string(kernel.form.status().message())}});
  }
  std::printf("%s\n", rows.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

// Names come last: those of templates are long.
void PrintKernels(const std::vector<ExaminedKernel>& kernels) {
  report::Table table({{"runs"}, {"block"}, {"why not faster"}, {"kernel"}});
  for (const ExaminedKernel& kernel : kernels) {
    const bool ok = kernel.form.ok();
    table.AddRow({ok ? WordsFor(kernel.form->way) : "not at all", Text(kernel.block),
                  ok ? kernel.form->reason : std::string(kernel.form.status().message()), kernel.name});
  }
  std::fputs(table.Text().c_str(), stdout);
}

// Exit code 1 if a kernel cannot run.
void DiagnoseKernels(const std::string& path, const std::string& block_text, bool json) {
  const auto block = ParseBlock(block_text);
  if (!block.ok()) {
    std::fprintf(stderr, "wharf: %s\n", std::string(block.status().message()).c_str());
    SetExitCode(kExitUsage);
    return;
  }
  const auto kernels = ExamineKernels(path, *block);
  if (!kernels.ok()) return Fail(kernels.status());
  json ? PrintKernelsAsJson(*kernels) : PrintKernels(*kernels);
  const auto runs = [](const ExaminedKernel& kernel) { return kernel.form.ok(); };
  if (!std::all_of(kernels->begin(), kernels->end(), runs)) SetExitCode(kExitFailure);
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
    if (!kernels->empty()) return DiagnoseKernels(*kernels, *block, *json);
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
