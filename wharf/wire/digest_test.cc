#include "wharf/wire/digest.h"

#include <gtest/gtest.h>

#include <string_view>

namespace wharf::wire {
namespace {

std::string DigestOf(std::string_view text) { return HexOf(HashOf(std::as_bytes(std::span(text)))); }

// FIPS 180-4's examples.
TEST(DigestTest, IsSha256InLowerCaseDigits) {
  EXPECT_EQ(DigestOf(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(DigestOf("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace wharf::wire
