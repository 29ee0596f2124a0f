// Kernels that try to leave their memory ("Walls" in runtime/kernel_abi.h): to read and write what else is mapped in
// this process, by every way an instruction can name an address, and to learn where it is.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <sstream>

#include "wharf/device/cuda_error.h"
#include "wharf/device/soft/testing/compiler_testing.h"

extern "C" void* _GLOBAL_OFFSET_TABLE_[];  // NOLINT: the linker's name

namespace wharf::device::soft::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint64_t kSecret = 0x5ec7e75ec7e75ec7;
constexpr uint64_t kMark = 0x1badb0021badb002;

// k(address, out): `body` uses %rd1, the address, and %rd2, where results go.
std::string Kernel(const std::string& body, const std::string& module_scope = "") {
  return fmt::format(R"(.version 8.8
.target sm_90
.address_size 64
{}
.visible .entry k(.param .u64 address, .param .u64 out)
{{
  .reg .pred %p<9>; .reg .b16 %rs<9>; .reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .f32 %f<9>; .reg .f64 %d<9>;
  .shared .align 16 .b8 window[256];
  ld.param.u64 %rd1, [address];
  ld.param.u64 %rd2, [out];
  mov.u64 %rd3, {:#x};
  mov.u32 %r3, {:#x};
{}
  ret;
}}
)",
                     module_scope, kMark, static_cast<uint32_t>(kMark), body);
}

// Threads that wait for each other run on stacks of their own, or, where code is made for their block, as regions
// (widen/regions.h).
std::string Suspending(const std::string& body) { return "  bar.sync 0;\n" + body; }

class EscapeTest : public ::testing::Test {
 protected:
  EscapeTest() : out_(runner_.Allocate<uint64_t>(64)) {}

  absl::Status Run(const std::string& ptx, uint64_t address, uint32_t threads = 32) {
    std::fill(out_, out_ + 64, 0);
    return runner_.Run(ptx, "k", {1}, {threads}, Parameters().Add(address).Add(out_));
  }
  // As regions. `body` must be Suspending.
  absl::Status RunInRegions(const std::string& ptx, uint64_t address, uint32_t threads = 32) {
    std::fill(out_, out_ + 64, 0);
    const absl::Status status = runner_.RunByShape(ptx, "k", {1}, {threads}, Parameters().Add(address).Add(out_));
    EXPECT_EQ(runner_.kernel()->mode, ExecutionMode::kLoop) << ptx;
    return status;
  }
  bool Saw(uint64_t value) const { return std::find(out_, out_ + 64, value) != out_ + 64; }
  // Inside the range where nothing but the device has memory.
  bool IsDevices(uint64_t address) const {
    const auto begin = reinterpret_cast<uint64_t>(runner_.memory().confined_begin());
    return address - begin <= runner_.memory().confined_bytes();
  }

  KernelRunner runner_;
  uint64_t* out_;
};

struct Victim {
  const char* name;
  uint64_t address;
  bool writable;
};

struct Victims {
  Victims() : heap(std::make_unique<uint64_t[]>(16)), other(Memory::Create(1 << 20).value()) {
    std::fill(stack, stack + 16, kSecret);
    std::fill(heap.get(), heap.get() + 16, kSecret);
    range = reinterpret_cast<uint64_t*>(other->Allocate(4096).value());
    std::fill(range, range + 16, kSecret);
    all = {{"stack", Address(stack + 8), true},
           {"heap", Address(heap.get() + 8), true},
           {"another session's range", Address(range + 8), true},
           {"code of the C library", Address(dlsym(RTLD_DEFAULT, "memcpy")) & ~uint64_t{15}, false},
           {"the table of imported functions", Address(_GLOBAL_OFFSET_TABLE_), false}};
  }
  template <typename T>
  static uint64_t Address(T* pointer) {
    return reinterpret_cast<uint64_t>(pointer);
  }
  bool Intact() const {
    const auto secret = [](uint64_t word) { return word == kSecret; };
    return std::all_of(stack, stack + 16, secret) && std::all_of(heap.get(), heap.get() + 16, secret) &&
           std::all_of(range, range + 16, secret);
  }

  alignas(16) uint64_t stack[16];
  std::unique_ptr<uint64_t[]> heap;
  std::unique_ptr<Memory> other;
  uint64_t* range;
  std::vector<Victim> all;
};

const std::vector<std::string>& Reads() {
  static const auto* reads = [] {
    auto* all = new std::vector<std::string>;
    for (const char* space : {"", ".global", ".local", ".const"}) {
      all->push_back(fmt::format("ld{}.u64 %rd4, [%rd1]; st.global.u64 [%rd2], %rd4;", space));
      all->push_back(fmt::format("ld{}.u8 %rs4, [%rd1+3]; cvt.u64.u16 %rd4, %rs4; st.global.u64 [%rd2], %rd4;", space));
      all->push_back(
          fmt::format("ld{}.v2.u64 {{%rd4, %rd5}}, [%rd1]; st.global.v2.u64 [%rd2], {{%rd4, %rd5}};", space));
      all->push_back(
          fmt::format("ld{}.v4.f32 {{%f1, %f2, %f3, %f4}}, [%rd1]; "
                      "st.global.v4.f32 [%rd2], {{%f1, %f2, %f3, %f4}};",
                      space));
    }
    for (const char* how : {"volatile", "relaxed.gpu", "acquire.sys"}) {
      all->push_back(fmt::format("ld.{}.global.u64 %rd4, [%rd1]; st.global.u64 [%rd2], %rd4;", how));
      all->push_back(fmt::format("ld.{}.v2.u64 {{%rd4, %rd5}}, [%rd1]; st.global.u64 [%rd2], %rd4;", how));
    }
    all->push_back("ld.global.nc.u64 %rd4, [%rd1]; st.global.u64 [%rd2], %rd4;");
    // Neighbouring threads; threads far apart; an index loaded from memory.
    all->push_back(
        "mov.u32 %r1, %tid.x; mul.wide.u32 %rd4, %r1, 4; add.u64 %rd4, %rd1, %rd4; ld.global.u32 %r2, [%rd4];"
        "add.u64 %rd5, %rd2, 0; mul.wide.u32 %rd6, %r1, 4; add.u64 %rd5, %rd5, %rd6; st.global.u32 [%rd5], %r2;");
    all->push_back(
        "mov.u32 %r1, %tid.x; mul.wide.u32 %rd4, %r1, 16; sub.u64 %rd4, %rd1, %rd4; ld.global.u64 %rd5, [%rd4];"
        "st.global.u64 [%rd2], %rd5;");
    all->push_back(
        "sub.u64 %rd4, %rd1, %rd2; st.global.u64 [%rd2+64], %rd4; ld.global.u64 %rd5, [%rd2+64];"
        "add.u64 %rd5, %rd2, %rd5; ld.global.u64 %rd6, [%rd5]; st.global.u64 [%rd2], %rd6;"
        "st.global.u64 [%rd2+64], 0;");
    all->push_back(
        "cvta.shared.u64 %rd4, 0; sub.u64 %rd5, %rd1, %rd4; add.u64 %rd4, %rd4, %rd5; ld.u64 %rd6, [%rd4];"
        "st.global.u64 [%rd2], %rd6;");
    all->push_back(
        "mov.u64 %rd4, window; cp.async.ca.shared.global [%rd4], [%rd1], 16; ld.shared.u64 %rd5, [window];"
        "st.global.u64 [%rd2], %rd5;");
    all->push_back(
        "mov.u64 %rd4, window; mov.u32 %r1, 8; cp.async.ca.shared.global [%rd4], [%rd1], 16, %r1;"
        "ld.shared.u64 %rd5, [window]; st.global.u64 [%rd2], %rd5;");
    // Tensor cores'.
    all->push_back(
        "ldmatrix.sync.aligned.m8n8.x2.b16 {%r10, %r11}, [%rd1]; mov.b64 %rd4, {%r10, %r11};"
        "st.global.u64 [%rd2], %rd4;");
    all->push_back(
        "ldmatrix.sync.aligned.m8n8.x1.trans.b16 {%r10}, [%rd1]; mov.b64 %rd4, {%r10, %r10}; st.global.u64 [%rd2], "
        "%rd4;");
    all->push_back("wmma.load.a.sync.aligned.row.m8n8k4.f64 {%d1}, [%rd1]; st.global.f64 [%rd2], %d1;");
    all->push_back(
        "wmma.load.b.sync.aligned.row.m16n16k16.global.f16 {%r10, %r11, %r12, %r13, %r14, %r15, %r16, %r17}, [%rd1], "
        "24;"
        "mov.b64 %rd4, {%r10, %r11}; st.global.u64 [%rd2], %rd4;");
    return all;
  }();
  return *reads;
}

const std::vector<std::string>& Writes() {
  static const auto* writes = [] {
    auto* all = new std::vector<std::string>;
    for (const char* space : {"", ".global", ".local"}) {
      all->push_back(fmt::format("st{}.u64 [%rd1], %rd3;", space));
      all->push_back(fmt::format("st{}.u8 [%rd1+3], %r3;", space));
      all->push_back(fmt::format("st{}.v4.u32 [%rd1], {{%r3, %r3, %r3, %r3}};", space));
      all->push_back(fmt::format("st{}.v2.u64 [%rd1-8], {{%rd3, %rd3}};", space));
    }
    for (const char* how : {"volatile", "relaxed.gpu", "release.sys"}) {
      all->push_back(fmt::format("st.{}.u64 [%rd1], %rd3;", how));
      all->push_back(fmt::format("st.{}.global.v2.u64 [%rd1], {{%rd3, %rd3}};", how));
    }
    all->push_back(
        "mov.u32 %r1, %tid.x; mul.wide.u32 %rd4, %r1, 4; add.u64 %rd4, %rd1, %rd4; st.global.u32 [%rd4], %r3;");
    all->push_back(
        "mov.u32 %r1, %tid.x; mul.wide.u32 %rd4, %r1, 16; sub.u64 %rd4, %rd1, %rd4; st.global.u32 [%rd4], %r3;");
    for (const char* space : {"", ".global"}) {
      for (const char* operation : {"add.u32", "inc.u32", "exch.b32", "min.s32"}) {
        all->push_back(fmt::format("atom{}.{} %r1, [%rd1], %r3;", space, operation));
        all->push_back(
            fmt::format("red{}.{} [%rd1], %r3;", space, operation == std::string("exch.b32") ? "xor.b32" : operation));
      }
      all->push_back(fmt::format("mov.u64 %rd4, {:#x}; atom{}.cas.b64 %rd5, [%rd1], %rd4, %rd3;", kSecret, space));
      all->push_back(fmt::format("mov.f32 %f1, 0f3F800000; atom{}.add.f32 %f2, [%rd1], %f1;", space));
      all->push_back(fmt::format("mov.f64 %d1, 0d3FF0000000000000; atom{}.add.f64 %d2, [%rd1], %d1;", space));
      all->push_back(fmt::format("atom{}.add.noftz.f16x2 %r1, [%rd1], %r3;", space));
      all->push_back(fmt::format("wmma.store.d.sync.aligned.row.m8n8k4{}.f64 [%rd1], {{%d1, %d2}}, 8;", space));
      all->push_back(
          fmt::format("wmma.store.d.sync.aligned.col.m16n16k16{}.f16 [%rd1], {{%r3, %r3, %r3, %r3}};", space));
    }
    for (const char* form : {"", ".trans"}) {
      all->push_back(fmt::format("stmatrix.sync.aligned.m8n8.x1{}.b16 [%rd1], {{%r3}};", form));
    }
    return all;
  }();
  return *writes;
}

TEST_F(EscapeTest, NothingElseIsRead) {
  Victims victims;
  for (const std::string& read : Reads()) {
    for (const std::string& body : {read, Suspending(read)}) {
      for (const Victim& victim : victims.all) {
        const absl::Status status = Run(Kernel(body), victim.address);
        ASSERT_EQ(CudaErrorOf(status), CudaError::kIllegalAddress) << victim.name << ": " << body << "\n" << status;
        ASSERT_TRUE(std::all_of(out_, out_ + 8, [](uint64_t word) { return word == 0; }))
            << victim.name << ": " << body;
      }
    }
    for (const Victim& victim : victims.all) {
      const absl::Status status = RunInRegions(Kernel(Suspending(read)), victim.address);
      ASSERT_EQ(CudaErrorOf(status), CudaError::kIllegalAddress) << victim.name << ": " << read << "\n" << status;
      ASSERT_TRUE(std::all_of(out_, out_ + 8, [](uint64_t word) { return word == 0; })) << victim.name << ": " << read;
    }
  }
}

// What the other tests try would succeed if nothing kept it from doing so.
TEST(WithoutWalls, KernelsReadAndWriteWhatTheyLike) {
  KernelRunner open("", {.confine = false});
  Victims victims;
  auto* out = open.Allocate<uint64_t>(1);
  const std::string body = "ld.u64 %rd4, [%rd1]; st.global.u64 [%rd2], %rd4; st.u64 [%rd1], %rd3;";
  for (const Victim& victim : victims.all) {
    if (!victim.writable) continue;
    ASSERT_TRUE(open.Run(Kernel(body), "k", {1}, {1}, Parameters().Add(victim.address).Add(out)).ok());
    EXPECT_EQ(*out, kSecret) << victim.name;
    EXPECT_EQ(*reinterpret_cast<const volatile uint64_t*>(victim.address), kMark) << victim.name;
  }
}

TEST_F(EscapeTest, NothingElseIsWritten) {
  Victims victims;
  for (const std::string& write : Writes()) {
    for (const std::string& body : {write, Suspending(write)}) {
      for (const Victim& victim : victims.all) {
        if (!victim.writable) continue;
        const absl::Status status = Run(Kernel(body), victim.address);
        ASSERT_EQ(CudaErrorOf(status), CudaError::kIllegalAddress) << victim.name << ": " << body << "\n" << status;
        ASSERT_TRUE(victims.Intact()) << victim.name << ": " << body;
      }
    }
    for (const Victim& victim : victims.all) {
      if (!victim.writable) continue;
      const absl::Status status = RunInRegions(Kernel(Suspending(write)), victim.address);
      ASSERT_EQ(CudaErrorOf(status), CudaError::kIllegalAddress) << victim.name << ": " << write << "\n" << status;
      ASSERT_TRUE(victims.Intact()) << victim.name << ": " << write;
    }
  }
}

// Of a shared address 32 bits count.
TEST_F(EscapeTest, SharedAddressesStayInTheWindow) {
  Victims victims;
  const std::vector<std::string> bodies = {"ld.shared.u64 %rd4, [%rd1]; st.global.u64 [%rd2], %rd4;",
                                           "st.shared.u64 [%rd1], %rd3;",
                                           "st.shared.v4.u32 [%rd1+4080], {%r3, %r3, %r3, %r3};",
                                           "atom.shared.add.u32 %r1, [%rd1], %r3;",
                                           "atom.shared.exch.b64 %rd4, [%rd1-8], %rd3;",
                                           "cp.async.ca.shared.global [%rd1], [%rd2], 16;",
                                           "mov.u32 %r1, 4; cp.async.ca.shared.global [%rd1], [%rd2], 8, %r1;",
                                           "sub.u64 %rd4, %rd1, 0; cvta.shared.u64 %rd4, %rd4; st.u64 [%rd4], %rd3;"};
  for (const std::string& body : bodies) {
    for (const Victim& victim : victims.all) {
      for (const bool regions : {false, true}) {
        const absl::Status status =
            regions ? RunInRegions(Kernel(Suspending(body)), victim.address) : Run(Kernel(body), victim.address);
        ASSERT_THAT(CudaErrorOf(status), AnyOf(CudaError::kSuccess, CudaError::kIllegalAddress)) << body << "\n"
                                                                                                 << status;
        ASSERT_TRUE(victims.Intact()) << victim.name << ": " << body;
        ASSERT_FALSE(Saw(kSecret)) << victim.name << ": " << body;
      }
    }
  }
}

TEST_F(EscapeTest, AddressesAtTheEdges) {
  const auto begin = reinterpret_cast<uint64_t>(runner_.memory().confined_begin());
  const uint64_t end = begin + runner_.memory().confined_bytes();
  const std::vector<std::string> bodies = {
      "st.u64 [%rd1], %rd3;",
      "st.u64 [%rd1+1048576], %rd3;",
      "st.u64 [%rd1-1048576], %rd3;",
      "mov.u32 %r1, 0x7fffffff; mul.wide.s32 %rd4, %r1, 8; add.u64 %rd4, %rd1, %rd4; st.u64 [%rd4], %rd3;",
      "mov.u32 %r1, %laneid; add.u32 %r1, %r1, 0x80000000; mul.wide.s32 %rd4, %r1, 8; add.u64 %rd4, %rd1, %rd4;"
      "st.u64 [%rd4], %rd3;",
      "mov.u32 %r1, %laneid; mul.lo.u32 %r1, %r1, 0x1234567; mul.wide.u32 %rd4, %r1, 8; add.u64 %rd4, %rd1, %rd4;"
      "ld.global.u32 %r2, [%rd4]; add.u32 %r2, %r2, 1; st.global.u32 [%rd4], %r2;"};
  for (const uint64_t address :
       {uint64_t{0}, uint64_t{8}, ~uint64_t{7}, uint64_t{1} << 63, uint64_t{0x7ffffffff000}, begin - 8, begin, end - 8,
        end, end + 8, runner_.memory().begin() - 8, uint64_t{runner_.memory().end()}}) {
    for (const std::string& body : bodies) {
      const absl::Status status = Run(Kernel(body), address);
      ASSERT_EQ(CudaErrorOf(status), CudaError::kIllegalAddress) << std::hex << address << ": " << body << "\n"
                                                                 << status;
    }
  }
}

TEST_F(EscapeTest, NoAddressButTheDevicesIsSeen) {
  const char* local = R"(
  .local .align 8 .b8 depot[64];
  mov.u64 %rd4, depot;
  cvta.local.u64 %rd5, %rd4;
  mov.u32 %r1, %clock;
  and.b32 %r1, %r1, 7;
  mul.wide.u32 %rd6, %r1, 8;
  add.u64 %rd6, %rd4, %rd6;
  st.local.u64 [%rd6], %rd3;
  st.global.u64 [%rd2], %rd5;
)";
  const char* allocated = R"(
  mov.u64 %rd7, 64;
  alloca.u64 %rd4, %rd7;
  st.local.u64 [%rd4], %rd3;
  st.global.u64 [%rd2], %rd4;
  stacksave.u64 %rd5;
  st.global.u64 [%rd2+8], %rd5;
)";
  const char* parameter =
      "  mov.u64 %rd4, address; st.global.u64 [%rd2], %rd4; cvta.param.u64 %rd5, %rd4;\n"
      "  st.global.u64 [%rd2+8], %rd5; ld.u64 %rd6, [%rd5]; add.u64 %rd6, %rd6, %rd5;\n"
      "  st.global.u64 [%rd2+16], %rd6;\n";
  const char* shared = "  cvta.shared.u64 %rd4, 0; st.global.u64 [%rd2], %rd4;\n";
  for (const std::string body : {local, allocated, parameter, shared}) {
    for (const std::string& text : {body, Suspending(body)}) {
      ASSERT_TRUE(Run(Kernel(text), 0, 1).ok()) << text;
      EXPECT_NE(out_[0], 0U) << text;
      for (int i = 0; i < 3; ++i) EXPECT_TRUE(out_[i] == 0 || IsDevices(out_[i])) << text << std::hex << out_[i];
    }
  }
}

