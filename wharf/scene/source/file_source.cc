#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numbers>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <opencv2/videoio.hpp>
#include <utility>
#include <vector>

#include "wharf/scene/imu_table.h"
#include "wharf/scene/source/source.h"

namespace wharf::scene {
namespace {

constexpr double kUsualRate = 30;  // frames per second, of a video that does not say
constexpr double kOurRate = 60;    // of pictures that do not say
constexpr int kLargest = 16384;    // pixels, of a side

absl::Status CheckOptions(const FileOptions& options) {
  const auto fits = [](int side) { return side >= 0 && side <= kLargest; };
  if (!fits(options.width) || !fits(options.height) || (options.width == 0) != (options.height == 0)) {
    return InvalidArgument("{}x{} is no size of a picture", options.width, options.height);
  }
  const double view = options.assumed_field_of_view_degrees;
  if (!(view > 0 && view < 180)) return InvalidArgument("{} degrees is no field of view", view);
  return absl::OkStatus();
}

Intrinsics AssumedCamera(int width, int height, double degrees) {
  const double focal = width / 2.0 / std::tan(degrees * std::numbers::pi / 360);
  return {width, height, focal, focal, (width - 1) / 2.0, (height - 1) / 2.0};
}

Intrinsics AsAsked(const Intrinsics& camera, const FileOptions& options) {
  return options.width == 0 ? camera : Resized(camera, options.width, options.height);
}

std::string Assumption(const std::string& path, const FileOptions& options) {
  return fmt::format("{} says nothing of its camera: a horizontal field of view of {:g} degrees is assumed", path,
                     options.assumed_field_of_view_degrees);
}

Image ToImage(const cv::Mat& bgr, int width, int height) {
  Image image{width, height, std::vector<uint8_t>(static_cast<size_t>(width) * static_cast<size_t>(height) * 3)};
  cv::Mat to(height, width, CV_8UC3, image.rgb.data());
  if (bgr.cols == width && bgr.rows == height) {
    cv::cvtColor(bgr, to, cv::COLOR_BGR2RGB);
  } else {
    cv::Mat resized;
    cv::resize(bgr, resized, to.size(), 0, 0, width < bgr.cols ? cv::INTER_AREA : cv::INTER_LINEAR);
    cv::cvtColor(resized, to, cv::COLOR_BGR2RGB);
  }
  return image;
}

class VideoSource : public Source {
 public:
  VideoSource(cv::VideoCapture capture, cv::Mat first, const Intrinsics& camera, double rate)
      : capture_(std::move(capture)), ahead_(std::move(first)), camera_(camera), rate_(rate) {}
  Intrinsics Camera() const override { return camera_; }
  double FramesPerSecond() const override { return rate_; }
  absl::StatusOr<std::optional<Frame>> Next() override {
    if (ahead_.empty()) return std::nullopt;
    Frame frame{.index = next_, .time_s = static_cast<double>(next_) / rate_};
    frame.image = ToImage(ahead_, camera_.width, camera_.height);
    ++next_;
    if (!capture_.read(ahead_)) ahead_.release();
    return frame;
  }

 private:
  cv::VideoCapture capture_;
  cv::Mat ahead_;  // the frame that comes next; empty: none does
  const Intrinsics camera_;
  const double rate_;
  int64_t next_ = 0;
};

class PictureSource : public Source {
 public:
  PictureSource(std::vector<std::string> paths, std::vector<ImuSample> imu, int width, int height,
                const Intrinsics& camera, double rate, double first_time_s)
      : paths_(std::move(paths)),
        imu_(std::move(imu)),
        width_(width),
        height_(height),
        camera_(camera),
        rate_(rate),
        first_time_s_(first_time_s) {}
  Intrinsics Camera() const override { return camera_; }
  double FramesPerSecond() const override { return rate_; }
  absl::StatusOr<std::optional<Frame>> Next() override {
    if (next_ == paths_.size()) return std::nullopt;
    const std::string& path = paths_[next_];
    const cv::Mat picture = ReadPicture(path);
    if (picture.empty()) return DataLoss("{} is no picture that can be read", path);
    if (picture.cols != width_ || picture.rows != height_) {
      return DataLoss("{} is {}x{} and the first picture was {}x{}", path, picture.cols, picture.rows, width_, height_);
    }
    Frame frame{.index = static_cast<int64_t>(next_), .time_s = first_time_s_ + static_cast<double>(next_) / rate_};
    frame.image = ToImage(picture, camera_.width, camera_.height);
    constexpr double kRounding = 1e-6;  // seconds, of times that were written as text
    for (; next_sample_ < imu_.size() && imu_[next_sample_].time_s <= frame.time_s + kRounding; ++next_sample_) {
      frame.imu.push_back(imu_[next_sample_]);
    }
    ++next_;
    return frame;
  }
  // Empty: it cannot be read.
  static cv::Mat ReadPicture(const std::string& path) {
    try {
      return cv::imread(path, cv::IMREAD_COLOR);
    } catch (const cv::Exception&) {  // of pictures that say they are enormous
      return {};
    }
  }

