#include "wharf/split/costs/profile_cache.h"

#include <cctype>
#include <fstream>
#include <span>

#include "wharf/base/stored/stored_files.h"

namespace wharf::split {
namespace {

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

Machine ThisMachine(std::string engine, int threads) {
  static const std::string processor = ProcessorName();
  return {processor, std::move(engine), threads};
}

namespace {

std::string NameOf(const std::string& model_hash, const Machine& machine) {
  std::string name = fmt::format("{}-{}-{}-threads", model_hash, machine.cpu, machine.engine);
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-') c = '_';
  }
  return fmt::format("{}-{}.json", name, machine.threads);
}

}  // namespace

std::string ProfileCache::PathOf(const std::string& model_hash, const Machine& machine) const {
  return directory_ + "/" + NameOf(model_hash, machine);
}

std::optional<MachineProfile> ProfileCache::Find(const std::string& model_hash, const Machine& machine) const {
  const std::optional<std::string> text = ReadStored(directory_, NameOf(model_hash, machine));
  if (!text) return std::nullopt;
  auto profile = ParseMachineProfile(*text);
  const bool right =
      profile.ok() && profile->model_hash == model_hash && profile->machine == machine && profile->time_scale == 1;
  return right ? std::optional(*std::move(profile)) : std::nullopt;
}

absl::Status ProfileCache::Put(const MachineProfile& profile) const {
  const std::string text = ToJson(profile);
  return WriteStored(directory_, NameOf(profile.model_hash, profile.machine), std::as_bytes(std::span(text)));
}

}  // namespace wharf::split
