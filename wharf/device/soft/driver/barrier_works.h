// The works of barrier_benchmark, for it and for its OpenCL process, which must not have two versions of LLVM in it.
#pragma once

#include <cstdint>
#include <vector>

namespace wharf::device::soft {

inline constexpr int kArray = 1 << 24;  // floats of an array

struct BarrierWork {
  const char* kernel;
  const char* what;
  uint32_t grid[2], block[2];
  // Arguments: the array, once more from `second` on if that is not 0, the results, the factors, the counts.
  int second = 0;
  std::vector<float> factors = {};
  std::vector<int> counts = {};
  int results = 0;    // words of 32 bits
  bool adds = false;  // to its results, which are zero before
};

inline std::vector<BarrierWork> BarrierWorks() {
  constexpr uint32_t kRows = 8192, kLists = (4 << 20) / 512, kSide = 2048, kProduct = 512, kSums = kArray / 256;
  constexpr int kElements = kProduct * kProduct;
  return {
      {"block_reduction", "16 Mi floats", {kSums, 1}, {256, 1}, 0, {}, {}, kSums},
      {"warp_reduction", "16 Mi floats", {kSums, 1}, {256, 1}, 0, {}, {}, kSums},
      {"scan", "4 Mi floats by 512", {kLists, 1}, {256, 1}, 0, {}, {}, kLists * 512},
      {"layer_norm", "8192 rows of 1024", {kRows, 1}, {256, 1}, 0, {}, {}, kRows * 1024},
      {"tiled_stencil", "2048 x 2048", {kSide / 16, kSide / 16}, {16, 16}, 0, {}, {kSide, kSide}, kSide * kSide},
      {"product_16", "512 x 512", {kProduct / 16, kProduct / 16}, {16, 16}, kElements, {}, {kProduct}, kElements},
      {"product_32", "512 x 512", {kProduct / 32, kProduct / 32}, {32, 32}, kElements, {}, {kProduct}, kElements},
      {"softmax", "8192 rows of 1024", {kRows, 1}, {256, 1}, 0, {}, {}, kRows * 1024},
      {"bitonic_sort", "4 Mi floats by 512", {kLists, 1}, {256, 1}, 0, {}, {}, kLists * 512},
      {"histogram", "16 Mi bytes", {256, 1}, {256, 1}, 0, {}, {kArray}, 256, true},
      {"scaled_sum", "16 Mi floats, no barrier", {kSums, 1}, {256, 1}, 0, {0.5F}, {kArray}, kArray, true},
  };
}

}  // namespace wharf::device::soft
