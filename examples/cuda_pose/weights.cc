// Constructs the network's weights.
//
// A joint marker's colour lies on a circle in the chroma plane, so one linear function of RGB tells it from everything
// else: that is the stem. From there on each joint has three *signals*, its mass and first moments in a growing window,
// and all a convolution does to them is add neighbours up and shift moments by the distance to the neighbour. SiLU
// would bend signals, hence each travels as a pair of channels (+x, -x): silu(x) - silu(-x) = x exactly. The other
// channels hold seeded random features.
#include <cmath>
#include <cstdint>
#include <functional>

#include "examples/cuda_pose/network.h"

namespace pose {

const char* const kJointNames[kJoints] = {"head",       "left shoulder", "right shoulder", "left elbow", "right elbow",
                                          "left wrist", "right wrist",   "left hip",       "right hip",  "left knee",
                                          "right knee", "left ankle",    "right ankle"};
const std::array<std::array<int, 2>, 14> kLimbs = {{{0, 1},
                                                    {0, 2},
                                                    {1, 2},
                                                    {1, 3},
                                                    {3, 5},
                                                    {2, 4},
                                                    {4, 6},
                                                    {1, 7},
                                                    {2, 8},
                                                    {7, 8},
                                                    {7, 9},
                                                    {9, 11},
                                                    {8, 10},
                                                    {10, 12}}};

namespace {

constexpr int kSignals = 3 * kJoints;           // mass, x moment, y moment of each joint
constexpr int kRandom = 18;                     // random channels of a feature map
constexpr int kWidth = 2 * kSignals + kRandom;  // stride 8 and coarser
constexpr int kStemRandom = 3, kStemWidth = kJoints + kStemRandom;
constexpr int kEarlyRandom = 6, kEarlyWidth = 2 * kJoints + kEarlyRandom;
constexpr int kSqueezed = 16, kLateral = 16;

constexpr float kChroma = 0.6f;            // of the markers
constexpr float kChromaThreshold = 0.94f;  // of kChroma: between a marker's own response and its neighbours' hue
constexpr float kStemPeak = 20.0f;         // the stem's response inside a marker
constexpr float kMarkerMass = 110.0f;      // the stem's responses over one whole marker, added up
constexpr float kSteepness = 40.0f;        // of the score's penalties

// splitmix64: the same numbers everywhere.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  float Symmetric() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return float(int64_t((z ^ (z >> 31)) >> 40) - (1 << 23)) / float(1 << 23);
  }

 private:
  uint64_t state_;
};

uint64_t SeedOf(const std::string& name) {
  uint64_t hash = 1469598103934665603u;
  for (char c : name) hash = (hash ^ uint8_t(c)) * 1099511628211u;
  return hash;
}

float& Weight(Conv& conv, int out, int in, int y = 0, int x = 0) {
  return conv.weight[((size_t(out) * conv.in + in) * conv.kernel_h + y) * conv.kernel_w + x];
}

Conv MakeConv(std::string name, int in, int out, int kernel_h, int kernel_w, int stride = 1, int dilation = 1) {
  Conv conv;
  conv.name = std::move(name);
  conv.in = in, conv.out = out, conv.kernel_h = kernel_h, conv.kernel_w = kernel_w;
  conv.stride = stride, conv.dilation = dilation;
  conv.weight.assign(size_t(out) * in * kernel_h * kernel_w, 0.0f);
  conv.mean.assign(out, 0.0f), conv.beta.assign(out, 0.0f);
  conv.inverse_deviation.assign(out, 1.0f), conv.gamma.assign(out, 1.0f);
  return conv;
}

// Output channels [first, out) become random features of all inputs.
void Randomise(Conv& conv, int first) {
  Random random(SeedOf(conv.name));
  const float scale = 1.0f / std::sqrt(float(conv.in * conv.kernel_h * conv.kernel_w));
  for (int o = first; o < conv.out; ++o) {
    for (int i = 0; i < conv.in * conv.kernel_h * conv.kernel_w; ++i)
      conv.weight[size_t(o) * conv.in * conv.kernel_h * conv.kernel_w + i] = scale * random.Symmetric();
    conv.mean[o] = 0.1f * random.Symmetric();
    conv.inverse_deviation[o] = 1.0f + 0.3f * random.Symmetric();
    conv.gamma[o] = 0.5f + 0.2f * random.Symmetric();
    conv.beta[o] = 0.3f * random.Symmetric();
  }
}

