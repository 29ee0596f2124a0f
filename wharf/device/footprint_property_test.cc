// Random kernels on the software device: one that is called oblivious writes nowhere but to the allocations it is said
// to write to, and to the same places whatever the memory holds.
//
// Every place in memory starts as something else than kMark; the kernels store nothing but kMark. So the places that
// hold it afterwards are those a kernel wrote.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstring>
#include <future>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "wharf/device/device.h"
#include "wharf/device/device_conformance.h"

namespace wharf::device {
namespace {

constexpr uint32_t kBuffers = 4, kWords = 256, kThreads = 4;
constexpr uint32_t kMark = 0xA5A5A5A5;
constexpr int kKernelsPerRun = 5;

// One statement: `kind` and what it takes; numbers are reduced to what there is.
struct Statement {
  uint32_t kind, a, b, c, value;
};
using Sketch = std::vector<Statement>;
using Contents = std::vector<std::vector<uint32_t>>;

constexpr std::string_view kHeader = R"(.version 7.0
.target sm_75
.address_size 64
.func (.param .b64 r) at(.param .b64 p, .param .b32 i) {
  .reg .b64 %rd<3>; .reg .b32 %r<2>;
  ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [i]; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd1, %rd1, %rd2;
  st.param.b64 [r], %rd1; ret;
}
.func put(.param .b64 to, .param .b32 value) {
  .reg .b64 %rd<2>; .reg .b32 %r<2>;
  ld.param.u64 %rd1, [to]; ld.param.u32 %r1, [value]; st.global.u32 [%rd1], %r1; ret;
}
.entry k(.param .u64 p0, .param .u64 p1, .param .align 8 .b8 rest[16], .param .u32 n) {
  .reg .b64 %p<4>, %a; .reg .b32 %i<8>, %t, %n<9>; .reg .pred %q<4>, %z;
  .shared .align 4 .b8 tile[16];
  ld.param.u64 %p0, [p0]; ld.param.u64 %p1, [p1]; ld.param.v2.u64 {%p2, %p3}, [rest]; ld.param.u32 %i3, [n];
  mov.u32 %t, %tid.x; mov.u32 %i0, %t; mov.u32 %i1, 0; mov.u32 %i2, 7;
  mov.u32 %i4, 9; mov.u32 %i5, %t; mov.u32 %i6, %i3; mov.u32 %i7, 1;
  setp.eq.u32 %q0, %t, 1; setp.ne.u32 %q1, %i3, 3; setp.eq.u32 %q2, %t, 2; setp.lt.u32 %q3, %i3, 5;
)";

class Writer {
 public:
  std::string Write(const Sketch& sketch) {
    text_ = kHeader;
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
  static std::string Pointer(uint32_t x) { return fmt::format("%p{}", x % 4); }
  static std::string Predicate(uint32_t x) { return fmt::format("%q{}", x % 4); }

  void Address(const Statement& s) {
    Line(fmt::format("and.b32 %t, {}, {};", Index(s.b), kWords - 1));
    if (s.value % 2 == 0) return Line(fmt::format("mad.wide.u32 %a, %t, 4, {};", Pointer(s.a)));
    Line(
        fmt::format("{{ .param .b64 x; .param .b32 y; .param .b64 z; st.param.b64 [x], {}; st.param.b32 [y], %t; "
                    "call (z), at, (x, y); ld.param.b64 %a, [z]; }}",
                    Pointer(s.a)));
  }
  void Close() {
    Line(blocks_.back().closing);
    blocks_.pop_back();
  }
  void CloseBlocks(size_t at) {
    while (!blocks_.empty() && blocks_.back().end <= at) Close();
  }

  void Add(const Statement& s, size_t at) {
    const std::string guard = s.c % 4 == 0 ? fmt::format("@{} ", Predicate(s.c / 4)) : "";
    switch (s.kind % 13) {
      case 0:
        return Line(fmt::format("{}add.u32 {}, {}, {};", guard, Index(s.a), Index(s.b), s.value % 64));
      case 1:
        return Line(fmt::format("{}xor.b32 {}, {}, {};", guard, Index(s.a), Index(s.b), Index(s.c)));
      case 2:
        return Line(fmt::format("mov.u32 {}, %tid.x;", Index(s.a)));
      case 3:
        Address(s);
        return Line(fmt::format("{}ld.global.u32 {}, [%a];", guard, Index(s.c)));
      case 4:
      case 5:
        Address(s);
        return Line(fmt::format("{}st.global.u32 [%a], {};", guard, kMark));
      case 6:
        Address(s);
        return Line(fmt::format("{}atom.global.exch.b32 {}, [%a], {};", guard, Index(s.c), kMark));
      case 7:
        return Line(fmt::format("setp.lt.u32 {}, {}, {};", Predicate(s.a), Index(s.b), s.value % 300));
      case 8:
        return Line(
            fmt::format("selp.b64 {}, {}, {}, {};", Pointer(s.a), Pointer(s.b), Pointer(s.c), Predicate(s.value)));
      case 9:
        Address(s);
        return Line(
            fmt::format("{{ .param .b64 x; .param .b32 y; st.param.b64 [x], %a; st.param.b32 [y], {}; {}call put, "
                        "(x, y); }}",
                        kMark, guard));
      case 10:  // through the thread's own word of shared memory
        Line("mov.u32 %n8, %tid.x; mov.u32 %t, tile; mad.lo.u32 %t, %n8, 4, %t;");
        return Line(fmt::format("st.shared.u32 [%t], {}; ld.shared.u32 {}, [%t];", Index(s.a), Index(s.b)));
      case 11:
        return Skip(s, at);
      default:
        return Loop(s, at);
    }
  }

  // The next few statements only if a predicate holds.
  void Skip(const Statement& s, size_t at) {
    const std::string label = fmt::format("S{}", at);
    Line(fmt::format("@{} bra {};", Predicate(s.a), label));
    Open(at + 1 + s.b % 3, label + ":");
  }
  // The next few statements some times, as an index says.
  void Loop(const Statement& s, size_t at) {
    if (blocks_.size() >= 3) return;  // depth, and so time, is bounded
    const std::string counter = fmt::format("%n{}", blocks_.size());
    Line(fmt::format("and.b32 {}, {}, 3;\nL{}:", counter, Index(s.a), at));
    Open(at + 1 + s.b % 4, fmt::format("setp.eq.u32 %z, {0}, 0; sub.u32 {0}, {0}, 1; @!%z bra L{1};", counter, at));
  }
  // Blocks lie in each other.
  void Open(size_t end, std::string closing) {
    if (!blocks_.empty()) end = std::min(end, blocks_.back().end);
    blocks_.push_back({end, std::move(closing)});
  }

  std::string text_;
  std::vector<Block> blocks_;
};

class Runner {
 public:
  Runner() : device_(*MakeSoftDevice({.memory_quota = 16 << 20, .threads = 1})) {
    const Arena& arena = device_->Arena();
    for (uint32_t i = 0; i < kBuffers; ++i) {
      buffers_.push_back(arena.base + 2 * i * arena.granularity);
      RC_ASSERT(device_->Map(buffers_.back(), arena.granularity) == absl::OkStatus());
    }
  }