// What was not set is zero or the session's own.
TEST_F(EscapeTest, UnsetValuesHoldNothingOfTheHosts) {
  std::string body =
      "  .local .align 8 .b8 depot[256];\n  st.global.u64 [%rd2], %rd19; cvt.u64.u32 %rd18, %r19;\n"
      "  st.global.u64 [%rd2+8], %rd18;\n";
  for (int i = 0; i < 16; ++i) {
    body += fmt::format("  ld.local.u64 %rd5, [depot+{}]; st.global.u64 [%rd2+{}], %rd5;\n", 8 * i, 16 + 8 * i);
  }
  body +=
      "  mov.u64 %rd6, depot; mov.u32 %r1, %clock; and.b32 %r1, %r1, 31; mul.wide.u32 %rd7, %r1, 8;\n"
      "  add.u64 %rd6, %rd6, %rd7; ld.local.u64 %rd8, [%rd6]; st.global.u64 [%rd2+256], %rd8;\n";
  for (const std::string& text : {body, Suspending(body)}) {
    ASSERT_TRUE(Run(Kernel(text), 0, 1).ok());
    for (int i = 0; i < 40; ++i) EXPECT_TRUE(out_[i] == 0 || IsDevices(out_[i])) << i << std::hex << " " << out_[i];
  }
}

