// Barriers in shared memory: whoever arrives last ends the phase, and who waits for a phase lets the others run.
// Clusters, whose blocks would share them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wharf/device/cuda_error.h"
#include "wharf/device/soft/testing/compiler_testing.h"

namespace wharf::device::soft::testing {
namespace {

using ::testing::ElementsAre;

// A block of `threads`, in which %r1 is the thread and [%rd1] its element of the result.
class MbarrierTest : public ::testing::Test {
 protected:
  absl::Status Run(const std::string& body, uint32_t threads) {
    const std::string text =
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 to) {\n"
        ".reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %rd<16>;\n"
        ".shared .align 8 .b64 barrier; .shared .align 4 .b32 row[256];\n"
        "mov.u32 %r1, %tid.x; mov.u32 %r2, %ntid.x;\n"
        "ld.param.u64 %rd1, [to]; mad.wide.u32 %rd1, %r1, 4, %rd1;\n" +
        body + "ret; }\n";
    auto* out = runner_.Allocate<uint32_t>(threads);
    WHARF_RETURN_IF_ERROR(runner_.Run(text, "k", {1}, {threads}, Parameters().Add(out)));
    result_.assign(out, out + threads);
    return absl::OkStatus();
  }

  KernelRunner runner_;
  std::vector<uint32_t> result_;
};

// Thread 0 makes the barrier, for as many arrivals as there are threads.
constexpr char kInit[] =
    "setp.ne.u32 %p1, %r1, 0; @%p1 bra MADE; mbarrier.init.shared.b64 [barrier], %r2; MADE: bar.sync 0;\n";

// In every round each thread writes its place, arrives, waits for all and reads its neighbour's place.
std::string Rounds(const std::string& arrive, const std::string& wait) {
  return std::string(kInit) + R"(
  mov.u32 %r3, 0; mov.u32 %r4, 0;
  add.u32 %r5, %r1, 1; rem.u32 %r5, %r5, %r2;
  mov.u32 %r6, row; mad.lo.u32 %r7, %r1, 4, %r6; mad.lo.u32 %r8, %r5, 4, %r6;
  cvta.shared.u64 %rd2, barrier;
ROUND:
  mad.lo.u32 %r9, %r3, 1000, %r1;
  st.shared.u32 [%r7], %r9;
)" + arrive +
         "\nFIRST:\n" + wait + R"(
  @!%p1 bra FIRST;
  ld.shared.u32 %r9, [%r8];
  add.u32 %r4, %r4, %r9;
  xor.b32 %r10, %r3, 1; and.b32 %r10, %r10, 1;
  bar.sync 0;
  add.u32 %r3, %r3, 1;
  setp.lt.u32 %p2, %r3, 5;
  @%p2 bra ROUND;
  st.global.u32 [%rd1], %r4;
)";
}

uint32_t SumOfNeighbour(uint32_t thread, uint32_t threads) {
  return (0 + 1 + 2 + 3 + 4) * 1000 + 5 * ((thread + 1) % threads);
}

TEST_F(MbarrierTest, EveryThreadWaitsForAll) {
  const std::pair<const char*, const char*> forms[] = {
      {"mbarrier.arrive.shared.b64 %rd3, [barrier];", "mbarrier.test_wait.shared.b64 %p1, [barrier], %rd3;"},
      {"mbarrier.arrive.release.cta.shared::cta.b64 %rd3, [barrier], 1;",
       "mbarrier.try_wait.acquire.cta.shared::cta.b64 %p1, [barrier], %rd3, 1000;"},
      {"mbarrier.arrive.b64 %rd3, [%rd2];", "mbarrier.test_wait.b64 %p1, [%rd2], %rd3;"},
      {"mbarrier.arrive.shared.b64 _, [barrier]; and.b32 %r11, %r3, 1;",
       "mbarrier.try_wait.parity.shared.b64 %p1, [barrier], %r11;"},
      {"cp.async.mbarrier.arrive.shared.b64 [barrier]; cp.async.mbarrier.arrive.noinc.shared.b64 [barrier];"
       "and.b32 %r11, %r3, 1;",
       "mbarrier.test_wait.parity.shared.b64 %p1, [barrier], %r11;"},
  };
  for (const auto& [arrive, wait] : forms) {
    SCOPED_TRACE(arrive);
    for (const uint32_t threads : {1U, 7U, 100U, 256U}) {
      ASSERT_EQ(Run(Rounds(arrive, wait), threads), absl::OkStatus());
      EXPECT_EQ(runner_.kernel()->mode, ExecutionMode::kSuspendable);
      for (uint32_t thread = 0; thread < threads; ++thread) {
        EXPECT_EQ(result_[thread], SumOfNeighbour(thread, threads)) << thread << " of " << threads;
      }
    }
  }
}