// out = the sum over taps of weight * signal `in`, written to the pair of channels of signal `out`.
void AddSignal(Conv& conv, int out, int in, int y, int x, float weight) {
  Weight(conv, 2 * out, 2 * in, y, x) += weight;
  Weight(conv, 2 * out, 2 * in + 1, y, x) -= weight;
  Weight(conv, 2 * out + 1, 2 * in, y, x) -= weight;
  Weight(conv, 2 * out + 1, 2 * in + 1, y, x) += weight;
}

// The new window's mass and moments gain the old ones at kernel position (y, x), whose cell's centre lies (dx, dy)
// input pixels from the new cell's.
void AddWindow(Conv& conv, int y, int x, float dx, float dy) {
  for (int joint = 0; joint < kJoints; ++joint) {
    const int s = 3 * joint;
    AddSignal(conv, s, s, y, x, 1);
    AddSignal(conv, s + 1, s + 1, y, x, 1);
    AddSignal(conv, s + 1, s, y, x, dx / kOffsetUnit);
    AddSignal(conv, s + 2, s + 2, y, x, 1);
    AddSignal(conv, s + 2, s, y, x, dy / kOffsetUnit);
  }
}

// A kernel that adds up every tap at resolution `stride`.
void AddAllTaps(Conv& conv, int stride) {
  for (int y = 0; y < conv.kernel_h; ++y)
    for (int x = 0; x < conv.kernel_w; ++x)
      AddWindow(conv, y, x, float(stride * conv.dilation * (x - conv.kernel_w / 2)),
                float(stride * conv.dilation * (y - conv.kernel_h / 2)));
}

void Direction(int joint, float* rgb) {
  const float angle = 2 * 3.14159265f * float(joint) / kJoints, u = std::cos(angle), v = std::sin(angle);
  rgb[0] = u * 0.8164966f;
  rgb[1] = -u * 0.4082483f + v * 0.7071068f;
  rgb[2] = -u * 0.4082483f - v * 0.7071068f;
}

// Input: (rgb - 0.5) / 0.25. Channel j: how far a smoothed pixel lies beyond the threshold in joint j's direction.
Conv MakeStem() {
  Conv conv = MakeConv("stem", 3, kStemWidth, 3, 3, 2);
  Randomise(conv, kJoints);
  const float binomial[3] = {0.25f, 0.5f, 0.25f};
  for (int joint = 0; joint < kJoints; ++joint) {
    float direction[3];
    Direction(joint, direction);
    for (int c = 0; c < 3; ++c)
      for (int y = 0; y < 3; ++y)
        for (int x = 0; x < 3; ++x) Weight(conv, joint, c, y, x) = 0.25f * direction[c] * binomial[y] * binomial[x];
    conv.mean[joint] = kChromaThreshold * kChroma;
    conv.inverse_deviation[joint] = 1 / ((1 - kChromaThreshold) * kChroma);
    conv.gamma[joint] = kStemPeak;
  }
  return conv;
}

// Stride 2 to 4: two by two responses become a mass, a pair of channels.
Conv MakeEarlyDown() {
  Conv conv = MakeConv("stage4.down", kStemWidth, kEarlyWidth, 3, 3, 2);
  Randomise(conv, 2 * kJoints);
  for (int joint = 0; joint < kJoints; ++joint)
    for (int y = 1; y < 3; ++y)
      for (int x = 1; x < 3; ++x) {
        Weight(conv, 2 * joint, joint, y, x) = 1 / kMarkerMass;
        Weight(conv, 2 * joint + 1, joint, y, x) = -1 / kMarkerMass;
      }
  return conv;
}

// Stride 4 to 8: masses become masses and first moments. The stem looks at the top left pixel of its two by two cell:
// half a pixel from the cell's centre.
Conv MakeMomentsDown() {
  Conv conv = MakeConv("stage8.down", kEarlyWidth, kWidth, 3, 3, 2);
  Randomise(conv, 2 * kSignals);
  for (int joint = 0; joint < kJoints; ++joint)
    for (int y = 1; y < 3; ++y)
      for (int x = 1; x < 3; ++x) {
        const float dx = (x == 1 ? -2 : 2) - 0.5f, dy = (y == 1 ? -2 : 2) - 0.5f;
        const float factors[3] = {1, dx / kOffsetUnit, dy / kOffsetUnit};
        for (int i = 0; i < 3; ++i) AddSignal(conv, 3 * joint + i, joint, y, x, factors[i]);
      }
  return conv;
}

