// wharf pipeline init: a cluster and models to begin with.
#include <cstdio>
#include <filesystem>
#include <memory>

#include "wharf/cli/common/commands.h"
#include "wharf/cli/common/files.h"
#include "wharf/cli/common/pipeline_command.h"
#include "wharf/cli/common/shared_data.h"
#include "wharf/cli/pipeline/example_files.h"

namespace wharf::cli {
namespace {

constexpr const char* kPipelineInitFooter = R"(
Every key is there with what it means; change what differs from your machines and models, then:
  wharf pipeline plan --cluster cluster.yaml --models models.yaml
No file that is there already is changed. docs/pipeline.md has all keys in tables.)";

struct PipelineInitOptions {
  std::string folder = ".", profiles;
};

// A folder that the user named from here is named from where models.yaml is; any other in full, so that the file can be
// moved.
absl::StatusOr<std::string> AsModelsFileSaysIt(const PipelineInitOptions& options, const std::string& profiles) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path named = !options.profiles.empty() && fs::path(profiles).is_relative()
                             ? fs::proximate(profiles, options.folder, error)
                             : fs::canonical(profiles, error);
  if (error) return NotFound("{}: {}", profiles, error.message());
  return named.string();
}

absl::Status RunPipelineInit(const PipelineInitOptions& options) {
  namespace fs = std::filesystem;
  std::string data = options.profiles;
  if (data.empty()) {
    WHARF_ASSIGN_OR_RETURN(data, FindSharedData("pipeline", "--profiles"));
  }
  WHARF_ASSIGN_OR_RETURN(const auto profiles, pipeline::LoadModelProfiles(data));
  std::error_code error;
  fs::create_directories(options.folder, error);
  if (error) return PermissionDenied("{} cannot be made: {}", options.folder, error.message());
  WHARF_ASSIGN_OR_RETURN(const std::string named, AsModelsFileSaysIt(options, data));
  WHARF_ASSIGN_OR_RETURN(const ExampleFiles files, MakeExampleFiles(profiles, named));
  const std::string cluster = (fs::path(options.folder) / "cluster.yaml").lexically_normal().string();
  const std::string models = (fs::path(options.folder) / "models.yaml").lexically_normal().string();
  for (const std::string& path : {cluster, models}) {
    if (fs::exists(fs::symlink_status(path, error))) {
      return AlreadyExists("{} is there already, and stays as it is: name another folder", path);
    }
  }
  WHARF_RETURN_IF_ERROR(WriteFile(cluster, files.cluster));
  WHARF_RETURN_IF_ERROR(WriteFile(models, files.models));
  std::printf("wrote %s and %s; next:\n  wharf pipeline plan --cluster %s --models %s\n", cluster.c_str(),
              models.c_str(), cluster.c_str(), models.c_str());
  return absl::OkStatus();
}

}  // namespace

void AddPipelineInitCommand(CLI::App& app) {
  CLI::App* command =
      PipelineCommand(app).add_subcommand("init", "Write a cluster and models to begin with, explained.");
  command->footer(kPipelineInitFooter);
  auto options = std::make_shared<PipelineInitOptions>();
  command->add_option("folder", options->folder, "Where cluster.yaml and models.yaml are written")
      ->type_name("FOLDER")
      ->capture_default_str();
  command
      ->add_option(
          "--profiles", options->profiles,
          "Plan for what `wharf pipeline profile --out` measured there, instead of the models that Wharf brings")
      ->type_name("FOLDER");
  command->callback([options] {
    if (const absl::Status done = RunPipelineInit(*options); !done.ok()) Fail(done);
  });
}

}  // namespace wharf::cli
