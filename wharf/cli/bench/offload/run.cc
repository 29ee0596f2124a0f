#include "wharf/cli/bench/offload/run.h"

#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <thread>

#include "absl/synchronization/mutex.h"
#include "wharf/base/read_file.h"

namespace wharf::cli {
namespace {

// An empty place for a run's file.
std::string FreshFile(const ScratchDirectory& scratch, const std::string& name) {
  const std::string path = scratch.File(name);
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  return path;
}

absl::Status RunToItsEnd(Child& child, bool waits, const RunPlan& plan) {
  if (waits && plan.warm_up < plan.inferences) {
    // If the line never comes, how the program ended says more.
    if (child.AwaitLine("ready").ok()) {
      plan.on_ready();
      child.SendLine();
    }
  } else {
    plan.on_ready();
  }
  return child.Wait();
}

void Append(const std::vector<std::string>& more, std::vector<std::string>* arguments) {
  arguments->insert(arguments->end(), more.begin(), more.end());
}

void AppendPlan(const RunPlan& plan, bool waits, const std::string& json, std::vector<std::string>* arguments) {
  Append({"--inferences", fmt::format("{}", plan.inferences), "--json", json}, arguments);
  if (waits) Append({"--ready-after", fmt::format("{}", plan.warm_up)}, arguments);
}

absl::StatusOr<std::unique_ptr<Child>> StartOn(const cpu_set_t& cores, const std::string& path,
                                               std::vector<std::string> arguments) {
  const OnCores of_child(cores);
  return Child::Start(path, std::move(arguments));
}

// Where copies of a program wait for each other. Thread-safe.
class CommonStart {
 public:
  CommonStart(int copies, std::function<void()> on_all) : missing_(copies), on_all_(std::move(on_all)) {}

  // Returns when all others are here or have ended.
  void Await(bool& arrived) {
    const absl::MutexLock lock(&mutex_);
    Count(arrived);
    mutex_.Await(absl::Condition(
        +[](int* missing) { return *missing == 0; }, &missing_));
  }
  // Of one that has ended: nobody waits for it any more.
  void End(bool& arrived) {
    const absl::MutexLock lock(&mutex_);
    Count(arrived);
  }

 private:
  void Count(bool& arrived) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (std::exchange(arrived, true)) return;
    if (--missing_ == 0) on_all_();
  }

  absl::Mutex mutex_;
  int missing_ ABSL_GUARDED_BY(mutex_);
  const std::function<void()> on_all_;
};

}  // namespace

absl::StatusOr<ProgramRun> RunMeasured(const MeasuredProgram& program, const std::string& address,
                                       const std::vector<std::string>& options, const RunPlan& plan,
                                       const ScratchDirectory& scratch) {
  const std::string latencies = FreshFile(scratch, "latencies.json"), counters = FreshFile(scratch, "counters.json");
  // On a link that drops to a fraction of a Mbit/s a large copy alone may take long.
  std::vector<std::string> arguments = {"wharf", "run", "--server", address, "--timeout", "60s", "--stats", counters};
  Append(options, &arguments);
  Append({"--", program.path}, &arguments);
  Append(program.arguments, &arguments);
  AppendPlan(plan, program.waits, latencies, &arguments);
  WHARF_ASSIGN_OR_RETURN(const auto child, Child::Start(kOurselves, std::move(arguments)));
  WHARF_RETURN_IF_ERROR(RunToItsEnd(*child, program.waits, plan));
  const absl::StatusOr<std::string> program_json = ReadFile(latencies);
  if (!program_json.ok()) return DataLoss("{} took --json and wrote no file", program.path);
  const absl::StatusOr<std::string> counters_json = ReadFile(counters);
  if (!counters_json.ok()) return DataLoss("{} made no CUDA call", program.path);
  return ParseRun(*program_json, *counters_json);
}

absl::StatusOr<std::vector<ProgramRun>> RunTogether(const MeasuredProgram& program, const std::string& address,
                                                    const std::vector<std::string>& options, const RunPlan& plan,
                                                    int copies) {
  CommonStart start(copies, plan.on_ready);
  std::vector<absl::StatusOr<ProgramRun>> runs(copies, absl::StatusOr<ProgramRun>(Internal("it did not run")));
  std::vector<std::thread> threads;
  for (absl::StatusOr<ProgramRun>& run : runs) {
    threads.emplace_back([&, &run = run] {
      bool arrived = false;
      RunPlan own = plan;
      own.on_ready = [&] { start.Await(arrived); };
      const auto scratch = ScratchDirectory::Make();
      run = scratch.ok() ? RunMeasured(program, address, options, own, **scratch) : scratch.status();
      start.End(arrived);
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<ProgramRun> made;
  for (absl::StatusOr<ProgramRun>& run : runs) {
    if (!run.ok()) return run.status();
    made.push_back(*std::move(run));
  }
  return made;
}

absl::StatusOr<ProgramRun> RunNative(const MeasuredProgram& program, const std::vector<std::string>& server_options,
                                     const CoreShares& cores, const link::LinkProfile& profile, const RunPlan& plan,
                                     const ScratchDirectory& scratch) {
  const std::string latencies = FreshFile(scratch, "latencies.json"), counters = FreshFile(scratch, "counters.json");
  std::vector<std::string> serving = {"wharf", "run", "--local", "--stats", counters};
  Append(server_options, &serving);
  Append({"--", program.native_server}, &serving);
  Append(program.native_server_arguments, &serving);
  Append({"--listen", "127.0.0.1:0", "--clients", "1"}, &serving);
  WHARF_ASSIGN_OR_RETURN(const auto server, StartOn(cores.device, kOurselves, std::move(serving)));
  const absl::StatusOr<std::string> line = server->ReadLine();
  if (!line.ok()) {
    WHARF_RETURN_IF_ERROR(server->Wait());
    return DataLoss("{} did not say where it waits", program.native_server);
  }
  const std::string target = line->substr(line->rfind(' ') + 1);

  WHARF_ASSIGN_OR_RETURN(const auto proxy, link::LinkProxy::Start("127.0.0.1:0", target, profile));
  std::vector<std::string> asking = {program.native_client};
  Append(program.native_arguments, &asking);
  Append({"--server", proxy->Address()}, &asking);
  AppendPlan(plan, program.waits, latencies, &asking);
  RunPlan over_the_link = plan;
  over_the_link.on_ready = [&] {
    proxy->Rewind();
    plan.on_ready();
  };
  WHARF_ASSIGN_OR_RETURN(const auto client, Child::Start(program.native_client, std::move(asking)));
  WHARF_RETURN_IF_ERROR(RunToItsEnd(*client, program.waits, over_the_link));
  WHARF_RETURN_IF_ERROR(server->Wait());

  const absl::StatusOr<std::string> program_json = ReadFile(latencies), counters_json = ReadFile(counters);
  if (!program_json.ok() || !counters_json.ok()) return DataLoss("{} left nothing to read", program.native_client);
  WHARF_ASSIGN_OR_RETURN(ProgramRun run, ParseRun(*program_json, *counters_json));
  // Those counters are of the server program's own calls; only how busy its device was is asked here.
  run.calls = 0;
  run.per_function.clear();
  run.blocking_round_trips = run.latencies_ms.size();  // a request and its reply each
  run.bytes_up = proxy->Traffic().bytes_up, run.bytes_down = proxy->Traffic().bytes_down;
  run.replays = false;
  run.prediction = {};
  return run;
}

}  // namespace wharf::cli
