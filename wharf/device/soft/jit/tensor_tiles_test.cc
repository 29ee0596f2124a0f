// Tensor-core instructions that move matrices, between shared memory and registers and among lanes, against what the
// PTX ISA says of the elements of each lane; and what keeps all of them within a session's memory, and refuses some.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "wharf/device/cuda_error.h"
#include "wharf/device/soft/testing/tensor_testing.h"

namespace wharf::device::soft::testing {
namespace {

using ::testing::HasSubstr;

// k(data, rows, out): `tile`, 2048 bytes of shared memory, begins as data. Each thread has the tile's address in %r5,
// generic in %rd5, that of its row in %r6 and %rd6, and its word of out at %rd3, with 512 bytes from row to row of
// words. Then `body`, then `end`.
std::string TileKernel(const std::string& body, const std::string& end) {
  std::string copy;
  for (int i = 0; i < 8; ++i) {
    copy += fmt::format("  ld.global.u32 %r10, [%rd8+{0}]; st.shared.u32 [%r8+{0}], %r10;\n", 256 * i);
  }
  return fmt::format(R"(.version 8.8
.target sm_90
.address_size 64
.visible .entry k(.param .u64 data, .param .u64 rows, .param .u64 out)
{{
  .shared .align 16 .b8 tile[2048];
  .reg .pred %p<9>; .reg .b32 %r<50>; .reg .b64 %rd<20>;
  ld.param.u64 %rd1, [data];
  ld.param.u64 %rd2, [rows];
  ld.param.u64 %rd3, [out];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %tid.x;
  mad.lo.u32 %r3, %r1, 64, %r2;
  mul.wide.u32 %rd7, %r3, 4;
  add.u64 %rd2, %rd2, %rd7;
  add.u64 %rd3, %rd3, %rd7;
  mov.u32 %r5, tile;
  cvt.u64.u32 %rd5, %r5;
  cvta.shared.u64 %rd5, %rd5;
  shl.b32 %r4, %r2, 2;
  cvt.u64.u32 %rd7, %r4;
  add.u64 %rd8, %rd1, %rd7;
  add.u32 %r8, %r5, %r4;
{}
  bar.sync 0;
  ld.global.u32 %r9, [%rd2];
  add.u32 %r6, %r5, %r9;
  cvt.u64.u32 %rd9, %r9;
  add.u64 %rd6, %rd5, %rd9;
{}
{}
  ret;
}}
)",
                     copy, body, end);
}

constexpr uint32_t kTileHalves = 1024;

using TensorTiles = TensorTest;

std::string Trans(bool transposed) { return transposed ? ".trans" : ""; }

TEST_F(TensorTiles, Ldmatrix) {
  std::vector<uint16_t> data(kTileHalves);
  for (uint16_t& half : data) half = static_cast<uint16_t>(Below(65536));
  const uint16_t* device_data = runner_.Upload(data);
  for (const uint32_t matrices : {1U, 2U, 4U}) {
    for (const int form : {0, 1, 2, 3}) {
      const bool transposed = form % 2 != 0, shared = form < 2;
      if (!shared && matrices != 4) continue;
      SCOPED_TRACE(fmt::format("x{}, transposed: {}, shared: {}", matrices, transposed, shared));
      std::vector<uint32_t> rows(kWarps * 32);
      for (uint32_t i = 0; i < rows.size(); ++i) {
        // Those of other lanes do not count.
        rows[i] = i % 32 < 8 * matrices ? 16 * static_cast<uint32_t>(Below(126)) : 0xdeadbeef;
      }
      const uint32_t* device_rows = runner_.Upload(rows);
      auto* out = runner_.Upload(std::vector<uint32_t>(kWarps * 32 * 4, 0));
      const std::string body =
          fmt::format("  ldmatrix.sync.aligned.m8n8.x{}{}{}.b16 {}, [{}+32];\n", matrices, Trans(transposed),
                      shared ? ".shared" : "", Registers("%r", 20, matrices), shared ? "%r6" : "%rd6");
      RunBothWays(TileKernel(body,
                             "  st.global.u32 [%rd3], %r20; st.global.u32 [%rd3+512], %r21;\n"
                             "  st.global.u32 [%rd3+1024], %r22; st.global.u32 [%rd3+1536], %r23;"),
                  Parameters().Add(device_data).Add(device_rows).Add(out), [&] {
                    for (uint32_t thread = 0; thread < kWarps * 32; ++thread) {
                      const uint32_t lane = thread % 32, warp = thread / 32;
                      for (uint32_t i = 0; i < matrices; ++i) {
                        const auto element = [&](uint32_t row, uint32_t column) {
                          return uint32_t{data[rows[warp * 32 + 8 * i + row] / 2 + 16 + column]};
                        };
                        const uint32_t g = lane / 4, t = lane % 4;
                        const uint32_t want = transposed ? element(2 * t, g) | element(2 * t + 1, g) << 16
                                                         : element(g, 2 * t) | element(g, 2 * t + 1) << 16;
                        ASSERT_EQ(out[kWarps * 32 * i + thread], want) << "thread " << thread << ", matrix " << i;
                      }
                    }
                  });
    }
  }
}

TEST_F(TensorTiles, Stmatrix) {
  const uint16_t* device_data = runner_.Upload(std::vector<uint16_t>(kTileHalves, 0x5555));
  for (const uint32_t matrices : {1U, 2U, 4U}) {
    for (const int form : {0, 1, 2, 3}) {
      const bool transposed = form % 2 != 0, shared = form < 2;
      if (!shared && matrices != 4) continue;
      SCOPED_TRACE(fmt::format("x{}, transposed: {}, shared: {}", matrices, transposed, shared));
      // Each warp's rows lie in a quarter of the tile, in some order; each block shows its own half.
      std::vector<uint32_t> rows(kWarps * 32);
      for (uint32_t i = 0; i < rows.size(); ++i) rows[i] = 512 * (i / 32) + 16 * (i % 32 * 13 % 32);
      const uint32_t* device_rows = runner_.Upload(rows);
      auto* out = runner_.Upload(std::vector<uint32_t>(kWarps * 32 * 4, 0));
      std::string body = "  mul.lo.u32 %r20, %r3, 262148; add.u32 %r20, %r20, 65536;\n";
      for (int i = 1; i < 4; ++i) body += fmt::format("  add.u32 %r{}, %r20, {};\n", 20 + i, i * 0x10001);
      body += fmt::format("  stmatrix.sync.aligned.m8n8.x{}{}{}.b16 [{}], {};\n  bar.sync 0;\n", matrices,
                          Trans(transposed), shared ? ".shared" : "", shared ? "%r6" : "%rd6",
                          Registers("%r", 20, matrices));
      // The block's half of the tile, to half of each row of words.
      std::string end = "  shl.b32 %r30, %r1, 10; add.u32 %r30, %r30, %r8;\n";
      for (int i = 0; i < 4; ++i) {
        end += fmt::format("  ld.shared.u32 %r31, [%r30+{}]; st.global.u32 [%rd3+{}], %r31;\n", 256 * i, 512 * i);
      }
      RunBothWays(TileKernel(body, end), Parameters().Add(device_data).Add(device_rows).Add(out), [&] {
        std::vector<uint16_t> want(kTileHalves, 0x5555);
        for (uint32_t thread = 0; thread < kWarps * 32; ++thread) {
          const uint32_t lane = thread % 32, g = lane / 4, t = lane % 4;
          for (uint32_t i = 0; i < matrices; ++i) {
            const uint32_t value = thread * 262148 + 65536 + i * 0x10001;
            for (uint32_t j = 0; j < 2; ++j) {
              const uint32_t row = transposed ? 2 * t + j : g, column = transposed ? g : 2 * t + j;
              want[rows[thread - lane + 8 * i + row] / 2 + column] = static_cast<uint16_t>(value >> 16 * j);
            }
          }
        }
        for (uint32_t i = 0; i < kTileHalves / 2; ++i) {
          const uint32_t block = i / 256, row = i / 64 % 4, thread = i % 64;
          const uint32_t word = uint32_t{want[2 * i]} | uint32_t{want[2 * i + 1]} << 16;
          ASSERT_EQ(out[kWarps * 32 * row + 64 * block + thread], word) << i;
        }
        std::fill_n(out, kWarps * 32 * 4, 0);
      });
    }
  }
}

TEST_F(TensorTiles, Movmatrix) {
  std::vector<uint32_t> in(kWarps * 32);
  for (uint32_t& word : in) word = static_cast<uint32_t>(Below(uint64_t{1} << 32));
  const uint32_t* device_in = runner_.Upload(in);
  auto* out = runner_.Allocate<uint32_t>(in.size());
  RunBothWays(ElementKernel("  ld.global.b32 %r10, [%rd1];\n"
                            "  movmatrix.sync.aligned.m8n8.trans.b16 %r11, %r10;\n"
                            "  st.global.b32 [%rd2], %r11;",
                            4, 4),
              Parameters().Add(device_in).Add(out), [&] {
                for (uint32_t thread = 0; thread < in.size(); ++thread) {
                  const uint32_t first = thread / 32 * 32, g = thread % 32 / 4, t = thread % 4;
                  const auto element = [&](uint32_t row, uint32_t column) {
                    return in[first + 4 * row + column / 2] >> 16 * (column % 2) & 0xffff;
                  };
                  ASSERT_EQ(out[thread], element(2 * t, g) | element(2 * t + 1, g) << 16) << "thread " << thread;
                }
              });
}

// --- walls, refusals ---

TEST_F(TensorTiles, AccessesStayInside) {
  const uint32_t* zeros = runner_.Upload(std::vector<uint32_t>(4096, 0));
  auto* out = runner_.Allocate<uint32_t>(4096);
  for (const std::string instruction :
       {"wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r10, %r11, %r12, %r13, %r14, %r15, %r16, %r17}, [%rd9], 16;",
        "wmma.load.b.sync.aligned.row.m16n16k16.global.f16 {%r10, %r11, %r12, %r13, %r14, %r15, %r16, %r17}, [%rd9], "
        "16;",
        "wmma.load.b.sync.aligned.col.m16n16k16.global.f16 {%r10, %r11, %r12, %r13, %r14, %r15, %r16, %r17}, [%rd1], "
        "100000000;",
        "wmma.store.d.sync.aligned.row.m8n8k4.f64 [%rd9], {%d1, %d2}, 8;",
        "wmma.load.c.sync.aligned.row.m16n16k16.shared.s32 {%r10, %r11, %r12, %r13, %r14, %r15, %r16, %r17}, [%r9];",
        "ldmatrix.sync.aligned.m8n8.x1.b16 {%r10}, [%rd9];",
        "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r10, %r11}, [%r9];",
        "stmatrix.sync.aligned.m8n8.x1.trans.b16 [%rd9], {%r10};",
        "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r9], {%r10};"}) {
    // Neither null nor the session's, whatever the lane adds.
    for (const std::string wild : {"0", "0x123456789000", "0xffffffffffffff00"}) {
      SCOPED_TRACE(instruction + " " + wild);
      const std::string text = ElementKernel("  mov.u64 %rd9, " + wild + "; mov.u32 %r9, 0x10000000;\n  " +
                                                 instruction + "\n  st.global.b32 [%rd2], %r10;",
                                             4, 4);
      const auto parameters = Parameters().Add(zeros).Add(out);
      EXPECT_EQ(CudaErrorOf(runner_.Run(text, "k", {1}, {32}, parameters)), CudaError::kIllegalAddress);
      EXPECT_EQ(CudaErrorOf(runner_.RunByShape(text, "k", {1}, {32}, parameters)), CudaError::kIllegalAddress);
      EXPECT_EQ(runner_.kernel()->mode, ExecutionMode::kLoop);
    }
  }
}

TEST_F(TensorTiles, RefusesByName) {
  const auto refused = [&](const std::string& instruction) {
    const auto kernel = runner_.Compile(ElementKernel("  " + instruction, 4, 4), "k");
    EXPECT_EQ(CudaErrorOf(kernel.status()), CudaError::kUnsupportedPtx) << instruction << kernel.status();
    EXPECT_THAT(std::string(Message(kernel.status())), HasSubstr(instruction.substr(0, instruction.find(' '))));
    return std::string(Message(kernel.status()));
  };
  const std::string ab = "{%r1, %r2, %r3, %r4}, {%r5, %r6}", four = "{%f1, %f2, %f3, %f4}";
  EXPECT_THAT(refused("mma.sp.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 " + four + ", {%r1}, {%r5, %r6}, " + four +
                      ", %r7, 0x0;"),
              HasSubstr("this shape and these types"));
  EXPECT_THAT(refused("mma.sync.aligned.m16n8k32.row.col.f32.e2m3.e4m3.f32 " + four + ", " + ab + ", " + four + ";"),
              HasSubstr(".e2m3"));
  EXPECT_THAT(refused("mma.sp.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 " + four + ", {%r1, %r2}, {%r5, %r6}, " +
                      four + ", %r7, 0;"),
              HasSubstr("this shape and these types"));
  EXPECT_THAT(refused("mma.sync.aligned.m8n8k4.row.col.f32.bf16.bf16.f32 {%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8}, "
                      "{%r1, %r2}, {%r3, %r4}, {%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8};"),
              HasSubstr("this shape and these types"));
  EXPECT_THAT(refused("mma.sync.aligned.kind::mxf8f6f4.block_scale.m16n8k32.row.col.f32.e4m3.e4m3.f32.ue8m0 " + four +
                      ", " + ab + ", " + four + ", %r7, {0, 0}, %r8, {0, 0};"),
              HasSubstr("kind::mxf8f6f4"));
  refused("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r1, %r2}, [%r3];");
  refused("stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [%r3], {%r1};");
  refused("wmma.load.a.sync.aligned.row.m16n16k8.f16 {%r1, %r2, %r3, %r4}, [%rd1];");
  refused("wgmma.fence.sync.aligned ;");
}

TEST_F(TensorTiles, NamesWhatIsMalformed) {
  const std::string four = "{%f1, %f2, %f3, %f4}";
  for (const std::string& instruction :
       {"mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32 " + four + ", {%r1, %r2, %r3, %r4}, {%r5, %r6}, " + four +
            ";",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " + four + ", {%r1, %r2, %r3}, {%r5, %r6}, " + four + ";",
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.f16.f32 " + four + ", {%r1, %r2, %r3, %r4}, {%r5, %r6}, " + four +
            ";",
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 " + four + ", {%rs1, %r2}, {%r5}, " + four + ";",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32.satfinite " + four + ", {%r1, %r2, %r3, %r4}, {%r5, %r6}, " +
            four + ";",
        "mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f32 {%r1, %r2, %r3, %r4}, {%r1, %r2}, {%r3, %r4}, {%f1, %f2, "
        "%f3, %f4, %f5, %f6, %f7, %f8};" +
            std::string(),
        "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " + four + ", {%r1, %r2}, {%r5, %r6}, " + four +
            ", %r7, 0x4;",
        "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " + four + ", {%r1, %r2}, {%r5, %r6}, " + four +
            ", %r7, %r8;",
        "mma.sp.sync.aligned.m16n8k64.row.col.s32.s8.s8.s32 {%r1, %r2, %r3, %r4}, {%r1, %r2, %r3, %r4}, {%r1, %r2, "
        "%r3, %r4}, {%r1, %r2, %r3, %r4}, %r7, 1;" +
            std::string(),
        "mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32 {%r1, %r2}, {%r1}, {%r2}, {%r1, %r2};" + std::string(),
        "wmma.load.a.sync.aligned.m16n16k16.f16 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%rd1];" + std::string(),
        "wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r1, %r2}, [%rd1];" + std::string(),
        "wmma.load.b.sync.aligned.row.m8n8k32.s4 {%r1}, [%rd1];" + std::string(),
        "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1}, [%r3];" + std::string(),
        "ldmatrix.sync.aligned.m8n8.x2.global.b16 {%r1, %r2}, [%rd3];" + std::string(),
        "movmatrix.sync.aligned.m8n8.b16 %r1, %r2;" + std::string()}) {
    const auto kernel = runner_.Compile(ElementKernel("  " + instruction, 4, 4), "k");
    EXPECT_EQ(CudaErrorOf(kernel.status()), CudaError::kInvalidPtx) << instruction << kernel.status();
  }
}

}  // namespace
}  // namespace wharf::device::soft::testing
