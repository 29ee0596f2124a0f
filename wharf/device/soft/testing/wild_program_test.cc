// Random kernels with wild addresses: whatever they do, not one byte changes but in device memory. Some are loops over
// a block's threads, some run on suspendable threads, some as regions between barriers (widen/regions.h), where
// addresses pass through shuffles and shared memory.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <memory>
#include <random>

#include "wharf/base/test_environment.h"
#include "wharf/device/cuda_error.h"
#include "wharf/device/soft/testing/compiler_testing.h"

namespace wharf::device::soft::testing {
namespace {

using ::testing::AnyOf;

constexpr int kKernels = 150, kLaunchesPerKernel = 40;  // WHARF_WILD_KERNELS, WHARF_WILD_SEED
constexpr uint64_t kWithBarriers = 50;                  // per cent of them; WHARF_WILD_BARRIERS
// Most kernels are small, since what a kernel takes is the time to compile it: so there are many more of them, which
// differ more. One in so many is large.
constexpr int kOneLargeIn = 16;
// What a kernel is given: half of them addresses, half of them numbers to add. Only some are wild, so that a launch
// comes past its first accesses.
constexpr size_t kWords = 32, kAddresses = kWords / 2;
constexpr size_t kOwnBytes = 4 << 20;
constexpr size_t kCanaryBytes = 4096;

using Random = std::mt19937_64;

template <typename T>
const T& Pick(Random& random, const std::vector<T>& from) {
  return from[random() % from.size()];
}

// --- kernels ---

// Registers: %a0.. addresses, %w0.. and %l0.. numbers of 32 and 64 bits, as many of each as are asked for, %p
// predicates. An address that is given stays one by most of what is done with it, if the numbers are small.
class Generator {
 public:
  // Threads that meet do so at barriers anywhere, and exchange addresses.
  Generator(Random& random, bool meets, bool large)
      : random_(random),
        meets_(meets),
        registers_(large ? 8 : 2 + random_() % 3),
        statements_(large ? 3 + random_() % 8 : 1 + random_() % 3),
        rounds_(large ? 50 : 4) {}

  std::string Run() {
    std::string body;
    for (uint64_t i = 0; i < registers_; ++i) body += Load(i);
    if (meets_) body += "  bar.sync 0;\n";
    for (uint64_t i = 0; i < statements_; ++i) {
      body += Statement();
      if (meets_ && Chance(2)) body += Exchange();
      if (meets_ && Chance(3)) body += "  bar.sync 0;\n";
    }
    return Header() + body + Store() + "  ret;\n}\n";
  }

 private:
  bool Chance(int one_in) { return random_() % static_cast<unsigned>(one_in) == 0; }
  std::string Register(const char* kind) { return fmt::format("%{}{}", kind, random_() % registers_); }
  std::string Address() { return Register("a"); }
  std::string Offset(std::vector<int64_t> near) {
    const std::vector<int64_t> far = {1 << 20, -(1 << 20), 0x7fffffff, -0x7fffffff};
    const int64_t offset = Pick(random_, Chance(20) ? far : near);
    return offset < 0 ? fmt::format("{}", offset) : fmt::format("+{}", offset);
  }
  // Where a space is named, mostly in its window.
  std::string At(std::string_view space = "") {
    const bool window = space == ".local" || space == ".shared";
    if (window && !Chance(8)) return fmt::format("[{}{}]", Register("l"), Offset({0, 0, 4, 8, 64}));
    return fmt::format("[{}{}]", Address(), Offset({0, 0, 4, 8, -8, 64, 4096, -4096}));
  }

  static std::string Header() {
    return R"(.version 8.8
.target sm_90
.address_size 64
.func (.param .b64 r) keep(.param .b64 a, .param .b64 b) {
  .reg .b64 %l<9>;
  .local .align 8 .b8 depot[128];
  ld.param.u64 %l1, [a];
  ld.param.u64 %l2, [b];
  mov.u64 %l3, depot;
  add.u64 %l4, %l3, %l2;
  st.local.u64 [%l4], %l1;
  and.b64 %l5, %l2, 120;
  add.u64 %l5, %l3, %l5;
  ld.u64 %l6, [%l5];
  st.param.u64 [r], %l6;
  ret;
}
.visible .entry k(.param .u64 words, .param .u64 out, .param .u32 n) {
  .reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %w<9>, %n; .reg .b64 %a<9>; .reg .b64 %l<9>; .reg .f32 %f<9>; .reg .f64 %d<9>;
  .shared .align 16 .b8 window[512];
  .local .align 16 .b8 depot[64];
)";
  }