TEST_F(EscapeTest, IndirectCallsGoNowhereElse) {
  const std::string module = ".func (.param .b64 r) f(.param .b64 a) { ret; }\n.global .u64 table[1] = {f};\n";
  const std::string body = R"(
  {
  .param .b64 given; .param .b64 got;
  st.param.b64 [given], %rd2;
  prototype: .callprototype (.param .b64 _) _ (.param .b64 _);
  call (got), %rd1, (given), prototype;
  }
)";
  Victims victims;
  for (const Victim& victim : victims.all) {
    const absl::Status status = Run(Kernel(body, module), victim.address);
    EXPECT_EQ(CudaErrorOf(status), CudaError::kIllegalInstruction) << status;
  }
}

TEST_F(EscapeTest, StackPointersOfTheKernelsChoosing) {
  Victims victims;
  const std::string module = R"(
.func (.param .b64 r) keep(.param .b64 a) {
  .reg .b64 %rd<9>; .reg .b32 %r<4>;
  .local .align 8 .b8 depot[64];
  ld.param.u64 %rd1, [a];
  mov.u64 %rd2, depot;
  and.b64 %rd3, %rd1, 56;
  add.u64 %rd2, %rd2, %rd3;
  st.local.u64 [%rd2], %rd1;
  ld.local.u64 %rd4, [depot+8];
  st.param.u64 [r], %rd4;
  ret;
})";
  const std::string body = R"(
  add.u64 %rd4, %rd1, 64;
  stackrestore.u64 %rd4;
  {
  .param .b64 given; .param .b64 got;
  st.param.b64 [given], %rd3;
  call (got), keep, (given);
  ld.param.b64 %rd5, [got];
  }
  mov.u64 %rd7, 16;
  alloca.u64 %rd6, %rd7;
  st.local.u64 [%rd6], %rd3;
  st.global.u64 [%rd2], %rd5;
)";
  for (const Victim& victim : victims.all) {
    for (const std::string& text : {body, Suspending(body)}) {
      const absl::Status status = Run(Kernel(text, module), victim.address);
      EXPECT_THAT(CudaErrorOf(status), AnyOf(CudaError::kIllegalAddress, CudaError::kLaunchFailure)) << status;
      EXPECT_TRUE(victims.Intact());
      EXPECT_FALSE(Saw(kSecret));
    }
  }
}

