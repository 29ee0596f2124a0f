#include "wharf/device/cuda/output_capture.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>

namespace wharf::device::cuda {

absl::StatusOr<std::unique_ptr<OutputCapture>> OutputCapture::Start() {
  std::fflush(stdout);
  const int file = memfd_create("kernel-output", MFD_CLOEXEC);
  if (file < 0) return ErrnoStatus(errno, "memfd_create");
  // Appending, so that writers never overwrite one another.
  if (fcntl(file, F_SETFL, O_APPEND) != 0) {
    const int error = errno;
    close(file);
    return ErrnoStatus(error, "fcntl");
  }
  const int saved = dup(STDOUT_FILENO);
  if (saved < 0 || dup2(file, STDOUT_FILENO) < 0) {
    const int error = errno;
    if (saved >= 0) close(saved);
    close(file);
    return ErrnoStatus(error, "dup2");
  }
  return std::unique_ptr<OutputCapture>(new OutputCapture(saved, file));
}

OutputCapture::~OutputCapture() {
  std::fflush(stdout);
  dup2(saved_, STDOUT_FILENO);
  close(saved_);
  close(file_);
}

std::string OutputCapture::Drain() {
  std::fflush(stdout);
  absl::MutexLock lock(&mutex_);
  struct stat status;
  if (fstat(file_, &status) != 0 || status.st_size <= read_) return "";
  std::string text(static_cast<size_t>(status.st_size - read_), '\0');
  const ssize_t got = pread(file_, text.data(), text.size(), read_);
  if (got <= 0) return "";
  text.resize(static_cast<size_t>(got));
  // The file never shrinks under a writer; what was read only stops taking memory.
  fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, read_, got);
  read_ += got;
  return text;
}

}  // namespace wharf::device::cuda
