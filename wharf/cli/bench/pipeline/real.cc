#include "wharf/cli/bench/pipeline/real.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "wharf/base/split_text.h"
#include "wharf/cli/bench/common/child.h"
#include "wharf/cli/bench/common/progress.h"
#include "wharf/cli/common/files.h"
#include "wharf/cli/common/scratch_directory.h"
#include "wharf/cli/programs/own_programs.h"
#include "wharf/link/byte_stream.h"
#include "wharf/pipeline/dataplane/simulator.h"
#include "wharf/pipeline/planner/planner.h"

namespace wharf::cli {
namespace {

constexpr const char* kEtcd = "/usr/bin/etcd";
// One host of a fast GPU, which may be halved, and two of two slow ones. Workers take the plan's times (--paced), of
// which a sixteenth and less is computing: they do not take the machine's cores from each other.
constexpr int kFastHosts = 1, kSlowHosts = 2, kSlowPerHost = 2;
constexpr const char *kFastClass = "fast=threads:1,slowdown:16,vgpus:2", *kSlowClass = "slow=threads:1,slowdown:48";
constexpr const char *kFastWorker = "fast=threads:1,vgpus:2", *kSlowWorker = "slow=threads:1";
constexpr double kRealSloScale = 5, kRealMargin = 0.4, kGuard = 0.1;
constexpr double kFaultLoad = 0.5;
constexpr Nanoseconds kPatience = std::chrono::seconds(30), kPause = std::chrono::milliseconds(50);

// A command of ours or another program, with its standard error in a file.
class Process {
 public:
  static absl::StatusOr<std::unique_ptr<Process>> Start(const std::string& log, std::vector<std::string> command) {
    std::unique_ptr<Process> process(new Process);
    std::vector<std::string> arguments = {"sh", "-c", "echo $$; log=$1; shift; exec \"$@\" 2>>\"$log\"", "sh", log};
    std::move(command.begin(), command.end(), std::back_inserter(arguments));
    WHARF_ASSIGN_OR_RETURN(process->child_, Child::Start("/bin/sh", std::move(arguments)));
    WHARF_ASSIGN_OR_RETURN(const std::string pid, process->child_->ReadLine());
    process->pid_ = std::atoi(pid.c_str());
    process->log_ = log;
    return process;
  }
  // kUnavailable with the last line of its log.
  absl::StatusOr<std::string> ReadLine() {
    auto line = child_->ReadLine();
    if (line.ok()) return line;
    return LastWords();
  }
  absl::Status Wait() {
    if (child_->Wait().ok()) return absl::OkStatus();
    return LastWords();
  }
  void Kill() { kill(pid_, SIGKILL); }

 private:
  Process() = default;
  absl::Status LastWords() const {
    const auto log = ReadFile(log_);
    if (!log.ok() || log->empty()) return Unavailable("a process of the benchmark ended at once");
    const std::string_view text = std::string_view(*log).substr(0, log->size() - 1);
    return Unavailable("a process of the benchmark ended: {}", text.substr(text.rfind('\n') + 1));
  }
  std::unique_ptr<Child> child_;
  std::string log_;
  pid_t pid_ = -1;
};

absl::StatusOr<std::string> FreeAddress() {
  WHARF_ASSIGN_OR_RETURN(const auto listener, link::Listener::Create("127.0.0.1:0"));
  return listener->Address();
}

double Percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
}

class RealPipeline {
 public:
  explicit RealPipeline(const RealPipelineOptions& options)
      : options_(options), progress_(options.loads.size() + 2 + (options.faults ? 2 : 0)) {}

