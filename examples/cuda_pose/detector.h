// One inference on the GPU: picture in, detections out.
#pragma once

#include <vector>

#include "examples/cuda_pose/image.h"
#include "examples/cuda_pose/network.h"
#include "examples/cuda_pose/ops.h"

namespace pose {

class Detector {
 public:
  // Uploads the weights. Both arguments outlive the detector.
  Detector(Runtime& runtime, const Network& network);

  // `input` is kInputWidth x kInputHeight. The first call also builds the grids of cell centres.
  Detections Infer(const Image& input, const Letterbox& letterbox);
  DeviceOps& ops() { return ops_; }

 private:
  // Cell centres of one level, one value per cell.
  struct Grid {
    DeviceTensor x, y;
  };
  // Joints of each cell: one channel per joint, in input pixels.
  struct JointMaps {
    DeviceTensor mass, visible, x, y;
  };
  // Rows of kBoxFields and kJointFields floats.
  struct Table {
    DeviceTensor boxes, joints;
    int rows = 0;
  };

  const Grid& GridOf(int stride, int height, int width);
  DeviceTensor Offsets(const DeviceTensor& moments, const DeviceTensor& safe_mass, const DeviceTensor& grid);
  JointMaps DecodeJoints(const DeviceTensor& map, int first_channel, int stride);
  int Compact(const Array<int>& flags, Array<int>* positions);
  void DecodeLevel(const DeviceTensor& map, int stride, Table* candidates);
  Table Suppress(const Table& candidates);
  int DecodeKeypoints(const DeviceTensor& map, DeviceTensor* objects);
  Detections Deliver(const Table& poses, const DeviceTensor& objects, int object_count, const DeviceTensor& geometry);

  Runtime& runtime_;
  const Network& network_;
  DeviceOps ops_;
  std::vector<Grid> grids_;  // by level, built when first needed
  DeviceTensor latest_;      // the last inference's boxes, kept on the device
};

}  // namespace pose