  // Fills %a, %l and %w number i.
  std::string Load(uint64_t i) {
    const std::string each =
        Chance(2)
            ? fmt::format("  mov.u32 %w{0}, %tid.x; mad.lo.u32 %w{0}, %w{0}, {1}, {2}; and.b32 %w{0}, %w{0}, {3};\n", i,
                          random_() % 5, random_() % kAddresses, kAddresses - 1)
            : fmt::format("  mov.u32 %w{}, {};\n", i, random_() % kAddresses);
    return each + fmt::format(
                      "  ld.param.u64 %a{0}, [words]; mul.wide.u32 %l{0}, %w{0}, 8; add.u64 %l{0}, %a{0}, %l{0};\n"
                      "  ld.global.u64 %a{0}, [%l{0}]; ld.global.u64 %l{0}, [%l{0}+{1}]; cvt.u32.u64 %w{0}, %l{0};\n",
                      i, 8 * kAddresses);
  }

  // Something of all registers, so that nothing they hold is left out as unused.
  std::string Store() {
    std::string lines;
    for (uint64_t i = 0; i < registers_; ++i) {
      lines +=
          fmt::format("  xor.b64 %l{0}, %l{0}, %a{0}; cvt.u64.u32 %a{0}, %w{0}; xor.b64 %l{0}, %l{0}, %a{0};\n", i);
      if (i > 0) lines += fmt::format("  xor.b64 %l0, %l0, %l{};\n", i);
    }
    return lines +
           "  ld.param.u64 %a0, [out]; mov.u32 %w0, %tid.x; mul.wide.u32 %l8, %w0, 8; add.u64 %a0, %a0, %l8;\n"
           "  st.global.u64 [%a0], %l0;\n";
  }

  std::string Arithmetic() {
    const std::string to = Address(), a = Address(), b = Register("a"), w = Register("w"), l = Register("l");
    constexpr uint64_t kKeepsAddresses = 10, kAll = 15;
    switch (random_() % (Chance(8) ? kAll : kKeepsAddresses)) {
      case 0:
        return fmt::format("add.u64 {}, {}, {};", to, a, l);
      case 1:
        return fmt::format("mul.wide.s32 {3}, {2}, {4}; add.u64 {0}, {1}, {3};", to, a, w, l, 1 << random_() % 5);
      case 2:
        return fmt::format("mul.wide.u32 {3}, {2}, {4}; sub.u64 {0}, {1}, {3};", to, a, w, l, 1 + random_() % 100);
      case 3:
        return fmt::format("mov.u32 {2}, %tid.x; mul.wide.u32 {3}, {2}, 4; add.u64 {0}, {1}, {3};", to, a, w, l);
      case 4:
        return fmt::format("mad.lo.u64 {}, {}, {}, {};", to, l, 1 + random_() % 9, a);
      case 5:
        return fmt::format("cvt.s64.s32 {2}, {1}; shl.b64 {2}, {2}, 3; add.u64 {0}, {0}, {2};", to, w, l);
      case 6:
        return fmt::format("setp.lt.u32 %p1, {2}, 77; selp.b64 {0}, {1}, {3}, %p1;", to, a, w, b);
      case 7:
        return fmt::format("ld.param.u64 {0}, [out]; add.u64 {0}, {0}, {1};", to, l);
      case 8:
        return fmt::format("mov.u64 {0}, window; cvta.shared.u64 {0}, {0}; add.u64 {0}, {0}, {1};", to, l);
      case 9:
        return fmt::format("mov.u64 {0}, depot; cvta.local.u64 {0}, {0}; add.u64 {0}, {0}, {1};", to, l);
      case 10:
        return fmt::format("xor.b64 {}, {}, {};", to, a, b);
      case 11:
        return fmt::format("shl.b64 {}, {}, {};", to, a, random_() % 64);
      case 12:
        return fmt::format("cvta.shared.u64 {}, {};", to, a);
      case 13:
        return fmt::format("mov.u64 {0}, words; add.u64 {0}, {0}, {1};", to, l);
      default:
        return fmt::format("and.b64 {}, {}, {:#x};", to, a, random_() >> random_() % 64);
    }
  }