  absl::StatusOr<RealPipelineResult> Run() {
    if (access(kEtcd, X_OK) != 0) return NotFound("{} is not installed (Debian's etcd-server)", kEtcd);
    WHARF_ASSIGN_OR_RETURN(scratch_, ScratchDirectory::Make());
    progress_.Step("measuring the model");
    WHARF_RETURN_IF_ERROR(MakePlan());
    progress_.Step("starting etcd, workers and the scheduler");
    WHARF_RETURN_IF_ERROR(StartAll());
    RealPipelineResult result;
    result.plan = Describe();
    for (const double load : options_.loads) {
      progress_.Step(fmt::format("load {:g}", load));
      WHARF_ASSIGN_OR_RETURN(result.rows.emplace_back(), Compare(load));
    }
    if (!options_.faults) return result;
    progress_.Step("etcd restarts");
    WHARF_ASSIGN_OR_RETURN(result.faults.emplace_back(), DuringFault("etcd killed, back after 1 s", [this] {
                             etcd_->Kill();
                             Clock::Real().SleepUntil(Clock::Real().Now() + std::chrono::seconds(1));
                             return StartEtcd();
                           }));
    progress_.Step("a worker dies");
    WHARF_ASSIGN_OR_RETURN(result.faults.emplace_back(), DuringFault("a host of slow GPUs killed", [this] {
                             workers_.back()->Kill();
                             return absl::OkStatus();
                           }));
    return result;
  }

 private:
  std::string Folder() const { return scratch_->File("lab"); }

  // What it prints.
  absl::Status RunCommand(std::vector<std::string> command) {
    command.insert(command.begin(), FindOwnProgram(kMainProgram));
    WHARF_ASSIGN_OR_RETURN(const auto process, Process::Start(scratch_->File("command.log"), std::move(command)));
    return process->Wait();
  }

  absl::Status MakePlan() {
    WHARF_RETURN_IF_ERROR(
        RunCommand({"pipeline", "profile", options_.model, "--name", "net", "--out", Folder(), "--blocks", "8",
                    "--max-batch", "4", "--rounds", "15", "--classes", fmt::format("{},{}", kFastClass, kSlowClass)}));
    WHARF_ASSIGN_OR_RETURN(const auto profiles, pipeline::LoadModelProfiles(Folder()));
    const pipeline::ModelProfile& profile = profiles.front();
    pipeline::Cluster cluster;
    cluster.name = "this machine";
    cluster.classes = {{"fast", 2}, {"slow"}};
    cluster.hosts = {{0, kFastHosts, 1, kLinkBitsPerS}, {1, kSlowHosts, kSlowPerHost, kLinkBitsPerS}};
    const double slo_us = kRealSloScale * profile.Find("fast", 1)->LatencyUs(1, 0, profile.Blocks());
    WHARF_ASSIGN_OR_RETURN(
        plan_, pipeline::MakePlan(cluster, {{&profile, slo_us, kRealMargin * slo_us, 1, std::nullopt}}, {}));
    WHARF_ASSIGN_OR_RETURN(deployment_, pipeline::Deploy(plan_));
    return WriteFile(scratch_->File("plan.json"), ToJson(plan_));
  }

  absl::Status StartEtcd() {
    WHARF_ASSIGN_OR_RETURN(
        etcd_, Process::Start(scratch_->File("etcd.log"),
                              {kEtcd, "--data-dir", scratch_->File("etcd"), "--listen-client-urls",
                               "http://" + etcd_address_, "--advertise-client-urls", "http://" + etcd_address_,
                               "--listen-peer-urls", "http://" + etcd_peer_, "--initial-advertise-peer-urls",
                               "http://" + etcd_peer_, "--initial-cluster", "default=http://" + etcd_peer_}));
    const TimePoint until = Clock::Real().Now() + kPatience;
    while (!link::Connect(etcd_address_).ok()) {
      if (Clock::Real().Now() > until) return Unavailable("etcd does not start");
      Clock::Real().SleepUntil(Clock::Real().Now() + kPause);
    }
    return absl::OkStatus();
  }

  absl::Status StartWorker(const char* device, int gpus, const std::string& name) {
    WHARF_ASSIGN_OR_RETURN(auto worker, Process::Start(scratch_->File(name + ".log"),
                                                       {FindOwnProgram(kMainProgram), "pipeline", "worker", "--sandbox",
                                                        "weak", "--name", name, "--class", device, "--gpus",
                                                        std::to_string(gpus), "--etcd", "http://" + etcd_address_,
                                                        "--lease", "2", "--cache-dir", scratch_->File("cache")}));
    WHARF_RETURN_IF_ERROR(worker->ReadLine().status());
    workers_.push_back(std::move(worker));
    return absl::OkStatus();
  }

