#include "wharf/device/soft/testing/region_program.h"

#include <fmt/format.h>

#include <array>
#include <iterator>
#include <string_view>

#include "wharf/base/mersenne_random.h"

namespace wharf::device::soft::testing {
namespace {

constexpr Dim3 kShapes[] = {{32, 1, 1},  {64, 1, 1}, {256, 1, 1}, {100, 1, 1}, {33, 1, 1}, {7, 1, 1}, {1, 1, 1},
                            {16, 16, 1}, {8, 8, 1},  {32, 4, 1},  {64, 2, 2},  {20, 3, 1}, {4, 4, 4}, {128, 1, 1}};
// Mostly those of small programs: what each group of lanes does is compiled once more, if there are few.
constexpr Dim3 kSmallShapes[] = {{32, 1, 1}, {64, 1, 1}, {33, 1, 1}, {7, 1, 1}, {1, 1, 1}, {8, 8, 1}, {4, 4, 4}};

// Ends lines that InStep leaves out.
constexpr std::string_view kInStep = "  // in step";

// Where a statement stands: what all threads of the block, or of the warp, do together may stand there.
enum class Together { kBlock, kWarp, kNobody };

class RegionGenerator {
 public:
  RegionGenerator(uint64_t seed, const Dim3& block, bool warps, RegionProgramSize size)
      : random_(seed),
        block_(block),
        warps_(warps),
        small_(size == RegionProgramSize::kSmall),
        unrolled_(seed % 5 > 1),
        in_step_(seed % 7 == 3) {
    if (!small_) return;
    registers_ = 1 + Below(3);
    most_inside_ = 2;
    depth_ = 2;
    own_ = Chance(3);
  }

  std::string Run() {
    Line("mov.u32 %t, %tid.x; mov.u32 %a, %tid.y; mov.u32 %b, %tid.z;");
    Line(fmt::format("mad.lo.u32 %a, %b, {}, %a; mad.lo.u32 %t, %a, {}, %t;", block_.y, block_.x));
    Line("mov.u32 %u, %ctaid.x; ld.param.u64 %in, [in]; ld.param.u64 %out, [out];");
    Line(fmt::format("mad.lo.u32 %a, %u, {}, %t; mul.wide.u32 %o, %a, {};", block_.Count(), 4 * registers_));
    Line("add.u64 %in, %in, %o; add.u64 %out, %out, %o;");
    for (uint32_t i = 0; i < registers_; ++i) Line(fmt::format("ld.global.u32 %r{}, [%in+{}];", i, 4 * i));
    // So that whatever is read later is known.
    for (int i = 0; own_ && i < 8; ++i) Line(fmt::format("st.local.u32 [own+{}], {};", 4 * i, 7 * i));
    Line("shl.b32 %a, %t, 2; mov.u32 %b, tile; add.u32 %a, %a, %b; st.shared.u32 [%a], 0; bar.sync 0;");
    if (Chance(4)) {  // some threads end at once, in memory what they began with
      StoreAll();
      Line(fmt::format("setp.ge.u32 %p, %t, {};", Below(static_cast<uint32_t>(block_.Count()) + 4)));
      Line("@%p exit;");
    }
    if (small_) Meeting();
    Statements(Together::kBlock, depth_, small_ ? Below(2) : 5 + Below(6));
    StoreAll();
    return fmt::format(R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{{
  .reg .b32 %r<{}>; .reg .b32 %t, %u, %a, %b, %c, %i<16>; .reg .b64 %in, %out, %o, %m; .reg .pred %p, %q;
  .shared .align 4 .b8 tile[4096]; .local .align 4 .b8 own[32];
{}  ret;
}}
)",
                       registers_, text_);
  }

  uint32_t registers() const { return registers_; }

 private:
  uint32_t Below(uint32_t end) { return static_cast<uint32_t>(random_.Next() % end); }
  bool Chance(uint32_t one_in) { return Below(one_in) == 0; }
  void Line(const std::string& line) { text_ += "  " + line + "\n"; }
  std::string Register() { return fmt::format("%r{}", Below(registers_)); }
  std::string Value() {
    switch (Below(4)) {
      case 0:
        return fmt::format("{}", Below(100));
      case 1:
        return "%t";
      default:
        return Register();
    }
  }
  // The same in all threads of the block.
  std::string Uniform() { return loops_ > 0 && Chance(2) ? fmt::format("%i{}", loops_ - 1) : Chance(2) ? "%u" : "3"; }
  void StoreAll() {
    for (uint32_t i = 0; i < registers_; ++i) Line(fmt::format("st.global.u32 [%out+{}], %r{};", 4 * i, i));
  }
  std::string Label() { return fmt::format("L{}", labels_++); }