constexpr const char* kPrintf =
    ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
    ".global .align 1 .b8 say[10] = {115, 97, 121, 32, 37, 115, 33, 10, 0, 0};\n";

TEST_F(EscapeTest, PrintfPrintsTheSessionsOnly) {
  const std::string print = R"(
  {
  .param .b64 f; .param .b64 a; .param .b32 got;
  st.param.b64 [f], %rd8;
  st.param.b64 [a], %rd9;
  call (got), vprintf, (f, a);
  }
)";
  const char secret[] = "the secret of the host";
  const auto address = reinterpret_cast<uint64_t>(&secret[0]);
  // As the format, as the arguments, as a string among them.
  ASSERT_TRUE(Run(Kernel("  mov.u64 %rd8, %rd1; mov.u64 %rd9, %rd2;\n" + print, kPrintf), address, 1).ok());
  ASSERT_TRUE(Run(Kernel("  mov.u64 %rd8, say; mov.u64 %rd9, %rd1;\n" + print, kPrintf), address, 1).ok());
  ASSERT_TRUE(
      Run(Kernel("  st.global.u64 [%rd2], %rd1; mov.u64 %rd8, say; mov.u64 %rd9, %rd2;\n" + print, kPrintf), address, 1)
          .ok());
  EXPECT_EQ(runner_.printed(), "say (invalid)!\n");
}

