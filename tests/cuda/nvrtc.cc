// Code that is compiled and linked while the program runs: NVRTC asked for machine code, as PyTorch and CuPy ask for
// it, and linking by nvJitLink and by the driver. The libraries are opened by name, as Python programs open them;
// without any (a machine that has no CUDA) their cases have nothing to do.
#include <cuda.h>
#include <dlfcn.h>

#include <fstream>

#include "tests/cuda/harness.h"

namespace {

#ifndef RELEASE
#define RELEASE "13"
#endif

#define CU_OK(call)                                                                               \
  do {                                                                                            \
    const CUresult result = (call);                                                               \
    if (result != CUDA_SUCCESS)                                                                   \
      harness::Fail(__FILE__, __LINE__, std::string(#call) + " gives " + std::to_string(result)); \
  } while (0)

struct Library {
  void* handle;
  explicit Library(const char* name) : handle(dlopen(name, RTLD_NOW)) {}
  template <typename... Parameters>
  int operator()(const char* name, Parameters... parameters) const {
    void* const function = handle == nullptr ? nullptr : dlsym(handle, name);
    if (function == nullptr) {
      harness::Fail(__FILE__, __LINE__, std::string("no function ") + name);
      return -1;
    }
    return reinterpret_cast<int (*)(Parameters...)>(function)(parameters...);
  }
};

const Library& Nvrtc() {
  static const Library library("libnvrtc.so." RELEASE);
  return library;
}

const Library& JitLink() {
  static const Library library("libnvJitLink.so." RELEASE);
  return library;
}

// NVIDIA's NVRTC is behind ours; it may not be on this machine.
bool HasNvrtc() {
  int major = 0, minor = 0;
  return Nvrtc().handle != nullptr && Nvrtc()("nvrtcVersion", &major, &minor) == 0 && major == std::atoi(RELEASE);
}

struct Program {
  void* handle = nullptr;
  explicit Program(const char* source) {
    EXPECT_EQ(Nvrtc()("nvrtcCreateProgram", &handle, source, "kernel.cu", 0, (const char* const*)nullptr,
                      (const char* const*)nullptr),
              0);
  }
  ~Program() { Nvrtc()("nvrtcDestroyProgram", &handle); }

  void Compile(std::vector<const char*> options) {
    EXPECT_EQ(Nvrtc()("nvrtcCompileProgram", handle, int(options.size()), options.data()), 0);
  }
  // What is "CUBIN", "PTX", "LTOIR" or "ProgramLog".
  std::vector<char> Get(const std::string& what) {
    size_t size = 0;
    EXPECT_EQ(Nvrtc()(("nvrtcGet" + what + "Size").c_str(), handle, &size), 0);
    std::vector<char> bytes(size + 16, '#');
    if (size != 0) EXPECT_EQ(Nvrtc()(("nvrtcGet" + what).c_str(), handle, bytes.data()), 0);
    for (size_t i = size; i < bytes.size(); ++i) EXPECT_EQ(bytes[i], '#');  // no more than was said
    bytes.resize(size);
    return bytes;
  }
};

// The architecture of the device, as programs name it.
std::string Architecture(const char* kind) {
  int major = 0, minor = 0;
  CU_OK(cuInit(0));
  CU_OK(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
  CU_OK(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0));
  return kind + std::to_string(major) + std::to_string(minor);
}

std::vector<char> Compile(const char* source, std::vector<const char*> options, const std::string& what) {
  Program program(source);
  program.Compile(std::move(options));
  return program.Get(what);
}

// Runs a kernel of one array.
std::vector<int> RunKernel(CUmodule module, const char* name, std::vector<int> values) {
  CUfunction function = nullptr;
  CU_OK(cuModuleGetFunction(&function, module, name));
  Buffer<int> buffer(values);
  int* address = buffer;
  void* arguments[] = {&address};
  CU_OK(cuLaunchKernel(function, 1, 1, 1, unsigned(values.size()), 1, 1, 0, nullptr, arguments, nullptr));
  return buffer.Get();
}

std::vector<int> RunImage(const void* image, const char* name, const std::vector<int>& values) {
  CUmodule module = nullptr;
  CUDA_OK(cudaFree(nullptr));  // makes the context, which a module needs
  CU_OK(cuModuleLoadData(&module, image));
  std::vector<int> result = RunKernel(module, name, values);
  CU_OK(cuModuleUnload(module));
  return result;
}

const char kTriple[] = R"(extern "C" __global__ void triple(int* values) { values[threadIdx.x] *= 3; })";
// Two parts of one program.
const char kCaller[] = R"(
extern "C" __device__ int step(int value);
__device__ int offset = 100;
extern "C" __global__ void apply(int* values) { values[threadIdx.x] = step(values[threadIdx.x]) + offset; })";
const char kCallee[] = R"(
__device__ static int offset = 7;
extern "C" __device__ int step(int value) { return value * value + offset; })";

const std::vector<int> kValues = {1, 2, 3, -4}, kTripled = {3, 6, 9, -12}, kApplied = {108, 111, 116, 123};

// PTX of a part, without NVRTC.
const char kPtxCaller[] = R"(
.version 6.4
.target sm_75
.address_size 64
.extern .func (.param .b32 result) step(.param .b32 value);
.visible .entry apply(.param .u64 values)
{
  .reg .b32 %r<4>;
  .reg .b64 %rd<4>;
  .param .b32 given;
  .param .b32 back;
  ld.param.u64 %rd1, [values];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  ld.global.u32 %r2, [%rd3];
  st.param.b32 [given], %r2;
  call.uni (back), step, (given);
  ld.param.b32 %r3, [back];
  st.global.u32 [%rd3], %r3;
  ret;
}
)";
const char kPtxCallee[] = R"(
.version 6.4
.target sm_75
.address_size 64
.visible .func (.param .b32 result) step(.param .b32 value)
{
  .reg .b32 %r<3>;
  ld.param.b32 %r1, [value];
  mad.lo.s32 %r2, %r1, %r1, 107;
  st.param.b32 [result], %r2;
  ret;
}
)";
const char kPtxAlone[] = R"(
.version 6.4
.target sm_75
.address_size 64
.visible .entry apply() { ret; }
)";

