// `wharf pack`: makes packs and looks into them.
#include <cxxabi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "wharf/base/read_file.h"
#include "wharf/cli/common/commands.h"
#include "wharf/cli/common/progress_line.h"
#include "wharf/cli/common/shim_directory.h"
#include "wharf/cli/common/text.h"
#include "wharf/cli/pack/builder.h"
#include "wharf/cli/pack/compile_jobs.h"
#include "wharf/cli/pack/coverage.h"
#include "wharf/device/pack/pack.h"
#include "wharf/report/table.h"

namespace wharf::cli {
namespace {

namespace fs = std::filesystem;
using device::pack::Pack;

constexpr const char* kPackFooter = R"(
PTX is what a CPU can run of a CUDA program. Programs that carry machine code only, such as PyTorch from PyPI, run on a
soft device with a pack: PTX made of their source.

  wharf pack build -o model.pack --flags "-std=c++17 -Iinclude" src/a.cu src/b.cu
  wharf pack build -o model.pack --compile-commands build/compile_commands.json
  wharf pack check model.pack ./program
  wharf run --local --kernel-pack model.pack -- ./program)";

struct BuildCommand {
  std::string output, compile_commands, nvcc = "nvcc", parts;
  std::vector<std::string> sources, flags, only;
  int jobs = 0;
  bool keep_going = false, keep_parts = false, no_ccache = false;
};

std::string Plural(size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string ReadableKernel(const std::string& mangled) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), &std::free);
  return name == nullptr ? mangled : name.get();
}

// The sources that were named, with the flags that were given.
absl::StatusOr<std::vector<CompileJob>> NamedJobs(const BuildCommand& command) {
  std::vector<std::string> words;
  for (const std::string& text : command.flags) {
    WHARF_ASSIGN_OR_RETURN(const std::vector<std::string> some, SplitWords(text));
    words.insert(words.end(), some.begin(), some.end());
  }
  std::vector<CompileJob> jobs;
  for (const std::string& source : command.sources) {
    std::error_code error;
    if (!fs::is_regular_file(source, error)) return NotFound("{}: there is no such source", source);
    jobs.push_back({fs::absolute(source).lexically_normal(), fs::current_path(), DeviceFlags(words, source)});
  }
  return jobs;
}

absl::StatusOr<std::vector<CompileJob>> JobsOf(const BuildCommand& command) {
  WHARF_ASSIGN_OR_RETURN(std::vector<CompileJob> jobs, NamedJobs(command));
  if (command.compile_commands.empty()) return jobs;
  WHARF_ASSIGN_OR_RETURN(const std::string json, ReadFile(command.compile_commands));
  absl::StatusOr<std::vector<CompileJob>> more = ReadCompileCommands(json, command.only);
  if (!more.ok()) {
    return MakeStatus(more.status().code(), "{}: {}", command.compile_commands, Message(more.status()));
  }
  jobs.insert(jobs.end(), more->begin(), more->end());
  return jobs;
}

absl::StatusOr<BuildOptions> OptionsOf(const BuildCommand& command) {
  BuildOptions options;
  const absl::StatusOr<std::string> nvcc = FindProgram(command.nvcc);
  if (!nvcc.ok()) return NotFound("{}: there is no such compiler; --nvcc says where it is", command.nvcc);
  if (const auto ccache = FindProgram("ccache"); ccache.ok() && !command.no_ccache) options.compiler = {*ccache};
  options.compiler.push_back(fs::absolute(*nvcc));
  options.folder = fs::absolute(command.parts.empty() ? command.output + ".parts" : command.parts);
  options.jobs = command.jobs > 0 ? command.jobs : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  options.keep_going = command.keep_going;
  return options;
}

// The sources that did not compile, or were not tried then.
size_t TellOfFailures(const std::vector<CompiledSource>& compiled) {
  size_t failed = 0;
  for (const CompiledSource& one : compiled) {
    failed += one.ptx.empty();
    if (!one.problem.empty()) std::fprintf(stderr, "wharf: %s: %s\n", one.source.c_str(), one.problem.c_str());
  }
  return failed;
}

absl::Status AddAll(const std::vector<CompiledSource>& compiled, device::pack::PackWriter& writer) {
  ProgressLine progress;
  for (size_t i = 0; i < compiled.size(); ++i) {
    progress.Set("packing", static_cast<double>(i) / static_cast<double>(compiled.size()));
    if (compiled[i].ptx.empty()) continue;
    WHARF_ASSIGN_OR_RETURN(std::string text, ReadFile(compiled[i].ptx));
    if (text.find(".entry") == std::string::npos) continue;  // a source without kernels
    WHARF_RETURN_IF_ERROR(writer.Add(std::move(text), compiled[i].source));
  }
  return absl::OkStatus();
}

