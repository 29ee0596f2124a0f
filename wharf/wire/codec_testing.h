// A message with every kind of field, for the codec's tests.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "wharf/wire/codec.h"

namespace wharf::wire {
namespace testing {

enum class Colour : uint16_t { kRed = 1, kBlue = 0x102 };

struct Point {
  int32_t x = 0, y = 0;
  friend bool operator==(const Point&, const Point&) = default;
};

}  // namespace testing

template <>
struct FieldsOf<testing::Point> {
  static auto Of(auto& point) { return std::tie(point.x, point.y); }
};

namespace testing {

struct Everything {
  bool flag = false;
  int8_t small = 0;
  uint64_t large = 0;
  double real = 0;
  Colour colour = Colour::kRed;
  std::string text;
  std::vector<std::byte> bytes;
  std::array<uint16_t, 4> four{};
  std::vector<Point> points;
  auto Fields() { return std::tie(flag, small, large, real, colour, text, bytes, four, points); }
  friend bool operator==(const Everything&, const Everything&) = default;
};

}  // namespace testing
}  // namespace wharf::wire