enum Input { kInputCubin = 1, kInputPtx, kInputLtoIr, kInputFatBinary, kInputAny = 10 };

struct Linker {
  void* handle = nullptr;
  int created;
  explicit Linker(std::vector<const char*> options)
      : created(JitLink()("nvJitLinkCreate", &handle, unsigned(options.size()), options.data())) {}
  ~Linker() {
    if (handle != nullptr) EXPECT_EQ(JitLink()("nvJitLinkDestroy", &handle), 0);
  }
  int Add(Input type, const void* data, size_t size) {
    return JitLink()("nvJitLinkAddData", handle, int(type), data, size, "part");
  }
  int Add(Input type, const std::vector<char>& bytes) { return Add(type, bytes.data(), bytes.size()); }
  int Complete() { return JitLink()("nvJitLinkComplete", handle); }
  std::vector<char> Get(const std::string& what) {
    size_t size = 0;
    EXPECT_EQ(JitLink()(("nvJitLinkGet" + what + "Size").c_str(), handle, &size), 0);
    std::vector<char> bytes(size);
    if (size != 0) EXPECT_EQ(JitLink()(("nvJitLinkGet" + what).c_str(), handle, bytes.data()), 0);
    return bytes;
  }
  std::string Log() {
    const std::vector<char> text = Get("ErrorLog");
    return std::string(text.begin(), text.empty() ? text.end() : text.end() - 1);
  }
};

bool Contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

CASE(machine_code_of_the_devices_architecture_runs) {
  if (!HasNvrtc()) return;
  const std::string option = "--gpu-architecture=" + Architecture("sm_");
  const std::vector<char> image = Compile(kTriple, {option.c_str()}, "CUBIN");
  EXPECT(!image.empty());
  EXPECT_SAME(RunImage(image.data(), "triple", kValues), kTripled);
}