  std::string Access() {
    const std::string space = Pick<std::string>(random_, {"", "", ".global", ".local", ".shared"});
    const std::string device = space == ".local" ? "" : space;
    const std::string w = Register("w"), l = Register("l"), at = At(space);
    const std::string in_window = Chance(8) ? Address() : l;
    switch (random_() % 18) {
      case 0:
        return fmt::format("ld{}.u32 {}, {};", space, w, at);
      case 1:
        return fmt::format("ld{}.u64 {}, {};", space, Address(), at);  // an address made of what is there
      case 2:
        return fmt::format("ld{}.v4.u32 {{%w0, %w1, %w2, %w3}}, {};", space, at);
      case 3:
        return fmt::format("ld{}.v2.u64 {{%l0, %l1}}, {};", space, at);
      case 4:
        return fmt::format("st{}.u8 {}, {};", space, at, w);
      case 5:
        return fmt::format("st{}.u32 {}, {};", space, at, w);
      case 6:
        return fmt::format("st{}.u64 {}, {};", space, at, l);
      case 7:
        return fmt::format("st{}.v4.u32 {}, {{%w0, %w1, %w2, %w3}};", space, at);
      case 8:
        return fmt::format("st{}.v2.f64 {}, {{%d0, %d1}};", space, at);
      case 9:
        return fmt::format("st.volatile{}.u32 {}, {};", device, at, w);
      case 10:
        return fmt::format("atom{}.add.u32 {}, {}, {};", device, w, at, w);
      case 11:
        return fmt::format("atom{0}.cas.b64 {1}, {2}, {1}, {3};", device, l, at, Register("l"));
      case 12:
        return fmt::format("atom{}.exch.b32 {}, {}, {};", device, w, at, w);
      case 13:
        return fmt::format("red{}.max.u64 {}, {};", device, at, l);
      case 14:
        return fmt::format("atom{}.add.f32 %f1, {}, %f2;", device, at);
      case 15:
        return fmt::format("cp.async.ca.shared.global [{}], {}, 16;", in_window, At());
      case 16:
        return fmt::format("cp.async.ca.shared.global [{}], {}, 8, {};", in_window, At(), w);
      default:
        return fmt::format(
            "{{ .param .b64 x; .param .b64 y; .param .b64 z; st.param.b64 [x], {}; st.param.b64 [y], {};"
            " call (z), keep, (x, y); ld.param.b64 {}, [z]; }}",
            Address(), in_window, Address());
    }
  }

  // An address comes from another thread: half of it by a shuffle, or all of it through the window.
  std::string Exchange() {
    const std::string to = Address();
    if (Chance(2)) {
      const std::string w = Register("w");
      return fmt::format(
          "  cvt.u32.u64 {0}, {1}; shfl.sync.{2}.b32 {0}, {0}, {3}, 31, 0xffffffff;\n"
          "  cvt.u64.u32 {4}, {0}; and.b64 {5}, {5}, 0xffffffff00000000; or.b64 {5}, {5}, {4};\n",
          w, Address(), Chance(2) ? "idx" : "bfly", random_() % 32, Register("l"), to);
    }
    return fmt::format(
        "  mov.u32 %w8, %tid.x; and.b32 %w8, %w8, 63; mul.wide.u32 %l8, %w8, 8; mov.u64 %a8, window;\n"
        "  add.u64 %l8, %a8, %l8; st.shared.u64 [%l8], {0};\n  bar.sync 0;\n"
        "  add.u32 %w8, %w8, {1}; and.b32 %w8, %w8, 31; mul.wide.u32 %l8, %w8, 8; add.u64 %l8, %a8, %l8;\n"
        "  ld.shared.u64 {2}, [%l8];\n  bar.sync 0;\n",
        Address(), random_() % 32, to);
  }

