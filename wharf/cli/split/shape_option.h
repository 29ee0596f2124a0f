// --shape, the same for every command that reads a model.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace wharf::cli {

constexpr const char* kModelHelp = "The model; of an input's open dimensions the first is 1, others need --shape";

// `shape`: for graph::WithInputShape.
inline void AddShape(CLI::App* command, std::string& shape) {
  command
      ->add_option("--shape", shape,
                   "The sizes of the model's input where it leaves them open: input=1,3,480,640, or without its name")
      ->type_name("[NAME=]N,N,…");
}

}  // namespace wharf::cli