  void Statements(Together together, int depth, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) Statement(together, depth);
  }

  // What no small program is without: threads that meet, or part.
  void Meeting() {
    if (in_step_ && Chance(2)) return ExchangeInStep();
    switch (Below(warps_ ? 6 : 4)) {
      case 0:
        return Exchange();
      case 1:
        return Reduction();
      case 2:
        return unrolled_ && Chance(2) ? UnrolledLoop(Together::kBlock, depth_) : Loop(Together::kBlock, depth_);
      case 3:
        return Branch(Together::kBlock, depth_);
      default:
        return WarpOperation();
    }
  }

  void Statement(Together together, int depth) {
    const uint32_t kind = Below(12);
    if (together == Together::kBlock && kind < 3) return Exchange();
    if (together == Together::kBlock && kind == 3) return Reduction();
    if (together != Together::kNobody && warps_ && kind >= 4 && kind < 7) return WarpOperation();
    if (depth > 0 && kind == 7) return Loop(together, depth);
    if (depth > 0 && kind == 8) return Branch(together, depth);
    if (own_ && kind == 9) return Own();
    if (in_step_ && kind > 10 && together != Together::kNobody) return ExchangeInStep();
    if (unrolled_ && depth > 0 && kind == 10 && together != Together::kNobody) return UnrolledLoop(together, depth);
    Arithmetic();
  }

  void Arithmetic() {
    static constexpr std::array kOperations = {"add.u32", "sub.u32", "mul.lo.u32", "xor.b32",
                                               "and.b32", "min.s32", "max.u32"};
    if (Chance(4)) {
      Line(fmt::format("shf.l.wrap.b32 {0}, {1}, {1}, {2};", Register(), Register(), 1 + Below(30)));
    } else {
      Line(fmt::format("{} {}, {}, {};", kOperations[Below(kOperations.size())], Register(), Register(), Value()));
    }
  }

  // Each thread puts a word at a place of its own, and gets others'.
  void Exchange() {
    const auto threads = static_cast<uint32_t>(block_.Count());
    Line(fmt::format("shl.b32 %a, %t, 2; mov.u32 %b, tile; add.u32 %a, %a, %b; st.shared.u32 [%a], {};", Register()));
    Line("bar.sync 0;");
    const std::string to = Register();
    if (Chance(2)) {
      Line(fmt::format("rem.u32 %c, {}, {}; shl.b32 %c, %c, 2; add.u32 %c, %c, %b;", Register(), threads));
    } else {
      Line(fmt::format("add.u32 %c, %t, {}; rem.u32 %c, %c, {}; shl.b32 %c, %c, 2; add.u32 %c, %c, %b;", Below(threads),
                       threads));
    }
    Line(fmt::format("ld.shared.u32 {}, [%c];", to));
    if (Chance(3)) {
      Line("bar.sync 0;");
      Line(fmt::format("and.b32 %c, {}, 15; shl.b32 %c, %c, 2; add.u32 %c, %c, %b; red.shared.add.u32 [%c], {};",
                       Register(), Value()));
    }
    Line("bar.sync 0;");
  }

  // The same within a warp, with no barrier but of the warp: places of its threads only.
  void ExchangeInStep() {
    static constexpr std::string_view kWait = "bar.warp.sync 0xffffffff;";
    const std::string_view kept = Chance(2) ? ".volatile" : "";
    Line(fmt::format("shl.b32 %a, %t, 2; mov.u32 %b, tile; add.u32 %a, %a, %b;"));
    Line(fmt::format("st{}.shared.u32 [%a], {};", kept, Register()));
    Line(fmt::format("{}{}", kWait, kInStep));
    for (uint32_t steps = 1 + Below(3); steps > 0; --steps) {
      const std::string to = Register();
      if (Chance(2)) {
        Line(fmt::format("xor.b32 %c, %t, {};", 1 + Below(31)));
      } else {
        Line(fmt::format("and.b32 %c, {}, 31; and.b32 %u, %t, 0xffffffe0; or.b32 %c, %c, %u; mov.u32 %u, %ctaid.x;",
                         Register()));
      }
      Line(fmt::format("min.u32 %c, %c, {}; shl.b32 %c, %c, 2; add.u32 %c, %c, %b;", block_.Count() - 1));
      Line(fmt::format("ld{}.shared.u32 {}, [%c];", kept, to));
      Line(fmt::format("{}{}", kWait, kInStep));
      Line(fmt::format("st{}.shared.u32 [%a], {};", kept, to));
      Line(fmt::format("{}{}", kWait, kInStep));
    }
  }