CASE(machine_code_may_be_moved_and_kept) {
  if (!HasNvrtc()) return;
  const std::string option = "-arch=" + Architecture("sm_");
  std::vector<char> image = Compile(kTriple, {option.c_str(), "-lineinfo"}, "CUBIN");
  // What stands behind it is not its own.
  image.insert(image.end(), 100, char(0xAB));
  const std::vector<char> copy = image;
  std::fill(image.begin(), image.end(), '\0');
  EXPECT_SAME(RunImage(copy.data(), "triple", kValues), kTripled);
}

CASE(ptx_is_given_as_before) {
  if (!HasNvrtc()) return;
  const std::string option = "--gpu-architecture=" + Architecture("compute_");
  Program program(kTriple);
  program.Compile({option.c_str()});
  EXPECT(program.Get("CUBIN").empty());
  const std::vector<char> ptx = program.Get("PTX");
  EXPECT(Contains(std::string(ptx.begin(), ptx.end()), ".entry triple("));
  EXPECT_SAME(RunImage(ptx.data(), "triple", kValues), kTripled);
}

CASE(libraries_load_machine_code_too) {
  if (!HasNvrtc()) return;
  const std::string option = "--gpu-architecture=" + Architecture("sm_");
  const std::vector<char> image = Compile(kTriple, {option.c_str()}, "CUBIN");
  CUlibrary library = nullptr;
  CUmodule module = nullptr;
  CU_OK(cuLibraryLoadData(&library, image.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  CU_OK(cuLibraryGetModule(&module, library));
  EXPECT_SAME(RunKernel(module, "triple", kValues), kTripled);
  CU_OK(cuLibraryUnload(library));
}

CASE(compile_errors_are_nvrtcs_own) {
  if (!HasNvrtc()) return;
  void* program = nullptr;
  EXPECT_EQ(Nvrtc()("nvrtcCreateProgram", &program, "int x = ;", "bad.cu", 0, (const char* const*)nullptr,
                    (const char* const*)nullptr),
            0);
  EXPECT_EQ(Nvrtc()("nvrtcCompileProgram", program, 0, (const char* const*)nullptr), 6);  // NVRTC_ERROR_COMPILATION
  size_t size = 0;
  EXPECT_EQ(Nvrtc()("nvrtcGetProgramLogSize", program, &size), 0);
  std::string log(size, '\0');
  EXPECT_EQ(Nvrtc()("nvrtcGetProgramLog", program, log.data()), 0);
  EXPECT(Contains(log, "bad.cu(1)"));
  EXPECT_EQ(Nvrtc()("nvrtcDestroyProgram", &program), 0);
  auto* const error = reinterpret_cast<const char* (*)(int)>(dlsym(Nvrtc().handle, "nvrtcGetErrorString"));
  EXPECT_EQ(std::string(error(6)), "NVRTC_ERROR_COMPILATION");
}

CASE(parts_of_ptx_are_linked) {
  if (JitLink().handle == nullptr) return;
  const std::string option = "-arch=" + Architecture("sm_");
  Linker linker({option.c_str()});
  EXPECT_EQ(linker.created, 0);
  EXPECT_EQ(linker.Add(kInputPtx, kPtxCaller, sizeof(kPtxCaller)), 0);
  EXPECT_EQ(linker.Add(kInputPtx, kPtxCallee, sizeof(kPtxCallee) - 1), 0);
  EXPECT_EQ(linker.Complete(), 0);
  EXPECT_EQ(linker.Log(), "");
  EXPECT_SAME(RunImage(linker.Get("LinkedCubin").data(), "apply", kValues), kApplied);
}

CASE(parts_of_nvrtcs_machine_code_are_linked) {
  if (!HasNvrtc() || JitLink().handle == nullptr) return;
  const std::string option = "-arch=" + Architecture("sm_");
  Linker linker({option.c_str()});
  EXPECT_EQ(linker.Add(kInputCubin, Compile(kCaller, {option.c_str(), "-rdc=true"}, "CUBIN")), 0);
  EXPECT_EQ(linker.Add(kInputAny, Compile(kCallee, {option.c_str(), "-rdc=true"}, "CUBIN")), 0);
  EXPECT_EQ(linker.Complete(), 0);
  EXPECT_SAME(RunImage(linker.Get("LinkedCubin").data(), "apply", kValues), kApplied);
}

CASE(parts_of_lto_ir_are_linked) {
  unsigned major = 0, minor = 0;
  if (!HasNvrtc() || JitLink().handle == nullptr || JitLink()("nvJitLinkVersion", &major, &minor) != 0) return;
  const std::string option = "-arch=" + Architecture("sm_");
  const std::vector<char> caller = Compile(kCaller, {option.c_str(), "-rdc=true", "-dlto"}, "LTOIR");
  {
    Linker linker({option.c_str(), "-lto"});
    EXPECT_EQ(linker.Add(kInputLtoIr, caller), 0);
    EXPECT_EQ(linker.Add(kInputLtoIr, Compile(kCallee, {option.c_str(), "-rdc=true", "-dlto"}, "LTOIR")), 0);
    EXPECT_EQ(linker.Complete(), 0);
    EXPECT_SAME(RunImage(linker.Get("LinkedCubin").data(), "apply", kValues), kApplied);
  }
  {  // what it calls may be PTX
    Linker linker({option.c_str(), "-lto"});
    EXPECT_EQ(linker.Add(kInputLtoIr, caller), 0);
    EXPECT_EQ(linker.Add(kInputPtx, kPtxCallee, sizeof(kPtxCallee)), 0);
    EXPECT_EQ(linker.Complete(), 0);
    EXPECT_SAME(RunImage(linker.Get("LinkedCubin").data(), "apply", kValues), (std::vector<int>{208, 211, 216, 223}));
  }
  {
    Linker linker({option.c_str(), "-lto", "-ptx"});
    EXPECT_EQ(linker.Add(kInputLtoIr, caller), 0);
    EXPECT_EQ(linker.Add(kInputLtoIr, Compile(kCallee, {option.c_str(), "-rdc=true", "-dlto"}, "LTOIR")), 0);
    EXPECT_EQ(linker.Complete(), 0);
    EXPECT_SAME(RunImage(linker.Get("LinkedPtx").data(), "apply", kValues), kApplied);
  }
}

CASE(what_cannot_be_linked_is_refused) {
  if (JitLink().handle == nullptr) return;
  const std::string option = "-arch=" + Architecture("sm_");
  Linker linker({option.c_str()});
  EXPECT_EQ(linker.Add(kInputPtx, "nothing", 7), 12);  // NVJITLINK_ERROR_INCORRECT_INPUT_TYPE
  EXPECT(linker.Log() != "");
  Linker unfinished({option.c_str()});
  EXPECT_EQ(unfinished.Add(kInputPtx, kPtxCaller, sizeof(kPtxCaller)), 0);
  EXPECT_EQ(unfinished.Complete(), 6);  // NVJITLINK_ERROR_INTERNAL
  EXPECT(Contains(unfinished.Log(), "ndefined reference to 'step'"));
  EXPECT_EQ(Linker({}).created, 10);                        // NVJITLINK_ERROR_NULL_INPUT
  EXPECT_EQ(Linker({"-lto"}).created, 2);                   // NVJITLINK_ERROR_MISSING_ARCH
  EXPECT_EQ(Linker({option.c_str(), "-ptx"}).created, 11);  // NVJITLINK_ERROR_INCOMPATIBLE_OPTIONS
  Linker other({option.c_str()});
  EXPECT_EQ(other.Add(kInputPtx, nullptr, 0), 3);                  // NVJITLINK_ERROR_INVALID_INPUT
  EXPECT_EQ(other.Add(kInputAny, "nothing that is code", 20), 8);  // NVJITLINK_ERROR_UNRECOGNIZED_INPUT
  if (!HasNvrtc()) return;
  const std::vector<char> lto = Compile(kCallee, {option.c_str(), "-rdc=true", "-dlto"}, "LTOIR");
  EXPECT_EQ(other.Add(kInputLtoIr, lto), 18);  // NVJITLINK_ERROR_LTO_NOT_ENABLED
}

CASE(the_driver_links_ptx) {
  CUlinkState state = nullptr;
  void* image = nullptr;
  size_t size = 0;
  CUcontext context = nullptr;
  CU_OK(cuInit(0));
  CU_OK(cuDevicePrimaryCtxRetain(&context, 0));
  CU_OK(cuCtxSetCurrent(context));
  CU_OK(cuLinkCreate(0, nullptr, nullptr, &state));
  CU_OK(cuLinkAddData(state, CU_JIT_INPUT_PTX, const_cast<char*>(kPtxCaller), sizeof(kPtxCaller), "caller", 0, nullptr,
                      nullptr));
  CU_OK(cuLinkAddData(state, CU_JIT_INPUT_PTX, const_cast<char*>(kPtxCallee), sizeof(kPtxCallee), "callee", 0, nullptr,
                      nullptr));
  CU_OK(cuLinkComplete(state, &image, &size));
  EXPECT(size > 0);
  EXPECT_SAME(RunImage(image, "apply", kValues), kApplied);
  CU_OK(cuLinkDestroy(state));
}

// As programs do whose kernels launch kernels.
CASE(the_driver_links_the_device_runtime) {
  static constexpr char kLibrary[] = "/usr/local/cuda/lib64/libcudadevrt.a";
  if (!std::ifstream(kLibrary)) return;
  CUlinkState state = nullptr;
  void* image = nullptr;
  CUcontext context = nullptr;
  CU_OK(cuInit(0));
  CU_OK(cuDevicePrimaryCtxRetain(&context, 0));
  CU_OK(cuCtxSetCurrent(context));
  CU_OK(cuLinkCreate(0, nullptr, nullptr, &state));
  for (const char* part : {kPtxCaller, kPtxCallee}) {
    CU_OK(cuLinkAddData(state, CU_JIT_INPUT_PTX, const_cast<char*>(part), strlen(part) + 1, "", 0, nullptr, nullptr));
  }
  CU_OK(cuLinkAddFile(state, CU_JIT_INPUT_LIBRARY, kLibrary, 0, nullptr, nullptr));
  CU_OK(cuLinkComplete(state, &image, nullptr));
  EXPECT_SAME(RunImage(image, "apply", kValues), kApplied);
  CU_OK(cuLinkDestroy(state));
}

CASE(the_driver_says_what_it_cannot_link) {
  char text[200] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {text, reinterpret_cast<void*>(sizeof(text))};
  CUlinkState state = nullptr;
  void* image = nullptr;
  CU_OK(cuLinkCreate(2, options, values, &state));
  EXPECT_EQ(cuLinkAddData(state, CU_JIT_INPUT_PTX, const_cast<char*>("no PTX"), 7, nullptr, 0, nullptr, nullptr),
            CUDA_ERROR_INVALID_IMAGE);  // an invalid PTX begins like one
  EXPECT(text[0] != '\0');
  EXPECT_EQ(cuLinkAddFile(state, CU_JIT_INPUT_PTX, "/nowhere/at/all.ptx", 0, nullptr, nullptr),
            CUDA_ERROR_FILE_NOT_FOUND);
  CU_OK(cuLinkDestroy(state));
  CU_OK(cuLinkCreate(2, options, values, &state));
  CU_OK(
      cuLinkAddData(state, CU_JIT_INPUT_PTX, const_cast<char*>(kPtxAlone), sizeof(kPtxAlone), "", 0, nullptr, nullptr));
  CU_OK(cuLinkComplete(state, &image, nullptr));
  CU_OK(cuLinkDestroy(state));
  EXPECT(text[0] == '\0');  // nothing was wrong this time
}
