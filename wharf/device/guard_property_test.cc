// Random kernels that scatter, gather and loop as data tell them, guarded, on the software device: whatever memory
// holds, nothing outside the ranges changes, nothing faults, and they end. Where the guard saw no violation, the plain
// kernel, launched on the same memory, does the same to the last bit.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstring>
#include <future>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "wharf/device/device.h"
#include "wharf/device/device_conformance.h"

namespace wharf::device {
namespace {

// Each buffer is a page; the kernel is allowed `kRangeBytes` of it from `kRangeAt` on, which end inside a word. Beyond
// the page is no memory.
constexpr uint32_t kBuffers = 4, kPage = 4096, kRangeAt = 1024, kRangeBytes = 1022;
constexpr uint32_t kMark = 0xA5A5A5A5;
constexpr uint64_t kFuel = 300;
constexpr int kKernelsPerRun = 2;

// One statement: `kind` and what it takes; numbers are reduced to what there is.
struct Statement {
  uint32_t kind, a, b, c, value;
};
using Sketch = std::vector<Statement>;
using Pages = std::vector<std::vector<std::byte>>;

constexpr std::string_view kHeader = R"(.version 7.0
.target sm_75
.address_size 64
.entry k(.param .u64 p0, .param .u64 p1, .param .align 8 .b8 rest[16], .param .u32 n) {
  .reg .b64 %p<4>, %a, %l, %w; .reg .b32 %i<8>, %t, %s, %n<4>; .reg .b16 %h; .reg .pred %q<4>, %z;
  .shared .align 16 .b8 tile[64];
  .local .align 16 .b8 depot[32];
  ld.param.u64 %p0, [p0]; ld.param.u64 %p1, [p1]; ld.param.v2.u64 {%p2, %p3}, [rest]; ld.param.u32 %i3, [n];
  mov.u32 %t, %tid.x; mov.u32 %i0, %ctaid.x; mad.lo.u32 %i0, %i0, 16, %t; mov.u32 %i1, 0; mov.u32 %i2, 7;
  mov.u32 %i4, 9; mov.u32 %i5, %t; mov.u32 %i6, %i3; mov.u32 %i7, 1; mov.u64 %w, 5; mov.u16 %h, 3;
  setp.eq.u32 %q0, %t, 1; setp.ne.u32 %q1, %i3, 3; setp.eq.u32 %q2, %t, 2; setp.lt.u32 %q3, %i3, 5;
)";
constexpr std::string_view kClearOwn = R"(
  mov.u32 %t, 0; mov.u64 %l, depot;
  CLEAR: mov.u32 %s, tile; add.u32 %s, %s, %t; st.shared.u32 [%s], 0; add.u32 %t, %t, 4;
  setp.lt.u32 %z, %t, 64; @%z bra CLEAR;
  st.local.u64 [%l], %w; st.local.u64 [%l+8], %w; st.local.u64 [%l+16], %w; st.local.u64 [%l+24], %w;
)";

// `ordered`: threads run one after the other, so any of them may do anything. Otherwise they load from the last two
// buffers and store a constant to the first two, or or it in, so that their order makes no difference.
class Writer {
 public:
  explicit Writer(bool ordered) : ordered_(ordered) {}

  std::string Write(const Sketch& sketch) {
    text_ = kHeader;
    if (ordered_) text_ += kClearOwn;
    for (size_t at = 0; at < sketch.size(); ++at) {
      CloseBlocks(at);
      Add(sketch[at], at);
    }
    CloseBlocks(~size_t{0});
    return text_ + "  ret;\n}\n";
  }

 private:
  struct Block {
    size_t end;
    std::string closing;
  };
  void Line(std::string line) { text_ += "  " + std::move(line) + "\n"; }
  static std::string Index(uint32_t x) { return fmt::format("%i{}", x % 8); }
  static std::string Predicate(uint32_t x) { return fmt::format("%q{}", x % 4); }
  std::string Pointer(uint32_t x, bool store) const {
    return fmt::format("%p{}", ordered_ ? x % 4 : x % 2 + (store ? 0 : 2));
  }
  static std::string Guard(uint32_t x) {
    return x % 4 == 0 ? fmt::format("@{}{} ", x % 8 == 0 ? "!" : "", Predicate(x / 8)) : "";
  }

