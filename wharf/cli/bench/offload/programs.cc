#include "wharf/cli/bench/offload/programs.h"

#include <filesystem>

#include "wharf/cli/common/shim_directory.h"

namespace wharf::cli {
namespace {

constexpr std::string_view kPytorch = "pytorch:";

absl::StatusOr<std::string> FindExample(const std::string& name) {
  return FindFile({"../cuda/" + name, "../libexec/wharf/" + name},
                  fmt::format("the example {} (built where the CUDA toolkit is)", name), "--program");
}

absl::StatusOr<MeasuredProgram> PoseProgram(std::string image) {
  MeasuredProgram program;
  program.name = "cuda_pose";
  WHARF_ASSIGN_OR_RETURN(program.path, FindExample("cuda_pose"));
  WHARF_ASSIGN_OR_RETURN(program.native_server, FindExample("pose_server"));
  WHARF_ASSIGN_OR_RETURN(program.native_client, FindExample("pose_client"));
  if (image.empty()) {
    WHARF_ASSIGN_OR_RETURN(image, FindFile({"../share/wharf/scene.png", "../../../examples/cuda_pose/scene.png",
                                            "examples/cuda_pose/scene.png"},
                                           "cuda_pose's picture scene.png", "--image"));
  }
  program.arguments = {"--image", image};
  program.native_arguments = {image};
  program.waits = true;
  return program;
}

absl::StatusOr<MeasuredProgram> PytorchProgram(const std::string& model, const std::string& python) {
  MeasuredProgram program;
  WHARF_ASSIGN_OR_RETURN(program.path, FindProgram(python));
  program.native_server = program.native_client = program.path;
  for (const auto& [file, arguments] : {std::pair{"inference.py", &program.arguments},
                                        {"server.py", &program.native_server_arguments},
                                        {"client.py", &program.native_arguments}}) {
    const std::string place = fmt::format("examples/pytorch/{}", file);
    WHARF_ASSIGN_OR_RETURN(const std::string script, FindFile({"../../../" + place, place}, place, "--program FILE"));
    *arguments = {script, model};
  }
  program.waits = true;
  return program;
}

}  // namespace

absl::StatusOr<std::string> FindFile(const std::vector<std::string>& candidates, std::string_view what,
                                     std::string_view option) {
  for (const std::string& candidate : candidates) {
    for (const std::string& path : {ExecutableDirectory() + "/" + candidate, candidate}) {
      std::error_code ignored;
      if (std::filesystem::exists(path, ignored)) return std::filesystem::weakly_canonical(path, ignored).string();
    }
  }
  return NotFound("{} is not there: say where it is with {}", what, option);
}

absl::StatusOr<MeasuredProgram> FindBenchProgram(const ProgramChoice& choice) {
  MeasuredProgram program;
  if (choice.name == "pose") {
    WHARF_ASSIGN_OR_RETURN(program, PoseProgram(choice.image));
  } else if (choice.name == "decode") {
    WHARF_ASSIGN_OR_RETURN(program.path, FindExample("cuda_decode"));
    program.name = "cuda_decode";
    program.waits = true;
  } else if (choice.name.starts_with(kPytorch)) {
    WHARF_ASSIGN_OR_RETURN(program, PytorchProgram(choice.name.substr(kPytorch.size()), choice.python));
    program.name = choice.name;
  } else {
    program.path = choice.name;
    program.name = std::filesystem::path(choice.name).filename().string();
  }
  for (std::vector<std::string>* words : {&program.arguments, &program.native_arguments}) {
    words->insert(words->end(), choice.arguments.begin(), choice.arguments.end());
  }
  return program;
}

}  // namespace wharf::cli
