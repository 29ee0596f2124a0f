#include "wharf/cudashim/curand/sobol.h"

#include <cstddef>

__asm__(
    ".pushsection .rodata\n"
    ".globl wharf_joe_kuo\n"
    ".hidden wharf_joe_kuo\n"
    "wharf_joe_kuo:\n.incbin \"" WHARF_JOE_KUO
    "\"\n"
    ".popsection\n");
extern "C" const unsigned char wharf_joe_kuo[];

namespace wharf::rng {
namespace {

// Of a stream of bits, lowest first.
class BitReader {
 public:
  uint32_t Take(int bits) {
    uint32_t value = 0;
    for (int i = 0; i < bits; ++i, ++at_) value |= ((wharf_joe_kuo[at_ / 8] >> (at_ % 8)) & 1u) << i;
    return value;
  }

 private:
  size_t at_ = 0;
};

}  // namespace

template <typename Word>
std::vector<Word> SobolVectors(uint32_t dimensions) {
  constexpr int kBits = 8 * sizeof(Word);
  std::vector<Word> vectors(size_t{dimensions} * kBits);
  for (int i = 0; i < kBits; ++i) vectors[i] = Word{1} << (kBits - 1 - i);
  BitReader bits;
  for (uint32_t dimension = 1; dimension < dimensions; ++dimension) {
    Word* const v = vectors.data() + size_t{dimension} * kBits;
    const int degree = static_cast<int>(bits.Take(5));
    const uint32_t inner = bits.Take(degree - 1);
    for (int i = 0; i < degree; ++i) v[i] = Word{2 * bits.Take(i) + 1} << (kBits - 1 - i);
    for (int k = degree; k < kBits; ++k) {
      v[k] = v[k - degree] ^ v[k - degree] >> degree;
      for (int i = 1; i < degree; ++i) {
        if ((inner >> (degree - 1 - i)) & 1) v[k] ^= v[k - i];
      }
    }
  }
  return vectors;
}
template std::vector<uint32_t> SobolVectors(uint32_t);
template std::vector<uint64_t> SobolVectors(uint32_t);

}  // namespace wharf::rng