absl::Status Build(const BuildCommand& command) {
  WHARF_ASSIGN_OR_RETURN(const std::vector<CompileJob> jobs, JobsOf(command));
  WHARF_ASSIGN_OR_RETURN(const BuildOptions options, OptionsOf(command));
  std::vector<CompiledSource> compiled;
  {
    ProgressLine progress;
    const std::string what = "compiling " + Plural(jobs.size(), "source");
    progress.Set(what, 0);
    WHARF_ASSIGN_OR_RETURN(compiled, CompileAll(jobs, options, [&](size_t done) {
                             progress.Set(what, static_cast<double>(done) / static_cast<double>(jobs.size()));
                           }));
  }
  const size_t failed = TellOfFailures(compiled);
  if (failed != 0 && !command.keep_going) {
    return Aborted(
        "{} of {} left; mend them and give the same command again, which goes on where this one ended, or "
        "leave them out with --keep-going",
        failed, Plural(jobs.size(), "source"));
  }
  device::pack::PackWriter writer;
  WHARF_RETURN_IF_ERROR(AddAll(compiled, writer));
  if (writer.modules() == 0) return FailedPrecondition("the sources have no kernels");
  WHARF_RETURN_IF_ERROR(writer.Write(command.output));
  const auto there = std::count_if(compiled.begin(), compiled.end(), [](const auto& one) { return one.was_there; });
  std::error_code error;
  std::printf("%s: %s of %s, %s%s\n", command.output.c_str(), Plural(writer.kernels(), "kernel").c_str(),
              Plural(writer.modules(), "source").c_str(), FormatBytes(fs::file_size(command.output, error)).c_str(),
              there > 0 ? fmt::format("; {} were compiled before", there).c_str() : "");
  if (failed != 0) return Aborted("{} of {} are not in it", failed, Plural(jobs.size(), "source"));
  if (!command.keep_parts && command.parts.empty()) fs::remove_all(options.folder, error);
  return absl::OkStatus();
}

absl::Status List(const std::string& path, bool kernels, bool json) {
  WHARF_ASSIGN_OR_RETURN(const std::unique_ptr<Pack> pack, Pack::Open(path));
  WHARF_ASSIGN_OR_RETURN(const std::vector<device::pack::ModuleNote> notes, pack->Notes());
  if (json) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const auto& note : notes) {
      rows.push_back({{"source", note.source},
                      {"kernels", note.kernels},
                      {"ptx_bytes", note.text_bytes},
                      {"packed_bytes", note.packed_bytes}});
    }
    std::printf("%s\n", rows.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
    return absl::OkStatus();
  }
  if (kernels) {
    for (const auto& note : notes) {
      std::printf("%s\n", note.source.c_str());
      for (const std::string& kernel : note.kernels) std::printf("  %s\n", ReadableKernel(kernel).c_str());
    }
    return absl::OkStatus();
  }
  report::Table table({{"kernels", report::Align::kRight},
                       {"PTX", report::Align::kRight},
                       {"packed", report::Align::kRight},
                       {"source"}});
  for (const auto& note : notes) {
    table.AddRow({std::to_string(note.kernels.size()), FormatBytes(note.text_bytes), FormatBytes(note.packed_bytes),
                  note.source});
  }
  std::fputs(table.Text().c_str(), stdout);
  return absl::OkStatus();
}

