#include "wharf/device/soft/runtime/texture.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace wharf::device::soft {
namespace {

using Random = std::mt19937_64;

struct FormatCase {
  const char* name;
  ChannelFormat format;
  bool normalized;
};

std::vector<FormatCase> AllFormats() {
  std::vector<FormatCase> cases;
  for (const uint8_t channels : {1, 2, 4}) {
    cases.push_back({"f32", {ChannelKind::kFloat, 32, channels}, false});
    cases.push_back({"f16", {ChannelKind::kFloat, 16, channels}, false});
    cases.push_back({"s32", {ChannelKind::kSigned, 32, channels}, false});
    cases.push_back({"u32", {ChannelKind::kUnsigned, 32, channels}, false});
    for (const uint8_t bits : {8, 16}) {
      for (const bool normalized : {false, true}) {
        cases.push_back({"signed", {ChannelKind::kSigned, bits, channels}, normalized});
        cases.push_back({"unsigned", {ChannelKind::kUnsigned, bits, channels}, normalized});
      }
    }
  }
  return cases;
}

bool ReadsFloats(const FormatCase& c) { return c.format.kind == ChannelKind::kFloat || c.normalized; }

// Of a number that is a normal half.
uint16_t EncodeHalf(double value) {
  if (value == 0) return 0;
  int exponent = 0;
  const double mantissa = std::frexp(std::fabs(value), &exponent) * 2 - 1;  // value = (1 + mantissa) * 2^(exponent - 1)
  const uint32_t bits = static_cast<uint32_t>(exponent - 1 + 15) << 10 | static_cast<uint32_t>(mantissa * 1024);
  return static_cast<uint16_t>(bits | (value < 0 ? 0x8000U : 0));
}

// An image of random texels that knows what each reads as.
class TestImage {
 public:
  TestImage(const FormatCase& c, uint32_t width, uint32_t height, uint32_t depth, Random& random)
      : format_(c.format), width_(width), rows_(std::max(height, 1U)), slices_(std::max(depth, 1U)) {
    described_.kind = ImageKind::kArray;
    described_.format = c.format;
    described_.width = width;
    described_.height = height;
    described_.depth = depth;
    // Rows and slices do not follow each other directly.
    described_.row_pitch = (width + 3) * c.format.TexelBytes();
    described_.slice_pitch = described_.row_pitch * (rows_ + 1);
    memory_.resize(described_.slice_pitch * slices_ / 8 + 8);
    described_.base = reinterpret_cast<DeviceAddress>(memory_.data());
    read_.resize(uint64_t{width_} * rows_ * slices_);
    for (uint32_t z = 0; z < slices_; ++z) {
      for (uint32_t y = 0; y < rows_; ++y) {
        for (uint32_t x = 0; x < width_; ++x) {
          for (uint32_t channel = 0; channel < c.format.channels; ++channel) Put(c, x, y, z, channel, random());
        }
      }
    }
  }

  const ImageDescription& described() const { return described_; }
  const Texel& At(int64_t x, int64_t y, int64_t z) const {
    return read_[static_cast<size_t>((z * rows_ + y) * width_ + x)];
  }
  int64_t Extent(size_t d) const { return d == 0 ? width_ : d == 1 ? rows_ : slices_; }

