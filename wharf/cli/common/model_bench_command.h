// The benchmarks of `wharf bench` that run models, and so are wharf-model's (model_program.h).
#pragma once

#include <CLI/CLI.hpp>

namespace wharf::cli {

// `bench` itself, made by whoever asks first: in `wharf` it is there already.
inline CLI::App& ModelBenchCommand(CLI::App& app) {
  const auto made = app.get_subcommands([](CLI::App* one) { return one->get_name() == "bench"; });
  if (!made.empty()) return *made.front();
  CLI::App* command = app.add_subcommand("bench", "Measure.");
  command->require_subcommand(1);
  return *command;
}

void AddBenchMultitaskCommand(CLI::App& app);
void AddBenchServingCommand(CLI::App& app);

}  // namespace wharf::cli
