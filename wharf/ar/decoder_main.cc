// wharf-decode: one AR client's JPEGs into pictures, for a server that does not trust them (picture_decoder.h).
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "wharf/ar/decoder_wire.h"
#include "wharf/ar/messages.h"
#include "wharf/ar/picture_decoder.h"
#include "wharf/base/seccomp_architecture.h"

namespace wharf::ar {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;  // its runtime takes address space by the terabyte, and reads files when it reports
#else
constexpr bool kSanitized = false;
#endif

// For pictures of kMaxSide x kMaxSide and what a progressive JPEG of one takes besides.
constexpr rlim_t kMemory = 512 << 20;
constexpr uint32_t kAllowed[] = {SYS_read,         SYS_write,  SYS_sendto,    SYS_brk,      SYS_mmap,
                                 SYS_munmap,       SYS_mremap, SYS_madvise,   SYS_mprotect, SYS_futex,
                                 SYS_rt_sigreturn, SYS_exit,   SYS_exit_group};

// Anything but the calls above ends the process.
bool Confine() {
  const rlimit no_core{0, 0}, memory{kMemory, kMemory};
  if (setrlimit(RLIMIT_CORE, &no_core) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  if (kSanitized) return true;
  if (setrlimit(RLIMIT_AS, &memory) != 0) return false;
  if (kSeccompArchitecture == 0) return true;
  std::vector<sock_filter> filter = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kSeccompArchitecture, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
  };
  for (const uint32_t call : kAllowed) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

absl::Status Answer(const absl::StatusOr<scene::Image>& picture) {
  const std::string reason = picture.ok() ? "" : std::string(Message(picture.status())).substr(0, kMaxReasonBytes);
  const auto bytes = picture.ok() ? std::as_bytes(std::span(picture->rgb)) : std::as_bytes(std::span(reason));
  DecodeReply reply{static_cast<uint32_t>(picture.status().code()), static_cast<uint32_t>(bytes.size())};
  WHARF_RETURN_IF_ERROR(WriteAll(kDecoderDescriptor, BytesOf(reply)));
  return WriteAll(kDecoderDescriptor, bytes);
}

absl::Status DecodeNext() {
  DecodeRequest request;
  WHARF_RETURN_IF_ERROR(ReadAll(kDecoderDescriptor, BytesOf(request)));
  if (request.jpeg_bytes > kMaxPictureBytes) return InvalidArgument("a picture of {} bytes", request.jpeg_bytes);
  std::vector<std::byte> jpeg(request.jpeg_bytes);
  WHARF_RETURN_IF_ERROR(ReadAll(kDecoderDescriptor, jpeg));
  return Answer(DecodePicture(jpeg, request.width, request.height));
}

}  // namespace
}  // namespace wharf::ar

int main() {
  if (!wharf::ar::Confine()) return 1;
  while (wharf::ar::DecodeNext().ok()) {
  }
  return 0;  // the server has closed the socket
}
