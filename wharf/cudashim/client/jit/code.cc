#include "wharf/cudashim/client/jit/code.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <set>

#include "wharf/cudashim/client/device_info.h"
#include "wharf/cudashim/client/jit/ptx_image.h"
#include "wharf/cudashim/client/process.h"
#include "wharf/device/fatbin/device_code.h"
#include "wharf/device/ptx/link.h"

namespace wharf::client {

bool DeviceNeedsPtx() {
  // Sizes that a program was told hold for what it then asks for.
  static const bool needs = Connect() == CudaError::kSuccess && Properties().driver != "cuda";
  return needs;
}

size_t WriteImageOfPtx(const char* ptx, size_t length, void* to) {
  const std::vector<std::byte> image = ImageOfPtx({ptx, length});
  if (to != nullptr) std::memcpy(to, image.data(), image.size());
  return image.size();
}

std::vector<std::byte> ImageOfPtx(std::string_view ptx) { return device::fatbin::WrapPtx(ptx); }

CudaError AddParts(std::span<const std::byte> bytes, std::vector<std::string>* texts, std::string* reason) {
  auto found = device::fatbin::PtxOfParts(bytes);
  if (!found.ok()) {
    *reason = Message(found.status());
    return absl::IsUnimplemented(found.status()) ? CudaError::kNoBinaryForDevice : CudaError::kInvalidImage;
  }
  // NVIDIA's device runtime (libcudadevrt.a) calls its driver by names that nothing else has. What there is of it here,
  // devices have themselves.
  for (std::string& text : *found) {
    if (text.find("__cuda_syscall_") == std::string::npos) texts->push_back(std::move(text));
  }
  return CudaError::kSuccess;
}

bool IsLtoIr(std::span<const std::byte> bytes) { return device::fatbin::IsLtoIr(bytes); }

CudaError ReadParts(const char* path, std::vector<std::byte>* bytes) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return CudaError::kFileNotFound;
  const std::vector<char> content{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  bytes->resize(content.size());
  std::memcpy(bytes->data(), content.data(), content.size());
  return CudaError::kSuccess;
}

CudaError LinkTexts(const std::vector<std::string>& texts, std::string* linked, std::string* reason) {
  if (texts.empty()) {
    *reason = "there is nothing to link";
    return CudaError::kInvalidPtx;
  }
  auto made = device::ptx::Link(texts);
  const absl::Status status = made.ok() ? device::ptx::CheckLinked(*made) : made.status();
  if (!status.ok()) {
    *reason = Message(status);
    return CudaError::kInvalidPtx;
  }
  *linked = *std::move(made);
  return CudaError::kSuccess;
}

void TellOnce(const char* line) {
  static absl::Mutex* const mutex = new absl::Mutex();
  static std::set<std::string>* const told = new std::set<std::string>();
  absl::MutexLock lock(mutex);
  if (told->insert(line).second) TellUser(line);
}

}  // namespace wharf::client