 private:
  void Put(const FormatCase& c, uint32_t x, uint32_t y, uint32_t z, uint32_t channel, uint64_t random) {
    const uint64_t offset = z * described_.slice_pitch + y * described_.row_pitch + x * format_.TexelBytes() +
                            channel * (format_.bits / 8U);
    const bool is_signed = format_.kind == ChannelKind::kSigned;
    uint32_t stored = static_cast<uint32_t>(random), read = 0;
    if (format_.kind == ChannelKind::kFloat) {
      const double value = static_cast<double>(static_cast<int64_t>(random % 2001) - 1000) / 8;
      read = std::bit_cast<uint32_t>(static_cast<float>(value));
      stored = format_.bits == 32 ? read : EncodeHalf(value);
    } else if (format_.bits == 32) {
      read = stored;
    } else {
      const uint32_t unsigned_value = stored & ((1U << format_.bits) - 1);
      const int64_t value = is_signed && (unsigned_value >> (format_.bits - 1)) != 0
                                ? static_cast<int64_t>(unsigned_value) - (int64_t{1} << format_.bits)
                                : static_cast<int64_t>(unsigned_value);
      const double most = is_signed ? (1 << (format_.bits - 1)) - 1 : (1 << format_.bits) - 1;
      const double unit = std::max(static_cast<double>(value) / most, -1.0);
      read = c.normalized ? std::bit_cast<uint32_t>(static_cast<float>(unit)) : static_cast<uint32_t>(value);
    }
    std::memcpy(reinterpret_cast<std::byte*>(memory_.data()) + offset, &stored, format_.bits / 8U);
    read_[(uint64_t{z} * rows_ + y) * width_ + x][channel] = read;
  }

  ChannelFormat format_;
  uint32_t width_, rows_, slices_;
  ImageDescription described_;
  std::vector<uint64_t> memory_;
  std::vector<Texel> read_;
};

// --- the programming guide's formulas, in double ---

// Which texel index `i` of an image that goes on for ever is; -1: the border.
int64_t Extended(int64_t i, int64_t n, AddressMode mode) {
  switch (mode) {
    case AddressMode::kWrap:
      return ((i % n) + n) % n;
    case AddressMode::kMirror: {
      const int64_t at = ((i % (2 * n)) + 2 * n) % (2 * n);
      return at < n ? at : 2 * n - 1 - at;
    }
    case AddressMode::kClamp:
      return std::min(std::max<int64_t>(i, 0), n - 1);
    case AddressMode::kBorder:
      break;
  }
  return i >= 0 && i < n ? i : -1;
}

struct Reference {
  const TestImage& image;
  const TextureDescription& texture;
  size_t dimensions;

