// Solver: LAPACK's routines through the vendor's cuSOLVER, opened at the first use.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "wharf/device/lapack.h"

namespace wharf::device::cuda {

// Not thread-safe.
class Solver {
 public:
  // Memory on the device for what runs on a stream next; it stays until the solver ends.
  using WorkspaceOf = std::function<absl::StatusOr<DeviceAddress>(void* stream, uint64_t bytes)>;

  // cuSOLVER of CUDA 13, of CUDA 12.
  static const std::vector<std::string>& Libraries();
  // The first of `libraries` that is here; kNotSupported if none is. REQUIRES: the context is current, also for Run and
  // destruction.
  static absl::StatusOr<std::unique_ptr<Solver>> Create(WorkspaceOf workspace_of,
                                                        const std::vector<std::string>& libraries = Libraries());
  ~Solver();
  // Queues it on a stream of the driver's; cuSOLVER may wait for some of it. kNotSupported for what cuSOLVER does not
  // have. REQUIRES: CheckShape accepts it.
  absl::Status Run(const Lapack& lapack, void* stream);

 private:
  struct Call;
  explicit Solver(WorkspaceOf workspace_of) : workspace_of_(std::move(workspace_of)) {}
  absl::Status Open(void* library);
  // One of its functions; null if it has none of that name. Those that were asked for are remembered.
  template <typename Function>
  Function* Find(const std::string& name);
  template <typename... Arguments>
  absl::Status Invoke(const std::string& name, Arguments... arguments);
  // A function with "_bufferSize", which tells elements; then the function itself, with the memory it works in.
  absl::StatusOr<void*> Workspace(const Call& call, uint64_t bytes);
  template <typename Size, typename Function>
  absl::Status WithElements(const Call& call, Size&& size, Function&& function);
  template <typename Size, typename Function>
  absl::Status WithBytes(const Call& call, Size&& size, Function&& function);
  absl::Status RunOne(const Call& call);
  absl::Status RunLinear(const Call& call);
  absl::Status RunWidePivots(const Call& call);
  absl::Status RunQr(const Call& call);
  absl::Status RunSingular(const Call& call);
  absl::Status RunEigen(const Call& call);
  absl::Status RunGeneralEigen(const Call& call);
  absl::Status SetJacobi(const Lapack& lapack, const char* kind, void* parameters);

  const WorkspaceOf workspace_of_;
  void* library_ = nullptr;
  void* handle_ = nullptr;
  void *params_ = nullptr, *syevj_ = nullptr, *gesvdj_ = nullptr;
  std::map<std::string, void*> functions_;
  // On the host, of the calls that want it; those before may still be in use.
  std::vector<std::unique_ptr<std::byte[]>> host_;
  size_t host_bytes_ = 0;
};

}  // namespace wharf::device::cuda
