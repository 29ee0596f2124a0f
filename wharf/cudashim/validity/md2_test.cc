#include "wharf/cudashim/validity/md2.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace wharf::cudashim {
namespace {

std::span<const uint8_t> Bytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

std::string Hex(const Md2Digest& digest) {
  std::string text;
  for (const uint8_t byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

// The test suite of RFC 1319, A.5.
TEST(Md2, IsThatOfTheRfc) {
  EXPECT_EQ(Hex(Md2(Bytes(""))), "8350e5a3e24c153df2275c9f80692773");
  EXPECT_EQ(Hex(Md2(Bytes("a"))), "32ec01ec4a6dac72c0ab96fb34c0b5d1");
  EXPECT_EQ(Hex(Md2(Bytes("abc"))), "da853b0d3f88d99b30283a69e6ded6bb");
  EXPECT_EQ(Hex(Md2(Bytes("message digest"))), "ab4f496bfb2a530b219ff33031fe06b0");
  EXPECT_EQ(Hex(Md2(Bytes("abcdefghijklmnopqrstuvwxyz"))), "4e8ddff3650292ab5a4108c3aa47940b");
  EXPECT_EQ(Hex(Md2(Bytes("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"))),
            "da33def2a42df13975352846c30338cd");
  EXPECT_EQ(Hex(Md2(Bytes("12345678901234567890123456789012345678901234567890123456789012345678901234567890"))),
            "d5976f79d83d3a0dc9806c3c66f3efd8");
}

// Values of another implementation, PyCryptodome's HMAC with its MD2.
TEST(HmacMd2, IsThatOfAnotherImplementation) {
  const std::array<uint8_t, 16> key = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  EXPECT_EQ(Hex(HmacMd2(key, Bytes(""))), "d39ad9dde006587a8be949b11b9288f8");
  EXPECT_EQ(Hex(HmacMd2(key, Bytes("what do ya want for nothing?"))), "022f90a619e88463118324aa4749d100");
}

}  // namespace
}  // namespace wharf::cudashim
