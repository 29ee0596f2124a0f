#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "wharf/cli/common/commands.h"
#include "wharf/cudashim/api_table.h"

namespace wharf::cli {
namespace {

using cudashim::ApiRow;

struct ApiOptions {
  bool json = false, missing = false;
  std::string library;
};

bool Wanted(const ApiRow& row, const ApiOptions& options) {
  return (options.library.empty() || row.library == options.library) && row.covered != options.missing;
}

void PrintJson(const ApiOptions& options) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const ApiRow& row : cudashim::ApiTable()) {
    if (!options.library.empty() && row.library != options.library) continue;
    nlohmann::ordered_json entry = {{"library", row.library}, {"name", row.name}, {"covered", row.covered}};
    if (row.covered) {
      entry["answered"] = cudashim::CallClassName(row.call_class);
      entry["operations"] = row.operations;
    }
    rows.push_back(std::move(entry));
  }
  std::printf("%s\n", rows.dump(2).c_str());
}

void PrintSummary() {
  struct Count {
    int covered = 0, all = 0;
    std::map<std::string, int> classes;
  };
  std::map<std::string, Count> libraries;
  for (const ApiRow& row : cudashim::ApiTable()) {
    Count& count = libraries[std::string(row.library)];
    ++count.all;
    count.covered += row.covered;
    if (row.covered) ++count.classes[std::string(cudashim::CallClassName(row.call_class))];
  }
  std::printf("%-10s %8s %8s %8s %8s %8s\n", "library", "names", "covered", "local", "posted", "blocking");
  for (auto& [library, count] : libraries) {
    std::printf("%-10s %8d %8d %8d %8d %8d\n", library.c_str(), count.all, count.covered, count.classes["local"],
                count.classes["posted"], count.classes["blocking"]);
  }
  if (!cudashim::ApiTableIsComplete()) {
    std::puts("built without the CUDA toolkit: names that are not covered are not known");
  }
}

void PrintTable(const ApiOptions& options) {
  if (options.missing) {
    for (const ApiRow& row : cudashim::ApiTable()) {
      if (Wanted(row, options)) {
        std::printf("%-10s %s\n", std::string(row.library).c_str(), std::string(row.name).c_str());
      }
    }
    return;
  }
  std::printf("%-10s %-48s %-9s %s\n", "library", "function", "answered", "operations it may send");
  for (const ApiRow& row : cudashim::ApiTable()) {
    if (!Wanted(row, options)) continue;
    std::printf("%-10s %-48s %-9s %s\n", std::string(row.library).c_str(), std::string(row.name).c_str(),
                std::string(cudashim::CallClassName(row.call_class)).c_str(), std::string(row.operations).c_str());
  }
  std::puts("");
  PrintSummary();
}

}  // namespace

void AddApiCommand(CLI::App& app) {
  CLI::App* command = app.add_subcommand("api", "Which CUDA functions are covered, and how each is answered.");
  command->footer(
      "\nlocal: in the program, no packet; posted: one way, errors come with a later call; blocking: waits for the\n"
      "server. A function that is not covered returns \"not supported\" and is logged once.");
  auto options = std::make_shared<ApiOptions>();
  command->add_flag("--json", options->json, "An array of {library, name, covered, answered, operations}");
  command->add_flag("--missing", options->missing, "What is not covered instead");
  command->add_option("--library", options->library, "Of one library only")
      ->check(
          CLI::IsMember({"cudart", "cuda", "cublas", "cublasLt", "cudnn", "cufft", "curand", "cusolver", "cusparse"}));
  command->callback([options] {
    if (options->json) {
      PrintJson(*options);
    } else {
      PrintTable(*options);
    }
  });
}

}  // namespace wharf::cli
