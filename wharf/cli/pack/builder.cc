#include "wharf/cli/pack/builder.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <mutex>
#include <thread>
#include <utility>

#include "wharf/base/read_file.h"
#include "wharf/base/subprocess/subprocess.h"
#include "wharf/wire/digest.h"

namespace wharf::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kArchitecture = "arch=compute_75,code=compute_75";  // the software device's

// The files of one source in the folder.
struct Parts {
  std::string ptx, temporary, dependencies, log;
};

std::vector<std::string> CommandOf(const CompileJob& job, const BuildOptions& options) {
  std::vector<std::string> command = options.compiler;
  command.insert(command.end(), job.flags.begin(), job.flags.end());
  // Both phases: nvcc goes by the second, and ccache wants the first.
  command.insert(command.end(), {"-gencode", kArchitecture, "-c", "-ptx"});
  return command;
}

Parts PartsOf(const CompileJob& job, const BuildOptions& options) {
  const std::string key =
      fmt::format("{}\n{}\n{}", job.source, job.directory, fmt::join(CommandOf(job, options), "\n"));
  const std::string hash = wire::HexOf(wire::HashOf(std::as_bytes(std::span(key)))).substr(0, 16);
  const std::string stem = options.folder + "/" + fs::path(job.source).stem().string() + "." + hash;
  return {stem + ".ptx", stem + ".ptx.new", stem + ".d", stem + ".log"};
}

// The words of a make rule behind its colon.
std::vector<std::string> DependenciesIn(const std::string& rule) {
  std::vector<std::string> files;
  std::string file;
  for (size_t i = std::min(rule.find(": "), rule.size()); i < rule.size(); ++i) {
    const char c = rule[i];
    if (c == '\\' && i + 1 < rule.size() && rule[i + 1] == ' ') {
      file.push_back(rule[++i]);
    } else if (c == ' ' || c == '\n' || c == '\\' || c == ':') {
      if (!file.empty()) files.push_back(std::exchange(file, ""));
    } else {
      file.push_back(c);
    }
  }
  if (!file.empty()) files.push_back(file);
  return files;
}

bool IsUpToDate(const CompileJob& job, const Parts& parts) {
  std::error_code error;
  const auto made = fs::last_write_time(parts.ptx, error);
  if (error) return false;
  const auto rule = ReadFile(parts.dependencies);
  if (!rule.ok()) return false;
  std::vector<std::string> files = DependenciesIn(*rule);
  files.push_back(job.source);
  return std::all_of(files.begin(), files.end(), [&](const std::string& file) {
    const auto changed = fs::last_write_time(fs::path(job.directory) / file, error);
    return !error && changed <= made;
  });
}

// What the compiler said, from its first error on.
std::string Complaint(const std::string& log) {
  constexpr size_t kMost = 1500;
  std::string text = ReadFile(log).value_or("");
  const size_t error = text.find("error");
  const size_t line = error == std::string::npos ? 0 : text.rfind('\n', error) + 1;  // npos + 1 is 0
  text = text.substr(line, kMost);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.empty() ? "the compiler failed and said nothing" : text;
}

absl::StatusOr<ProcessEnd> RunCompiler(const CompileJob& job, const BuildOptions& options, const Parts& parts) {
  std::vector<std::string> arguments = {"env", "-C", job.directory};
  for (std::string& word : CommandOf(job, options)) arguments.push_back(std::move(word));
  arguments.insert(arguments.end(), {"-MD", "-MF", parts.dependencies, "-o", parts.temporary, job.source});
  const int log = ::open(parts.log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (log < 0) return ErrnoStatus(errno, parts.log);
  auto process = Subprocess::Start(
      {.path = "/usr/bin/env", .arguments = std::move(arguments), .descriptors = {kDevNull, log, log}});
  ::close(log);
  if (!process.ok()) return process.status();
  return process->Wait();
}

absl::StatusOr<CompiledSource> CompileOne(const CompileJob& job, const BuildOptions& options) {
  const Parts parts = PartsOf(job, options);
  CompiledSource compiled{.source = job.source, .ptx = parts.ptx};
  compiled.was_there = IsUpToDate(job, parts);
  if (compiled.was_there) return compiled;
  WHARF_ASSIGN_OR_RETURN(const ProcessEnd end, RunCompiler(job, options, parts));
  std::error_code error;
  if (end == ProcessEnd{}) fs::rename(parts.temporary, parts.ptx, error);
  if (end == ProcessEnd{} && !error) {
    fs::remove(parts.log, error);
    return compiled;
  }
  compiled.ptx.clear();
  compiled.problem =
      end.signal != 0 ? fmt::format("the compiler was ended by signal {}", end.signal) : Complaint(parts.log);
  return compiled;
}

}  // namespace

absl::StatusOr<std::vector<CompiledSource>> CompileAll(const std::vector<CompileJob>& jobs, const BuildOptions& options,
                                                       const std::function<void(size_t done)>& on_done) {
  std::error_code error;
  fs::create_directories(options.folder, error);
  if (error) return PermissionDenied("{}: {}", options.folder, error.message());
  std::vector<CompiledSource> results(jobs.size());
  std::mutex mutex;
  absl::Status failed;
  size_t next = 0, done = 0;
  const auto take = [&]() -> size_t {
    const std::lock_guard lock(mutex);
    return failed.ok() ? next++ : jobs.size();
  };
  const auto work = [&] {
    for (size_t i = take(); i < jobs.size(); i = take()) {
      absl::StatusOr<CompiledSource> compiled = CompileOne(jobs[i], options);
      const std::lock_guard lock(mutex);
      if (!compiled.ok()) {
        failed = compiled.status();
        return;
      }
      if (!compiled->problem.empty() && !options.keep_going) failed = Aborted("{}", compiled->source);
      results[i] = *std::move(compiled);
      on_done(++done);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < std::min<int>(options.jobs, static_cast<int>(jobs.size())); ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  if (!failed.ok() && !absl::IsAborted(failed)) return failed;
  for (size_t i = 0; i < jobs.size(); ++i) results[i].source = jobs[i].source;
  return results;
}

}  // namespace wharf::cli