// The last arrival of one phase begins the next, which waits for as many again.
TEST_F(MbarrierTest, CountsArrivalsOfEachPhase) {
  ASSERT_EQ(Run(R"(
  mbarrier.init.shared.b64 [barrier], 5;
  mbarrier.arrive.noComplete.release.cta.shared.b64 %rd3, [barrier], 2;
  mbarrier.pending_count.b64 %r3, %rd3;
  mbarrier.arrive.shared.b64 %rd4, [barrier], 2;
  mbarrier.pending_count.b64 %r4, %rd4;
  mbarrier.test_wait.shared.b64 %p1, [barrier], %rd3;
  selp.u32 %r5, 100, 0, %p1;
  mbarrier.arrive.shared.b64 %rd5, [barrier];
  mbarrier.test_wait.shared.b64 %p1, [barrier], %rd3;
  selp.u32 %r6, 1000, 0, %p1;
  mbarrier.arrive.shared.b64 %rd6, [barrier];
  mbarrier.pending_count.b64 %r7, %rd6;
  mad.lo.u32 %r8, %r3, 10000, %r5; mad.lo.u32 %r8, %r4, 100000, %r8; mad.lo.u32 %r8, %r7, 1000000, %r8;
  add.u32 %r8, %r8, %r6;
  mbarrier.inval.shared.b64 [barrier];
  st.global.u32 [%rd1], %r8;
)",
                1),
            absl::OkStatus());
  EXPECT_THAT(result_, ElementsAre(5'351'000));  // waited for 5, 3 and 5 again; over by the fifth arrival, not before
}

// Who drops out is not waited for any more.
TEST_F(MbarrierTest, LaterPhasesWaitForLessWhoeverDrops) {
  ASSERT_EQ(Run(R"(
  mbarrier.init.shared.b64 [barrier], 3;
  mbarrier.arrive_drop.shared.b64 %rd3, [barrier];
  mbarrier.arrive.shared.b64 %rd4, [barrier], 2;
  mbarrier.arrive.shared.b64 %rd5, [barrier];
  mbarrier.pending_count.b64 %r3, %rd5;
  mbarrier.test_wait.shared.b64 %p1, [barrier], %rd5;
  selp.u32 %r4, 10, 20, %p1;
  mbarrier.arrive.shared.b64 %rd6, [barrier];
  mbarrier.test_wait.shared.b64 %p1, [barrier], %rd5;
  selp.u32 %r5, 100, 200, %p1;
  add.u32 %r3, %r3, %r4; add.u32 %r3, %r3, %r5;
  st.global.u32 [%rd1], %r3;
)",
                1),
            absl::OkStatus());
  EXPECT_THAT(result_, ElementsAre(122));
}

