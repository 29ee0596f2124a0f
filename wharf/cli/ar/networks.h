// Where the networks of `wharf ar` are.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace wharf::cli {

// The folder that Wharf brings: ../share/wharf/ar beside this executable, where it is built as where it is installed.
std::string BroughtNetworks();
// --networks FOLDER: with depth.onnx, lite.onnx and detector.onnx in it; as it is, the folder that Wharf brings.
void AddNetworksOption(CLI::App* command, std::string& folder);

}  // namespace wharf::cli
