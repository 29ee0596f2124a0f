// What cuda_pose finds, and the constants its parts share.
#pragma once

#include <array>
#include <vector>

namespace pose {

constexpr int kJoints = 13;
extern const char* const kJointNames[kJoints];
extern const std::array<std::array<int, 2>, 14> kLimbs;

// The network's input: height and width, both multiples of the coarsest stride.
constexpr int kInputHeight = 256, kInputWidth = 320;
constexpr int kLevels = 3;
constexpr int kStrides[kLevels] = {8, 16, 32};
// Offsets leave the network in units of this many input pixels.
constexpr float kOffsetUnit = 16.0f;

constexpr int kMaxCandidates = 256;       // cells above the score threshold, all levels together
constexpr int kMaxPoses = 32;             // after suppression
constexpr int kMaxKeypointObjects = 256;  // single joints
constexpr float kScoreThreshold = 0.5f;
constexpr float kIouThreshold = 0.45f;
constexpr float kVisibleMass = 0.25f;  // a joint with less mass in the window is not seen
constexpr int kSharedJoints = 4;       // poses that share this many joints are one person's
constexpr float kFuseRadius = 6.0f;    // input pixels: a joint moves to the keypoint object this near
constexpr float kBoxMargin = 0.10f;    // of the joints' extent, on each side

// How the picture was fitted into the input: input = picture * scale + pad.
struct Letterbox {
  float scale = 1, pad_x = 0, pad_y = 0;
};

struct Keypoint {
  float x = 0, y = 0, mass = 0;  // picture coordinates; mass 0: not seen
};

struct Pose {
  float x0 = 0, y0 = 0, x1 = 0, y1 = 0, score = 0;  // box in picture coordinates
  std::array<Keypoint, kJoints> joints;
};

struct KeypointObject {
  int joint = 0;
  float x = 0, y = 0, mass = 0;
};

struct Detections {
  std::vector<Pose> poses;  // by descending score
  std::vector<KeypointObject> keypoints;
};

}  // namespace pose
