#include "wharf/device/soft/printf/printf.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

namespace wharf::device::soft {
namespace {

// Packs arguments as the vprintf ABI does.
class Arguments {
 public:
  template <typename T>
  Arguments& Add(T value) {
    while (bytes_.size() % sizeof(T) != 0) bytes_.push_back(0);
    const size_t at = bytes_.size();
    bytes_.resize(at + sizeof(T));
    std::memcpy(bytes_.data() + at, &value, sizeof(T));
    return *this;
  }
  Arguments& Add(const char* text) { return Add(reinterpret_cast<uint64_t>(text)); }

  std::optional<FormattedText> Format(std::string_view format) const {
    alignas(16) char buffer[256] = {};
    std::copy(bytes_.begin(), bytes_.end(), buffer);
    const auto start = reinterpret_cast<uint64_t>(buffer);
    return FormatPrintf(format, start, [&](uint64_t address) -> uint64_t {
      if (address >= start && address - start < bytes_.size()) return bytes_.size() - (address - start);
      return address > 4096 && (address < start || address >= start + sizeof buffer) ? 64 : 0;
    });
  }
  std::string Text(std::string_view format) const {
    const auto out = Format(format);
    return out ? out->text : "<unreadable>";
  }

 private:
  std::vector<char> bytes_;
};

TEST(PrintfTest, Integers) {
  EXPECT_EQ(Arguments().Add(-5).Add(7u).Add(255u).Add(8u).Text("%d %u %x %#o"), "-5 7 ff 010");
  EXPECT_EQ(Arguments().Add(int64_t{-5}).Add(~uint64_t{0}).Add(uint64_t{10}).Text("%lld %lx %zu"),
            "-5 ffffffffffffffff 10");
  EXPECT_EQ(Arguments().Add(1).Add(int64_t{2}).Add(3).Text("%d|%ld|%i"), "1|2|3");
  EXPECT_EQ(Arguments().Add(0x12345).Add(0x1ff).Add(-1).Text("%hd %hhu %hx"), "9029 255 ffff");
  EXPECT_EQ(Arguments().Add(42).Add(42).Add(42).Text("[%6d][%-6d][%+06d]"), "[    42][42    ][+00042]");
}

TEST(PrintfTest, FloatsStringsCharactersPointers) {
  EXPECT_EQ(Arguments().Add(1).Add(2.5).Add(1e10).Add(0.1).Text("%d %f %e %.3g"), "1 2.500000 1.000000e+10 0.1");
  EXPECT_EQ(Arguments().Add(-std::nan("")).Add(-HUGE_VAL).Text("%f %F"), "nan -INF");
  EXPECT_EQ(Arguments().Add("text").Add(65).Text("%s %c"), "text A");
  EXPECT_EQ(Arguments().Add("abcdef").Text("%.3s"), "abc");
  EXPECT_EQ(Arguments().Add(uint64_t{0x1000}).Text("%p"), "0x1000");
  EXPECT_EQ(Arguments().Add(uint64_t{0}).Add(uint64_t{16}).Text("%s %s"), "(null) (invalid)");
  EXPECT_EQ(Arguments().Add(8).Add(2).Add(3.14159).Text("[%*.*f]"), "[    3.14]");
  EXPECT_EQ(Arguments().Add(-8).Add(1).Text("[%*d]"), "[1       ]");
}

TEST(PrintfTest, CountsArguments) {
  EXPECT_EQ(Arguments().Add(1).Add(2).Format("%d %d%%")->arguments, 2);
  EXPECT_EQ(Arguments().Format("plain 100%%")->text, "plain 100%");
}

TEST(PrintfTest, BadFormats) {
  EXPECT_EQ(Arguments().Text("%y %"), "%y %");
  EXPECT_EQ(Arguments().Add(1).Text("%n%d"), "%n1");
  EXPECT_EQ(Arguments().Text("%5"), "%5");
  EXPECT_FALSE(Arguments().Format("%d").has_value());
  EXPECT_FALSE(Arguments().Add(1).Format("%d %f").has_value());
  EXPECT_EQ(Arguments().Add(1).Text("%99999999d").size(), 1024u);
}

TEST(PrintfTest, AnyFormatIsSafe) {
  EXPECT_TRUE(rc::check([](const std::string& middle) {
    const Arguments arguments = Arguments().Add(uint64_t{1}).Add(uint64_t{2}).Add(uint64_t{3});
    (void)arguments.Format("%" + middle);
    (void)arguments.Format("%*" + middle + "%.*f");
  }));
}

TEST(PrintfTest, ReadStringStopsAtTheEndOfMemory) {
  const char text[8] = {'a', 'b', 'c', 0, 'd', 'e', 'f', 'g'};
  const auto start = reinterpret_cast<uint64_t>(text);
  const ReadableBytes readable = [&](uint64_t address) { return start + sizeof text - address; };
  EXPECT_EQ(ReadString(start, readable, 100), "abc");
  EXPECT_EQ(ReadString(start + 4, readable, 100), std::nullopt);
  EXPECT_EQ(ReadString(start + 4, readable, 3), "def");
}

}  // namespace
}  // namespace wharf::device::soft
