// What the programs of this folder tell about what they found and how long it took.
#pragma once

#include <string>
#include <vector>

#include "examples/cuda_pose/image.h"
#include "examples/cuda_pose/pose.h"

namespace pose {

// Where results go besides standard output and error; nowhere if a path is empty.
struct Destinations {
  std::string program;  // named in the JSON file
  std::string json, picture;
};

// Prints people, their joints and how many there are, on standard output, and the first and the median latency, if
// there are any, on standard error; writes the files, for which it draws into `picture`. Throws std::runtime_error if a
// file cannot be written.
void Deliver(const Destinations& to, const std::vector<double>& latencies_ms, const Detections& detections,
             Image* picture);
// Whether both found the same, to half a pixel; says on standard output what is missing.
bool SameDetections(const Detections& got, const Detections& want);

}  // namespace pose
