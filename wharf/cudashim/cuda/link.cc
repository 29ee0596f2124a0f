// Linking code that is made at run time: of PTX, here in the program's process. What comes of it is PTX again, which a
// GPU's driver compiles when it is loaded.
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "wharf/cudashim/client/jit/code.h"
#include "wharf/cudashim/client/jit/ptx_image.h"
#include "wharf/cudashim/cuda/driver.h"
#include "wharf/cudashim/cuda/jit_log.h"

namespace wharf::cudashim {
namespace {

// CUlinkState.
class LinkState {
 public:
  LinkState(unsigned count, const CUjit_option* options, void** values)
      : options_(options, options + count), values_(values) {
    for (unsigned i = 0; i < count; ++i) {
      const bool is_log = options[i] == CU_JIT_ERROR_LOG_BUFFER || options[i] == CU_JIT_INFO_LOG_BUFFER;
      if (is_log && values[i] != nullptr) *static_cast<char*>(values[i]) = '\0';
    }
  }

  CudaError Add(CUjitInputType type, std::span<const std::byte> bytes) {
    std::string reason;
    CudaError error = CudaError::kNotSupported;
    if (type == CU_JIT_INPUT_NVVM || client::IsLtoIr(bytes)) {
      reason = "LTO-IR cannot be linked by cuLink; nvJitLink makes PTX of it";
    } else {
      error = client::AddParts(bytes, &texts_, &reason);
    }
    return error == CudaError::kSuccess ? error : Fail(error, reason);
  }

  CudaError Complete() {
    std::string linked, reason;
    const CudaError error = client::LinkTexts(texts_, &linked, &reason);
    if (error != CudaError::kSuccess) return Fail(error, reason);
    image_ = client::ImageOfPtx(linked);
    return error;
  }

  std::vector<std::byte>& image() { return image_; }

 private:
  CudaError Fail(CudaError error, const std::string& reason) {
    WriteErrorLog(reason, static_cast<unsigned>(options_.size()), options_.data(), values_);
    return error;
  }

  const std::vector<CUjit_option> options_;
  void** const values_;  // the program's, for as long as the state lives
  std::vector<std::string> texts_;
  std::vector<std::byte> image_;
};

class LinkStates {
 public:
  static LinkStates& Get() {
    static LinkStates* const states = new LinkStates();
    return *states;
  }
  CUlinkState Add(std::unique_ptr<LinkState> state) {
    const std::lock_guard lock(mutex_);
    const auto handle = reinterpret_cast<CUlinkState>(state.get());
    states_.emplace(handle, std::move(state));
    return handle;
  }
  // Null if it is none.
  LinkState* Find(CUlinkState handle) {
    const std::lock_guard lock(mutex_);
    const auto found = states_.find(handle);
    return found == states_.end() ? nullptr : found->second.get();
  }
  bool Remove(CUlinkState handle) {
    const std::lock_guard lock(mutex_);
    return states_.erase(handle) != 0;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<CUlinkState, std::unique_ptr<LinkState>> states_;
};

CudaError AddTo(CUlinkState handle, CUjitInputType type, std::span<const std::byte> bytes) {
  LinkState* const state = LinkStates::Get().Find(handle);
  return state == nullptr ? CudaError::kInvalidHandle : state->Add(type, bytes);
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

CUresult cuLinkCreate(unsigned count, CUjit_option* options, void** values, CUlinkState* state) {
  return DriverLocal(Call::k_cuLinkCreate_v2, [&] {
    if (state == nullptr || (count != 0 && (options == nullptr || values == nullptr))) return CudaError::kInvalidValue;
    *state = LinkStates::Get().Add(std::make_unique<LinkState>(count, options, values));
    return CudaError::kSuccess;
  });
}

CUresult cuLinkAddData(CUlinkState state, CUjitInputType type, void* data, size_t size, const char*, unsigned,
                       CUjit_option*, void**) {
  return DriverLocal(Call::k_cuLinkAddData_v2, [&] {
    if (data == nullptr) return CudaError::kInvalidValue;
    return AddTo(state, type, {static_cast<const std::byte*>(data), size});
  });
}

CUresult cuLinkAddFile(CUlinkState state, CUjitInputType type, const char* path, unsigned, CUjit_option*, void**) {
  return DriverLocal(Call::k_cuLinkAddFile_v2, [&] {
    std::vector<std::byte> bytes;
    if (path == nullptr) return CudaError::kInvalidValue;
    const CudaError error = client::ReadParts(path, &bytes);
    return error == CudaError::kSuccess ? AddTo(state, type, bytes) : error;
  });
}

CUresult cuLinkComplete(CUlinkState handle, void** image, size_t* size) {
  return DriverLocal(Call::k_cuLinkComplete, [&] {
    LinkState* const state = LinkStates::Get().Find(handle);
    if (state == nullptr) return CudaError::kInvalidHandle;
    const CudaError error = state->Complete();
    if (error != CudaError::kSuccess) return error;
    if (image != nullptr) *image = state->image().data();
    if (size != nullptr) *size = state->image().size();
    return error;
  });
}

CUresult cuLinkDestroy(CUlinkState state) {
  return DriverLocal(Call::k_cuLinkDestroy,
                     [&] { return LinkStates::Get().Remove(state) ? CudaError::kSuccess : CudaError::kInvalidHandle; });
}

}  // extern "C"