  absl::Status StartAll() {
    WHARF_ASSIGN_OR_RETURN(etcd_address_, FreeAddress());
    WHARF_ASSIGN_OR_RETURN(etcd_peer_, FreeAddress());
    WHARF_RETURN_IF_ERROR(StartEtcd());
    for (int i = 0; i < kFastHosts; ++i) WHARF_RETURN_IF_ERROR(StartWorker(kFastWorker, 1, fmt::format("fast{}", i)));
    for (int i = 0; i < kSlowHosts; ++i) {
      WHARF_RETURN_IF_ERROR(StartWorker(kSlowWorker, kSlowPerHost, fmt::format("slow{}", i)));
    }
    WHARF_ASSIGN_OR_RETURN(serve_, Process::Start(scratch_->File("serve.log"),
                                                  {FindOwnProgram(kMainProgram), "pipeline", "serve", "--sandbox",
                                                   "weak", scratch_->File("plan.json"), "--profiles", Folder(),
                                                   "--etcd", "http://" + etcd_address_, "--listen", "127.0.0.1:0",
                                                   "--paced", "--guard", fmt::format("{}", kGuard)}));
    WHARF_ASSIGN_OR_RETURN(const std::string line, serve_->ReadLine());
    address_ = line.substr(line.rfind(' ') + 1);
    return AwaitService();
  }

  // Until requests are answered in time.
  absl::Status AwaitService() {
    const TimePoint until = Clock::Real().Now() + kPatience;
    while (Clock::Real().Now() < until) {
      WHARF_RETURN_IF_ERROR(Load(0.2, 1, 1));
      WHARF_ASSIGN_OR_RETURN(const auto requests, Requests());
      const auto on_time = std::ranges::count_if(requests, [](const SentRequest& one) { return one.on_time; });
      if (!requests.empty() && on_time == static_cast<std::ptrdiff_t>(requests.size())) return absl::OkStatus();
    }
    return DeadlineExceeded("the workers do not answer in time, even at a fifth of the load");
  }

  absl::Status Load(double load, double seconds, uint64_t seed) {
    return RunCommand({"pipeline", "load", "--server", address_, "--rate", fmt::format("{}", Rate(load)), "--seconds",
                       fmt::format("{}", seconds), "--seed", std::to_string(seed), "--json",
                       scratch_->File("load.json"), "--requests", scratch_->File("requests.csv")});
  }
  double Rate(double load) const { return load * deployment_.models.front().planned_rate; }

  absl::StatusOr<std::vector<SentRequest>> Requests() const {
    WHARF_ASSIGN_OR_RETURN(const std::string csv, ReadFile(scratch_->File("requests.csv")));
    std::vector<SentRequest> requests;
    for (const std::string_view line : SplitText(csv, '\n')) {
      const auto cells = SplitText(line, ',');
      if (cells.size() != 6 || cells[0] == "sent_s") continue;
      const auto number = [&](size_t cell) { return std::atof(std::string(cells[cell]).c_str()); };
      const bool on_time = cells[1] == "on time";
      requests.push_back(
          {number(0), on_time, on_time || cells[1] == "late", number(2), number(3), number(4), number(5)});
    }
    return requests;
  }
  absl::StatusOr<nlohmann::json> Loaded() const {
    WHARF_ASSIGN_OR_RETURN(const std::string text, ReadFile(scratch_->File("load.json")));
    return nlohmann::json::parse(text);
  }

  RealPipelineRow::Side Simulated(double load, uint64_t seed) const {
    pipeline::SimulationOptions simulation;
    simulation.scheduling.guard = kGuard;
    simulation.seconds = options_.seconds;
    simulation.keep_records = true;
    const auto arrivals = pipeline::PoissonArrivals({Rate(load)}, options_.seconds, seed);
    const pipeline::SimulationResult result = pipeline::Simulate(deployment_, arrivals, simulation);
    std::vector<SentRequest> requests;
    for (const pipeline::RequestRecord& one : result.records) {
      const bool on_time = one.fate == pipeline::Fate::kOnTime;
      requests.push_back({Seconds(one.request.arrival.since_epoch), on_time,
                          on_time || one.fate == pipeline::Fate::kLate, Milliseconds(one.ended - one.request.arrival),
                          Milliseconds(one.queued), Milliseconds(one.computed), Milliseconds(one.transferred)});
    }
    return SideOf(requests);
  }