  // Puts an address into %a; mostly an aligned one.
  void Address(const Statement& s, bool store, uint32_t bytes) {
    const uint32_t scale = s.value % 8 == 0 ? 1 : bytes;
    Line(fmt::format("mad.wide.u32 %a, {}, {}, {};", Index(s.b), scale, Pointer(s.a, store)));
  }
  void Close() {
    Line(blocks_.back().closing);
    blocks_.pop_back();
  }
  void CloseBlocks(size_t at) {
    while (!blocks_.empty() && blocks_.back().end <= at) Close();
  }
  // From here to statement `end`, or to the end of the block this is in.
  void Open(size_t end, std::string closing) {
    if (!blocks_.empty()) end = std::min(end, blocks_.back().end);
    blocks_.push_back({end, std::move(closing)});
  }

  void Add(const Statement& s, size_t at) {
    switch (s.kind % 12) {
      case 0:
        return Line(fmt::format("{}add.u32 {}, {}, {};", Guard(s.c), Index(s.a), Index(s.b), s.value % 64));
      case 1:
        return Line(fmt::format("xor.b32 {}, {}, {};", Index(s.a), Index(s.b), Index(s.c)));
      case 2:
        return Line(fmt::format("setp.lt.u32 {}, {}, {};", Predicate(s.a), Index(s.b), s.value % 300));
      case 3: {
        const bool store = s.value % 2 == 0;  // which kind of pointer
        return Line(fmt::format("selp.b64 {}, {}, {}, {};", Pointer(s.a, store), Pointer(s.b, store),
                                Pointer(s.c, store), Predicate(s.value / 2)));
      }
      case 4:
      case 5:
        return Load(s);
      case 6:
      case 7:
        return Store(s);
      case 8:
        return Atomic(s);
      case 9:
        return ordered_ ? Own(s) : Line(fmt::format("mul.lo.u32 {}, {}, 3;", Index(s.a), Index(s.b)));
      case 10:
        Line(fmt::format("@{}{} bra S{};", s.value % 2 == 0 ? "!" : "", Predicate(s.a), at));
        return Open(at + 1 + s.b % 3, fmt::format("S{}:", at));
      default:
        return Loop(s, at);
    }
  }

  void Load(const Statement& s) {
    struct Kind {
      uint32_t bytes;
      std::string_view opcode, result, then;
    };
    static constexpr Kind kKinds[] = {
        {4, "ld.global.u32", "{0}", ""},
        {4, "ld.u32", "{0}", ""},
        {2, "ld.global.u16", "%h", "cvt.u32.u16 {0}, %h;"},
        {1, "ld.global.s8", "{0}", ""},
        {8, "ld.global.u64", "%w", "cvt.u32.u64 {0}, %w;"},
        {16, "ld.global.v4.u32", "{{{0}, {1}, %n3, _}}", ""},
        {8, "ld.global.v2.u32", "{{{0}, {1}}}", ""},
    };
    const Kind& kind = kKinds[s.value / 8 % std::size(kKinds)];
    Address(s, false, kind.bytes);
    const std::string first = Index(s.c), second = Index(s.c + 1);
    Line(fmt::format("{}{} {}, [%a{}];", Guard(s.c), kind.opcode, fmt::format(fmt::runtime(kind.result), first, second),
                     s.c % 3 == 0 ? "+8" : ""));
    if (!kind.then.empty()) Line(fmt::format(fmt::runtime(kind.then), first));
  }

  void Store(const Statement& s) {
    const std::string value = ordered_ ? Index(s.c) : fmt::format("{}", kMark);
    const uint32_t words = s.value / 8 % 3;  // 1, 2 or 4
    Address(s, true, 4U << words);
    const std::string_view vector = words == 0 ? "" : words == 1 ? ".v2" : ".v4";
    const std::string values =
        words == 0 ? value
                   : fmt::format("{{{}}}", fmt::join(std::vector<std::string>(size_t{1} << words, value), ", "));
    if (words != 0 && !ordered_) {  // a vector's elements are registers
      Line(fmt::format("mov.u32 %n3, {};", kMark));
      return Line(fmt::format("{}st.global.v2.u32 [%a+-4], {{%n3, %n3}};", Guard(s.c)));
    }
    Line(fmt::format("{}st.global{}.u32 [%a], {};", Guard(s.c), vector, values));
  }

