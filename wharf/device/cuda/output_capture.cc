#include "wharf/device/cuda/output_capture.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>

#include "wharf/base/log.h"

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
  const int output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0), error = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
  // From here on it puts back what is changed.
  std::unique_ptr<OutputCapture> capture(new OutputCapture(output, error, file));
  if (output < 0 || error < 0) return ErrnoStatus(errno, "a copy of a descriptor");
  SetLogDescriptor(error);
  if (dup2(file, STDOUT_FILENO) < 0 || dup2(file, STDERR_FILENO) < 0) return ErrnoStatus(errno, "dup2");
  return capture;
}

OutputCapture::~OutputCapture() {
  std::fflush(stdout);
  if (saved_output_ >= 0) dup2(saved_output_, STDOUT_FILENO);
  if (saved_error_ >= 0) dup2(saved_error_, STDERR_FILENO);
  SetLogDescriptor(STDERR_FILENO);
  close(saved_output_);
  close(saved_error_);
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
