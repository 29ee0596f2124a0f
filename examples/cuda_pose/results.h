// What the programs of this folder tell about what they found and how long it took.
#pragma once

#include <string>
#include <vector>

#include "examples/cuda_pose/pose.h"

namespace pose {

// People, their joints and how many there are, on standard output.
void Print(const Detections& detections);
// The first and the median latency, on standard error; nothing without any.
void PrintLatencies(const std::vector<double>& latencies_ms);
// Throws std::runtime_error if the file cannot be written.
void WriteJson(const std::string& path, const std::string& program, const std::vector<double>& latencies_ms,
               const Detections& detections);
// Whether both found the same, to half a pixel; says on standard output what is missing.
bool SameDetections(const Detections& got, const Detections& want);

}  // namespace pose