  void Atomic(const Statement& s) {
    Address(s, true, 4);
    if (!ordered_) return Line(fmt::format("{}red.global.or.b32 [%a], {};", Guard(s.c), kMark));
    if (s.value % 2 == 0) return Line(fmt::format("{}atom.global.add.u32 {}, [%a], 3;", Guard(s.c), Index(s.c)));
    Line(fmt::format("{}atom.global.cas.b32 {}, [%a], {}, 77;", Guard(s.c), Index(s.c), Index(s.a)));
  }

  // Shared or local memory.
  void Own(const Statement& s) {
    if (s.value % 2 == 0) {
      Line(fmt::format("mov.u32 %s, tile; mad.lo.u32 %s, {}, 4, %s;", Index(s.a)));
      Line(fmt::format("{}st.shared.u32 [%s], {};", Guard(s.c), Index(s.b)));
      return Line(fmt::format("ld.shared.u32 {}, [%s+4];", Index(s.c)));
    }
    Line(fmt::format("mov.u64 %l, depot; mad.wide.u32 %l, {}, 4, %l;", Index(s.a)));
    Line(fmt::format("{}st.local.u32 [%l], {};", Guard(s.c), Index(s.b)));
    Line(fmt::format("ld.local.u32 {}, [%l+8];", Index(s.c)));
  }

  // The next few statements a few times, or as often as a word in memory says.
  void Loop(const Statement& s, size_t at) {
    if (blocks_.size() >= 2) return;  // depth, and so time, is bounded
    const std::string counter = fmt::format("%n{}", blocks_.size());
    if (s.value % 2 == 0) {
      Line(fmt::format("and.b32 {}, {}, 3;\nL{}:", counter, Index(s.a), at));
    } else {
      Line(fmt::format("ld.global.u32 {}, [{}];\nL{}:", counter, Pointer(s.a, false), at));
    }
    Open(at + 1 + s.b % 4, fmt::format("setp.eq.u32 %z, {0}, 0; sub.u32 {0}, {0}, 1; @!%z bra L{1};", counter, at));
  }

  bool ordered_;
  std::string text_;
  std::vector<Block> blocks_;
};

class Runner {
 public:
  Runner() : device_(*MakeSoftDevice({.memory_quota = 16 << 20, .threads = 1})) {
    const Arena& arena = device_->Arena();
    RC_ASSERT(arena.granularity == kPage);
    for (uint32_t i = 0; i <= kBuffers; ++i) {
      pages_.push_back(arena.base + 2 * i * kPage);
      RC_ASSERT(device_->Map(pages_.back(), kPage) == absl::OkStatus());
    }
    guard_ = {.violation = pages_[kBuffers], .fuel = kFuel};
    for (uint32_t i = 0; i < kBuffers; ++i) guard_.ranges.push_back({8 * i, Begin(i), kRangeBytes});
  }

  Footprint Load(const std::string& ptx) {
    device_->UnloadModule(1).IgnoreError();  // the one before, with its function
    RC_ASSERT(device_->LoadModule(1, BytesOf(ptx)) == absl::OkStatus());
    RC_ASSERT(device_->DefineFunction(1, 1, "k") == absl::OkStatus());
    return *device_->FootprintOf(1);
  }

  // What is in the pages after a launch.
  Pages After(bool guarded, const LaunchConfig& shape, const Pages& before, uint32_t n) {
    for (uint32_t i = 0; i < before.size(); ++i) {
      RC_ASSERT(device_->CopyToDevice(0, {pages_[i]}, {kPage}, before[i]) == absl::OkStatus());
    }
    std::vector<std::byte> parameters(36);
    for (uint32_t i = 0; i < kBuffers; ++i) {
      const DeviceAddress begin = Begin(i);
      std::memcpy(parameters.data() + 8 * i, &begin, 8);
    }
    std::memcpy(parameters.data() + 32, &n, 4);
    RC_ASSERT((guarded ? device_->LaunchGuarded(0, 1, shape, parameters, guard_)
                       : device_->Launch(0, 1, shape, parameters)) == absl::OkStatus());
    Pages after;
    for (const DeviceAddress page : pages_) after.push_back(Read(page));
    RC_ASSERT(device_->Fault() == absl::OkStatus());
    return after;
  }