  RealPipelineRow::Side SideOf(const std::vector<SentRequest>& requests) const {
    RealPipelineRow::Side side;
    std::vector<double> latencies;
    double on_time = 0;
    for (const SentRequest& one : requests) {
      on_time += one.on_time ? 1 : 0;
      if (!one.answered) continue;
      latencies.push_back(one.latency_ms);
      side.mean_ms += one.latency_ms;
      side.queued_ms += one.queued_ms;
      side.computed_ms += one.computed_ms;
      side.transferred_ms += one.transferred_ms;
    }
    side.attainment = requests.empty() ? 1 : on_time / static_cast<double>(requests.size());
    side.on_time_per_s = on_time / options_.seconds;
    side.p50_ms = Percentile(latencies, 0.5);
    side.p99_ms = Percentile(latencies, 0.99);
    for (double* sum : {&side.mean_ms, &side.queued_ms, &side.computed_ms, &side.transferred_ms}) {
      *sum /= std::max<double>(1, static_cast<double>(latencies.size()));
    }
    return side;
  }

  absl::StatusOr<RealPipelineRow> Compare(double load) {
    constexpr uint64_t kSeed = 7;  // the same arrivals on both sides
    WHARF_RETURN_IF_ERROR(Load(load, options_.seconds, kSeed));
    WHARF_ASSIGN_OR_RETURN(const auto requests, Requests());
    RealPipelineRow row;
    row.load = load;
    row.requests = static_cast<int>(requests.size());
    row.real = SideOf(requests);
    row.simulated = Simulated(load, kSeed);
    return row;
  }

  // The fault comes after a third of the time.
  absl::StatusOr<FaultRow> DuringFault(const std::string& name, const std::function<absl::Status()>& fault) {
    const double fault_s = options_.seconds / 3;
    absl::Status failed;
    std::thread later([&] {
      Clock::Real().SleepUntil(Clock::Real().Now() + FromSeconds(fault_s));
      failed = fault();
    });
    const absl::Status loaded = Load(kFaultLoad, options_.seconds, 1);
    later.join();
    WHARF_RETURN_IF_ERROR(loaded);
    WHARF_RETURN_IF_ERROR(failed);
    WHARF_ASSIGN_OR_RETURN(const nlohmann::json counts, Loaded());
    WHARF_ASSIGN_OR_RETURN(const auto requests, Requests());
    FaultRow row{name,
                 counts["requests"],
                 counts["unanswered"],
                 counts["worker lost"],
                 counts["attainment"],
                 RecoveryTime(requests, fault_s)};
    return row;
  }

  std::string Describe() const {
    std::string text = fmt::format(
        "One host of a fast GPU, {} of {} slow ones (this machine's processor, measured as {} and {}); SLO {:.1f} ms; "
        "{:.1f} requests/s planned:",
        kSlowHosts, kSlowPerHost, kFastClass, kSlowClass, plan_.models.front().slo_us / 1e3, plan_.value);
    for (const pipeline::Pipeline& pipeline : plan_.pipelines) {
      text += fmt::format(" {:.1f}/s in batches of {} by", pipeline.throughput, pipeline.batch);
      for (const pipeline::Stage& stage : pipeline.stages) {
        text += fmt::format(" {} {}{} (blocks {} to {})", stage.vgpus, plan_.cluster.classes[stage.gpu_class].name,
                            stage.vgpus_per_gpu > 1 ? fmt::format("/{}", stage.vgpus_per_gpu) : "", stage.first_block,
                            stage.end_block - 1);
      }
      text += ';';
    }
    text.pop_back();
    return text;
  }

  static constexpr double kLinkBitsPerS = 5e9;  // loopback, of which transfers between two processes get so much

  const RealPipelineOptions& options_;
  Progress progress_;
  std::unique_ptr<ScratchDirectory> scratch_;
  pipeline::Plan plan_;
  pipeline::Deployment deployment_;
  std::string etcd_address_, etcd_peer_, address_;
  std::unique_ptr<Process> etcd_;
  std::vector<std::unique_ptr<Process>> workers_;
  std::unique_ptr<Process> serve_;
};

}  // namespace

absl::StatusOr<RealPipelineResult> RunRealPipeline(const RealPipelineOptions& options) {
  return RealPipeline(options).Run();
}

}  // namespace wharf::cli
