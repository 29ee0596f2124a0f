// mma.m8n8k4 of f16: four products in a warp, each of two quads of lanes, against what the PTX ISA says of the elements
// of each lane; with numbers of which every sum is exact.
#include <gtest/gtest.h>

#include <bit>
#include <string>
#include <vector>

#include "wharf/device/soft/testing/tensor_testing.h"

namespace wharf::device::soft::testing {
namespace {

// f16 of a number that it holds exactly.
uint32_t HalfOfNumber(int number) {
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(number));
  const uint32_t sign = bits >> 16 & 0x8000;
  return number == 0 ? 0 : sign | (((bits & 0x7fffffff) >> 13) - (112 << 10));
}

struct QuadPlace {
  uint32_t row, column;
};
QuadPlace PlaceOfQuadSum(bool half, uint32_t lane, uint32_t i) {
  const uint32_t x = half ? lane % 4 : (lane & 0b1) + (i & 0b10);
  return {lane < 16 ? x : x + 4, half ? i : (i & 0b100) + (lane & 0b10) + (i & 0b1)};
}

class TensorQuads : public TensorTest {
 protected:
  void Test(bool a_rows, bool b_rows, bool c_half, bool d_half) {
    const auto layout = [](bool rows) { return rows ? "row" : "col"; };
    const auto type = [](bool half) { return half ? "f16" : "f32"; };
    const std::string instruction = fmt::format("mma.sync.aligned.m8n8k4.{}.{}.{}.f16.f16.{}", layout(a_rows),
                                                layout(b_rows), type(d_half), type(c_half));
    SCOPED_TRACE(instruction);
    const uint32_t c_words = c_half ? 4 : 8, d_words = d_half ? 4 : 8, inputs = 4 + c_words;
    std::vector<uint32_t> in(size_t{kWarps} * 32 * inputs);
    std::vector<int> want(size_t{kWarps} * 4 * 64);  // of each product, by rows
    for (uint32_t warp = 0; warp < kWarps; ++warp) {
      for (uint32_t quad = 0; quad < 4; ++quad) {
        int a[8][4], b[4][8], c[8][8];
        const auto number = [&] { return static_cast<int>(Below(17)) - 8; };
        for (auto& row : a)
          for (int& x : row) x = number();
        for (auto& row : b)
          for (int& x : row) x = number();
        for (auto& row : c)
          for (int& x : row) x = number();
        for (uint32_t i = 0; i < 64; ++i) {
          int& sum = want[(warp * 4 + quad) * 64 + i];
          sum = c[i / 8][i % 8];
          for (int k = 0; k < 4; ++k) sum += a[i / 8][k] * b[k][i % 8];
        }
        for (uint32_t member = 0; member < 8; ++member) {
          const uint32_t lane = quad * 4 + member % 4 + member / 4 * 16, within = lane % 4, upper = lane < 16 ? 0 : 4;
          uint32_t* to = &in[(size_t{warp} * 32 + lane) * inputs];
          const auto put = [](uint32_t* at, uint32_t i, int value) {
            at[i / 2] |= HalfOfNumber(value) << (i % 2 * 16);
          };
          for (uint32_t i = 0; i < 4; ++i) {
            put(to, i, a_rows ? a[within + upper][i] : a[i + upper][within]);
            put(to + 2, i, b_rows ? b[within][i + upper] : b[i][within + upper]);
          }
          for (uint32_t i = 0; i < 8; ++i) {
            const QuadPlace at = PlaceOfQuadSum(c_half, lane, i);
            if (c_half) {
              put(to + 4, i, c[at.row][at.column]);
            } else {
              to[4 + i] = std::bit_cast<uint32_t>(static_cast<float>(c[at.row][at.column]));
            }
          }
        }
      }
    }
    std::string body;
    for (uint32_t i = 0; i < inputs; ++i) {
      const bool single = i >= 4 && !c_half;
      body +=
          fmt::format("  ld.global.{} %{}{}, [%rd1+{}];\n", single ? "f32" : "b32", single ? "f" : "r", 10 + i, 4 * i);
    }
    body += fmt::format("  {} {}, {{%r10, %r11}}, {{%r12, %r13}}, {};\n", instruction,
                        Registers(d_half ? "%r" : "%f", 30, d_words), Registers(c_half ? "%r" : "%f", 14, c_words));
    for (uint32_t i = 0; i < d_words; ++i) {
      body +=
          fmt::format("  st.global.{} [%rd2+{}], %{}{};\n", d_half ? "b32" : "f32", 4 * i, d_half ? "r" : "f", 30 + i);
    }
    const uint32_t* device_in = runner_.Upload(in);
    auto* out = runner_.Allocate<uint32_t>(size_t{kWarps} * 32 * d_words);
    RunBothWays(ElementKernel(body, 4 * inputs, 4 * d_words), Parameters().Add(device_in).Add(out), [&] {
      for (uint32_t thread = 0; thread < kWarps * 32; ++thread) {
        const uint32_t lane = thread % 32;
        const int* sums = &want[(thread / 32 * 4 + lane / 4 % 4) * 64];
        for (uint32_t i = 0; i < 8; ++i) {
          const QuadPlace at = PlaceOfQuadSum(d_half, lane, i);
          const int sum = sums[at.row * 8 + at.column];
          const uint32_t* got = out + size_t{thread} * d_words;
          if (d_half) {
            ASSERT_EQ(got[i / 2] >> (i % 2 * 16) & 0xffff, HalfOfNumber(sum)) << "lane " << lane << ", element " << i;
          } else {
            ASSERT_EQ(std::bit_cast<float>(got[i]), static_cast<float>(sum)) << "lane " << lane << ", element " << i;
          }
        }
      }
    });
  }
};

TEST_F(TensorQuads, MultiplyInAllLayoutsAndTypes) {
  for (const bool a_rows : {true, false}) {
    for (const bool b_rows : {true, false}) {
      Test(a_rows, b_rows, true, true);
      Test(a_rows, b_rows, true, false);
      Test(a_rows, b_rows, false, false);
    }
  }
}

}  // namespace
}  // namespace wharf::device::soft::testing
