#include "wharf/split/costs/profile_cache.h"

#include <unistd.h>

#include <atomic>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace wharf::split {
namespace {

namespace fs = std::filesystem;

// "unknown CPU" where the system does not say.
std::string ProcessorName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown CPU";
}

}  // namespace

Machine ThisMachine(std::string engine, int threads) { return {ProcessorName(), std::move(engine), threads}; }

std::string ProfileCache::PathOf(const std::string& model_hash, const Machine& machine) const {
  std::string name = fmt::format("{}-{}-{}-threads", model_hash, machine.cpu, machine.engine);
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-') c = '_';
  }
  return fmt::format("{}/{}-{}.json", directory_, name, machine.threads);
}

std::optional<MachineProfile> ProfileCache::Find(const std::string& model_hash, const Machine& machine) const {
  if (directory_.empty()) return std::nullopt;
  std::ifstream file(PathOf(model_hash, machine));
  std::ostringstream text;
  text << file.rdbuf();
  auto profile = ParseMachineProfile(text.str());
  const bool right =
      profile.ok() && profile->model_hash == model_hash && profile->machine == machine && profile->time_scale == 1;
  return right ? std::optional(*std::move(profile)) : std::nullopt;
}

absl::Status ProfileCache::Put(const MachineProfile& profile) const {
  if (directory_.empty()) return absl::OkStatus();
  static std::atomic<uint64_t> counter{0};
  const std::string path = PathOf(profile.model_hash, profile.machine);
  const std::string aside = fmt::format("{}.{}.{}", path, getpid(), counter.fetch_add(1));
  std::error_code error;
  fs::create_directories(directory_, error);
  std::ofstream file(aside, std::ios::trunc);
  file << ToJson(profile);
  file.close();
  if (file) fs::rename(aside, path, error);
  if (file && !error) return absl::OkStatus();
  const int why = error ? error.value() : errno;
  fs::remove(aside, error);
  return ErrnoStatus(why, fmt::format("writing {}", path));
}

}  // namespace wharf::split
