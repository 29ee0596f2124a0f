// wharf-worker kernels: for `wharf doctor --kernels`.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "wharf/base/clock.h"
#include "wharf/cli/common/commands.h"
#include "wharf/cli/worker/kernel_forms.h"
#include "wharf/report/table.h"

namespace wharf::cli {
namespace {

// What compiling the kernel took, in milliseconds.
nlohmann::ordered_json TimesAsJson(const device::soft::CompileTimes& times) {
  return {{"generate", Milliseconds(times.generate)},
          {"simplify", Milliseconds(times.simplify)},
          {"widen", Milliseconds(times.widen)},
          {"optimize", Milliseconds(times.optimize)},
          {"emit", Milliseconds(times.emit)}};
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
    const bool ok = kernel.form.ok();
    rows.push_back({{"kernel", kernel.name},
                    {"block", {kernel.block.x, kernel.block.y, kernel.block.z}},
                    {"runs", ok ? WordsFor(kernel.form->way) : "not at all"},
                    {"reason", ok ? kernel.form->reason : std::string(kernel.form.status().message())},
                    {"compile_ms", ok ? TimesAsJson(kernel.form->times) : nlohmann::ordered_json()}});
  }
  std::printf("%s\n", rows.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

// Names come last: those of templates are long.
void PrintKernels(const std::vector<ExaminedKernel>& kernels) {
  report::Table table(
      {{"runs"}, {"block"}, {"compiled in, ms", report::Align::kRight}, {"why not faster"}, {"kernel"}});
  for (const ExaminedKernel& kernel : kernels) {
    const bool ok = kernel.form.ok();
    table.AddRow({ok ? WordsFor(kernel.form->way) : "not at all", Text(kernel.block),
                  ok ? fmt::format("{:.0f}", Milliseconds(kernel.form->times.Total())) : "",
                  ok ? kernel.form->reason : std::string(kernel.form.status().message()), kernel.name});
  }
  std::fputs(table.Text().c_str(), stdout);
}

// Exit code 1 if a kernel cannot run.
void PrintKernelsOf(const std::string& path, const std::string& block_text, bool json) {
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

void AddKernelsCommand(CLI::App& app) {
  CLI::App* command = app.add_subcommand("kernels", "How kernels run here; for `wharf doctor --kernels`.");
  command->group("");
  auto path = std::make_shared<std::string>();
  auto block = std::make_shared<std::string>("256");
  auto json = std::make_shared<bool>(false);
  command->add_option("program", *path)->required();
  command->add_option("--block", *block);
  command->add_flag("--json", *json);
  command->callback([=] { PrintKernelsOf(*path, *block, *json); });
}

}  // namespace wharf::cli
