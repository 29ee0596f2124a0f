// libnvrtc.so.13 and .12: NVIDIA's, which compiles, but for machine code where the device runs PTX only. A program that
// asks for some architecture's machine code gets the PTX that NVRTC has made on the way, as a fat binary, which every
// function that loads machine code takes. Nothing else differs, and on a GPU nothing does.
#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "wharf/cudashim/client/jit/forward.h"
#include "wharf/cudashim/client/jit/ptx_image.h"
#include "wharf/cudashim/client/jit/vendor_library.h"

namespace wharf::cudashim {
namespace {

using client::Forwarded;
using client::ToWord;
using client::VendorFunction;
using client::Word;

constexpr long kInternalError = 11;  // NVRTC_ERROR_INTERNAL_ERROR

// NVRTC looks for a library of its own by name; in some of NVIDIA's packages it is beside it and not found.
void OpenBuiltins(void* library) {
  int major = 0, minor = 0;
  Dl_info info{};
  void* const version = dlsym(library, "nvrtcVersion");
  if (version == nullptr || dladdr(version, &info) == 0) return;
  if (reinterpret_cast<VendorFunction>(version)(ToWord(&major), ToWord(&minor), 0, 0, 0, 0) != 0) return;
  const char* const file = strrchr(info.dli_fname, '/');
  const int folder = file == nullptr ? 0 : static_cast<int>(file + 1 - info.dli_fname);
  char path[4096];
  std::snprintf(path, sizeof(path), "%.*slibnvrtc-builtins.so.%d.%d", folder, info.dli_fname, major, minor);
  dlopen(path, RTLD_LAZY | RTLD_LOCAL);
}

void* Vendors(const void* caller) {
  void* const library =
      client::OpenVendorLibrary(WHARF_VENDOR_LIBRARY, reinterpret_cast<const void*>(&Vendors), caller);
  static void* opened = nullptr;
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  if (library == nullptr) {
    client::TellOnce("the program compiles with NVRTC, and NVIDIA's " WHARF_VENDOR_LIBRARY
                     " is not here: install it (pip install nvidia-cuda-nvrtc), or say by CUDA_HOME where the CUDA "
                     "toolkit is");
  } else {
    __atomic_store_n(&opened, library, __ATOMIC_RELAXED);  // the same whoever does it
    pthread_once(&once, [] { OpenBuiltins(__atomic_load_n(&opened, __ATOMIC_RELAXED)); });
  }
  return library;
}

// Null if NVIDIA's is not here, or has no such function.
VendorFunction Find(Forwarded& forwarded, const char* name, const void* caller) {
  return forwarded.Get(name, &Vendors, caller);
}

long Forward(Forwarded& forwarded, const char* name, const void* caller, Word a, Word b = 0, Word c = 0, Word d = 0,
             Word e = 0, Word f = 0) {
  const VendorFunction function = Find(forwarded, name, caller);
  return function == nullptr ? kInternalError : function(a, b, c, d, e, f);
}

// Writes what stands for the machine code of a program that has `size` bytes of it, unless `to` is null, and returns
// its size. 0: that itself stands.
size_t WriteInsteadOfCubin(Word program, size_t size, void* to, const void* caller) {
  static Forwarded get_size, get;
  if (size == 0 || !client::DeviceNeedsPtx()) return 0;
  size_t length = 0;  // with the zero at the end
  if (Forward(get_size, "nvrtcGetPTXSize", caller, program, ToWord(&length)) != 0 || length <= 1) return 0;
  char* const ptx = static_cast<char*>(std::malloc(length));
  size_t written = 0;
  if (ptx != nullptr && Forward(get, "nvrtcGetPTX", caller, program, ToWord(ptx)) == 0) {
    written = client::WriteImageOfPtx(ptx, length - 1, to);
  }
  std::free(ptx);
  return written;
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf::cudashim;  // NOLINT

WHARF_MARK_DROPIN;

// What is passed on as it is.
#define WHARF_FORWARD(name)                                                          \
  WHARF_CLIENT_API long name(Word a, Word b, Word c, Word d, Word e, Word f) {       \
    static Forwarded forwarded;                                                      \
    return Forward(forwarded, #name, __builtin_return_address(0), a, b, c, d, e, f); \
  }

extern "C" {

WHARF_FORWARD(__nvrtcCPEx)
WHARF_FORWARD(nvrtcAddNameExpression)
WHARF_FORWARD(nvrtcCompileProgram)
WHARF_FORWARD(nvrtcCreateProgram)
WHARF_FORWARD(nvrtcDestroyProgram)
WHARF_FORWARD(nvrtcGetLTOIR)
WHARF_FORWARD(nvrtcGetLTOIRSize)
WHARF_FORWARD(nvrtcGetLoweredName)
WHARF_FORWARD(nvrtcGetNumSupportedArchs)
WHARF_FORWARD(nvrtcGetOptiXIR)
WHARF_FORWARD(nvrtcGetOptiXIRSize)
WHARF_FORWARD(nvrtcGetPCHCreateStatus)
WHARF_FORWARD(nvrtcGetPCHHeapSize)
WHARF_FORWARD(nvrtcGetPCHHeapSizeRequired)
WHARF_FORWARD(nvrtcGetPTX)
WHARF_FORWARD(nvrtcGetPTXSize)
WHARF_FORWARD(nvrtcGetProgramLog)
WHARF_FORWARD(nvrtcGetProgramLogSize)
WHARF_FORWARD(nvrtcGetSupportedArchs)
WHARF_FORWARD(nvrtcSetFlowCallback)
WHARF_FORWARD(nvrtcSetPCHHeapSize)
WHARF_FORWARD(nvrtcVersion)
#ifdef WHARF_CUDA_12
WHARF_FORWARD(nvrtcGetNVVM)
WHARF_FORWARD(nvrtcGetNVVMSize)
#else  // of later releases than 13.0
WHARF_FORWARD(__nvrtcNvvmHandle)
WHARF_FORWARD(nvrtcGetBundledHeadersInfo)
WHARF_FORWARD(nvrtcGetTileIR)
WHARF_FORWARD(nvrtcGetTileIRSize)
WHARF_FORWARD(nvrtcInstallBundledHeaders)
WHARF_FORWARD(nvrtcRemoveBundledHeaders)
#endif

WHARF_CLIENT_API const char* nvrtcGetErrorString(int result) {
  static Forwarded forwarded;
  const VendorFunction function = Find(forwarded, "nvrtcGetErrorString", __builtin_return_address(0));
  if (function == nullptr) return "NVIDIA's " WHARF_VENDOR_LIBRARY " is not here";
  return reinterpret_cast<const char*>(function(static_cast<Word>(result), 0, 0, 0, 0, 0));
}

WHARF_CLIENT_API int nvrtcGetCUBINSize(Word program, size_t* size) {
  static Forwarded forwarded;
  const void* const caller = __builtin_return_address(0);
  const long result = Forward(forwarded, "nvrtcGetCUBINSize", caller, program, ToWord(size));
  if (result != 0) return static_cast<int>(result);
  if (const size_t instead = WriteInsteadOfCubin(program, *size, nullptr, caller)) *size = instead;
  return 0;
}

WHARF_CLIENT_API int nvrtcGetCUBIN(Word program, char* code) {
  static Forwarded forwarded, get_size;
  const void* const caller = __builtin_return_address(0);
  size_t size = 0;
  if (code != nullptr && Forward(get_size, "nvrtcGetCUBINSize", caller, program, ToWord(&size)) == 0 &&
      WriteInsteadOfCubin(program, size, code, caller) != 0) {
    return 0;
  }
  return static_cast<int>(Forward(forwarded, "nvrtcGetCUBIN", caller, program, ToWord(code)));
}

}  // extern "C"
