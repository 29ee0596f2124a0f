// --config FILE: a command's options from a file, in the TOML that CLI11 reads: `name = value` stands for --name.
#pragma once

#include <CLI/CLI.hpp>

namespace wharf::cli {

// What the command line says wins over the file. Every key must be an option of the command, stand outside of sections
// and be there once, else the command line is refused with one line that names key and file. `true` gives a flag or an
// option that needs no value, `false` does not; "" is the same as no line where the option's default is nothing.
// Options that are not configurable() stay the command line's. The option may be added before or after the others.
void AddConfigOption(CLI::App* command);

}  // namespace wharf::cli
