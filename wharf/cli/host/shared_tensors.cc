#include "wharf/cli/host/shared_tensors.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace wharf::cli {
namespace {

constexpr size_t kPage = 4096, kAlignment = 64;  // the latter: of vector instructions and cache lines

size_t RoundedUp(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

}  // namespace

SharedTensors::SharedTensors(size_t input_bytes, const std::vector<graph::TensorType>& outputs, int slots)
    : input_bytes_(input_bytes), slots_(slots), first_slot_(RoundedUp(input_bytes, kPage)) {
  size_t end = 0;
  for (const graph::TensorType& type : outputs) {
    offsets_.push_back(RoundedUp(end, kAlignment));
    end = offsets_.back() + static_cast<size_t>(type.Bytes());
  }
  slot_bytes_ = RoundedUp(end, kPage);
  bytes_ = std::max(first_slot_ + slot_bytes_ * static_cast<size_t>(slots), kPage);
}

absl::StatusOr<std::unique_ptr<SharedTensors>> SharedTensors::Make(size_t input_bytes,
                                                                   const std::vector<graph::TensorType>& outputs,
                                                                   int slots) {
  std::unique_ptr<SharedTensors> made(new SharedTensors(input_bytes, outputs, slots));
  WHARF_RETURN_IF_ERROR(made->Map(outputs));
  return made;
}

absl::Status SharedTensors::Map(const std::vector<graph::TensorType>& outputs) {
  fd_ = memfd_create("wharf-tensors", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd_ < 0) return ErrnoStatus(errno, "memory for tensors");
  if (ftruncate(fd_, static_cast<off_t>(bytes_)) != 0 ||
      fcntl(fd_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return ErrnoStatus(errno, fmt::format("{} bytes of memory for tensors", bytes_));
  }
  void* const memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (memory == MAP_FAILED) return ErrnoStatus(errno, fmt::format("{} bytes of memory for tensors", bytes_));
  memory_ = static_cast<std::byte*>(memory);
  for (int slot = 0; slot < slots_; ++slot) {
    std::byte* const begin = memory_ + first_slot_ + slot_bytes_ * static_cast<size_t>(slot);
    std::vector<std::span<std::byte>> spans;
    for (size_t i = 0; i < outputs.size(); ++i) {
      spans.emplace_back(begin + offsets_[i], static_cast<size_t>(outputs[i].Bytes()));
    }
    outputs_.push_back(std::move(spans));
  }
  return absl::OkStatus();
}

SharedTensors::~SharedTensors() {
  if (memory_ != nullptr) munmap(memory_, bytes_);
  if (fd_ >= 0) close(fd_);
}

}  // namespace wharf::cli
