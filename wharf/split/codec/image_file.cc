#include "wharf/split/codec/image_file.h"

#include <png.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <string_view>
#include <utility>

namespace wharf::split {
namespace {

std::string_view TextOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool IsPng(std::string_view file) { return file.substr(0, 4) == "\x89PNG"; }
bool IsJpeg(std::string_view file) { return file.substr(0, 2) == "\xff\xd8"; }
bool IsPnm(std::string_view file) { return file.substr(0, 2) == "P5" || file.substr(0, 2) == "P6"; }

absl::Status CheckSize(int64_t width, int64_t height) {
  if (width >= 1 && height >= 1 && width <= kMaxImagePixels && height <= kMaxImagePixels / width) {
    return absl::OkStatus();
  }
  return InvalidArgument("an image of {} x {} pixels is too large, or none", width, height);
}

absl::StatusOr<Image> ReadPng(std::span<const std::byte> file) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  const auto failed = [&png] {
    const std::string why = png.message;
    png_image_free(&png);
    return InvalidArgument("a damaged PNG: {}", why);
  };
  if (png_image_begin_read_from_memory(&png, file.data(), file.size()) == 0) return failed();
  if (const absl::Status fits = CheckSize(png.width, png.height); !fits.ok()) {
    png_image_free(&png);
    return fits;
  }
  png.format = PNG_FORMAT_RGB;
  Image image{static_cast<int>(png.width), static_cast<int>(png.height), 3, {}};
  image.pixels.resize(PNG_IMAGE_SIZE(png));
  const png_color black{};
  if (png_image_finish_read(&png, &black, image.pixels.data(), 0, nullptr) == 0) return failed();
  return image;
}

// The next number of a header; spaces, line ends and comments (to the end of their line) before it are left out. -1:
// there is none.
int64_t NextNumber(std::string_view& text) {
  const auto skip = [&text](size_t end) { text.remove_prefix(std::min(end, text.size())); };
  for (;;) {
    skip(text.find_first_not_of(" \t\r\n"));
    if (text.empty() || text[0] != '#') break;
    skip(text.find('\n'));
  }
  int64_t number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return -1;
  skip(end - text.data());
  return number;
}

absl::StatusOr<Image> ReadPnm(std::string_view text) {
  const int channels = text[1] == '6' ? 3 : 1;
  text.remove_prefix(2);
  const int64_t width = NextNumber(text), height = NextNumber(text), largest = NextNumber(text);
  WHARF_RETURN_IF_ERROR(CheckSize(width, height));
  if (largest != 255) return InvalidArgument("a PNM with other than 255 shades");
  const int64_t bytes = width * height * channels;
  if (static_cast<int64_t>(text.size()) < 1 + bytes) return InvalidArgument("a PNM that is cut short");
  Image image{static_cast<int>(width), static_cast<int>(height), channels, {}};
  image.pixels.assign(text.begin() + 1, text.begin() + 1 + bytes);
  return WithChannels(std::move(image), 3);
}

// What one pixel of a smaller (or larger) line is made of.
struct Reach {
  int first = 0;
  std::vector<float> weights;
};

std::vector<Reach> ReachesOf(int from, int to) {
  const double scale = static_cast<double>(from) / to, reach = std::max(1.0, scale);
  std::vector<Reach> reaches(to);
  for (int i = 0; i < to; ++i) {
    const double centre = (i + 0.5) * scale;
    const int first = std::max(0, static_cast<int>(std::floor(centre - reach)));
    const int last = std::min(from, static_cast<int>(std::ceil(centre + reach)));
    reaches[i].first = first;
    double sum = 0;
    for (int j = first; j < last; ++j) {
      const double weight = std::max(0.0, 1 - std::abs(j + 0.5 - centre) / reach);
      reaches[i].weights.push_back(static_cast<float>(weight));
      sum += weight;
    }
    for (float& weight : reaches[i].weights) weight = static_cast<float>(weight / sum);
  }
  return reaches;
}

// Lines of `count` numbers become as many as `reaches` has.
std::vector<float> MixedLines(const std::vector<float>& lines, size_t count, const std::vector<Reach>& reaches) {
  std::vector<float> mixed(reaches.size() * count);
  for (size_t i = 0; i < reaches.size(); ++i) {
    for (size_t k = 0; k < reaches[i].weights.size(); ++k) {
      const float weight = reaches[i].weights[k];
      const float* const line = &lines[(reaches[i].first + k) * count];
      for (size_t j = 0; j < count; ++j) mixed[i * count + j] += weight * line[j];
    }
  }
  return mixed;
}

// Where channel `channel` of pixel `pixel` goes.
size_t PlaceOf(const Image& image, bool planar, size_t pixel, size_t channel) {
  const size_t pixels = static_cast<size_t>(image.width) * image.height;
  return planar ? channel * pixels + pixel : pixel * image.channels + channel;
}

}  // namespace

