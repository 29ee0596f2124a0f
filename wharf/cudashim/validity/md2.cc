#include "wharf/cudashim/validity/md2.h"

#include <algorithm>
#include <vector>

namespace wharf::cudashim {
namespace {

constexpr size_t kBlock = 16;
constexpr int kRounds = 18;

// The RFC's permutation of all bytes, made of the digits of pi.
constexpr std::array<uint8_t, 256> kSubstitution = {
    41,  46,  67,  201, 162, 216, 124, 1,   61,  54,  84,  161, 236, 240, 6,   19,  98,  167, 5,   243, 192, 199,
    115, 140, 152, 147, 43,  217, 188, 76,  130, 202, 30,  155, 87,  60,  253, 212, 224, 22,  103, 66,  111, 24,
    138, 23,  229, 18,  190, 78,  196, 214, 218, 158, 222, 73,  160, 251, 245, 142, 187, 47,  238, 122, 169, 104,
    121, 145, 21,  178, 7,   63,  148, 194, 16,  137, 11,  34,  95,  33,  128, 127, 93,  154, 90,  144, 50,  39,
    53,  62,  204, 231, 191, 247, 151, 3,   255, 25,  48,  179, 72,  165, 181, 209, 215, 94,  146, 42,  172, 86,
    170, 198, 79,  184, 56,  210, 150, 164, 125, 182, 118, 252, 107, 226, 156, 116, 4,   241, 69,  157, 112, 89,
    100, 113, 135, 32,  134, 91,  207, 101, 230, 45,  168, 2,   27,  96,  37,  173, 174, 176, 185, 246, 28,  70,
    97,  105, 52,  64,  126, 15,  85,  71,  163, 35,  221, 81,  175, 58,  195, 92,  249, 206, 186, 197, 234, 38,
    44,  83,  13,  110, 133, 40,  132, 9,   211, 223, 205, 244, 65,  129, 77,  82,  106, 220, 55,  200, 108, 193,
    171, 250, 36,  225, 123, 8,   12,  189, 177, 74,  120, 136, 149, 139, 227, 99,  232, 109, 233, 203, 213, 254,
    59,  0,   29,  57,  242, 239, 183, 14,  102, 88,  208, 228, 166, 119, 114, 248, 235, 117, 75,  10,  49,  68,
    80,  180, 143, 237, 31,  26,  219, 153, 141, 51,  159, 17,  131, 20};

class State {
 public:
  void Compress(std::span<const uint8_t> block) {
    for (size_t i = 0; i < kBlock; ++i) {
      bytes_[kBlock + i] = block[i];
      bytes_[2 * kBlock + i] = block[i] ^ bytes_[i];
    }
    uint8_t mixed = 0;
    for (int round = 0; round < kRounds; ++round) {
      for (uint8_t& byte : bytes_) mixed = byte ^= kSubstitution[mixed];
      mixed = static_cast<uint8_t>(mixed + round);
    }
  }
  Md2Digest Digest() const {
    Md2Digest digest;
    std::copy_n(bytes_.begin(), kBlock, digest.begin());
    return digest;
  }

 private:
  std::array<uint8_t, 3 * kBlock> bytes_{};
};

class Checksum {
 public:
  void Add(std::span<const uint8_t> block) {
    for (size_t i = 0; i < kBlock; ++i) last_ = bytes_[i] ^= kSubstitution[block[i] ^ last_];
  }
  std::span<const uint8_t> bytes() const { return bytes_; }

 private:
  std::array<uint8_t, kBlock> bytes_{};
  uint8_t last_ = 0;
};

std::vector<uint8_t> Keyed(const std::array<uint8_t, 16>& key, uint8_t pad, std::span<const uint8_t> message) {
  std::vector<uint8_t> bytes;
  for (const uint8_t byte : key) bytes.push_back(byte ^ pad);
  bytes.insert(bytes.end(), message.begin(), message.end());
  return bytes;
}

}  // namespace

Md2Digest Md2(std::span<const uint8_t> message) {
  // Padded to whole blocks, by a whole one if there is nothing to fill.
  std::vector<uint8_t> padded(message.begin(), message.end());
  const size_t padding = kBlock - message.size() % kBlock;
  padded.insert(padded.end(), padding, static_cast<uint8_t>(padding));
  State state;
  Checksum checksum;
  for (size_t at = 0; at < padded.size(); at += kBlock) {
    const std::span<const uint8_t> block = std::span<const uint8_t>(padded).subspan(at, kBlock);
    checksum.Add(block);
    state.Compress(block);
  }
  state.Compress(checksum.bytes());
  return state.Digest();
}

Md2Digest HmacMd2(const std::array<uint8_t, 16>& key, std::span<const uint8_t> message) {
  const Md2Digest inner = Md2(Keyed(key, 0x36, message));
  return Md2(Keyed(key, 0x5c, inner));
}

}  // namespace wharf::cudashim