TEST_F(EscapeTest, ConditionsOfGraphsAreTheSessions) {
  Victims victims;
  const std::string module = ".extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);\n";
  const std::string set = R"(
  {
  .param .b64 handle; .param .b32 value;
  st.param.b64 [handle], %rd1;
  st.param.b32 [value], %r3;
  call cudaGraphSetConditional, (handle, value);
  }
)";
  for (const Victim& victim : victims.all) {
    for (const std::string& text : {set, Suspending(set)}) {
      const absl::Status status = Run(Kernel(text, module), victim.address);
      EXPECT_EQ(CudaErrorOf(status), CudaError::kIllegalAddress) << victim.name << status;
      EXPECT_TRUE(victims.Intact());
    }
  }
}

TEST_F(EscapeTest, TheHeapIsTheDevices) {
  const std::string module =
      ".extern .func (.param .b64 r) malloc(.param .b64 n);\n.extern .func free(.param .b64 p);\n";
  const std::string allocate = R"(
  {
  .param .b64 n; .param .b64 got;
  st.param.b64 [n], 64;
  call (got), malloc, (n);
  ld.param.b64 %rd4, [got];
  st.global.u64 [%rd2], %rd4;
  }
)";
  ASSERT_TRUE(Run(Kernel(allocate, module), 0, 1).ok());
  EXPECT_TRUE(IsDevices(out_[0])) << std::hex << out_[0];
  const std::string release = "{ .param .b64 p; st.param.b64 [p], %rd1; call free, (p); }\n";
  Victims victims;
  for (const Victim& victim : victims.all) {
    EXPECT_EQ(CudaErrorOf(Run(Kernel(release, module), victim.address, 1)), CudaError::kIllegalAddress);
    EXPECT_TRUE(victims.Intact());
  }
}

