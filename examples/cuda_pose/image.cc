#include "examples/cuda_pose/image.h"

#include <png.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>

namespace pose {
namespace {

struct Colour {
  uint8_t r, g, b;
};

void Put(Image* image, int x, int y, Colour colour) {
  if (x < 0 || y < 0 || x >= image->width || y >= image->height) return;
  uint8_t* pixel = &image->rgb[(size_t(y) * image->width + x) * 3];
  pixel[0] = colour.r, pixel[1] = colour.g, pixel[2] = colour.b;
}

void Dot(Image* image, float x, float y, int radius, Colour colour) {
  for (int dy = -radius; dy <= radius; ++dy)
    for (int dx = -radius; dx <= radius; ++dx)
      if (dx * dx + dy * dy <= radius * radius) Put(image, int(std::lround(x)) + dx, int(std::lround(y)) + dy, colour);
}

void Line(Image* image, float x0, float y0, float x1, float y1, int radius, Colour colour) {
  const int steps = std::max(1, int(std::ceil(std::hypot(x1 - x0, y1 - y0))));
  for (int i = 0; i <= steps; ++i) {
    const float t = float(i) / steps;
    Dot(image, x0 + t * (x1 - x0), y0 + t * (y1 - y0), radius, colour);
  }
}

// Digits of a 3 x 5 font, a row of three bits each, and the point.
constexpr uint16_t kDigits[10] = {075557, 026227, 071747, 071717, 055711, 074717, 074757, 071111, 075757, 075717};

void Text(Image* image, int x, int y, const char* text, Colour colour) {
  constexpr int kScale = 2;
  for (; *text; ++text) {
    const bool digit = *text >= '0' && *text <= '9';
    const uint16_t glyph = digit ? kDigits[*text - '0'] : 2;
    for (int row = 0; row < 5; ++row)
      for (int column = 0; column < 3; ++column) {
        if (!(glyph >> (3 * (4 - row) + 2 - column) & 1)) continue;
        for (int i = 0; i < kScale * kScale; ++i)
          Put(image, x + column * kScale + i % kScale, y + row * kScale + i / kScale, colour);
      }
    x += 4 * kScale;
  }
}

void Box(Image* image, const Pose& pose, Colour colour) {
  Line(image, pose.x0, pose.y0, pose.x1, pose.y0, 1, colour);
  Line(image, pose.x1, pose.y0, pose.x1, pose.y1, 1, colour);
  Line(image, pose.x1, pose.y1, pose.x0, pose.y1, 1, colour);
  Line(image, pose.x0, pose.y1, pose.x0, pose.y0, 1, colour);
}

}  // namespace

Image ReadPng(const std::string& path) {
  png_image png = {};
  png.version = PNG_IMAGE_VERSION;
  if (!png_image_begin_read_from_file(&png, path.c_str())) throw std::runtime_error(path + ": " + png.message);
  png.format = PNG_FORMAT_RGB;
  if (png.width > 16384 || png.height > 16384) {
    png_image_free(&png);
    throw std::runtime_error(path + ": larger than 16384 pixels a side");
  }
  Image image;
  image.width = int(png.width), image.height = int(png.height);
  image.rgb.resize(PNG_IMAGE_SIZE(png));
  if (!png_image_finish_read(&png, nullptr, image.rgb.data(), 0, nullptr))
    throw std::runtime_error(path + ": " + png.message);
  return image;
}

void WritePng(const std::string& path, const Image& image) {
  png_image png = {};
  png.version = PNG_IMAGE_VERSION;
  png.width = png_uint_32(image.width), png.height = png_uint_32(image.height);
  png.format = PNG_FORMAT_RGB;
  if (!png_image_write_to_file(&png, path.c_str(), 0, image.rgb.data(), 0, nullptr))
    throw std::runtime_error(path + ": " + png.message);
}

Image FitToInput(const Image& image, Letterbox* letterbox) {
  const float scale = std::min(float(kInputWidth) / image.width, float(kInputHeight) / image.height);
  const int width = std::max(1, std::min(kInputWidth, int(std::lround(image.width * scale))));
  const int height = std::max(1, std::min(kInputHeight, int(std::lround(image.height * scale))));
  const int pad_x = (kInputWidth - width) / 2, pad_y = (kInputHeight - height) / 2;
  *letterbox = {scale, float(pad_x), float(pad_y)};
  Image out;
  out.width = kInputWidth, out.height = kInputHeight;
  out.rgb.assign(size_t(kInputWidth) * kInputHeight * 3, 128);
  for (int y = 0; y < height; ++y) {
    const int y0 = int(int64_t(y) * image.height / height);
    const int y1 = std::max(y0 + 1, int(int64_t(y + 1) * image.height / height));
    for (int x = 0; x < width; ++x) {
      const int x0 = int(int64_t(x) * image.width / width);
      const int x1 = std::max(x0 + 1, int(int64_t(x + 1) * image.width / width));
      for (int c = 0; c < 3; ++c) {
        int sum = 0;
        for (int sy = y0; sy < y1; ++sy)
          for (int sx = x0; sx < x1; ++sx) sum += image.rgb[(size_t(sy) * image.width + sx) * 3 + c];
        const int area = (y1 - y0) * (x1 - x0);
        out.rgb[(size_t(y + pad_y) * kInputWidth + x + pad_x) * 3 + c] = uint8_t((sum + area / 2) / area);
      }
    }
  }
  return out;
}

namespace {

// What leaves on the left or above enters on the right or below.
Image Shift(const Image& image, int right, int down) {
  Image shifted = image;
  const size_t row_bytes = size_t(image.width) * 3;
  for (int y = 0; y < image.height; ++y) {
    const auto row = shifted.rgb.begin() + std::ptrdiff_t(size_t(y) * row_bytes);
    std::rotate(row, row + 3 * right, row + std::ptrdiff_t(row_bytes));
  }
  std::rotate(shifted.rgb.begin(), shifted.rgb.begin() + std::ptrdiff_t(size_t(down) * row_bytes), shifted.rgb.end());
  return shifted;
}

}  // namespace

Image Sway(const Image& image, int frame) {
  constexpr int kWidest = 24, kPixelsAFrame = 2, kPeriod = 2 * kWidest / kPixelsAFrame;
  const int phase = frame % kPeriod;
  return Shift(image, kPixelsAFrame * std::min(phase, kPeriod - phase), 0);
}

Image Wander(const Image& image, int frame) {
  constexpr double kWidest = 24;
  const auto place = [](double slow, double fast) {  // no common period
    return int(kWidest * (1 + 0.7 * std::sin(slow) + 0.3 * std::sin(fast)));
  };
  Image seen = Shift(image, place(0.071 * frame, 0.43 * frame), place(0.053 * frame, 0.37 * frame));
  uint64_t bits = uint64_t(frame) + 1;
  for (uint8_t& value : seen.rgb) {
    bits = bits * 6364136223846793005u + 1442695040888963407u;
    value = uint8_t(std::clamp(int(value) + int(bits >> 61) % 5 - 2, 0, 255));
  }
  return seen;
}

void Annotate(const Detections& detections, Image* image) {
  constexpr Colour kColours[] = {{255, 235, 0}, {0, 255, 255}, {255, 120, 255}, {140, 255, 60}, {255, 160, 60}};
  int index = 0;
  for (const Pose& pose : detections.poses) {
    const Colour colour = kColours[index++ % 5];
    Box(image, pose, colour);
    for (const auto& limb : kLimbs) {
      const Keypoint &a = pose.joints[limb[0]], &b = pose.joints[limb[1]];
      if (a.mass > 0 && b.mass > 0) Line(image, a.x, a.y, b.x, b.y, 1, colour);
    }
    for (const Keypoint& joint : pose.joints) {
      if (joint.mass <= 0) continue;
      Dot(image, joint.x, joint.y, 4, {0, 0, 0});
      Dot(image, joint.x, joint.y, 3, {255, 255, 255});
    }
    char text[16];
    std::snprintf(text, sizeof(text), "%.3f", double(pose.score));
    for (int row = 0; row < 14; ++row) Line(image, pose.x0, pose.y0 + row, pose.x0 + 46, pose.y0 + row, 0, {0, 0, 0});
    Text(image, int(pose.x0) + 4, int(pose.y0) + 2, text, colour);
  }
}

}  // namespace pose
