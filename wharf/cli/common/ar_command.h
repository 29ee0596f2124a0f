// `wharf ar`: its subcommands are added from several files, all of wharf-model (own_programs.h).
#pragma once

#include <CLI/CLI.hpp>

namespace wharf::cli {

// The command itself, made by whoever asks first.
inline CLI::App& ArCommand(CLI::App& app) {
  const auto made = app.get_subcommands([](CLI::App* one) { return one->get_name() == "ar"; });
  if (!made.empty()) return *made.front();
  CLI::App* command = app.add_subcommand("ar", "Augmented reality: depth, pose and boxes of a camera's every frame.");
  command->require_subcommand(1);
  return *command;
}

void AddArClientCommand(CLI::App& app);
void AddArDropTableCommand(CLI::App& app);
void AddArEvaluateCommand(CLI::App& app);
void AddArLatencyCommand(CLI::App& app);
void AddArRenderCommand(CLI::App& app);
void AddArPosesCommand(CLI::App& app);
void AddArTrackersCommand(CLI::App& app);
void AddArServeCommand(CLI::App& app);
void AddArViewCommand(CLI::App& app);

}  // namespace wharf::cli
