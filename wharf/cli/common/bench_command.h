// `wharf bench`: its subcommands are added from several files, of several programs (own_programs.h).
#pragma once

#include <CLI/CLI.hpp>

namespace wharf::cli {

// The command itself, made by whoever asks first.
inline CLI::App& BenchCommand(CLI::App& app) {
  const auto made = app.get_subcommands([](CLI::App* one) { return one->get_name() == "bench"; });
  if (!made.empty()) return *made.front();
  CLI::App* command =
      app.add_subcommand("bench", "Measure; every table of docs/benchmarks is printed by one of these.");
  command->require_subcommand(1);
  return *command;
}

void AddBenchOffloadCommand(CLI::App& app);
// Of wharf-plan.
void AddBenchSplitCommand(CLI::App& app);
void AddBenchPipelineCommand(CLI::App& app);
// Of wharf-model.
void AddBenchMultitaskCommand(CLI::App& app);
void AddBenchServingCommand(CLI::App& app);

}  // namespace wharf::cli