Conv MakeDown(const std::string& name, int stride) {
  Conv conv = MakeConv(name, kWidth, kWidth, 3, 3, 2);
  Randomise(conv, 2 * kSignals);
  for (int y = 1; y < 3; ++y)
    for (int x = 1; x < 3; ++x)
      AddWindow(conv, y, x, (x == 1 ? -0.25f : 0.25f) * float(stride), (y == 1 ? -0.25f : 0.25f) * float(stride));
  return conv;
}

// Leaves the signals as they are: silu(0) = 0 in their channels.
std::vector<Residual> MakeBlocks(const std::string& name, int count, int width, int constructed) {
  std::vector<Residual> blocks;
  for (int i = 0; i < count; ++i) {
    const std::string block = name + ".block" + std::to_string(i);
    Residual residual{MakeConv(block + ".squeeze", width, kSqueezed, 1, 1),
                      MakeConv(block + ".expand", kSqueezed, width, 3, 3)};
    Randomise(residual.squeeze, 0);
    Randomise(residual.expand, constructed);
    blocks.push_back(std::move(residual));
  }
  return blocks;
}

Conv MakeRandom(const std::string& name, int in, int out, int kernel, int stride, int first) {
  Conv conv = MakeConv(name, in, out, kernel, kernel, stride);
  Randomise(conv, first);
  return conv;
}

// Input: kLateral channels from above, then the level's own map.
Conv MakeMerge(const std::string& name) {
  Conv conv = MakeConv(name, kLateral + kWidth, kWidth, 1, 1);
  Randomise(conv, 2 * kSignals);
  for (int s = 0; s < kSignals; ++s)
    for (int i = 0; i < 2; ++i) {
      Weight(conv, 2 * s + i, kLateral + 2 * s + i) = 1;
      Weight(conv, 2 * s + i, kLateral + 2 * s + 1 - i) = -1;
    }
  return conv;
}

// The head adds up a window of five by nine cells. Its hidden layer also measures, for the score, missing joints
// (mass under 0.4), joints seen twice (mass over 1.6), how far the trunk is from the cell's centre, and neighbouring
// joints too far apart to be one person's.
constexpr int kNeighbours[][2] = {{1, 2}, {7, 8}, {9, 10}, {1, 3}, {2, 4}, {0, 1}, {0, 2}, {1, 7}, {2, 8}};
constexpr int kNeighbourPairs = 9;
constexpr float kFarthest = 2.6f;  // cells
constexpr int kMissing = 2 * kSignals, kTwice = kMissing + kJoints, kApart = kTwice + kJoints;
constexpr int kOffCentre = kApart + 2 * kNeighbourPairs;
constexpr int kHeadRandom = 4, kHeadWidth = kOffCentre + 4 + kHeadRandom;

// Channels kApart…: the horizontal distance of two neighbours beyond kFarthest, to the right and to the left.
void MakeDistanceFeatures(Conv& conv, int stride) {
  for (int pair = 0; pair < kNeighbourPairs; ++pair)
    for (int i = 0; i < 2; ++i) {
      const int out = kApart + 2 * pair + i;
      for (int y = 0; y < conv.kernel_h; ++y)
        for (int sign = 0; sign < 2; ++sign) {
          const float direction = i == sign ? 1.0f : -1.0f;
          Weight(conv, out, 2 * (3 * kNeighbours[pair][0] + 1) + sign, y) += direction;
          Weight(conv, out, 2 * (3 * kNeighbours[pair][1] + 1) + sign, y) -= direction;
        }
      conv.mean[out] = kFarthest * float(stride) / kOffsetUnit;
      conv.gamma[out] = kSteepness * kOffsetUnit / float(stride);
    }
}

void MakeScoreFeatures(Conv& conv, int stride) {
  const int trunk[4] = {1, 2, 7, 8};
  for (int y = 0; y < conv.kernel_h; ++y) {
    for (int joint = 0; joint < kJoints; ++joint)
      for (int base : {kMissing, kTwice}) {
        Weight(conv, base + joint, 6 * joint, y) = 1;
        Weight(conv, base + joint, 6 * joint + 1, y) = -1;
      }
    for (int axis = 0; axis < 2; ++axis)
      for (int joint : trunk)
        for (int i = 0; i < 2; ++i)
          for (int sign = 0; sign < 2; ++sign) {
            const int out = kOffCentre + 2 * axis + i;
            const float direction = i == sign ? 0.25f : -0.25f;
            Weight(conv, out, 2 * (3 * joint + 1 + axis) + sign, y) += direction;
            const float dy = float(stride * conv.dilation * (y - conv.kernel_h / 2));
            if (axis == 1) Weight(conv, out, 6 * joint + sign, y) += direction * dy / kOffsetUnit;
          }
  }
  for (int joint = 0; joint < kJoints; ++joint) {
    conv.mean[kMissing + joint] = 0.4f, conv.gamma[kMissing + joint] = -kSteepness;
    conv.mean[kTwice + joint] = 1.6f, conv.gamma[kTwice + joint] = kSteepness;
  }
  for (int i = 0; i < 4; ++i) conv.gamma[kOffCentre + i] = 8 * kOffsetUnit / float(stride);
}

