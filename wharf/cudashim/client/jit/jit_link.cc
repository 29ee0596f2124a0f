#include "wharf/cudashim/client/jit/jit_link.h"

#include <cstring>
#include <memory>
#include <unordered_map>

#include "absl/synchronization/mutex.h"
#include "wharf/cudashim/client/jit/code.h"
#include "wharf/cudashim/client/jit/jit_linker.h"

namespace wharf::client {
namespace {

class JitLinkers {
 public:
  static JitLinkers& Get() {
    static JitLinkers* const linkers = new JitLinkers();
    return *linkers;
  }
  JitLinkHandle Add(std::unique_ptr<JitLinker> linker) {
    const auto handle = reinterpret_cast<JitLinkHandle>(linker.get());
    absl::MutexLock lock(&mutex_);
    linkers_.emplace(handle, std::move(linker));
    return handle;
  }
  JitLinker* Find(JitLinkHandle handle) {
    absl::MutexLock lock(&mutex_);
    const auto found = linkers_.find(handle);
    return found == linkers_.end() ? nullptr : found->second.get();
  }
  void Remove(JitLinkHandle handle) {
    absl::MutexLock lock(&mutex_);
    linkers_.erase(handle);
  }

 private:
  absl::Mutex mutex_;
  std::unordered_map<JitLinkHandle, std::unique_ptr<JitLinker>> linkers_ ABSL_GUARDED_BY(mutex_);
};

JitLinker& Linker(JitLinkHandle handle) { return *JitLinkers::Get().Find(handle); }

int Number(JitLinkResult result) { return static_cast<int>(result); }

int Give(JitLinkResult result, std::span<const std::byte> bytes, size_t* size, void* to) {
  if (result != JitLinkResult::kSuccess) return Number(result);
  if (size == nullptr && to == nullptr) return Number(JitLinkResult::kNullInput);
  if (size != nullptr) *size = bytes.size();
  if (to != nullptr && !bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
  return 0;
}

}  // namespace

bool IsJitLink(JitLinkHandle handle) { return JitLinkers::Get().Find(handle) != nullptr; }

int CreateJitLink(JitLinkHandle* handle, uint32_t count, const char* const* options, void* vendors) {
  if (handle == nullptr || options == nullptr) return Number(JitLinkResult::kNullInput);
  std::vector<std::string> given;
  for (uint32_t i = 0; i < count; ++i) given.emplace_back(options[i] == nullptr ? "" : options[i]);
  const JitLinkResult result = JitLinker::Check(given);
  // NVIDIA's gives a handle with bad options too: programs destroy it.
  *handle = JitLinkers::Get().Add(std::make_unique<JitLinker>(std::move(given), vendors));
  return Number(result);
}

void DestroyJitLink(JitLinkHandle handle) { JitLinkers::Get().Remove(handle); }

int AddToJitLink(JitLinkHandle handle, int type, const void* data, size_t size, const char* name) {
  if (data == nullptr) return Number(JitLinkResult::kInvalidInput);
  const std::span bytes(static_cast<const std::byte*>(data), size);
  return Number(Linker(handle).Add(static_cast<JitLinkInput>(type), bytes, name == nullptr ? "" : name));
}

int AddFileToJitLink(JitLinkHandle handle, int type, const char* path) {
  std::vector<std::byte> bytes;
  if (path == nullptr) return Number(JitLinkResult::kNullInput);
  if (ReadParts(path, &bytes) != CudaError::kSuccess) return Number(JitLinkResult::kInvalidInput);
  return Number(Linker(handle).Add(static_cast<JitLinkInput>(type), bytes, path));
}

int CompleteJitLink(JitLinkHandle handle) { return Number(Linker(handle).Complete()); }

int GetJitLinkLinkedCubin(JitLinkHandle handle, size_t* size, void* to) {
  std::span<const std::byte> bytes;
  const JitLinkResult result = Linker(handle).Image(&bytes);
  return Give(result, bytes, size, to);
}

int GetJitLinkLinkedPtx(JitLinkHandle handle, size_t* size, void* to) {
  std::span<const std::byte> bytes;
  const JitLinkResult result = Linker(handle).Ptx(&bytes);
  return Give(result, bytes, size, to);
}

// The device runs PTX: there is no later step that would take LTO-IR.
int GetJitLinkLinkedLTOIR(JitLinkHandle, size_t*, void*) { return Number(JitLinkResult::kInvalidInput); }

int GetJitLinkErrorLog(JitLinkHandle handle, size_t* size, void* to) {
  return Give(JitLinkResult::kSuccess, Linker(handle).ErrorLog(), size, to);
}

// There is nothing to say.
int GetJitLinkInfoLog(JitLinkHandle, size_t* size, void* to) { return Give(JitLinkResult::kSuccess, {}, size, to); }

}  // namespace wharf::client
