// --device, the same for every command that runs models.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace wharf::cli {

// `device`: as exec::FindTorchDevice takes it.
inline void AddModelDevice(CLI::App* command, std::string& device) {
  command
      ->add_option("--device", device,
                   "Where models run: cpu, cuda (the first GPU), cuda:N, or auto: cuda if LibTorch can use one")
      ->capture_default_str();
}

}  // namespace wharf::cli