PoseHead MakeHead(int stride) {
  const std::string name = "head" + std::to_string(stride);
  PoseHead head;
  head.columns = MakeConv(name + ".columns", kWidth, kWidth, 3, 5);
  Randomise(head.columns, 2 * kSignals);
  AddAllTaps(head.columns, stride);

  head.rows = MakeConv(name + ".rows", kWidth, kHeadWidth, 3, 1, 1, 3);
  Randomise(head.rows, kOffCentre + 4);
  AddAllTaps(head.rows, stride);
  MakeScoreFeatures(head.rows, stride);
  MakeDistanceFeatures(head.rows, stride);

  head.output = MakeConv(name + ".output", kHeadWidth, 1 + kSignals, 1, 1);
  head.output.is_output = true;
  head.output.beta[0] = 4.0f;
  for (int joint = 0; joint < kJoints; ++joint) {
    Weight(head.output, 0, kMissing + joint) = -2.5f / (0.4f * kSteepness);
    Weight(head.output, 0, kTwice + joint) = -0.5f;
  }
  for (int i = 0; i < 2 * kNeighbourPairs; ++i) Weight(head.output, 0, kApart + i) = -0.25f;
  for (int i = 0; i < 4; ++i) Weight(head.output, 0, kOffCentre + i) = -0.06f;
  for (int i = 0; i < kHeadRandom; ++i) Weight(head.output, 0, kOffCentre + 4 + i) = 1e-3f;
  for (int s = 0; s < kSignals; ++s) Weight(head.output, 1 + s, 2 * s) = 1, Weight(head.output, 1 + s, 2 * s + 1) = -1;
  return head;
}

}  // namespace

Network BuildNetwork() {
  Network net;
  net.stem = MakeStem();
  net.stages[0] = {MakeEarlyDown(), MakeBlocks("stage4", 2, kEarlyWidth, 2 * kJoints)};
  net.stages[1] = {MakeMomentsDown(), MakeBlocks("stage8", 4, kWidth, 2 * kSignals)};
  net.stages[2] = {MakeDown("stage16.down", 16), MakeBlocks("stage16", 6, kWidth, 2 * kSignals)};
  net.stages[3] = {MakeDown("stage32.down", 32), MakeBlocks("stage32", 3, kWidth, 2 * kSignals)};
  net.pool_in = MakeRandom("pool.in", kWidth, kSqueezed, 1, 1, 0);
  net.pool_out = MakeRandom("pool.out", 4 * kSqueezed, kWidth, 1, 1, 2 * kSignals);
  for (int i = 0; i < 2; ++i) {
    const std::string level = i == 0 ? "16" : "8", next = i == 0 ? "16" : "32";
    net.lateral[i] = MakeRandom("lateral" + level, kWidth, kLateral, 1, 1, 0);
    net.merge[i] = MakeMerge("merge" + level);
    net.top_down[i] = MakeBlocks("top_down" + level, 2, kWidth, 2 * kSignals);
    net.bottom_up[i] = MakeRandom("bottom_up" + next, kWidth, kWidth, 3, 2, 2 * kSignals);
    net.bottom_up_blocks[i] = MakeBlocks("bottom_up" + next, 2, kWidth, 2 * kSignals);
  }
  for (int i = 0; i < kLevels; ++i) net.heads[i] = MakeHead(kStrides[i]);
  net.keypoint_window = MakeConv("keypoints.window", kWidth, kWidth, 3, 3);
  Randomise(net.keypoint_window, 2 * kSignals);
  AddAllTaps(net.keypoint_window, 8);
  net.keypoint_output = MakeConv("keypoints.output", kWidth, kSignals, 1, 1);
  net.keypoint_output.is_output = true;
  for (int s = 0; s < kSignals; ++s)
    Weight(net.keypoint_output, s, 2 * s) = 1, Weight(net.keypoint_output, s, 2 * s + 1) = -1;
  return net;
}

}  // namespace pose
