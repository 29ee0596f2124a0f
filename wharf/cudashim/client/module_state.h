// What libwharf_client.so knows about modules and kernels. Internal.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "wharf/cudashim/client/image.h"
#include "wharf/cudashim/client/module.h"
#include "wharf/cudashim/client/process.h"

namespace wharf::client {

// A kernel. Its number and name never change; "defined" and its attributes belong to one session.
class Function {
 public:
  Function(Module* module, std::string name);

  Module* const module;
  const std::string name;
  const uint64_t id;

  // Loads the module and defines the function in this session if that was not done. Posted.
  CudaError Define(Connection& connection);
  // Offsets and sizes of the parameters: from the PTX, else asked once.
  CudaError Layout(Connection& connection, const std::vector<device::ParameterLayout>** layout);
  CudaError Attributes(Connection& connection, device::FunctionAttributes* attributes);
  CudaError SetMaxDynamic(Connection& connection, uint32_t bytes);
  uint32_t max_dynamic_shared() const { return max_dynamic_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> defined_in_{0};  // generation of the session
  std::atomic<uint64_t> no_code_in_{0};  // likewise: its device has no code for it
  std::atomic<bool> layout_known_{false};
  std::atomic<uint32_t> max_dynamic_{0};  // 0: never set
  std::vector<device::ParameterLayout> layout_;
  uint64_t attributes_of_ = 0;
  device::FunctionAttributes attributes_;
};

class Module {
 public:
  // Borrows `image`, or owns it. `parts`: what it was linked from, which count where there is no PTX in it.
  explicit Module(std::span<const std::byte> image, std::vector<const void*> parts = {});
  explicit Module(std::vector<std::byte> image);

  const uint64_t id;
  absl::Mutex mutex;

  // OK, or why the image has no usable PTX.
  absl::Status Parse() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  const device::ptx::Module* ptx() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) { return ptx_.get(); }
  // What is sent in this session: the image, or of machine code only what a server needs that has PTX for it.
  std::span<const std::byte> ImageFor(const Connection& connection) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  // Sends the image in this session if that was not done. `what` it is sent for: to tell the user if it cannot be used.
  CudaError Load(Connection& connection, const std::string& what) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  bool LoadedIn(const Connection& connection) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    return loaded_in_ == connection.generation;
  }
  CudaError FindVariable(Connection& connection, const std::string& name, device::Symbol* symbol);

  std::map<std::string, std::unique_ptr<Function>, std::less<>> functions ABSL_GUARDED_BY(mutex);
  // By name: where the program keeps a __managed__ variable's address.
  std::map<std::string, void**> managed ABSL_GUARDED_BY(mutex);
  // Addresses of those that the program shares.
  std::vector<uint64_t> shared ABSL_GUARDED_BY(mutex);

 private:
  std::vector<std::byte> owned_;
  std::span<const std::byte> image_ ABSL_GUARDED_BY(mutex);
  std::vector<std::byte> outline_ ABSL_GUARDED_BY(mutex);
  const std::vector<const void*> parts_;
  bool parsed_ ABSL_GUARDED_BY(mutex) = false, told_ ABSL_GUARDED_BY(mutex) = false;
  absl::Status parse_status_ ABSL_GUARDED_BY(mutex);
  std::shared_ptr<const device::ptx::Module> ptx_ ABSL_GUARDED_BY(mutex);
  uint64_t loaded_in_ ABSL_GUARDED_BY(mutex) = 0;
  uint64_t variables_of_ ABSL_GUARDED_BY(mutex) = 0;
  std::map<std::string, device::Symbol> variables_ ABSL_GUARDED_BY(mutex);
};

struct HostVariable {
  Module* module = nullptr;
  std::string name;
};

// Which host symbols stand for which kernels and variables, and which handles are valid. Thread-safe.
class Registry {
 public:
  static Registry& Get();

  void AddModule(Module* module);
  // False if it is none.
  bool RemoveModule(Module* module);
  bool Contains(const Module* module);
  Function* AddFunction(Module* module, const std::string& name);
  void BindFunction(const void* host_function, Function* function);
  void BindVariable(const void* host_variable, Module* module, std::string name);
  Function* Resolve(const void* handle);
  // The other way round: `function` itself if no host symbol stands for it.
  const void* HostFunctionOf(Function* function);
  std::optional<HostVariable> FindVariable(const void* host_variable);
  // Around fork: the child must not find the lock held by a thread it does not have.
  void LockForFork() ABSL_NO_THREAD_SAFETY_ANALYSIS { mutex_.Lock(); }
  void UnlockAfterFork() ABSL_NO_THREAD_SAFETY_ANALYSIS { mutex_.Unlock(); }

 private:
  absl::Mutex mutex_;
  std::unordered_set<const void*> modules_ ABSL_GUARDED_BY(mutex_), functions_ ABSL_GUARDED_BY(mutex_);
  std::unordered_map<const void*, Function*> host_functions_ ABSL_GUARDED_BY(mutex_);
  std::unordered_map<const void*, HostVariable> host_variables_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace wharf::client
