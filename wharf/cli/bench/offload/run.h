// Runs CUDA programs under `wharf run`, and their hand-offloaded counterparts, measured: for `wharf bench offload`.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "wharf/cli/bench/common/child.h"
#include "wharf/cli/bench/common/cores.h"
#include "wharf/cli/bench/offload/model.h"
#include "wharf/cli/common/scratch_directory.h"
#include "wharf/link/emulation/emulator.h"

namespace wharf::cli {

struct MeasuredProgram {
  std::string name;  // in tables
  std::string path;
  std::vector<std::string> arguments;  // besides --inferences, --json and --ready-after, which are added
  // It takes --ready-after N (examples/arguments.h) and --inferences 0.
  bool waits = false;
  // The server and the client it is when offloaded by hand; empty if there is none. Both are given --listen or --server
  // behind their arguments.
  std::string native_server, native_client;
  std::vector<std::string> native_server_arguments, native_arguments;
};

// One run to be made.
struct RunPlan {
  int inferences = 0, warm_up = 0;  // warm_up of them come before what is measured
  // Called when the measured ones begin; at the program's start if it cannot wait.
  std::function<void()> on_ready = [] {};
};

// Runs it through `wharf run --server ADDRESS OPTIONS…` and reads what it left behind. Its standard output is dropped,
// its standard error is ours. kAborted with its exit code if it fails, kDataLoss if it leaves nothing to read.
absl::StatusOr<ProgramRun> RunMeasured(const MeasuredProgram& program, const std::string& address,
                                       const std::vector<std::string>& options, const RunPlan& plan,
                                       const ScratchDirectory& scratch);

// So many copies at once, each as RunMeasured: all have warmed up before any goes on, and plan.on_ready is called then,
// once. What each left behind. Fails as the first that fails; the others go on to their ends.
absl::StatusOr<std::vector<ProgramRun>> RunTogether(const MeasuredProgram& program, const std::string& address,
                                                    const std::vector<std::string>& options, const RunPlan& plan,
                                                    int copies);

// Runs the hand-offloaded pair over a link of its own: the server under `wharf run --local SERVER_OPTIONS…` on the
// device's cores, the client plainly. Bytes are what crossed the link; calls are none, because the client makes none.
// Fails as RunMeasured does.
absl::StatusOr<ProgramRun> RunNative(const MeasuredProgram& program, const std::vector<std::string>& server_options,
                                     const CoreShares& cores, const link::LinkProfile& profile, const RunPlan& plan,
                                     const ScratchDirectory& scratch);

}  // namespace wharf::cli