  AddressMode Mode(size_t d) const {
    const AddressMode mode = texture.address[d];
    const bool repeats = mode == AddressMode::kWrap || mode == AddressMode::kMirror;
    return repeats && !texture.normalized_coordinates ? AddressMode::kClamp : mode;
  }
  double Position(size_t d, float coordinate) const {
    double x = coordinate;
    if (!texture.normalized_coordinates) return x;
    const double whole = std::floor(x);
    if (Mode(d) == AddressMode::kWrap) x -= whole;
    if (Mode(d) == AddressMode::kMirror) x = std::fmod(whole, 2) == 0 ? x - whole : 1 - (x - whole);
    return x * static_cast<double>(image.Extent(d));
  }
  Texel At(const std::array<int64_t, 3>& index) const {
    std::array<int64_t, 3> at{};
    for (size_t d = 0; d < dimensions; ++d) {
      at[d] = Extended(index[d], image.Extent(d), Mode(d));
      if (at[d] < 0) {
        Texel border{};
        for (size_t c = 0; c < texture.image.format.channels; ++c) {
          border[c] = std::bit_cast<uint32_t>(texture.border[c]);
        }
        return border;
      }
    }
    return image.At(at[0], at[1], at[2]);
  }
  Texel Point(const std::array<float, 3>& coordinates) const {
    std::array<int64_t, 3> index{};
    for (size_t d = 0; d < dimensions; ++d) {
      index[d] = static_cast<int64_t>(std::floor(Position(d, coordinates[d])));
    }
    return At(index);
  }
  std::array<double, 4> Linear(const std::array<float, 3>& coordinates) const {
    std::array<int64_t, 3> first{};
    std::array<double, 3> alpha{};
    for (size_t d = 0; d < dimensions; ++d) {
      // Eight bits of fraction.
      const double at = std::floor((Position(d, coordinates[d]) - 0.5) * 256 + 0.5) / 256;
      first[d] = static_cast<int64_t>(std::floor(at));
      alpha[d] = at - std::floor(at);
    }
    std::array<double, 4> sum{};
    for (size_t corner = 0; corner < size_t{1} << dimensions; ++corner) {
      double weight = 1;
      std::array<int64_t, 3> index = first;
      for (size_t d = 0; d < dimensions; ++d) {
        const bool second = (corner >> d & 1) != 0;
        index[d] += second ? 1 : 0;
        weight *= second ? alpha[d] : 1 - alpha[d];
      }
      const Texel texel = At(index);
      for (size_t c = 0; c < 4; ++c) sum[c] += weight * std::bit_cast<float>(texel[c]);
    }
    // As GPUs do it: between a line, at height 0, and the border above it.
    if (dimensions == 1 && texture.address[1] == AddressMode::kBorder) {
      for (size_t c = 0; c < texture.image.format.channels; ++c) sum[c] = (sum[c] + texture.border[c]) / 2;
    }
    return sum;
  }
};

float RandomCoordinate(Random& random, int64_t extent, bool normalized) {
  const double unit = static_cast<double>(random() >> 11) / 0x1p53;  // [0, 1)
  double x = random() % 4 == 0 ? unit : unit * 6 - 2.5;
  if (random() % 8 == 0) x = std::floor(unit * static_cast<double>(3 * extent)) / static_cast<double>(extent) - 1;
  return static_cast<float>(normalized ? x : x * static_cast<double>(extent));
}

void Compare(const TestImage& image, const TextureDescription& texture, size_t dimensions, Random& random) {
  const Reference reference{image, texture, dimensions};
  const Image made = MakeImage(texture);
  const TextureFetch fetch{.geometry = static_cast<ImageGeometry>(dimensions - 1)};
  for (int i = 0; i < 24; ++i) {
    std::array<float, 3> at{};
    std::array<uint32_t, 3> bits{};
    for (size_t d = 0; d < 3; ++d) {
      at[d] = RandomCoordinate(random, image.Extent(d), texture.normalized_coordinates);
      bits[d] = std::bit_cast<uint32_t>(at[d]);
    }
    const Texel got = FetchTexel(made, fetch, 0, bits[0], bits[1], bits[2]);
    if (texture.filter == FilterMode::kPoint) {
      ASSERT_EQ(got, reference.Point(at)) << at[0] << ' ' << at[1] << ' ' << at[2];
      continue;
    }
    const std::array<double, 4> expected = reference.Linear(at);
    for (size_t c = 0; c < 4; ++c) {
      ASSERT_NEAR(std::bit_cast<float>(got[c]), expected[c], 1e-4) << at[0] << ' ' << at[1] << ' ' << at[2];
    }
  }
}

class TextureFormats : public ::testing::TestWithParam<FormatCase> {};

TEST_P(TextureFormats, FetchesWhatTheFormulasSay) {
  const FormatCase& c = GetParam();
  Random random(2026);
  for (size_t dimensions = 1; dimensions <= 3; ++dimensions) {
    for (const uint32_t width : {1U, 7U, 16U}) {
      const TestImage image(c, width, dimensions > 1 ? 5 : 0, dimensions > 2 ? 3 : 0, random);
      TextureDescription texture{.image = image.described()};
      texture.read = c.normalized ? ReadMode::kNormalizedFloat : ReadMode::kElement;
      texture.border = {0.25F, -2, 8, 0.5F};
      for (int mode = 0; mode < 16; ++mode) {
        texture.address = {static_cast<AddressMode>(mode % 4), static_cast<AddressMode>(mode / 4),
                           static_cast<AddressMode>((mode + mode / 4) % 4)};
        for (const bool normalized : {false, true}) {
          for (const FilterMode filter : {FilterMode::kPoint, FilterMode::kLinear}) {
            if (filter == FilterMode::kLinear && !ReadsFloats(c)) continue;
            texture.normalized_coordinates = normalized;
            texture.filter = filter;
            ASSERT_TRUE(CheckTexture(texture).ok()) << CheckTexture(texture);
            ASSERT_NO_FATAL_FAILURE(Compare(image, texture, dimensions, random))
                << dimensions << "D, width " << width << ", modes " << mode << ", normalized " << normalized
                << ", filter " << static_cast<int>(filter);
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, TextureFormats, ::testing::ValuesIn(AllFormats()), [](const auto& info) {
  return std::string(info.param.name) + "_" + std::to_string(info.param.format.bits) + "x" +
         std::to_string(info.param.format.channels) + (info.param.normalized ? "_normalized" : "");
});

// --- by hand ---

uint32_t FloatBits(float value) { return std::bit_cast<uint32_t>(value); }
float AsFloat(uint32_t bits) { return std::bit_cast<float>(bits); }

template <typename T>
ImageDescription Described(const std::vector<T>& memory, ChannelFormat format, uint32_t width, uint32_t height = 0,
                           uint32_t depth = 0) {
  ImageDescription image{.kind = ImageKind::kArray, .format = format};
  image.base = reinterpret_cast<DeviceAddress>(memory.data());
  image.width = width;
  image.height = height;
  image.depth = depth;
  image.row_pitch = uint64_t{width} * format.TexelBytes();
  image.slice_pitch = image.row_pitch * std::max(height, 1U);
  return image;
}

constexpr ChannelFormat kSingle{ChannelKind::kFloat, 32, 1};

TEST(Texture, ReadsEveryHalf) {
  std::vector<uint16_t> memory(1 << 16);
  for (size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<uint16_t>(i);
  const Image image = MakeImage(TextureDescription{.image = Described(memory, {ChannelKind::kFloat, 16, 1}, 1 << 16)});
  for (uint32_t i = 0; i < memory.size(); ++i) {
    const float got = AsFloat(FetchTexel(image, {.integer = true}, 0, i, 0, 0)[0]);
    const int exponent = static_cast<int>(i >> 10 & 31);
    const double mantissa = i & 1023, sign = (i & 0x8000) != 0 ? -1 : 1;
    if (exponent == 31) {
      ASSERT_EQ(std::isnan(got), mantissa != 0);
      ASSERT_EQ(std::isinf(got), mantissa == 0);
      ASSERT_EQ(std::signbit(got), sign < 0);
      continue;
    }
    const double expected =
        sign * (exponent == 0 ? mantissa * 0x1p-24 : std::ldexp(1 + mantissa / 1024, exponent - 15));
    ASSERT_EQ(got, expected) << i;
    ASSERT_EQ(std::signbit(got), sign < 0);
  }
}

TEST(Texture, TakesAnyCoordinate) {
  const std::vector<float> memory{1, 2, 3, 4, 5, 6};
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (int mode = 0; mode < 4; ++mode) {
    for (const bool normalized : {false, true}) {
      for (const FilterMode filter : {FilterMode::kPoint, FilterMode::kLinear}) {
        TextureDescription texture{.image = Described(memory, kSingle, 3, 2), .filter = filter};
        texture.address.fill(static_cast<AddressMode>(mode));
        texture.normalized_coordinates = normalized;
        const Image image = MakeImage(texture);
        for (const float x : {kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN(), 3e38F, -3e38F, 1e-45F,
                              -1e-45F, 2147483648.F, -2147483648.F, 4294967296.F}) {
          for (const float y : {x, 0.F}) {
            const float got =
                AsFloat(FetchTexel(image, {.geometry = ImageGeometry::k2D}, 0, FloatBits(x), FloatBits(y), 0)[0]);
            EXPECT_TRUE(got >= 0 && got <= 6) << x << ' ' << y << ": " << got;
          }
        }
      }
    }
  }
}

TEST(Texture, FarCoordinatesAreClampedToTheirSide) {
  const std::vector<float> memory{1, 2, 3};
  for (const bool normalized : {false, true}) {
    for (const FilterMode filter : {FilterMode::kPoint, FilterMode::kLinear}) {
      TextureDescription texture{.image = Described(memory, kSingle, 3), .filter = filter};
      texture.normalized_coordinates = normalized;
      const auto at = [&](float x) { return AsFloat(FetchTexel(MakeImage(texture), {}, 0, FloatBits(x), 0, 0)[0]); };
      for (const float x : {4.F, 1e9F, 1e13F, 3e38F, std::numeric_limits<float>::infinity()}) {
        EXPECT_EQ(at(x), 3) << x;
        EXPECT_EQ(at(-x), 1) << x;
      }
    }
  }
}

TEST(Texture, IntegersFetchClampedOrTheBorder) {
  const std::vector<float> memory{1, 2, 3};
  TextureDescription texture{.image = Described(memory, kSingle, 3)};
  texture.border = {9, 0, 0, 0};
  const auto at = [&](int32_t x) {
    return AsFloat(FetchTexel(MakeImage(texture), {.integer = true}, 0, static_cast<uint32_t>(x), 0, 0)[0]);
  };
  EXPECT_EQ(at(-1), 1);
  EXPECT_EQ(at(1), 2);
  EXPECT_EQ(at(3), 3);
  texture.address[0] = AddressMode::kBorder;
  EXPECT_EQ(at(-1), 9);
  EXPECT_EQ(at(2), 3);
  EXPECT_EQ(at(std::numeric_limits<int32_t>::max()), 9);
  // Linear memory gives zeros, whatever mode is described.
  texture.image.kind = ImageKind::kLinear;
  texture.address[0] = AddressMode::kClamp;
  EXPECT_EQ(at(2), 3);
  EXPECT_EQ(at(3), 0);
  EXPECT_EQ(at(-1), 0);
  EXPECT_EQ(at(std::numeric_limits<int32_t>::min()), 0);
}

TEST(Texture, FilteredTexelsOfNoWeightDoNotCount) {
  const std::vector<float> memory{1, std::numeric_limits<float>::infinity(), 3};
  const Image image =
      MakeImage(TextureDescription{.image = Described(memory, kSingle, 3), .filter = FilterMode::kLinear});
  EXPECT_EQ(AsFloat(FetchTexel(image, {}, 0, FloatBits(0.5F), 0, 0)[0]), 1);
  EXPECT_EQ(AsFloat(FetchTexel(image, {}, 0, FloatBits(2.5F), 0, 0)[0]), 3);
}

TEST(Texture, WeightsHaveEightBits) {
  const std::vector<float> memory{0, 65536};
  const Image image =
      MakeImage(TextureDescription{.image = Described(memory, kSingle, 2), .filter = FilterMode::kLinear});
  const auto at = [&](float x) { return AsFloat(FetchTexel(image, {}, 0, FloatBits(x), 0, 0)[0]); };
  EXPECT_EQ(at(0.5F + 1.0F / 256), 256);
  EXPECT_EQ(at(0.5F + 1.4F / 256), 256);
  EXPECT_EQ(at(0.5F + 1.6F / 256), 512);
  EXPECT_EQ(at(0.5F + 0.4F / 256), 0);
  EXPECT_EQ(at(1.5F - 0.4F / 256), 65536);
}

TEST(Texture, LayersAreClampedAndNotFiltered) {
  const std::vector<float> memory{1, 2, 10, 20, 100, 200};
  ImageDescription described = Described(memory, kSingle, 2, 0, 3);
  described.layered = true;
  const Image image = MakeImage(TextureDescription{.image = described, .filter = FilterMode::kLinear});
  const auto at = [&](int32_t layer, float x) {
    return AsFloat(FetchTexel(image, {}, static_cast<uint32_t>(layer), FloatBits(x), 0, 0)[0]);
  };
  EXPECT_EQ(at(0, 1), 1.5F);
  EXPECT_EQ(at(1, 1), 15);
  EXPECT_EQ(at(2, 0.5F), 100);
  EXPECT_EQ(at(3, 0.5F), 100);
  EXPECT_EQ(at(-1, 0.5F), 1);
}

TEST(Texture, CubesHaveTheFacesOfTheGuide) {
  std::vector<float> memory(12 * 4);
  for (size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<float>(i);  // face * 4 + row * 2 + column
  ImageDescription described = Described(memory, kSingle, 2, 2, 12);
  described.cubemap = described.layered = true;
  const Image image = MakeImage(TextureDescription{.image = described});
  const auto at = [&](uint32_t layer, float x, float y, float z) {
    return AsFloat(
        FetchTexel(image, {.geometry = ImageGeometry::kCube}, layer, FloatBits(x), FloatBits(y), FloatBits(z))[0]);
  };
  EXPECT_EQ(at(0, 2, 1, 1), 0 + 0);  // s = -z, t = -y
  EXPECT_EQ(at(0, 2, -1, -1), 0 + 3);
  EXPECT_EQ(at(0, -2, 1, 1), 4 + 1);     // s = z, t = -y
  EXPECT_EQ(at(0, 1, 2, -1), 8 + 1);     // s = x, t = z
  EXPECT_EQ(at(0, -1, -2, -1), 12 + 2);  // s = x, t = -z
  EXPECT_EQ(at(0, 1, 1, 2), 16 + 1);     // s = x, t = -y
  EXPECT_EQ(at(0, 1, -1, -2), 20 + 2);   // s = -x, t = -y
  EXPECT_EQ(at(1, -2, 1, 1), 24 + 4 + 1);
  EXPECT_EQ(at(7, -2, 1, 1), 24 + 4 + 1);
  EXPECT_GE(at(0, 0, 0, 0), 0);
}

// What an H200 makes of them.
TEST(Texture, GathersNoSmallNumbersAndOneNan) {
  const std::vector<uint32_t> memory{0xffbe0890, 0x7fc12345, 0x00000001, 0x80400000, 0x7f800000, 0xff800000};
  const Image image = MakeImage(TextureDescription{.image = Described(memory, kSingle, 2, 3)});
  const TextureFetch fetch{.geometry = ImageGeometry::k2D};
  const uint32_t one = FloatBits(1), two = FloatBits(2);
  EXPECT_EQ(GatherTexels(image, fetch, 0, one, one, 0), (Texel{0, 0x80000000, 0x7fffffff, 0x7fffffff}));
  EXPECT_EQ(GatherTexels(image, fetch, 0, one, two, 0), (Texel{0x7f800000, 0xff800000, 0x80000000, 0}));
  EXPECT_EQ(FetchTexel(image, {.geometry = ImageGeometry::k2D, .integer = true}, 0, 0, 0, 0)[0], memory[0]);
}

TEST(Texture, GathersAComponentOfFourTexels) {
  std::vector<float> memory;
  for (int i = 0; i < 9; ++i) memory.insert(memory.end(), {static_cast<float>(i), static_cast<float>(100 + i)});
  ImageDescription described = Described(memory, {ChannelKind::kFloat, 32, 2}, 3, 3);
  described.gather = true;
  const Image image = MakeImage(TextureDescription{.image = described});
  const auto gather = [&](uint8_t component, float x, float y) {
    const Texel got =
        GatherTexels(image, {.geometry = ImageGeometry::k2D, .component = component}, 0, FloatBits(x), FloatBits(y), 0);
    return std::vector<float>{AsFloat(got[0]), AsFloat(got[1]), AsFloat(got[2]), AsFloat(got[3])};
  };
  EXPECT_EQ(gather(0, 1.2F, 1.2F), (std::vector<float>{3, 4, 1, 0}));
  EXPECT_EQ(gather(1, 1.6F, 2.2F), (std::vector<float>{107, 108, 105, 104}));
  EXPECT_EQ(gather(0, 0, 0), (std::vector<float>{0, 0, 0, 0}));
  EXPECT_EQ(gather(3, 1, 1), (std::vector<float>{0, 0, 0, 0}));
}

TEST(Texture, QueriesSayWhatWasDescribed) {
  const std::vector<float> memory(6 * 4);
  TextureDescription texture{.image = Described(memory, kSingle, 4, 3, 2)};
  texture.normalized_coordinates = true;
  const auto ask = [&](ImageQuery query) { return QueryImage(MakeImage(texture), query); };
  EXPECT_EQ(ask(ImageQuery::kWidth), 4);
  EXPECT_EQ(ask(ImageQuery::kHeight), 3);
  EXPECT_EQ(ask(ImageQuery::kDepth), 2);
  EXPECT_EQ(ask(ImageQuery::kArraySize), 0);
  EXPECT_EQ(ask(ImageQuery::kNormalizedCoordinates), 1);
  EXPECT_EQ(ask(ImageQuery::kLevels), 1);
  texture.image.layered = true;
  EXPECT_EQ(ask(ImageQuery::kDepth), 0);
  EXPECT_EQ(ask(ImageQuery::kArraySize), 2);
}

// --- surfaces ---

class SurfacePlaces : public ::testing::Test {
 protected:
  // Where in memory, in bytes; -1: left out, -2: a fault, -3: misaligned.
  int64_t Find(SurfaceBounds bounds, uint8_t bytes, int32_t x, int32_t y = 0, int32_t z = 0, int32_t layer = 0,
               ImageGeometry geometry = ImageGeometry::k2D) {
    const SurfacePlace place = FindInSurface(
        MakeImage(described_), {.geometry = geometry, .bounds = bounds, .bytes = bytes}, static_cast<uint32_t>(layer),
        static_cast<uint32_t>(x), static_cast<uint32_t>(y), static_cast<uint32_t>(z));
    if (place.state == SurfacePlace::kInside) return place.at - reinterpret_cast<const std::byte*>(memory_.data());
    return place.state == SurfacePlace::kLeftOut ? -1 : place.state == SurfacePlace::kOutside ? -2 : -3;
  }

  std::vector<uint32_t> memory_ = std::vector<uint32_t>(5 * 3 * 2);
  ImageDescription described_ = Described(memory_, {ChannelKind::kUnsigned, 32, 1}, 5, 3, 2);
};

TEST_F(SurfacePlaces, AreInBytesAlongARow) {
  described_.layered = true;
  EXPECT_EQ(Find(SurfaceBounds::kTrap, 4, 8, 2), 2 * 20 + 8);
  EXPECT_EQ(Find(SurfaceBounds::kTrap, 4, 16, 2, 0, 1), 60 + 2 * 20 + 16);
  EXPECT_EQ(Find(SurfaceBounds::kTrap, 1, 19, 0), 19);
  EXPECT_EQ(Find(SurfaceBounds::kTrap, 2, 3, 0), -3);
  EXPECT_EQ(Find(SurfaceBounds::kTrap, 4, 4, 2, 1, 0, ImageGeometry::k3D), 60 + 2 * 20 + 4);
}

TEST_F(SurfacePlaces, OutsideFaultAreLeftOutOrAreClamped) {
  described_.layered = true;
  struct Case {
    uint8_t bytes;
    int32_t x, y, layer;
    int64_t clamped;
  };
  constexpr int32_t kMost = std::numeric_limits<int32_t>::max(), kLeast = std::numeric_limits<int32_t>::min();
  for (const Case& c : {Case{4, 20, 0, 0, 16}, Case{4, -4, 1, 0, 20}, Case{8, 16, 0, 0, 8}, Case{4, 0, 3, 0, 40},
                        Case{4, 0, -1, 0, 0}, Case{4, 0, 0, 2, 60}, Case{4, 0, 0, -1, 0}, Case{1, kMost, 0, 0, 19},
                        Case{4, kLeast, kLeast, kMost, 60}, Case{16, 16, 2, 1, 100}}) {
    EXPECT_EQ(Find(SurfaceBounds::kTrap, c.bytes, c.x, c.y, 0, c.layer), -2);
    EXPECT_EQ(Find(SurfaceBounds::kZero, c.bytes, c.x, c.y, 0, c.layer), -1);
    EXPECT_EQ(Find(SurfaceBounds::kClamp, c.bytes, c.x, c.y, 0, c.layer), c.clamped) << c.x << ' ' << c.y;
  }
}

TEST_F(SurfacePlaces, ThatHoldLessThanIsAccessedFault) {
  described_ = Described(memory_, {ChannelKind::kUnsigned, 8, 1}, 3);
  for (const SurfaceBounds bounds : {SurfaceBounds::kTrap, SurfaceBounds::kZero, SurfaceBounds::kClamp}) {
    EXPECT_EQ(Find(bounds, 4, 0, 0, 0, 0, ImageGeometry::k1D), -2);
  }
}

// --- the table ---

TEST(ImageTable, FindsByHandleAndKind) {
  ImageTable table;
  EXPECT_EQ(table.Find(0, false), nullptr);
  EXPECT_EQ(table.Find(1, false), nullptr);
  EXPECT_EQ(table.Find(~uint64_t{0}, true), nullptr);
  Image image;
  image.levels[0].width = 7;
  const TextureHandle texture = table.Add(image).value();
  image.is_surface = true;
  const TextureHandle surface = table.Add(image).value();
  EXPECT_NE(texture, surface);
  ASSERT_NE(table.Find(texture, false), nullptr);
  EXPECT_EQ(table.Find(texture, false)->levels[0].width, 7);
  EXPECT_EQ(table.Find(texture, true), nullptr);
  EXPECT_EQ(table.Find(texture + ImageTable::kMost, false), nullptr);
  EXPECT_EQ(table.Find(0, false), nullptr);
  EXPECT_FALSE(table.Retire(texture, true));
  EXPECT_FALSE(table.Retire(0, false));
  EXPECT_TRUE(table.Retire(texture, false));
  EXPECT_FALSE(table.Retire(texture, false));
  EXPECT_NE(table.Find(texture, false), nullptr);  // for what was launched before
  table.Release(texture);
  EXPECT_EQ(table.Find(texture, false), nullptr);
  EXPECT_NE(table.Find(surface, true), nullptr);
}

TEST(ImageTable, HoldsSoManyAndUsesNoHandleTwice) {
  ImageTable table;
  std::vector<TextureHandle> handles;
  for (uint32_t i = 0; i < ImageTable::kMost; ++i) handles.push_back(table.Add(Image{}).value());
  const absl::StatusOr<TextureHandle> beyond = table.Add(Image{});
  EXPECT_EQ(beyond.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(CudaErrorOf(beyond.status()), CudaError::kOutOfMemory);
  ASSERT_TRUE(table.Retire(handles[77], false));
  EXPECT_FALSE(table.Add(Image{}).ok());  // kernels may still use it
  table.Release(handles[77]);
  const TextureHandle again = table.Add(Image{}).value();
  EXPECT_GT(again, handles.back());
  EXPECT_EQ(again % ImageTable::kMost, handles[77] % ImageTable::kMost);
  EXPECT_EQ(table.Find(handles[77], false), nullptr);
  EXPECT_NE(table.Find(again, false), nullptr);
}

TEST(ImageTable, IsReadWhileItGrows) {
  ImageTable table;
  constexpr uint32_t kImages = 5000;
  std::thread reader([&] {
    for (uint32_t seen = 0; seen < kImages;) {
      const Image* image = table.Find(seen + 1, false);
      if (image == nullptr) continue;
      ++seen;
      ASSERT_EQ(image->levels[0].width, seen);
    }
  });
  for (uint32_t i = 1; i <= kImages; ++i) {
    Image image;
    image.levels[0].width = i;
    ASSERT_EQ(table.Add(image).value(), i);
  }
  reader.join();
}

}  // namespace
}  // namespace wharf::device::soft