// Of launches by kernels: where handles and addresses are written, what is launched, where its parameters lie.
TEST_F(EscapeTest, LaunchesAreTheSessions) {
  const std::string module =
      ".extern .func (.param .b32 r) __cudaCDP2StreamCreateWithFlags(.param .b64 to, .param .b32 flags);\n"
      ".extern .func (.param .b32 r) __cudaCDP2Malloc(.param .b64 to, .param .b64 bytes);\n"
      ".extern .func (.param .b32 r) __cudaCDP2Free(.param .b64 address);\n"
      ".extern .func (.param .b64 r) __cudaCDP2GetParameterBufferV2(.param .b64 kernel, .param .align 4 .b8 grid[12], "
      ".param .align 4 .b8 block[12], .param .b32 shared);\n"
      ".extern .func (.param .b32 r) __cudaCDP2LaunchDeviceV2(.param .b64 buffer, .param .b64 stream);\n";
  const std::string create = R"(
  {
  .param .b64 to; .param .b32 flags; .param .b32 got;
  st.param.b64 [to], %rd1;
  st.param.b32 [flags], 1;
  call (got), __cudaCDP2StreamCreateWithFlags, (to, flags);
  }
)";
  const std::string allocate = R"(
  {
  .param .b64 to; .param .b64 bytes; .param .b32 got;
  st.param.b64 [to], %rd1;
  st.param.b64 [bytes], 64;
  call (got), __cudaCDP2Malloc, (to, bytes);
  }
)";
  const std::string release = R"(
  {
  .param .b64 address; .param .b32 got;
  st.param.b64 [address], %rd1;
  call (got), __cudaCDP2Free, (address);
  }
)";
  // out[0]: where the parameters of a launch of `kernel` go; out[1]: what comes of launching what lies at `at`.
  const auto launch = [](const char* kernel, const char* at) {
    return fmt::format(R"(
  mov.u64 %rd9, {};
  {{
  .param .b64 kernel; .param .align 4 .b8 grid[12]; .param .align 4 .b8 block[12]; .param .b32 shared; .param .b64 got;
  st.param.b64 [kernel], %rd9;
  st.param.b32 [grid], 1; st.param.b32 [grid+4], 1; st.param.b32 [grid+8], 1;
  st.param.b32 [block], 1; st.param.b32 [block+4], 1; st.param.b32 [block+8], 1;
  st.param.b32 [shared], 0;
  call (got), __cudaCDP2GetParameterBufferV2, (kernel, grid, block, shared);
  ld.param.b64 %rd4, [got];
  }}
  st.global.u64 [%rd2], %rd4;
  {{
  .param .b64 buffer; .param .b64 stream; .param .b32 got;
  st.param.b64 [buffer], {};
  st.param.b64 [stream], 0;
  call (got), __cudaCDP2LaunchDeviceV2, (buffer, stream);
  ld.param.b32 %r4, [got];
  }}
  st.global.u32 [%rd2+8], %r4;
)",
                       kernel, at);
  };
  Victims victims;
  for (const Victim& victim : victims.all) {
    for (const std::string& text : {create, allocate, release}) {
      EXPECT_EQ(CudaErrorOf(Run(Kernel(text, module), victim.address, 1)), CudaError::kIllegalAddress) << victim.name;
      EXPECT_EQ(CudaErrorOf(RunInRegions(Kernel(Suspending(text), module), victim.address)), CudaError::kIllegalAddress)
          << victim.name;
    }
    ASSERT_TRUE(Run(Kernel(launch("%rd1", "%rd4"), module), victim.address, 1).ok());
    EXPECT_EQ(out_[0], 0u) << victim.name;
    EXPECT_EQ(out_[1], static_cast<uint64_t>(CudaError::kInvalidValue)) << victim.name;
    ASSERT_TRUE(Run(Kernel(launch("k", "%rd1"), module), victim.address, 1).ok());
    EXPECT_TRUE(IsDevices(out_[0])) << std::hex << out_[0];
    EXPECT_EQ(out_[1], static_cast<uint64_t>(CudaError::kInvalidValue)) << victim.name;
    EXPECT_TRUE(victims.Intact());
  }
  ASSERT_TRUE(Run(Kernel(launch("k", "%rd4"), module), 0, 1).ok());
  EXPECT_TRUE(IsDevices(out_[0])) << std::hex << out_[0];
  EXPECT_EQ(out_[1], 0u);
}