  void Reduction() {
    Line(fmt::format("and.b32 %a, {}, {}; setp.eq.u32 %p, %a, 0;", Register(), 1u << Below(4)));
    switch (Below(3)) {
      case 0:
        return Line(fmt::format("bar.red.popc.u32 {}, 0, %p;", Register()));
      case 1:
        return Line(fmt::format("bar.red.and.pred %q, 0, %p; selp.u32 {}, 5, {}, %q;", Register(), Register()));
      default:
        return Line(fmt::format("bar.red.or.pred %q, 0, %p; selp.u32 {}, {}, 9, %q;", Register(), Register()));
    }
  }

  void WarpOperation() {
    const std::string to = Register(), from = Register();
    static constexpr std::array kModes = {"up", "down", "bfly", "idx"};
    static constexpr std::array kClamps = {31u, 0u, 0x181fu, 0x1c1fu, 0x1800u, 0x1003u};
    switch (Below(8)) {
      case 0:
      case 1:
      case 2: {
        const std::string lane = Chance(3) ? Register() : Chance(2) ? Uniform() : fmt::format("{}", 1u << Below(5));
        const uint32_t clamp = kClamps[Below(kClamps.size())];
        Line(fmt::format("shfl.sync.{}.b32 {}|%p, {}, {}, {}, 0xffffffff;", kModes[Below(4)], to, from, lane, clamp));
        return Line(fmt::format("selp.u32 %a, 1, 0, %p; add.u32 {}, {}, %a;", from, to));
      }
      case 3:
        return Line(fmt::format("and.b32 %a, {}, 1; setp.eq.u32 %p, %a, 0; vote.sync.ballot.b32 {}, %p, 0xffffffff;",
                                from, to));
      case 4:
        Line(fmt::format("and.b32 %a, {}, 3; setp.ne.u32 %p, %a, 0;", from));
        return Line(fmt::format("vote.sync.{}.pred %q, %p, 0xffffffff; selp.u32 {}, 3, {}, %q;",
                                std::array{"all", "any", "uni"}[Below(3)], to, from));
      case 5:
        return Line(fmt::format("and.b32 %a, {}, 3; match.any.sync.b32 {}, %a, 0xffffffff;", from, to));
      case 6:
        return Line(fmt::format("redux.sync.{} {}, {}, 0xffffffff;",
                                std::array{"add.s32", "min.s32", "max.u32", "xor.b32", "or.b32"}[Below(5)], to, from));
      default:
        return Line(fmt::format("match.all.sync.b32 {}|%p, {}, 0xffffffff; bar.warp.sync 0xffffffff;", to, from));
    }
  }

  // Memory of the thread's own.
  void Own() {
    Line(fmt::format("and.b32 %a, {}, 7; mul.wide.u32 %m, %a, 4; mov.u64 %o, own; add.u64 %o, %o, %m;", Register()));
    Line(Chance(2) ? fmt::format("st.local.u32 [%o], {};", Register())
                   : fmt::format("ld.local.u32 {}, [%o];", Register()));
  }

  void Loop(Together together, int depth) {
    const std::string top = Label(), counter = fmt::format("%i{}", loops_);
    const bool divergent = together == Together::kNobody || Chance(3);
    Line(divergent   ? fmt::format("and.b32 {}, {}, 3;", counter, Register())
         : Chance(2) ? fmt::format("mov.u32 {}, {};", counter, 1 + Below(4))
                     : fmt::format("and.b32 {0}, %u, 3;", counter));
    Line(top + ":");
    ++loops_;
    Statements(divergent ? Together::kNobody : together, depth - 1, 1 + Below(most_inside_));
    --loops_;
    Line(fmt::format("sub.u32 {0}, {0}, 1; setp.gt.s32 %p, {0}, 0;", counter));
    Line(fmt::format("@%p bra {};", top));
  }