  std::string Statement() {
    std::string lines;
    for (uint64_t i = 0; i < 1 + random_() % 3; ++i) lines += "  " + Arithmetic() + "\n";
    const std::string access = Access();
    switch (random_() % 5) {
      case 0: {  // some threads only
        const std::string label = fmt::format("SKIP{}", labels_++);
        return lines + fmt::format("  setp.lt.u32 %p2, {}, {};\n  @!%p2 bra {};\n  {}\n{}:\n", Register("w"),
                                   uint32_t{1} << random_() % 32, label, access, label);
      }
      case 1: {  // pointers that walk
        const std::string label = fmt::format("LOOP{}", labels_++);
        const bool known = Chance(2);
        // A kernel that has the address of its parameters may have written over them.
        const std::string count = known ? "" : "ld.param.u32 %n, [n]; min.u32 %n, %n, 64;";
        const std::string rounds = known ? fmt::format("{}", 1 + random_() % rounds_) : "%n";
        return lines + fmt::format(
                           "  mov.u32 %w8, 0; {5}\n{0}:\n  {1}\n  add.s64 {2}, {2}, {3};\n  add.u32 %w8, %w8, 1;\n"
                           "  setp.lt.u32 %p3, %w8, {4};\n  @%p3 bra {0};\n",
                           label, access, Address(), static_cast<int64_t>(random_() % 200) - 100, rounds, count);
      }
      default:
        return lines + "  " + access + "\n";
    }
  }

