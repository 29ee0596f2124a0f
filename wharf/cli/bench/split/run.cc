#include "wharf/cli/bench/split/run.h"

#include <filesystem>
#include <memory>
#include <utility>

#include "wharf/cli/bench/common/child.h"
#include "wharf/cli/bench/common/cores.h"
#include "wharf/cli/bench/common/progress.h"
#include "wharf/cli/common/files.h"
#include "wharf/cli/common/scratch_directory.h"
#include "wharf/cli/programs/own_programs.h"

namespace wharf::cli {
namespace {

class SplitBench {
 public:
  explicit SplitBench(const SplitRunPlan& plan)
      : plan_(plan),
        cores_(plan.shared_cores ? ShareCores() : HalveCores()),
        on_cores_(cores_.client),
        progress_(plan.models.size() *
                  (1 + plan.links.size() * plan.systems.size() * static_cast<size_t>(plan.rounds))) {}

  absl::StatusOr<std::vector<SplitBenchRow>> Run() {
    WHARF_ASSIGN_OR_RETURN(scratch_, ScratchDirectory::Make());
    WHARF_RETURN_IF_ERROR(StartServer());
    std::vector<SplitBenchRow> rows;
    for (const SplitModelFile& model : plan_.models) {
      WHARF_RETURN_IF_ERROR(BringModel(model));
      for (const SplitLink& link : plan_.links) {
        WHARF_ASSIGN_OR_RETURN(const std::vector<SplitBenchRow> made, RunSystems(model, link));
        rows.insert(rows.end(), made.begin(), made.end());
      }
    }
    return rows;
  }

 private:
  absl::Status StartServer() {
    WHARF_RETURN_IF_ERROR(WriteFile(scratch_->File("token"), "a token of this benchmark\n"));
    const OnCores of_server(cores_.device);
    WHARF_ASSIGN_OR_RETURN(server_, Child::Start(FindOwnProgram(kMainProgram),
                                                 {"wharf", "serve", "--device", "soft", "--sandbox", "weak",
                                                  "--model-device", plan_.server_device, "--listen", "127.0.0.1:0",
                                                  "--threads", fmt::format("{}", cores_.device_cores), "--token-file",
                                                  scratch_->File("token"), "--cache-dir", scratch_->File("server")}));
    const absl::StatusOr<std::string> line = server_->ReadLine();
    if (!line.ok()) return Unavailable("the server did not start");
    address_ = line->substr(line->rfind(' ') + 1);
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<SplitBenchRow>> RunSystems(const SplitModelFile& model, const SplitLink& link) {
    std::vector<std::vector<std::string>> jsons(plan_.systems.size());
    for (int round = 0; round < plan_.rounds; ++round) {
      for (size_t i = 0; i < plan_.systems.size(); ++i) {
        progress_.Step(fmt::format("{}, {}, {}", NameOfModel(model.path), link.name, plan_.systems[i]));
        WHARF_ASSIGN_OR_RETURN(jsons[i].emplace_back(), RunSystem(model, link, plan_.systems[i]));
      }
    }
    const auto asked = plan_.duration ? std::nullopt : std::optional(plan_.inferences);
    std::vector<SplitBenchRow> rows;
    for (size_t i = 0; i < plan_.systems.size(); ++i) {
      WHARF_ASSIGN_OR_RETURN(SplitBenchRow row, SummariseSplit(jsons[i], asked));
      row.model = NameOfModel(model.path);
      row.scenario = link.name, row.system = plan_.systems[i], row.encoding = plan_.encoding;
      row.measured->slow_down = model.slow_down;
      rows.push_back(std::move(row));
    }
    return rows;
  }

  // `wharf split` as it is run here, but for how many inferences.
  std::vector<std::string> SplitWords(const SplitModelFile& model, const std::string& address,
                                      const std::string& system) const {
    return {"wharf",
            "split",
            model.path,
            "--server",
            address,
            "--token-file",
            scratch_->File("token"),
            "--mode",
            system,
            "--encoding",
            plan_.encoding,
            "--threads",
            fmt::format("{}", CPU_COUNT(&cores_.client)),
            "--device",
            "cpu",
            "--slow-down",
            fmt::format("{}", model.slow_down),
            "--cache-dir",
            scratch_->File("device")};
  }

  // Past the link, which would take minutes for it; and both machines are measured.
  absl::Status BringModel(const SplitModelFile& model) {
    progress_.Step(fmt::format("{}, to the server", NameOfModel(model.path)));
    std::vector<std::string> words = SplitWords(model, address_, "server-only");
    words.insert(words.end(), {"--count", "1"});
    WHARF_ASSIGN_OR_RETURN(const auto child, Child::Start(FindOwnProgram(kMainProgram), std::move(words)));
    return child->Wait();
  }

  // What it wrote to --json.
  absl::StatusOr<std::string> RunSystem(const SplitModelFile& model, const SplitLink& link, const std::string& system) {
    const std::string json = scratch_->File("inferences.json");
    std::error_code ignored;
    std::filesystem::remove(json, ignored);
    WHARF_ASSIGN_OR_RETURN(const auto proxy, link::LinkProxy::Start("127.0.0.1:0", address_, link.profile));
    std::vector<std::string> words = SplitWords(model, proxy->Address(), system);
    words.insert(words.end(), {"--json", json, "--wait", "--check"});
    if (plan_.duration) {
      words.insert(words.end(), {"--duration", fmt::format("{}ns", plan_.duration->count())});
    } else {
      words.insert(words.end(), {"--count", fmt::format("{}", plan_.inferences)});
    }
    words.insert(words.end(), plan_.options.begin(), plan_.options.end());
    WHARF_ASSIGN_OR_RETURN(const auto child, Child::Start(FindOwnProgram(kMainProgram), std::move(words)));
    if (child->AwaitLine("ready").ok()) {
      proxy->Rewind();
      child->SendLine();
    }
    WHARF_RETURN_IF_ERROR(child->Wait());
    return ReadFile(json);
  }

  const SplitRunPlan& plan_;
  const CoreShares cores_;
  const OnCores on_cores_;
  Progress progress_;
  std::unique_ptr<ScratchDirectory> scratch_;
  std::unique_ptr<Child> server_;
  std::string address_;
};

}  // namespace

absl::StatusOr<std::vector<SplitBenchRow>> RunSplits(const SplitRunPlan& plan) { return SplitBench(plan).Run(); }

}  // namespace wharf::cli