 private:
  const std::vector<std::string> paths_;
  const std::vector<ImuSample> imu_;
  const int width_, height_;
  const Intrinsics camera_;
  const double rate_, first_time_s_;
  size_t next_ = 0, next_sample_ = 0;
};

bool IsPicture(const std::string& name) {
  if (name.ends_with(".depth.png")) return false;
  return name.ends_with(".png") || name.ends_with(".jpg") || name.ends_with(".jpeg");
}

absl::StatusOr<std::vector<std::string>> ListPictures(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> paths;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (IsPicture(at->path().filename().string())) paths.push_back(at->path().string());
  }
  if (error) return ErrnoStatus(error.value(), folder);
  if (paths.empty()) return NotFound("there is no .png or .jpg in {}", folder);
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::optional<std::string> ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

struct CameraFile {
  Intrinsics camera;
  double rate = kOurRate, first_time_s = 0;
};

absl::StatusOr<CameraFile> ParseCamera(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return InvalidArgument("no JSON object");
  const auto number = [&](const char* name, double otherwise) {
    const auto found = json.find(name);
    return found != json.end() && found->is_number() ? found->get<double>() : otherwise;
  };
  const double missing = std::numeric_limits<double>::quiet_NaN();
  const double width = number("width", missing), height = number("height", missing);
  const auto side = [](double value) { return value >= 1 && value <= kLargest && value == std::floor(value); };
  if (!side(width) || !side(height)) return InvalidArgument("width and height are not whole numbers of pixels");
  CameraFile file;
  file.camera = {static_cast<int>(width), static_cast<int>(height), number("fx", missing),
                 number("fy", missing),   number("cx", missing),    number("cy", missing)};
  const Intrinsics& c = file.camera;
  if (!(c.fx > 0 && c.fy > 0) || !std::isfinite(c.fx + c.fy + c.cx + c.cy)) {
    return InvalidArgument("fx, fy, cx and cy are not numbers of pixels");
  }
  file.rate = number("frames_per_second", kOurRate);
  file.first_time_s = number("first_time_s", 0);
  if (!(file.rate > 0 && file.rate <= 1000)) return InvalidArgument("frames_per_second is not within 0 and 1000");
  return file;
}

}  // namespace

absl::StatusOr<FileSource> OpenVideo(const std::string& path, const FileOptions& options) {
  WHARF_RETURN_IF_ERROR(CheckOptions(options));
  if (!std::filesystem::exists(path)) return NotFound("there is no file or folder {}", path);
  cv::VideoCapture capture;
  cv::Mat first;
  try {
    capture.open(path);
    if (!capture.isOpened() || !capture.read(first) || first.empty()) {
      return InvalidArgument("{} is no video that OpenCV can read here", path);
    }
  } catch (const cv::Exception&) {
    return InvalidArgument("{} is no video that OpenCV can read here", path);
  }
  double rate = capture.get(cv::CAP_PROP_FPS);
  std::string assumption = Assumption(path, options);
  if (!(rate > 0 && rate <= 1000)) {
    rate = kUsualRate;
    assumption += fmt::format(", and {:g} frames per second", rate);
  }
  const Intrinsics camera =
      AsAsked(AssumedCamera(first.cols, first.rows, options.assumed_field_of_view_degrees), options);
  return FileSource{std::make_unique<VideoSource>(std::move(capture), first, camera, rate), assumption};
}

absl::StatusOr<FileSource> OpenPictures(const std::string& folder, const FileOptions& options) {
  WHARF_RETURN_IF_ERROR(CheckOptions(options));
  WHARF_ASSIGN_OR_RETURN(std::vector<std::string> paths, ListPictures(folder));
  const cv::Mat first = PictureSource::ReadPicture(paths.front());
  if (first.empty()) return InvalidArgument("{} is no picture that can be read", paths.front());
  FileSource opened;
  CameraFile camera{AssumedCamera(first.cols, first.rows, options.assumed_field_of_view_degrees)};
  if (const auto text = ReadText(folder + "/camera.json")) {
    const auto parsed = ParseCamera(*text);
    if (!parsed.ok()) return InvalidArgument("{}/camera.json: {}", folder, Message(parsed.status()));
    camera = *parsed;
    if (camera.camera.width != first.cols || camera.camera.height != first.rows) {
      return InvalidArgument("{} is {}x{} and camera.json speaks of {}x{}", paths.front(), first.cols, first.rows,
                             camera.camera.width, camera.camera.height);
    }
  } else {
    opened.assumption = Assumption(folder, options) + fmt::format(", and {:g} frames per second", camera.rate);
  }
  std::vector<ImuSample> imu;
  if (const auto text = ReadText(folder + "/imu.csv")) {
    auto parsed = ParseImuTable(*text);
    if (!parsed.ok()) return InvalidArgument("{}/imu.csv: {}", folder, Message(parsed.status()));
    imu = *std::move(parsed);
  }
  opened.source = std::make_unique<PictureSource>(std::move(paths), std::move(imu), first.cols, first.rows,
                                                  AsAsked(camera.camera, options), camera.rate, camera.first_time_s);
  return opened;
}

absl::StatusOr<FileSource> OpenFiles(const std::string& path, const FileOptions& options) {
  return std::filesystem::is_directory(path) ? OpenPictures(path, options) : OpenVideo(path, options);
}

}  // namespace wharf::scene
