// `wharf pipeline`: its subcommands are added from several files.
#pragma once

#include <CLI/CLI.hpp>

namespace wharf::cli {

// The command itself, made by whoever asks first.
inline CLI::App& PipelineCommand(CLI::App& app) {
  const auto made = app.get_subcommands([](CLI::App* one) { return one->get_name() == "pipeline"; });
  if (!made.empty()) return *made.front();
  CLI::App* command =
      app.add_subcommand("pipeline", "Serve models on pools of fast and slow GPUs, within latency SLOs.");
  command->require_subcommand(1);
  return *command;
}

// Of wharf-plan (own_programs.h).
void AddPipelineInitCommand(CLI::App& app);
void AddPipelinePlanCommand(CLI::App& app);
void AddPipelineSimulateCommand(CLI::App& app);
// Of wharf-model.
void AddPipelineProfileCommand(CLI::App& app);
void AddPipelineWorkerCommand(CLI::App& app);
void AddPipelineServeCommand(CLI::App& app);
void AddPipelineLoadCommand(CLI::App& app);

}  // namespace wharf::cli