  Random& random_;
  const bool meets_;
  const uint64_t registers_, statements_;
  const uint64_t rounds_;  // of a loop at most, if it is known how many they are
  int labels_ = 0;
};

// --- what must not change ---

uint64_t g_canary[kCanaryBytes / 8];

class Canaries {
 public:
  explicit Canaries(const KernelRunner& runner) : heap_(kCanaryBytes / 8), other_(Memory::Create(1 << 20).value()) {
    Add(g_canary);
    Add(heap_.data());
    Add(reinterpret_cast<uint64_t*>(other_->Allocate(kCanaryBytes).value()));
    // Right before and behind the range.
    const auto begin = reinterpret_cast<uint64_t>(runner.memory().confined_begin()) - kAddressSlack;
    const uint64_t end = begin + runner.memory().confined_bytes() + 2 * kAddressSlack;
    for (const uint64_t at : {begin - kCanaryBytes, end}) {
      void* page = mmap(reinterpret_cast<void*>(at), kCanaryBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
      if (page == MAP_FAILED) continue;
      pages_.push_back(page);
      Add(static_cast<uint64_t*>(page));
    }
  }
  ~Canaries() {
    for (void* page : pages_) munmap(page, kCanaryBytes);
  }
  Canaries(const Canaries&) = delete;
  Canaries& operator=(const Canaries&) = delete;

  void Add(uint64_t* words) {
    for (size_t i = 0; i < kCanaryBytes / 8; ++i) words[i] = Value(i);
    all_.push_back(words);
  }
  bool Intact() const {
    for (const uint64_t* words : all_) {
      for (size_t i = 0; i < kCanaryBytes / 8; ++i) {
        if (words[i] != Value(i)) return false;
      }
    }
    return true;
  }
  uint64_t Somewhere(Random& random) const {
    return reinterpret_cast<uint64_t>(Pick(random, all_)) + random() % kCanaryBytes;
  }

 private:
  static uint64_t Value(size_t i) { return (i + 1) * 0x9e3779b97f4a7c15; }

  std::vector<uint64_t> heap_;
  std::unique_ptr<Memory> other_;
  std::vector<void*> pages_;
  std::vector<uint64_t*> all_;
};

uint64_t WildAddress(Random& random, const Canaries& canaries, const KernelRunner& runner, const std::byte* own) {
  const auto begin = reinterpret_cast<uint64_t>(runner.memory().confined_begin());
  switch (random() % 8) {
    case 0:
      return random();
    case 1:
      return random() >> random() % 64;
    case 2:
      return begin + runner.memory().confined_bytes() - 4096 + random() % 8192;
    case 3:
      return begin - 4096 + random() % 8192;
    case 4:
      return reinterpret_cast<uint64_t>(&runner) + random() % 4096;
    case 5:
      return canaries.Somewhere(random) - reinterpret_cast<uint64_t>(own);  // a difference, to be added
    default:
      return canaries.Somewhere(random);
  }
}

// Somewhere in the middle half of what the kernel owns.
uint64_t OwnAddress(Random& random, const std::byte* own) {
  return reinterpret_cast<uint64_t>(own) + kOwnBytes / 4 + random() % (kOwnBytes / 16) * 8;
}

// What a kernel is given for one launch. Its own memory begins with addresses, too, for those that it loads.
void Fill(Random& random, const Canaries& canaries, const KernelRunner& runner, std::byte* own, uint64_t* words) {
  const uint64_t wild_of_hundred = Pick<uint64_t>(random, {0, 2, 10, 50, 100});
  const auto wild = [&] { return random() % 100 < wild_of_hundred; };
  const auto address = [&] { return wild() ? WildAddress(random, canaries, runner, own) : OwnAddress(random, own); };
  for (size_t i = 0; i < kAddresses; ++i) words[i] = address();
  for (size_t i = kAddresses; i < kWords; ++i) {
    words[i] = wild() ? WildAddress(random, canaries, runner, own) : random() % 50 * 8;
  }
  uint64_t some[256];
  for (uint64_t& each : some) each = address();
  uint64_t at = random();
  for (size_t i = 0; i < kOwnBytes; i += 4096) {
    for (int k = 0; k < 8; ++k) reinterpret_cast<uint64_t*>(own + i)[k] = some[(at += 0x9e3779b97f4a7c15) >> 56];
  }
}

TEST(WildProgram, NothingElseChanges) {
  const uint64_t kernels = FromEnvironment("WHARF_WILD_KERNELS", kKernels);
  const uint64_t seed = FromEnvironment("WHARF_WILD_SEED", 1);
  const uint64_t with_barriers = FromEnvironment("WHARF_WILD_BARRIERS", kWithBarriers);
  constexpr uint64_t kKernelsPerRunner = 200;  // a compiler keeps the code it made
  uint64_t stack[kCanaryBytes / 8];
  uint64_t completed = 0, in_regions = 0, on_stacks = 0;
  for (uint64_t k = 0; k < kernels;) {
    KernelRunner runner;
    Canaries canaries(runner);
    canaries.Add(stack);
    auto* words = runner.Allocate<uint64_t>(kWords);
    auto* own = runner.Allocate<std::byte>(kOwnBytes);
    for (uint64_t i = 0; i < kKernelsPerRunner && k < kernels; ++i, ++k) {
      Random random(seed + k);
      const bool meets = random() % 100 < with_barriers, by_shape = meets && random() % 4 != 0;
      const bool narrow = !meets && random() % 4 == 0;  // without lanes
      // Whole warps, or not.
      const uint32_t threads = random() % 2 == 0 ? 64 : 48;
      const std::string text = Generator(random, meets, random() % kOneLargeIn == 0).Run();
      for (int launch = 0; launch < kLaunchesPerKernel; ++launch) {
        Fill(random, canaries, runner, own, words);  // the kernel may have written over them
        const Dim3 block{by_shape || launch % 2 == (narrow ? 1 : 0) ? threads : 1U};
        const Parameters parameters = Parameters().Add(words).Add(own).Add(threads);
        const absl::Status status = launch > 0           ? runner.RunAgain("k", {1}, block, parameters)
                                    : by_shape || narrow ? runner.RunByShape(text, "k", {1}, block, parameters)
                                                         : runner.Run(text, "k", {1}, block, parameters);
        ASSERT_THAT(CudaErrorOf(status),
                    AnyOf(CudaError::kSuccess, CudaError::kIllegalAddress, CudaError::kLaunchFailure))
            << "seed " << seed + k << ": " << status << "\n"
            << text;
        ASSERT_TRUE(canaries.Intact()) << "seed " << seed + k << "\n" << text;
        if (status.ok()) ++completed;
      }
      if (meets) ++(runner.kernel()->mode == ExecutionMode::kLoop ? in_regions : on_stacks);
    }
  }
  RecordProperty("completed", std::to_string(completed));
  RecordProperty("in_regions", std::to_string(in_regions));
  EXPECT_GE(completed, kernels * kLaunchesPerKernel / 20);  // most do not end at the first access
  EXPECT_GE(in_regions, kernels * with_barriers / 100 / 5);
  EXPECT_GE(on_stacks, kernels * with_barriers / 100 / 10);
}

}  // namespace
}  // namespace wharf::device::soft::testing
