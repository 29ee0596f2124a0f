// --split-attention, the same for every command that reads a model to plan with.
#pragma once

#include <CLI/CLI.hpp>

namespace wharf::cli {

inline void AddSplitAttention(CLI::App* command, int& tokens) {
  command
      ->add_option("--split-attention", tokens,
                   "Split the model's attention over its keys: those of the first so many tokens, and the others")
      ->check(CLI::Range(1, 1 << 20))
      ->type_name("TOKENS");
}

}  // namespace wharf::cli
