// libnvJitLink.so.13 and .12: NVIDIA's, but where the device runs PTX only. There PTX is linked to PTX
// (client/jit/jit_link.h), and NVIDIA's library is asked only to make PTX of LTO-IR.
#include "wharf/cudashim/client/jit/forward.h"
#include "wharf/cudashim/client/jit/jit_link.h"
#include "wharf/cudashim/client/jit/ptx_image.h"
#include "wharf/cudashim/client/jit/vendor_library.h"

namespace wharf::cudashim {
namespace {

using client::Forwarded;
using client::ToWord;
using client::VendorFunction;
using client::Word;

constexpr int kInternalError = 6;  // NVJITLINK_ERROR_INTERNAL

void* Vendors(const void* caller) {
  return client::OpenVendorLibrary(WHARF_VENDOR_LIBRARY, reinterpret_cast<const void*>(&Vendors), caller);
}

int Forward(Forwarded& forwarded, const char* name, const void* caller, Word a, Word b = 0, Word c = 0, Word d = 0,
            Word e = 0, Word f = 0) {
  const VendorFunction function = forwarded.Get(name, &Vendors, caller);
  if (function != nullptr) return static_cast<int>(function(a, b, c, d, e, f));
  if (Vendors(caller) == nullptr) {
    client::TellOnce("the program links with nvJitLink, and NVIDIA's " WHARF_VENDOR_LIBRARY
                     " is not here: install it (pip install nvidia-nvjitlink), or say by CUDA_HOME where the CUDA "
                     "toolkit is");
  }
  return kInternalError;
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

WHARF_MARK_DROPIN;

// The names under which the header of each release calls a function.
#define WHARF_ALIAS(name, release, number) \
  WHARF_CLIENT_API decltype(name) __##name##_##release##_##number __attribute__((alias(#name)));
#define WHARF_OF_RELEASE(name, release) \
  WHARF_ALIAS(name, release, 0)         \
  WHARF_ALIAS(name, release, 1)         \
  WHARF_ALIAS(name, release, 2)         \
  WHARF_ALIAS(name, release, 3)         \
  WHARF_ALIAS(name, release, 4)         \
  WHARF_ALIAS(name, release, 5)         \
  WHARF_ALIAS(name, release, 6)         \
  WHARF_ALIAS(name, release, 7)         \
  WHARF_ALIAS(name, release, 8)         \
  WHARF_ALIAS(name, release, 9)
#ifdef WHARF_CUDA_12
#define WHARF_EVERY_RELEASE(name) WHARF_OF_RELEASE(name, 12)
#else
#define WHARF_EVERY_RELEASE(name) WHARF_OF_RELEASE(name, 13)
#endif
#define WHARF_FUNCTION(name, ...)         \
  WHARF_CLIENT_API int name(__VA_ARGS__); \
  WHARF_EVERY_RELEASE(name)               \
  int name(__VA_ARGS__)

#define WHARF_PASS_ON(name, ...) \
  static Forwarded forwarded;    \
  return Forward(forwarded, #name, __builtin_return_address(0), __VA_ARGS__)

// What is read in two steps: how long it is, and itself.
#define WHARF_RESULT(name)                                                                 \
  WHARF_FUNCTION(nvJitLinkGet##name##Size, Word handle, size_t* size) {                    \
    if (client::IsJitLink(handle)) return client::GetJitLink##name(handle, size, nullptr); \
    WHARF_PASS_ON(nvJitLinkGet##name##Size, handle, ToWord(size));                         \
  }                                                                                        \
  WHARF_FUNCTION(nvJitLinkGet##name, Word handle, void* to) {                              \
    if (client::IsJitLink(handle)) return client::GetJitLink##name(handle, nullptr, to);   \
    WHARF_PASS_ON(nvJitLinkGet##name, handle, ToWord(to));                                 \
  }

extern "C" {

WHARF_FUNCTION(nvJitLinkCreate, Word* handle, uint32_t count, const char** options) {
  if (client::DeviceNeedsPtx()) {
    return client::CreateJitLink(handle, count, options, Vendors(__builtin_return_address(0)));
  }
  WHARF_PASS_ON(nvJitLinkCreate, ToWord(handle), count, ToWord(options));
}

WHARF_FUNCTION(nvJitLinkDestroy, Word* handle) {
  if (handle != nullptr && client::IsJitLink(*handle)) {
    client::DestroyJitLink(*handle);
    *handle = 0;
    return 0;
  }
  WHARF_PASS_ON(nvJitLinkDestroy, ToWord(handle));
}

WHARF_FUNCTION(nvJitLinkAddData, Word handle, int type, const void* data, size_t size, const char* name) {
  if (client::IsJitLink(handle)) return client::AddToJitLink(handle, type, data, size, name);
  WHARF_PASS_ON(nvJitLinkAddData, handle, static_cast<Word>(type), ToWord(data), size, ToWord(name));
}

WHARF_FUNCTION(nvJitLinkAddFile, Word handle, int type, const char* path) {
  if (client::IsJitLink(handle)) return client::AddFileToJitLink(handle, type, path);
  WHARF_PASS_ON(nvJitLinkAddFile, handle, static_cast<Word>(type), ToWord(path));
}

WHARF_FUNCTION(nvJitLinkComplete, Word handle) {
  if (client::IsJitLink(handle)) return client::CompleteJitLink(handle);
  WHARF_PASS_ON(nvJitLinkComplete, handle);
}

WHARF_RESULT(LinkedCubin)
WHARF_RESULT(LinkedPtx)
WHARF_RESULT(LinkedLTOIR)
WHARF_RESULT(ErrorLog)
WHARF_RESULT(InfoLog)

WHARF_CLIENT_API int nvJitLinkVersion(unsigned* major, unsigned* minor) {
  WHARF_PASS_ON(nvJitLinkVersion, ToWord(major), ToWord(minor));
}

WHARF_CLIENT_API int __nvJitLinkAPI(Word a, Word b, Word c, Word d, Word e, Word f) {
  WHARF_PASS_ON(__nvJitLinkAPI, a, b, c, d, e, f);
}

}  // extern "C"
