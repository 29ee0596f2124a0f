#include "examples/cuda_pose/detector.h"

#include <algorithm>

namespace pose {
namespace {

constexpr int kBoxFields = 5;              // score, x0, y0, x1, y1
constexpr int kJointFields = 3 * kJoints;  // x, y, mass of each joint
constexpr int kObjectFields = 4;           // joint, x, y, mass
constexpr int kScanThreads = 256;
constexpr int kMaskWords = kMaxCandidates / 64;

__device__ int Index() { return int(blockIdx.x * blockDim.x + threadIdx.x); }

__global__ void CellCentres(float* x, float* y, int stride, int width, int n) {
  const int i = Index();
  if (i >= n) return;
  x[i] = (float(i % width) + 0.5f) * float(stride);
  y[i] = (float(i / width) + 0.5f) * float(stride);
}

__global__ void AtLeast(const float* x, float* out, float threshold, int n) {
  const int i = Index();
  if (i < n) out[i] = x[i] >= threshold ? 1.0f : 0.0f;
}

__global__ void ClampBelow(const float* x, float* out, float bound, int n) {
  const int i = Index();
  if (i < n) out[i] = fmaxf(x[i], bound);
}

__global__ void Divide(const float* a, const float* b, float* out, int n) {
  const int i = Index();
  if (i < n) out[i] = a[i] / b[i];
}

__global__ void Scale(const float* x, float* out, float factor, int n) {
  const int i = Index();
  if (i < n) out[i] = x[i] * factor;
}

__global__ void AddGrid(const float* x, const float* grid, float* out, int plane) {
  const int i = Index(), at = int(blockIdx.y) * plane + i;
  if (i < plane) out[at] = x[at] + grid[i];
}

// Over the visible joints of each cell; sign -1 gives the minimum.
__global__ void Extreme(const float* x, const float* visible, float* out, float sign, int plane) {
  const int cell = Index();
  if (cell >= plane) return;
  float best = -1e9f;
  for (int joint = 0; joint < kJoints; ++joint)
    if (visible[joint * plane + cell] != 0.0f) best = fmaxf(best, sign * x[joint * plane + cell]);
  out[cell] = sign * best;
}

__global__ void Above(const float* score, int* flags, float threshold, int n) {
  const int i = Index();
  if (i < n) flags[i] = score[i] > threshold;
}

// Exclusive prefix sum by one block; the total goes to positions[n].
__global__ void ExclusiveScan(const int* flags, int* positions, int n) {
  __shared__ int sums[kScanThreads];
  int carry = 0;
  for (int base = 0; base < n; base += kScanThreads) {
    const int i = base + int(threadIdx.x);
    const int own = i < n ? flags[i] : 0;
    sums[threadIdx.x] = own;
    __syncthreads();
    for (int step = 1; step < kScanThreads; step *= 2) {
      const int left = int(threadIdx.x) >= step ? sums[threadIdx.x - step] : 0;
      __syncthreads();
      sums[threadIdx.x] += left;
      __syncthreads();
    }
    if (i < n) positions[i] = carry + sums[threadIdx.x] - own;
    carry += sums[kScanThreads - 1];
    __syncthreads();
  }
  if (threadIdx.x == 0) positions[n] = carry;
}

struct LevelView {
  const int* flags;
  const int* positions;
  const float *score, *x0, *y0, *x1, *y1, *x, *y, *mass, *visible;
  int plane;
};

__global__ void ScatterBoxes(LevelView level, float* boxes, int base) {
  const int cell = Index();
  if (cell >= level.plane || !level.flags[cell]) return;
  const int row = base + level.positions[cell];
  if (row >= kMaxCandidates) return;
  const float margin_x = kBoxMargin * (level.x1[cell] - level.x0[cell]);
  const float margin_y = kBoxMargin * (level.y1[cell] - level.y0[cell]);
  float* out = boxes + row * kBoxFields;
  out[0] = level.score[cell];
  out[1] = level.x0[cell] - margin_x, out[2] = level.y0[cell] - margin_y;
  out[3] = level.x1[cell] + margin_x, out[4] = level.y1[cell] + margin_y;
}

__global__ void ScatterJoints(LevelView level, float* joints, int base, int n) {
  const int i = Index();
  if (i >= n) return;
  const int cell = i % level.plane, joint = i / level.plane, row = base + level.positions[cell];
  if (!level.flags[cell] || row >= kMaxCandidates) return;
  float* out = joints + row * kJointFields + 3 * joint;
  const bool visible = level.visible[i] != 0.0f;
  out[0] = visible ? level.x[i] : 0.0f, out[1] = visible ? level.y[i] : 0.0f, out[2] = visible ? level.mass[i] : 0.0f;
}

// rank[i]: the row's place in the order of descending scores, ties by row.
__global__ void Rank(const float* boxes, int* rank, int n) {
  const int i = Index();
  if (i >= n) return;
  const float own = boxes[i * kBoxFields];
  int before = 0;
  for (int j = 0; j < n; ++j) {
    const float other = boxes[j * kBoxFields];
    before += other > own || (other == own && j < i);
  }
  rank[i] = before;
}

__global__ void ScatterRows(const float* in, const int* rank, float* out, int fields, int n) {
  const int i = Index();
  if (i < n) out[rank[i / fields] * fields + i % fields] = in[i];
}

// Rows with keep[row] < 0 become zero.
__global__ void GatherRows(const float* in, const int* keep, float* out, int fields, int n) {
  const int i = Index();
  if (i >= n) return;
  const int row = keep[i / fields];
  out[i] = row >= 0 ? in[row * fields + i % fields] : 0.0f;
}

__device__ bool SamePerson(const float* a, const float* b, const float* p, const float* q) {
  int shared = 0;
  for (int joint = 0; joint < kJoints; ++joint) {
    const float dx = p[3 * joint] - q[3 * joint], dy = p[3 * joint + 1] - q[3 * joint + 1];
    const bool both = p[3 * joint + 2] > 0 && q[3 * joint + 2] > 0;
    shared += both && dx * dx + dy * dy < kFuseRadius * kFuseRadius;
  }
  const float w = fminf(a[3], b[3]) - fmaxf(a[1], b[1]), h = fminf(a[4], b[4]) - fmaxf(a[2], b[2]);
  const float overlap = fmaxf(0.0f, w) * fmaxf(0.0f, h);
  const float both = (a[3] - a[1]) * (a[4] - a[2]) + (b[3] - b[1]) * (b[4] - b[2]) - overlap;
  return shared >= kSharedJoints || overlap > kIouThreshold * both;
}

// Bit j of row i: row j > i is the same person as row i.
__global__ void SuppressionMask(const float* boxes, const float* joints, unsigned long long* mask, int n) {
  const int i = int(blockIdx.x), word = int(threadIdx.x);
  unsigned long long bits = 0;
  for (int bit = 0; bit < 64; ++bit) {
    const int j = word * 64 + bit;
    if (i < n && j > i && j < n &&
        SamePerson(boxes + i * kBoxFields, boxes + j * kBoxFields, joints + i * kJointFields,
                   joints + j * kJointFields))
      bits |= 1ull << bit;
  }
  mask[i * kMaskWords + word] = bits;
}

__global__ void FlagKeypoints(const float* x, const float* y, const float* mass, int* flags, int stride, int width,
                              int plane, int n) {
  const int i = Index();
  if (i >= n) return;
  const int cell = i % plane;
  const bool here = int(floorf(x[i] / stride)) == cell % width && int(floorf(y[i] / stride)) == cell / width;
  flags[i] = mass[i] >= 0.5f && mass[i] <= 1.5f && here;
}

__global__ void ScatterKeypoints(const float* x, const float* y, const float* mass, const int* flags,
                                 const int* positions, float* objects, int plane, int n) {
  const int i = Index();
  if (i >= n || !flags[i] || positions[i] >= kMaxKeypointObjects) return;
  float* out = objects + positions[i] * kObjectFields;
  out[0] = float(i / plane), out[1] = x[i], out[2] = y[i], out[3] = mass[i];
}

__global__ void Fuse(const float* joints, const float* objects, float* out, int object_count, int n) {
  const int i = Index();
  if (i >= n) return;
  const float* in = joints + 3 * i;
  float best[3] = {in[0], in[1], in[2]}, nearest = kFuseRadius * kFuseRadius;
  for (int j = 0; j < object_count && in[2] > 0; ++j) {
    const float* object = objects + j * kObjectFields;
    const float dx = object[1] - in[0], dy = object[2] - in[1], distance = dx * dx + dy * dy;
    if (int(object[0]) != i % kJoints || distance >= nearest) continue;
    nearest = distance;
    best[0] = object[1], best[1] = object[2], best[2] = object[3];
  }
  out[3 * i] = best[0], out[3 * i + 1] = best[1], out[3 * i + 2] = best[2];
}

// geometry: scale, pad x, pad y. Columns `x`, x + 2, … < end of each row are horizontal, the next ones vertical.
__global__ void ToPicture(const float* in, const float* geometry, float* out, int fields, int first, int group, int n) {
  const int i = Index();
  if (i >= n) return;
  const int column = i % fields - first, axis = column < 0 ? 2 : column % group;
  out[i] = axis < 2 ? (in[i] - geometry[1 + axis]) / geometry[0] : in[i];
}

}  // namespace

Detector::Detector(Runtime& runtime, const Network& network) : runtime_(runtime), network_(network), ops_(runtime) {
  const auto prepare_blocks = [&](const std::vector<Residual>& blocks) {
    for (const Residual& block : blocks) ops_.Prepare(block.squeeze), ops_.Prepare(block.expand);
  };
  for (const Conv* conv :
       {&network.stem, &network.pool_in, &network.pool_out, &network.keypoint_window, &network.keypoint_output})
    ops_.Prepare(*conv);
  for (const Stage& stage : network.stages) ops_.Prepare(stage.down), prepare_blocks(stage.blocks);
  for (int i = 0; i < 2; ++i) {
    for (const Conv* conv : {&network.lateral[i], &network.merge[i], &network.bottom_up[i]}) ops_.Prepare(*conv);
    prepare_blocks(network.top_down[i]), prepare_blocks(network.bottom_up_blocks[i]);
  }
  for (const PoseHead& head : network.heads)
    ops_.Prepare(head.columns), ops_.Prepare(head.rows), ops_.Prepare(head.output);
}

const Detector::Grid& Detector::GridOf(int stride, int height, int width) {
  if (grids_.empty()) grids_.resize(kLevels);
  const int level = stride == kStrides[0] ? 0 : stride == kStrides[1] ? 1 : 2;
  Grid& grid = grids_[size_t(level)];
  if (grid.x && grid.x.height() == height && grid.x.width() == width) return grid;
  grid = {DeviceTensor(runtime_, 1, height, width), DeviceTensor(runtime_, 1, height, width)};
  const int n = height * width;
  runtime_.Launch("grid", CellCentres, n, grid.x.data(), grid.y.data(), stride, width, n);
  return grid;
}

// moments / mass, in input pixels, plus the cell's centre.
DeviceTensor Detector::Offsets(const DeviceTensor& moments, const DeviceTensor& safe_mass, const DeviceTensor& grid) {
  const int n = moments.Size();
  DeviceTensor a(runtime_, kJoints, moments.height(), moments.width());
  runtime_.Launch("mean offset", Divide, n, moments.data(), safe_mass.data(), a.data(), n);
  DeviceTensor b(runtime_, kJoints, moments.height(), moments.width());
  runtime_.Launch("to pixels", Scale, n, a.data(), b.data(), kOffsetUnit, n);
  DeviceTensor c(runtime_, kJoints, moments.height(), moments.width());
  runtime_.LaunchPlanes("add grid", AddGrid, kJoints, moments.Plane(), b.data(), grid.data(), c.data(),
                        moments.Plane());
  return c;
}

Detector::JointMaps Detector::DecodeJoints(const DeviceTensor& map, int first_channel, int stride) {
  const Grid& grid = GridOf(stride, map.height(), map.width());
  JointMaps joints;
  joints.mass = ops_.SelectChannels(map, first_channel, 3, kJoints);
  const DeviceTensor moments_x = ops_.SelectChannels(map, first_channel + 1, 3, kJoints);
  const DeviceTensor moments_y = ops_.SelectChannels(map, first_channel + 2, 3, kJoints);
  const int n = joints.mass.Size();
  joints.visible = DeviceTensor(runtime_, kJoints, map.height(), map.width());
  runtime_.Launch("visible", AtLeast, n, joints.mass.data(), joints.visible.data(), kVisibleMass, n);
  DeviceTensor safe_mass(runtime_, kJoints, map.height(), map.width());
  runtime_.Launch("clamp mass", ClampBelow, n, joints.mass.data(), safe_mass.data(), kVisibleMass, n);
  joints.x = Offsets(moments_x, safe_mass, grid.x);
  joints.y = Offsets(moments_y, safe_mass, grid.y);
  return joints;
}

// How many flags are set; waits for the device, as nonzero() of a framework does.
int Detector::Compact(const Array<int>& flags, Array<int>* positions) {
  const int n = flags.Size();
  *positions = Array<int>(runtime_, n + 1);
  runtime_.LaunchBlocks("scan", ExclusiveScan, dim3(1), kScanThreads, flags.data(), positions->data(), n);
  int count = 0;
  runtime_.CopyToHost(&count, positions->data() + n, sizeof(count));
  return count;
}

void Detector::DecodeLevel(const DeviceTensor& map, int stride, Table* candidates) {
  const DeviceTensor score = ops_.Sigmoid(ops_.SelectChannels(map, 0, 1, 1));
  const JointMaps joints = DecodeJoints(map, 1, stride);
  const int plane = map.Plane();
  DeviceTensor extremes[4];
  for (int i = 0; i < 4; ++i) {
    extremes[i] = DeviceTensor(runtime_, 1, map.height(), map.width());
    const DeviceTensor& coordinate = i % 2 == 0 ? joints.x : joints.y;
    runtime_.Launch("box side", Extreme, plane, coordinate.data(), joints.visible.data(), extremes[i].data(),
                    i < 2 ? -1.0f : 1.0f, plane);
  }
  Array<int> flags(runtime_, plane), positions;
  runtime_.Launch("score threshold", Above, plane, score.data(), flags.data(), kScoreThreshold, plane);
  const int count = Compact(flags, &positions);
  const LevelView view = {flags.data(),       positions.data(),   score.data(),          extremes[0].data(),
                          extremes[1].data(), extremes[2].data(), extremes[3].data(),    joints.x.data(),
                          joints.y.data(),    joints.mass.data(), joints.visible.data(), plane};
  runtime_.Launch("gather boxes", ScatterBoxes, plane, view, candidates->boxes.data(), candidates->rows);
  runtime_.Launch("gather joints", ScatterJoints, plane * kJoints, view, candidates->joints.data(), candidates->rows,
                  plane * kJoints);
  candidates->rows = std::min(kMaxCandidates, candidates->rows + count);
}

Detector::Table Detector::Suppress(const Table& candidates) {
  const int n = candidates.rows, rows = std::max(1, n);
  Array<int> rank(runtime_, rows);
  Table sorted = {DeviceTensor(runtime_, rows, kBoxFields), DeviceTensor(runtime_, rows, kJointFields), n};
  runtime_.Launch("rank", Rank, rows, candidates.boxes.data(), rank.data(), n);
  runtime_.Launch("sort boxes", ScatterRows, rows * kBoxFields, candidates.boxes.data(), rank.data(),
                  sorted.boxes.data(), kBoxFields, n * kBoxFields);
  runtime_.Launch("sort joints", ScatterRows, rows * kJointFields, candidates.joints.data(), rank.data(),
                  sorted.joints.data(), kJointFields, n * kJointFields);
  Array<unsigned long long> mask(runtime_, rows, kMaskWords);
  runtime_.LaunchBlocks("suppression mask", SuppressionMask, dim3(unsigned(rows)), kMaskWords, sorted.boxes.data(),
                        sorted.joints.data(), mask.data(), n);
  const std::vector<unsigned long long> host_mask = ToHost(runtime_, mask, rows * kMaskWords);

  std::vector<int> keep(kMaxPoses, -1);
  unsigned long long removed[kMaskWords] = {};
  int kept = 0;
  for (int i = 0; i < n && kept < kMaxPoses; ++i) {
    if (removed[i / 64] >> (i % 64) & 1) continue;
    keep[size_t(kept++)] = i;
    for (int word = 0; word < kMaskWords; ++word) removed[word] |= host_mask[size_t(i * kMaskWords + word)];
  }
  const Array<int> device_keep = ToDevice(runtime_, keep);
  Table poses = {DeviceTensor(runtime_, kMaxPoses, kBoxFields), DeviceTensor(runtime_, kMaxPoses, kJointFields), kept};
  runtime_.Launch("keep boxes", GatherRows, kMaxPoses * kBoxFields, sorted.boxes.data(), device_keep.data(),
                  poses.boxes.data(), kBoxFields, kMaxPoses * kBoxFields);
  runtime_.Launch("keep joints", GatherRows, kMaxPoses * kJointFields, sorted.joints.data(), device_keep.data(),
                  poses.joints.data(), kJointFields, kMaxPoses * kJointFields);
  return poses;
}

int Detector::DecodeKeypoints(const DeviceTensor& map, DeviceTensor* objects) {
  const JointMaps joints = DecodeJoints(map, 0, kStrides[0]);
  const int n = joints.mass.Size(), plane = map.Plane();
  Array<int> flags(runtime_, n), positions;
  runtime_.Launch("flag keypoints", FlagKeypoints, n, joints.x.data(), joints.y.data(), joints.mass.data(),
                  flags.data(), kStrides[0], map.width(), plane, n);
  const int count = std::min(kMaxKeypointObjects, Compact(flags, &positions));
  *objects = DeviceTensor(runtime_, kMaxKeypointObjects, kObjectFields);
  runtime_.Launch("gather keypoints", ScatterKeypoints, n, joints.x.data(), joints.y.data(), joints.mass.data(),
                  flags.data(), positions.data(), objects->data(), plane, n);
  return count;
}

Detections Detector::Deliver(const Table& poses, const DeviceTensor& objects, int object_count,
                             const DeviceTensor& geometry) {
  const int joints = kMaxPoses * kJoints;
  DeviceTensor fused(runtime_, kMaxPoses, kJointFields), in_picture(runtime_, kMaxPoses, kJointFields);
  runtime_.Launch("fuse", Fuse, joints, poses.joints.data(), objects.data(), fused.data(), object_count, joints);
  runtime_.Launch("joints to picture", ToPicture, 3 * joints, fused.data(), geometry.data(), in_picture.data(),
                  kJointFields, 0, 3, 3 * joints);
  DeviceTensor boxes(runtime_, kMaxPoses, kBoxFields), found(runtime_, kMaxKeypointObjects, kObjectFields);
  runtime_.Launch("boxes to picture", ToPicture, boxes.Size(), poses.boxes.data(), geometry.data(), boxes.data(),
                  kBoxFields, 1, 2, boxes.Size());
  runtime_.Launch("keypoints to picture", ToPicture, found.Size(), objects.data(), geometry.data(), found.data(),
                  kObjectFields, 1, 3, found.Size());
  if (!latest_) latest_ = DeviceTensor(runtime_, kMaxPoses, kBoxFields);
  runtime_.CopyOnDevice(latest_.data(), boxes.data(), size_t(boxes.Size()) * sizeof(float));

  const std::vector<float> box_rows = ToHost(runtime_, latest_, std::max(1, poses.rows) * kBoxFields);
  const std::vector<float> joint_rows = ToHost(runtime_, in_picture, std::max(1, poses.rows) * kJointFields);
  const std::vector<float> object_rows = ToHost(runtime_, found, std::max(1, object_count) * kObjectFields);
  Detections detections;
  for (int i = 0; i < poses.rows; ++i) {
    const float* box = &box_rows[size_t(i * kBoxFields)];
    Pose pose{box[1], box[2], box[3], box[4], box[0], {}};
    for (int joint = 0; joint < kJoints; ++joint) {
      const float* point = &joint_rows[size_t(i * kJointFields + 3 * joint)];
      if (point[2] > 0) pose.joints[size_t(joint)] = {point[0], point[1], point[2]};
    }
    detections.poses.push_back(pose);
  }
  for (int i = 0; i < object_count; ++i) {
    const float* object = &object_rows[size_t(i * kObjectFields)];
    detections.keypoints.push_back({int(object[0]), object[1], object[2], object[3]});
  }
  return detections;
}

Detections Detector::Infer(const Image& input, const Letterbox& letterbox) {
  const Array<uint8_t> rgb = ToDevice(runtime_, input.rgb);
  const DeviceTensor geometry =
      ToDevice(runtime_, std::vector<float>{letterbox.scale, letterbox.pad_x, letterbox.pad_y});
  const NetworkOutput<DeviceTensor> output = RunNetwork(ops_, network_, ops_.Normalise(rgb, input.height, input.width));
  Table candidates = {DeviceTensor(runtime_, kMaxCandidates, kBoxFields),
                      DeviceTensor(runtime_, kMaxCandidates, kJointFields), 0};
  for (int level = 0; level < kLevels; ++level) DecodeLevel(output.pose[level], kStrides[level], &candidates);
  DeviceTensor objects;
  const int object_count = DecodeKeypoints(output.keypoints, &objects);
  const Table poses = Suppress(candidates);
  return Deliver(poses, objects, object_count, geometry);
}

}  // namespace pose
