// What a camera and an IMU on a head or a robot see, and what is true of it: the vocabulary of the AR rooms.
//
// Axes of a camera: x to the right, y down, z forward. The IMU sits in the camera and has its axes. Pixel (0, 0)'s
// centre is at (0, 0). Headers here are free of OpenCV: an Image's and a DepthMap's pixels are row-major and without
// padding, so that a cv::Mat can be laid over them where one is needed.
#pragma once

#include <Eigen/Geometry>
#include <cstdint>
#include <vector>

namespace wharf::scene {

// A pinhole camera without distortion; lengths in pixels.
struct Intrinsics {
  int width = 0, height = 0;
  double fx = 0, fy = 0, cx = 0, cy = 0;
};
// The same camera, its picture resized.
Intrinsics Resized(const Intrinsics& camera, int width, int height);

struct Image {
  int width = 0, height = 0;
  std::vector<uint8_t> rgb;  // 3 * width * height
};

struct DepthMap {
  int width = 0, height = 0;
  std::vector<float> metres;  // along z; 0: unknown
};

// Of a camera in the world: a point at p in the camera is at rotation * p + position in the world, in metres.
struct Pose {
  Eigen::Quaterniond rotation = Eigen::Quaterniond::Identity();
  Eigen::Vector3d position = Eigen::Vector3d::Zero();

  // This pose followed by `next`, which is given in this one's axes.
  Pose operator*(const Pose& next) const { return {rotation * next.rotation, rotation * next.position + position}; }
  Pose Inverse() const { return {rotation.conjugate(), -(rotation.conjugate() * position)}; }
};
// From one to the other, in the axes of the first: from * RelativePose(from, to) == to.
Pose RelativePose(const Pose& from, const Pose& to);

struct ImuSample {
  double time_s = 0;
  Eigen::Vector3d angular_velocity;  // rad/s
  Eigen::Vector3d specific_force;    // m/s^2: acceleration less gravity, so a camera at rest measures 9.81 upwards
};

enum class ObjectClass : uint8_t { kVehicle = 0, kPerson = 1 };
inline constexpr int kObjectClasses = 2;

// In pixels; right and bottom are the first beyond.
struct Box {
  float left = 0, top = 0, right = 0, bottom = 0;
  ObjectClass object_class = ObjectClass::kVehicle;
  float score = 1;
};

struct Frame {
  int64_t index = 0;
  double time_s = 0;
  Image image;
  std::vector<ImuSample> imu;  // since the frame before, in order; empty for videos without
};

// What is true of a frame of a synthetic world, exactly.
struct Truth {
  DepthMap depth;
  Pose pose;
  Eigen::Vector3d velocity;          // in the world, m/s
  Eigen::Vector3d angular_velocity;  // of the camera in its own axes, rad/s
  std::vector<Box> boxes;            // of what is visible, clipped to the picture
  double dynamic_share = 0;          // of the pixels that show things that can move
};

}  // namespace wharf::scene