// A thread without end of local memory, or of calls.
TEST_F(EscapeTest, LocalMemoryIsFinite) {
  const std::string module = R"(
.func (.param .b64 r) deeper(.param .b64 a) {
  .reg .b64 %rd<9>;
  .local .align 8 .b8 depot[512];
  .param .b64 given; .param .b64 got;
  ld.param.u64 %rd1, [a];
  mov.u64 %rd2, depot;
  and.b64 %rd3, %rd1, 248;
  add.u64 %rd2, %rd2, %rd3;
  st.local.u64 [%rd2], %rd1;
  add.u64 %rd1, %rd1, 8;
  st.param.b64 [given], %rd1;
  call (got), deeper, (given);
  ld.param.b64 %rd4, [got];
  ld.local.u64 %rd5, [%rd2];
  add.u64 %rd4, %rd4, %rd5;
  st.param.u64 [r], %rd4;
  ret;
})";
  const std::string body = R"(
  {
  .param .b64 given; .param .b64 got;
  st.param.b64 [given], %rd1;
  call (got), deeper, (given);
  ld.param.b64 %rd5, [got];
  }
  st.global.u64 [%rd2], %rd5;
)";
  for (const std::string& text : {body, Suspending(body)}) {
    const absl::Status status = Run(Kernel(text, module), 0);
    EXPECT_EQ(CudaErrorOf(status), CudaError::kLaunchFailure) << status;
    EXPECT_THAT(std::string(Message(status)), HasSubstr("stack overflow"));
  }
}

// Nothing is ever writable and executable.
TEST_F(EscapeTest, CodeCannotBeWritten) {
  ASSERT_TRUE(Run(Kernel("  st.global.u64 [%rd2], %rd3;\n"), 0, 1).ok());
  std::ifstream maps("/proc/self/maps");
  std::stringstream text;
  text << maps.rdbuf();
  EXPECT_THAT(text.str(), HasSubstr("r-xp"));
  EXPECT_THAT(text.str(), Not(HasSubstr("wxp")));
  EXPECT_THAT(text.str(), Not(HasSubstr("wxs")));
}

}  // namespace
}  // namespace wharf::device::soft::testing
