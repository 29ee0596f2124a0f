#include "wharf/scene/source/recording.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <opencv2/videoio.hpp>
#include <utility>
#include <vector>

namespace wharf::scene {
namespace {

constexpr double kDepthUnitsPerMetre = 256;  // as KITTI's depth pictures

cv::Mat Bgr(const Image& image) {
  const cv::Mat rgb(image.height, image.width, CV_8UC3, const_cast<uint8_t*>(image.rgb.data()));
  cv::Mat bgr;
  cv::cvtColor(rgb, bgr, cv::COLOR_RGB2BGR);
  return bgr;
}

cv::Mat DepthPicture(const DepthMap& depth) {
  cv::Mat picture(depth.height, depth.width, CV_16UC1);
  auto* to = picture.ptr<uint16_t>();
  for (size_t i = 0; i < depth.metres.size(); ++i) {
    to[i] = static_cast<uint16_t>(std::min(65535.0, std::round(depth.metres[i] * kDepthUnitsPerMetre)));
  }
  return picture;
}

absl::Status WritePicture(const std::string& path, const cv::Mat& picture) {
  if (cv::imwrite(path, picture)) return absl::OkStatus();
  return ErrnoStatus(errno, path);
}

std::string Row(const std::vector<double>& values) {
  std::string row;
  for (const double value : values) row += fmt::format("{}{:.9g}", row.empty() ? "" : ",", value);
  return row + "\n";
}

}  // namespace

struct Recording::Files {
  std::string folder;
  std::ofstream truth, boxes, imu;
};

Recording::Recording(std::unique_ptr<Files> files) : files_(std::move(files)) {}
Recording::~Recording() = default;
Recording::Recording(Recording&&) noexcept = default;
Recording& Recording::operator=(Recording&&) noexcept = default;

absl::StatusOr<Recording> Recording::Create(const std::string& folder, const Intrinsics& camera,
                                            double frames_per_second, double first_time_s) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return ErrnoStatus(error.value(), folder);
  auto files = std::make_unique<Files>();
  files->folder = folder;
  std::ofstream camera_file(folder + "/camera.json");
  camera_file << fmt::format(
      "{{\"width\": {}, \"height\": {}, \"fx\": {}, \"fy\": {}, \"cx\": {}, \"cy\": {},\n"
      " \"frames_per_second\": {}, \"first_time_s\": {}}}\n",
      camera.width, camera.height, camera.fx, camera.fy, camera.cx, camera.cy, frames_per_second, first_time_s);
  files->truth.open(folder + "/truth.csv");
  files->truth << "frame,time_s,qw,qx,qy,qz,px,py,pz,vx,vy,vz,wx,wy,wz,dynamic_share\n";
  files->boxes.open(folder + "/boxes.csv");
  files->boxes << "frame,left,top,right,bottom,class\n";
  files->imu.open(folder + "/imu.csv");
  files->imu << "time_s,wx,wy,wz,ax,ay,az\n";
  if (!camera_file.flush() || !files->imu.flush()) return ErrnoStatus(errno, folder);
  return Recording(std::move(files));
}

absl::Status Recording::Add(const Frame& frame, const Truth& truth) {
  const std::string name = fmt::format("{}/{:06}", files_->folder, frame.index);
  WHARF_RETURN_IF_ERROR(WritePicture(name + ".png", Bgr(frame.image)));
  WHARF_RETURN_IF_ERROR(WritePicture(name + ".depth.png", DepthPicture(truth.depth)));
  const auto& q = truth.pose.rotation;
  const auto &p = truth.pose.position, &v = truth.velocity, &w = truth.angular_velocity;
  files_->truth << frame.index << ','
                << Row({frame.time_s, q.w(), q.x(), q.y(), q.z(), p.x(), p.y(), p.z(), v.x(), v.y(), v.z(), w.x(),
                        w.y(), w.z(), truth.dynamic_share});
  for (const Box& box : truth.boxes) {
    files_->boxes << fmt::format("{},{},{},{},{},{}\n", frame.index, box.left, box.top, box.right, box.bottom,
                                 box.object_class == ObjectClass::kVehicle ? "vehicle" : "person");
  }
  for (const ImuSample& sample : frame.imu) {
    const auto &turn = sample.angular_velocity, &force = sample.specific_force;
    files_->imu << Row({sample.time_s, turn.x(), turn.y(), turn.z(), force.x(), force.y(), force.z()});
  }
  return absl::OkStatus();
}

absl::Status Recording::Finish() {
  if (files_->truth.flush() && files_->boxes.flush() && files_->imu.flush()) return absl::OkStatus();
  return ErrnoStatus(errno, files_->folder);
}

absl::Status SavePicture(const std::string& path, const Image& image) {
  try {
    return WritePicture(path, Bgr(image));
  } catch (const cv::Exception&) {  // it knows no such format
    return Unimplemented("OpenCV cannot write {} here; try a name that ends in .png", path);
  }
}

struct VideoWriter::File {
  cv::VideoWriter writer;
};

VideoWriter::VideoWriter(std::unique_ptr<File> file) : file_(std::move(file)) {}
VideoWriter::~VideoWriter() = default;
VideoWriter::VideoWriter(VideoWriter&&) noexcept = default;
VideoWriter& VideoWriter::operator=(VideoWriter&&) noexcept = default;

absl::StatusOr<VideoWriter> VideoWriter::Create(const std::string& path, int width, int height,
                                                double frames_per_second) {
  auto file = std::make_unique<File>();
  const bool mp4 = path.ends_with(".mp4");
  const int codec = mp4 ? cv::VideoWriter::fourcc('m', 'p', '4', 'v') : cv::VideoWriter::fourcc('M', 'J', 'P', 'G');
  try {
    file->writer.open(path, codec, frames_per_second, cv::Size(width, height));
  } catch (const cv::Exception&) {  // what it thinks of the name is no clearer than the line below
  }
  if (!file->writer.isOpened()) return Unimplemented("OpenCV cannot write {} here; try a name that ends in .avi", path);
  return VideoWriter(std::move(file));
}

void VideoWriter::Add(const Image& image) { file_->writer.write(Bgr(image)); }

}  // namespace wharf::scene