void PrintCoverageAsJson(const std::vector<ModuleCoverage>& modules) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const ModuleCoverage& module : modules) {
    rows.push_back({{"state", WordFor(module.state)}, {"kernels", module.kernels}, {"detail", module.detail}});
  }
  std::printf("%s\n", rows.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

void PrintCoverage(const std::vector<ModuleCoverage>& modules) {
  report::Table table({{"state"}, {"kernels", report::Align::kRight}, {"first kernel"}, {"detail"}});
  for (const ModuleCoverage& module : modules) {
    std::string first = ReadableKernel(module.kernels.front());
    if (first.size() > 60) first = first.substr(0, 57) + "…";
    table.AddRow({WordFor(module.state), std::to_string(module.kernels.size()), first, module.detail});
  }
  std::fputs(table.Text().c_str(), stdout);
}

absl::Status Check(const std::vector<std::string>& files, bool json) {
  const auto packs_paths = std::span(files).first(files.size() - 1);
  WHARF_ASSIGN_OR_RETURN(const auto packs, device::pack::PackSet::Open(packs_paths));
  ProgressLine progress;
  WHARF_ASSIGN_OR_RETURN(const std::vector<ModuleCoverage> modules,
                         CoverageOf(files.back(), *packs, [&](size_t done, size_t all) {
                           progress.Set("comparing", static_cast<double>(done) / static_cast<double>(all));
                         }));
  progress.Clear();
  json ? PrintCoverageAsJson(modules) : PrintCoverage(modules);
  size_t kernels = 0, without = 0;
  for (const ModuleCoverage& module : modules) {
    kernels += module.kernels.size();
    if (module.state == ModuleCoverage::State::kRefused || module.state == ModuleCoverage::State::kMissing) {
      without += module.kernels.size();
    }
  }
  if (without == 0) return absl::OkStatus();
  return FailedPrecondition("{} of {} have no PTX that can be used", without, Plural(kernels, "kernel"));
}

void AddBuild(CLI::App& pack) {
  CLI::App* command = pack.add_subcommand("build", "Compile CUDA sources to PTX and make a pack of them.");
  command->footer(
      "\nWhat was compiled is kept beside the pack until the pack is made: after an interruption the same command goes "
      "on.");
  auto options = std::make_shared<BuildCommand>();
  command->add_option("-o,--output", options->output, "The pack")->type_name("FILE")->required();
  command->add_option("sources", options->sources, "CUDA sources")->type_name("FILE");
  command
      ->add_option("--flags", options->flags, "Of nvcc, for these sources, as their build gives them; may be repeated")
      ->allow_extra_args(false);
  command
      ->add_option("--compile-commands", options->compile_commands,
                   "A compile_commands.json: its CUDA sources, with their flags")
      ->type_name("FILE");
  command->add_option("--only", options->only, "Of these, sources whose path holds this text; may be repeated")
      ->allow_extra_args(false)
      ->type_name("TEXT");
  command->add_option("-j,--jobs", options->jobs, "Sources compiled at a time; 0 = as many as there are cores")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command->add_option("--nvcc", options->nvcc, "The compiler")->capture_default_str()->type_name("FILE");
  command->add_flag("--no-ccache", options->no_ccache, "Do without ccache, which is used where it is installed");
  command->add_flag("--keep-going", options->keep_going, "Leave out sources that do not compile");
  command->add_flag("--keep-parts", options->keep_parts, "Keep what was compiled");
  command->add_option("--parts", options->parts, "Where it is kept; left out: beside the pack")->type_name("DIR");
  command->callback([options] {
    if (options->sources.empty() && options->compile_commands.empty()) {
      throw CLI::ValidationError("build", "which sources? wharf pack build -o FILE.pack SOURCE.cu…");
    }
    if (const absl::Status built = Build(*options); !built.ok()) Fail(built);
  });
}

}  // namespace

void AddPackCommand(CLI::App& app) {
  CLI::App* pack = app.add_subcommand("pack", "Make PTX of a program's source, for programs that carry none.");
  pack->footer(kPackFooter);
  pack->require_subcommand(1);
  AddBuild(*pack);
  CLI::App* list = pack->add_subcommand("list", "Say what is in a pack.");
  auto path = std::make_shared<std::string>();
  auto kernels = std::make_shared<bool>(false), json = std::make_shared<bool>(false);
  list->add_option("pack", *path, "The pack")->type_name("FILE")->required();
  list->add_flag("--kernels", *kernels, "Name the kernels");
  list->add_flag("--json", *json, "An array of {source, kernels, ptx_bytes, packed_bytes}");
  list->callback([path, kernels, json] {
    if (const absl::Status listed = List(*path, *kernels, *json); !listed.ok()) Fail(listed);
  });
  CLI::App* check = pack->add_subcommand("check", "Say which kernels of a program packs have PTX for.");
  check->footer("\nExit code 1 if a kernel has neither PTX of its own nor any that can be used.");
  auto files = std::make_shared<std::vector<std::string>>();
  check->add_option("files", *files, "Packs, and last the program (or library, fat binary, cubin)")
      ->type_name("PACK… PROGRAM")
      ->required();
  check->add_flag("--json", *json, "An array of {state, kernels, detail}");
  check->callback([files, json] {
    if (files->size() < 2) throw CLI::ValidationError("check", "a pack and a program: wharf pack check PACK PROGRAM");
    if (const absl::Status checked = Check(*files, *json); !checked.ok()) Fail(checked);
  });
}

}  // namespace wharf::cli
