// wharf-worker devices: for `wharf doctor`.
#include <dlfcn.h>

#include <cstdio>
#include <fstream>
#include <regex>

#include "wharf/cli/common/commands.h"
#include "wharf/cli/programs/finding.h"
#include "wharf/device/device.h"
#include "wharf/device/soft/jit/compiler.h"

namespace wharf::cli {
namespace {

// Of what this process has loaded.
std::string FirstMapped(const std::regex& pattern) {
  std::ifstream file("/proc/self/maps");
  std::string line;
  std::smatch match;
  while (std::getline(file, line)) {
    if (std::regex_search(line, match, pattern)) return match[1];
  }
  return "";
}

Finding SoftDevice() {
  Finding finding{"software device"};
  device::DeviceOptions options;
  options.memory_quota = 64 << 20;
  options.compute_capability = 80;
  const auto device = device::MakeSoftDevice(options);
  if (!device.ok()) {
    finding.health = Health::kBroken;
    finding.detail = std::string(Message(device.status()));
    finding.mend = "see limits below; the device reserves address space and runs threads";
    return finding;
  }
  const device::DeviceProperties& properties = (*device)->Properties();
  finding.detail =
      fmt::format("{}, {} cores, LLVM {}", properties.name, properties.multiprocessors, device::soft::LlvmVersion());
  return finding;
}

// The version of the vendor's cuDNN, or that there is none. What is opened stays open: the process ends soon.
std::string Cudnn() {
  constexpr const char* kName = "libcudnn.so.9";
  void* const library = dlopen(kName, RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return fmt::format("no {}: programs' convolutions are refused", kName);
  const auto version = reinterpret_cast<size_t (*)()>(dlsym(library, "cudnnGetVersion"));
  return version == nullptr ? fmt::format("a {} without cudnnGetVersion", kName) : fmt::format("cuDNN {}", version());
}

// Likewise of a library that has releases 12 and 11, by the function that tells its version.
std::string InEitherRelease(const char* name, const std::string& file, const char* function, const char* refused) {
  for (const char* const release : {".12", ".11"}) {
    void* const library = dlopen((file + release).c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr) continue;
    const auto get = reinterpret_cast<int (*)(int*)>(dlsym(library, function));
    int version = 0;
    return get == nullptr || get(&version) != 0 ? fmt::format("a {}{} without a version", file, release)
                                                : fmt::format("{} {}", name, version);
  }
  return fmt::format("no {}: programs' {} are refused", file, refused);
}
std::string Cufft() { return InEitherRelease("cuFFT", "libcufft.so", "cufftGetVersion", "Fourier transforms"); }
std::string Cusolver() { return InEitherRelease("cuSOLVER", "libcusolver.so", "cusolverGetVersion", "dense solvers"); }

Finding Gpu() {
  Finding finding{"GPU"};
  const auto device = device::MakeCudaDevice({.memory_quota = 64 << 20});
  if (device.ok()) {
    const device::DeviceProperties& properties = (*device)->Properties();
    finding.detail = fmt::format("{}, compute {}.{}; {}; {}; {}", properties.name, properties.compute_major,
                                 properties.compute_minor, Cudnn(), Cufft(), Cusolver());
    return finding;
  }
  finding.health = Health::kNote;
  finding.detail = std::string(Message(device.status()));
  finding.mend = "without one `--device soft` computes on the CPU; with one, install its driver (nvidia-smi must work)";
  return finding;
}

// Of this machine's processor and system, as Debian's alternatives have it.
#if defined(__aarch64__)
constexpr const char* kDebianName = "aarch64-linux-gnu";
#else
constexpr const char* kDebianName = "x86_64-linux-gnu";
#endif

Finding Blas() {
  Finding finding{"BLAS"};
  using Config = char* (*)();
  // The library the software device multiplies matrices with is loaded with this program.
  if (const auto config = reinterpret_cast<Config>(dlsym(RTLD_DEFAULT, "openblas_get_config")); config != nullptr) {
    finding.detail = config();
    return finding;
  }
  finding.health = Health::kNote;
  const std::string mapped = FirstMapped(std::regex(R"((/\S*blas\S*\.so\S*))"));
  finding.detail = mapped.empty() ? "no BLAS library is loaded" : mapped + ", not OpenBLAS: about 10 times slower";
  finding.mend =
      fmt::format("apt install libopenblas0-pthread (update-alternatives --config libblas.so.3-{})", kDebianName);
  return finding;
}

}  // namespace

void AddDevicesCommand(CLI::App& app) {
  CLI::App* command = app.add_subcommand("devices", "What programs run on here; for `wharf doctor`.");
  command->group("");
  command->callback([] { std::printf("%s\n", FindingsAsJson({SoftDevice(), Blas(), Gpu()}, -1).c_str()); });
}

}  // namespace wharf::cli