 private:
  DeviceAddress Begin(uint32_t buffer) const { return pages_[buffer] + kRangeAt; }
  std::vector<std::byte> Read(DeviceAddress page) {
    std::promise<std::vector<std::byte>> promise;
    RC_ASSERT(device_->CopyToHost(0, {page}, {kPage}, [&](absl::Status, std::vector<std::byte> data) {
      promise.set_value(std::move(data));
    }) == absl::OkStatus());
    return promise.get_future().get();
  }

  std::unique_ptr<Device> device_;
  std::vector<DeviceAddress> pages_;  // the buffers', and the violation word's
  Guard guard_;
};

// What words are, as indices: inside every range, inside those of words, where ranges of words, pairs and quadruples
// end, and anything.
using Draw = uint32_t (*)(uint32_t random);
constexpr Draw kDraws[] = {
    [](uint32_t random) { return random % 4; },
    [](uint32_t random) { return random % 250; },
    [](uint32_t random) { return (64U << random % 3) - 1 + random / 4 % 2; },
    [](uint32_t random) { return random; },
};

Pages RandomPages(uint32_t seed, Draw draw) {
  std::mt19937 random(seed);
  Pages pages(kBuffers);
  for (auto& page : pages) {
    std::vector<uint32_t> words(kPage / 4);
    for (uint32_t& word : words) word = draw(static_cast<uint32_t>(random()));
    page = BytesOf(words);
  }
  pages.emplace_back(kPage);  // no violation
  return pages;
}

struct Seen {
  int violations = 0, clean = 0;  // launches of kernels that are not oblivious
};

// What must be as it was: all but the ranges of buffers that the kernel may write to, and the violation word.
void CheckOutside(const Footprint& footprint, const Pages& before, const Pages& after, const std::string& ptx) {
  for (uint32_t i = 0; i <= kBuffers; ++i) {
    const auto& written = footprint.written_parameters;
    const bool is_written = std::find(written.begin(), written.end(), 8 * i) != written.end();
    for (uint32_t at = 0; at < kPage; ++at) {
      const bool inside = i == kBuffers ? at < 4 : is_written && at >= kRangeAt && at < kRangeAt + kRangeBytes;
      if (!inside && before[i][at] != after[i][at]) RC_FAIL(fmt::format("byte {} of buffer {}:\n{}", at, i, ptx));
    }
  }
}

void CheckOne(Runner& runner, const Sketch& sketch, bool ordered, uint32_t n, Seen* seen) {
  const std::string ptx = Writer(ordered).Write(sketch);
  const Footprint footprint = runner.Load(ptx);
  if (footprint.oblivious) return;  // those need no guard
  if (!footprint.guardable) RC_FAIL(footprint.reason + ":\n" + ptx);
  const LaunchConfig shape = ordered ? LaunchConfig{{4}, {1}} : LaunchConfig{{2}, {16}};
  for (const Draw draw : kDraws) {
    const Pages before = RandomPages(n + 1, draw), after = runner.After(true, shape, before, n);
    CheckOutside(footprint, before, after, ptx);
    const std::byte violated = after[kBuffers][0];
    ++(violated == std::byte{0} ? seen->clean : seen->violations);
    if (violated != std::byte{0}) continue;
    if (runner.After(false, shape, before, n) != after) RC_FAIL("the guarded kernel does something else:\n" + ptx);
  }
}

TEST(GuardProperty, GuardedKernelsKeepToTheirRangesAndDoTheSame) {
  Runner runner;
  Seen seen;
  int drawn = 0;
  EXPECT_TRUE(rc::check([&] {
    const auto number = rc::gen::inRange<uint32_t>(0, 1 << 16);
    const auto statement = rc::gen::construct<Statement>(number, number, number, number, number);
    for (int i = 0; i < kKernelsPerRun; ++i) {
      ++drawn;
      CheckOne(runner, *rc::gen::resize(20, rc::gen::container<Sketch>(statement)), i % 2 == 0,
               *rc::gen::inRange<uint32_t>(0, 8), &seen);
    }
  }));
  // Both sides were met.
  EXPECT_GT(seen.clean, drawn / 4);
  EXPECT_GT(seen.violations, drawn / 4);
}

}  // namespace
}  // namespace wharf::device
