// Runs `wharf split` against a server over the emulated link, measured: for `wharf bench split`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "wharf/base/clock.h"
#include "wharf/cli/bench/split/report.h"
#include "wharf/link/emulation/emulator.h"

namespace wharf::cli {

struct SplitLink {
  std::string name;
  link::LinkProfile profile;
};

// The file's name without its ending; its directory's if it is model.onnx, as tools/export_models.py lays models out.
std::string NameOfModel(const std::string& path);

struct SplitModelFile {
  std::string path;
  double slow_down = 1;  // how many times as long the device takes as this machine does
};

struct SplitRunPlan {
  std::vector<SplitModelFile> models;
  std::vector<SplitLink> links;
  std::vector<std::string> systems;
  int inferences = 20;                  // of each system in each round
  std::optional<Nanoseconds> duration;  // instead of inferences
  int rounds = 1;                       // in which the systems take turns
  std::vector<std::string> options;     // more of `wharf split`
  std::string encoding;                 // as wharf split --encoding
  std::string server_device = "cpu";    // as wharf serve --model-device
  bool shared_cores = false;            // else the server has one half of the cores, everything else the other
};

// Every system on every model and link. All see a trace from its beginning. kAborted: a process failed (a wrong result
// is one); its own words are on standard error.
absl::StatusOr<std::vector<SplitBenchRow>> RunSplits(const SplitRunPlan& plan);

// What `wharf split --json` wrote, inferences of one system on one model and link, as a row without names. `asked`: how
// many inferences each of them should hold, where that is known; those that it does not are lost. kDataLoss: not that.
absl::StatusOr<SplitBenchRow> SummariseSplit(const std::vector<std::string>& jsons, std::optional<int> asked);

}  // namespace wharf::cli