  // As compilers unroll them: several rounds at once, then what is left of them one by one.
  void UnrolledLoop(Together together, int depth) {
    const std::string top = Label(), rest = Label(), end = Label(), counter = fmt::format("%i{}", loops_);
    Line(Chance(2) ? fmt::format("mov.u32 {}, {};", counter, Below(9)) : fmt::format("and.b32 {}, %u, 7;", counter));
    Line(fmt::format("setp.lt.s32 %p, {}, 3;", counter));
    Line(fmt::format("@%p bra {};", rest));
    Line(top + ":");
    ++loops_;
    Statements(together, depth - 1, 1 + Below(most_inside_));
    Line(fmt::format("sub.u32 {0}, {0}, 3; setp.ge.s32 %p, {0}, 3;", counter));
    Line(fmt::format("@%p bra {};", top));
    Line(rest + ":");
    Line(fmt::format("setp.le.s32 %p, {}, 0;", counter));
    Line(fmt::format("@%p bra {};", end));
    Statements(together, depth - 1, 1 + Below(most_inside_));
    --loops_;
    Line(fmt::format("sub.u32 {0}, {0}, 1;", counter));
    Line(fmt::format("bra {};", rest));
    Line(end + ":");
  }

  void Branch(Together together, int depth) {
    const std::string other = Label(), end = Label();
    const uint32_t kind = together == Together::kNobody ? 2 : Below(3);
    Together inside = Together::kNobody;
    if (kind == 0) {  // the same for the whole block
      Line(fmt::format("and.b32 %a, {}, 1; setp.eq.u32 %p, %a, 0;", Uniform()));
      inside = together;
    } else if (kind == 1) {  // for a warp
      Line("shr.u32 %a, %t, 5; and.b32 %a, %a, 1; setp.eq.u32 %p, %a, 0;");
      inside = Together::kWarp;
    } else {
      Line(fmt::format("and.b32 %a, {}, {}; setp.ne.u32 %p, %a, 0;", Register(), 1u << Below(6)));
    }
    Line(fmt::format("@%p bra {};", other));
    Statements(inside, depth - 1, 1 + Below(most_inside_ - 1));
    if (Chance(2)) {
      Line(other + ":");
      return;
    }
    Line(fmt::format("bra {};", end));
    Line(other + ":");
    Statements(inside, depth - 1, 1 + Below(most_inside_ - 1));
    Line(end + ":");
  }

  MersenneRandom random_;
  const Dim3 block_;
  const bool warps_, small_;
  // Not for all seeds: programs that tests know by their seeds stay.
  const bool unrolled_, in_step_;
  uint32_t registers_ = RegionProgram::kRegisters;
  uint32_t most_inside_ = 4;  // statements in a loop; in a branch one less
  int depth_ = 3;
  bool own_ = true;  // whether there is memory of the thread's own
  std::string text_;
  int labels_ = 0, loops_ = 0;
};

}  // namespace

std::string InStep(const std::string& text) {
  std::string in_step;
  for (size_t begin = 0, end = 0; begin < text.size(); begin = end) {
    end = text.find('\n', begin) + 1;
    const std::string_view line = std::string_view(text).substr(begin, end - begin - 1);
    if (!line.ends_with(kInStep)) in_step += fmt::format("{}\n", line);
  }
  return in_step;
}

RegionProgram MakeRegionProgram(uint64_t seed, RegionProgramSize size) {
  MersenneRandom random(seed);
  RegionProgram program;
  if (size == RegionProgramSize::kSmall && random.Next() % 4 != 0) {
    program.block = kSmallShapes[random.Next() % std::size(kSmallShapes)];
  } else {
    program.block = kShapes[random.Next() % std::size(kShapes)];
  }
  RegionGenerator generator(seed, program.block, random.Next() % 3 != 0, size);
  program.text = generator.Run();
  program.input.resize(RegionProgram::kBlocks * program.block.Count() * generator.registers());
  for (uint32_t& word : program.input) word = static_cast<uint32_t>(random.Next());
  return program;
}

}  // namespace wharf::device::soft::testing