// A phase is over when all have arrived and the bytes that they expect have come, in whatever order they come.
TEST_F(MbarrierTest, WaitsForBytes) {
  const auto is_over = [&](std::string body) {
    const absl::Status status = Run("mbarrier.init.shared.b64 [barrier], 1;\n" + body +
                                        "mbarrier.test_wait.parity.shared.b64 %p1, [barrier], 0;\n"
                                        "selp.u32 %r5, 1, 0, %p1; st.global.u32 [%rd1], %r5;",
                                    1);
    EXPECT_EQ(status, absl::OkStatus()) << body;
    return !result_.empty() && result_[0] == 1;
  };
  const std::string arrive = "mbarrier.arrive.shared.b64 %rd3, [barrier];";
  const std::string arrive_expecting = "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 %rd3, [barrier], 48;";
  const std::string expect = "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [barrier], 48;";
  const auto come = [](int bytes) {
    return "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [barrier], " + std::to_string(bytes) + ";";
  };
  EXPECT_FALSE(is_over(arrive_expecting));
  EXPECT_FALSE(is_over(arrive_expecting + come(32)));
  EXPECT_TRUE(is_over(arrive_expecting + come(32) + come(16)));
  EXPECT_TRUE(is_over(come(48) + expect + arrive));
  EXPECT_FALSE(is_over(expect + come(48)));
  EXPECT_TRUE(is_over(expect + come(48) + arrive));
  EXPECT_FALSE(is_over(come(16) + arrive));
}

// 48 bytes at once and 16 more, to shared memory and back.
TEST_F(MbarrierTest, CountsBulkCopies) {
  auto* in = runner_.Allocate<uint32_t>(16);
  for (uint32_t i = 0; i < 16; ++i) in[i] = 100 + i;
  const std::string from = std::to_string(reinterpret_cast<uint64_t>(in));
  ASSERT_EQ(Run("mov.u32 %r4, row; mov.u64 %rd4, " + from +
                    R"(;
  mbarrier.init.shared.b64 [barrier], 1;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [barrier], 64;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], [%rd4], 48, [barrier];
  mov.u32 %r5, 16;
  cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.L2::cache_hint [%r4+48], [%rd4+48], %r5, [barrier], %rd4;
  mbarrier.test_wait.parity.shared.b64 %p1, [barrier], 0;
  @!%p1 trap;
  mov.u32 %r6, 1; st.shared.u32 [row+12], %r6;
  fence.proxy.async.shared::cta;
  cp.async.bulk.global.shared::cta.bulk_group [%rd4], [%r4+8], %r5;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
  ld.shared.u32 %r7, [row+60]; st.global.u32 [%rd1], %r7;
)",
                1),
            absl::OkStatus());
  EXPECT_THAT(result_, ElementsAre(115));
  EXPECT_THAT(std::vector<uint32_t>(in, in + 5), ElementsAre(102, 1, 104, 105, 104));
}

TEST_F(MbarrierTest, RefusesOtherMemoryAndTensors) {
  for (const char* const text :
       {"mbarrier.init.global.b64 [%rd1], 4;",
        "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r1}], [barrier];",
        "cp.async.bulk.shared::cluster.shared::cluster.mbarrier::complete_tx::bytes [%r1], [%r1], 16, [barrier];"}) {
    EXPECT_EQ(CudaErrorOf(Run(text, 1)), CudaError::kUnsupportedPtx) << text;
  }
}

TEST(Clusters, AreOfOneBlock) {
  KernelRunner runner;
  const auto compile = [&](std::string_view extents) {
    const std::string ptx = fmt::format(
        ".version 8.0\n.target sm_90\n.address_size 64\n"
        ".visible .entry k() .explicitcluster .reqnctapercluster {} {{ ret; }}\n",
        extents);
    return runner.Compile(ptx, "k").status();
  };
  EXPECT_EQ(compile("1, 1, 1"), absl::OkStatus());
  for (const char* extents : {"2", "1, 2, 1", "1, 1, 2"}) {
    const absl::Status status = compile(extents);
    EXPECT_EQ(CudaErrorOf(status), CudaError::kUnsupportedPtx) << extents;
    EXPECT_EQ(Message(status), "kernel k: clusters of more than one block are not supported");
  }
}

}  // namespace
}  // namespace wharf::device::soft::testing
