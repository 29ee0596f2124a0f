#include "wharf/server/keeper/keeper_process.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "wharf/base/log.h"
#include "wharf/base/sandbox/namespaces.h"
#include "wharf/base/sandbox/policies.h"
#include "wharf/base/stored/keeper.h"
#include "wharf/server/process/control_codec.h"
#include "wharf/server/process/worker_setup.h"

namespace wharf::server {
namespace {

constexpr uint64_t kMostKernels = uint64_t{4} << 30, kMostKernelBytes = uint64_t{64} << 20;
constexpr uint64_t kMostProfiles = uint64_t{256} << 20, kMostProfileBytes = uint64_t{16} << 20;

class KeptFiles {
 public:
  // `root`: where the caches are, as this process sees it.
  KeptFiles(std::string root, const Configure& configure, std::optional<SealKey> seal)
      : root_(std::move(root)),
        most_models_(configure.model_cache_bytes),
        most_model_bytes_(configure.memory_quota),
        seal_(seal) {}

  KeptDirectories For(const KeepOrder& order) const {
    if (order.who == KeptFor::kModels) {
      // A model is checked against its hash by whoever reads it.
      return {{"models",
               {.path = root_ + "/models",
                .most_bytes = most_models_,
                .most_file_bytes = most_model_bytes_,
                .extension = ".onnx"}},
              {"profiles",
               {.path = root_ + "/profiles",
                .most_bytes = kMostProfiles,
                .most_file_bytes = kMostProfileBytes,
                .extension = ".json"}}};
    }
    if (!seal_) return {};  // code that nobody vouches for is none
    return {{"kernels",
             {.path = root_ + "/kernels",
              .most_bytes = kMostKernels,
              .most_file_bytes = kMostKernelBytes,
              .writable = order.who == KeptFor::kCompiler,
              .extension = ".o",
              .whose = order.whose,
              .seal = seal_}}};
  }

 private:
  const std::string root_;
  const uint64_t most_models_, most_model_bytes_;
  const std::optional<SealKey> seal_;
};

std::optional<SealKey> FindKey(const std::string& cache_directory) {
  const absl::StatusOr<SealKey> key = FindSealKey(cache_directory + "/kernels.key");
  if (key.ok()) return *key;
  Log(LogLevel::kWarning, "compiled kernels are not kept", {{"why", Message(key.status())}});
  return std::nullopt;
}

// Two sockets of each session, the files that are being read or written, and locks.
void HaveAllDescriptors() {
  rlimit descriptors{};
  if (getrlimit(RLIMIT_NOFILE, &descriptors) != 0) return;
  descriptors.rlim_cur = descriptors.rlim_max;
  setrlimit(RLIMIT_NOFILE, &descriptors);
}

absl::Status Confine(const Configure& configure, const std::string& cache_directory) {
  if (configure.isolated) {
    const FileSystem becomes = kSanitized ? FileSystem::kKept : FileSystem::kOneDirectory;
    WHARF_RETURN_IF_ERROR(LeaveFileSystem(kFileSystemDescriptor, becomes, cache_directory));
  }
  return EnterSandbox(KeeperPolicy());
}

}  // namespace

int RunKeeper(int control_socket) {
  SetDefaultLogLevel(LogLevel::kInfo);
  const absl::StatusOr<WorkerSetup> setup = ReceiveSetup(control_socket);
  if (!setup.ok()) {
    Log(LogLevel::kError, "a keeper of files is started by `wharf serve` only", {{"why", Message(setup.status())}});
    return 2;
  }
  const Configure& configure = setup->configure;
  prctl(PR_SET_NAME, "wharf-keeper", 0, 0, 0);  // for who looks at processes
  const std::string caches = std::filesystem::absolute(configure.cache_directory);
  HaveAllDescriptors();
  std::error_code ignored;
  std::filesystem::create_directories(caches, ignored);
  const std::optional<SealKey> seal = configure.role == WorkerRole::kKeepsModels ? std::nullopt : FindKey(caches);
  const bool alone = configure.isolated && !kSanitized;  // the caches' directory is the root
  const KeptFiles files(alone ? "" : caches, configure, seal);
  if (const absl::Status confined = Confine(configure, caches); !confined.ok()) {
    Log(LogLevel::kError, "a keeper of files that cannot be confined keeps none", {{"why", Message(confined)}});
    return 3;
  }
  Keeper keeper;
  while (true) {
    keeper.ServeUntil(control_socket);
    const absl::StatusOr<ControlMessage> message = ReceiveControl(control_socket);
    if (!message.ok()) return 0;  // the daemon is gone
    const absl::StatusOr<KeepOrder> order = DecodeControl<KeepOrder>(*message, ControlKind::kKeep);
    if (!order.ok() || message->fd < 0) return 0;
    keeper.Add(message->fd, files.For(*order));
  }
}

}  // namespace wharf::server