bool IsImage(std::span<const std::byte> file) {
  const std::string_view text = TextOf(file);
  return IsPng(text) || IsJpeg(text) || IsPnm(text);
}

absl::StatusOr<Image> ReadImage(std::span<const std::byte> file) {
  const std::string_view text = TextOf(file);
  if (IsPng(text)) return ReadPng(file);
  if (IsJpeg(text)) return DecodeJpeg(file, 3);
  if (IsPnm(text)) return ReadPnm(text);
  return InvalidArgument("no PNG, JPEG or binary PNM");
}

std::string ConversionOf(std::span<const std::byte> file) {
  constexpr size_t kDepth = 24;  // its place in a PNG's header
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (IsPng(text)) return text.size() > kDepth && text[kDepth] == 16 ? "its 16 bits a channel become 8" : "";
  return IsJpeg(text) && IsOfInks(file) ? "its four inks (CMYK) become red, green, blue" : "";
}

Image WithChannels(Image image, int channels) {
  if (image.channels == channels) return image;
  Image changed{image.width, image.height, channels, {}};
  const size_t pixels = static_cast<size_t>(image.width) * image.height;
  changed.pixels.reserve(pixels * channels);
  for (size_t i = 0; i < pixels; ++i) {
    if (channels == 3) {
      changed.pixels.insert(changed.pixels.end(), 3, image.pixels[i]);
    } else {
      const uint8_t* const pixel = &image.pixels[3 * i];
      changed.pixels.push_back(static_cast<uint8_t>((299 * pixel[0] + 587 * pixel[1] + 114 * pixel[2] + 500) / 1000));
    }
  }
  return changed;
}

Image Resized(const Image& image, int width, int height) {
  const auto channels = static_cast<size_t>(image.channels);
  const std::vector<float> pixels(image.pixels.begin(), image.pixels.end());
  // The height first: a line of the picture at a time; then every line, a pixel at a time.
  const std::vector<float> lines = MixedLines(pixels, channels * image.width, ReachesOf(image.height, height));
  const std::vector<Reach> reaches = ReachesOf(image.width, width);
  Image resized{width, height, image.channels, {}};
  resized.pixels.reserve(static_cast<size_t>(width) * height * channels);
  const size_t line = channels * image.width;
  for (int y = 0; y < height; ++y) {
    const std::vector<float> from(lines.begin() + static_cast<int64_t>(y * line),
                                  lines.begin() + static_cast<int64_t>((y + 1) * line));
    for (const float mean : MixedLines(from, channels, reaches)) {
      resized.pixels.push_back(static_cast<uint8_t>(std::clamp(std::lround(mean), 0L, 255L)));
    }
  }
  return resized;
}

std::vector<std::byte> PixelBytes(const Image& image, bool planar) {
  std::vector<std::byte> bytes(image.pixels.size());
  for (size_t i = 0; i < bytes.size(); ++i) {
    const size_t pixel = i / image.channels, channel = i % image.channels;
    bytes[PlaceOf(image, planar, pixel, channel)] = std::byte{image.pixels[i]};
  }
  return bytes;
}

std::vector<std::byte> PixelFloats(const Image& image, bool planar, const graph::PixelMap& map) {
  std::vector<std::byte> bytes(image.pixels.size() * sizeof(float));
  for (size_t i = 0; i < image.pixels.size(); ++i) {
    const size_t pixel = i / image.channels, channel = i % image.channels;
    const float number = static_cast<float>(image.pixels[i]) * map.scale[channel] + map.offset[channel];
    std::memcpy(&bytes[PlaceOf(image, planar, pixel, channel) * sizeof(float)], &number, sizeof(float));
  }
  return bytes;
}

}  // namespace wharf::split