  Footprint Load(const std::string& ptx) {
    device_->UnloadModule(1).IgnoreError();  // the one before, with its function
    RC_ASSERT(device_->LoadModule(1, BytesOf(ptx)) == absl::OkStatus());
    RC_ASSERT(device_->DefineFunction(1, 1, "k") == absl::OkStatus());
    return *device_->FootprintOf(1);
  }

  // Which words of each buffer the kernel wrote.
  std::vector<std::set<uint32_t>> WrittenBy(Contents contents, uint32_t n) {
    for (uint32_t i = 0; i < kBuffers; ++i) {
      RC_ASSERT(device_->CopyToDevice(0, {buffers_[i]}, {kWords * 4}, BytesOf(contents[i])) == absl::OkStatus());
    }
    std::vector<std::byte> parameters(36);
    std::memcpy(parameters.data(), buffers_.data(), 32);
    std::memcpy(parameters.data() + 32, &n, 4);
    RC_ASSERT(device_->Launch(0, 1, {{1}, {kThreads}}, parameters) == absl::OkStatus());
    std::vector<std::set<uint32_t>> written(kBuffers);
    for (uint32_t i = 0; i < kBuffers; ++i) {
      std::promise<std::vector<std::byte>> promise;
      RC_ASSERT(device_->CopyToHost(0, {buffers_[i]}, {kWords * 4}, [&](absl::Status, std::vector<std::byte> data) {
        promise.set_value(std::move(data));
      }) == absl::OkStatus());
      const std::vector<std::byte> data = promise.get_future().get();
      RC_ASSERT(data.size() == kWords * 4);
      for (uint32_t word = 0; word < kWords; ++word) {
        if (std::memcmp(data.data() + 4 * word, &kMark, 4) == 0) written[i].insert(word);
      }
    }
    return written;
  }

 private:
  std::unique_ptr<Device> device_;
  std::vector<DeviceAddress> buffers_;
};

Contents RandomContents(uint32_t seed) {
  std::mt19937 random(seed);
  Contents contents(kBuffers, std::vector<uint32_t>(kWords));
  for (auto& buffer : contents) {
    for (uint32_t& word : buffer) word = random() % 1000;
  }
  return contents;
}

struct Seen {
  int oblivious = 0, differing = 0;  // kernels, and those not called oblivious whose writes did differ
};

void CheckOne(Runner& runner, const Sketch& sketch, uint32_t n, Seen* seen) {
  const std::string ptx = Writer().Write(sketch);
  const Footprint footprint = runner.Load(ptx);
  const auto first = runner.WrittenBy(RandomContents(1), n), second = runner.WrittenBy(RandomContents(2), n);
  if (!footprint.oblivious) {
    seen->differing += first != second ? 1 : 0;
    return;
  }
  ++seen->oblivious;
  if (first != second) RC_FAIL("the writes depend on data:\n" + ptx);
  for (uint32_t i = 0; i < kBuffers; ++i) {
    const auto& claimed = footprint.written_parameters;
    const bool is_claimed = std::find(claimed.begin(), claimed.end(), 8 * i) != claimed.end();
    if (!is_claimed && !first[i].empty()) RC_FAIL(fmt::format("writes buffer {}, which is not claimed:\n{}", i, ptx));
  }
}

TEST(FootprintProperty, ObliviousKernelsWriteWhereTheySayWhateverTheData) {
  Runner runner;
  Seen seen;
  EXPECT_TRUE(rc::check([&] {
    const auto number = rc::gen::inRange<uint32_t>(0, 1 << 16);
    const auto statement = rc::gen::construct<Statement>(number, number, number, number, number);
    for (int i = 0; i < kKernelsPerRun; ++i) {
      CheckOne(runner, *rc::gen::resize(24, rc::gen::container<Sketch>(statement)), *rc::gen::inRange<uint32_t>(0, 8),
               &seen);
    }
  }));
  // Both sides were met: the property is not empty, and the kernels that were turned down do what was feared.
  EXPECT_GT(seen.oblivious, kKernelsPerRun);
  EXPECT_GT(seen.differing, kKernelsPerRun);
}

}  // namespace
}  // namespace wharf::device
