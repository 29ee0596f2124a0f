// What a program in another language asks of the process that holds its model (host.h): JSON, one request a packet.
//
//   {"id": 1, "ask": "open", "model": "/models/net.onnx", "server": "edge:7070", "token": "…"}
//   {"id": 2, "ask": "run", "slot": 0}
//
// or, of one that holds an AR client (ar_host.h), "open_ar" and "frame"; of one that calibrates a task of the program's
// own (ar_calibration.h), "open_calibration" and "calibrate". While the program waits for an answer its own functions
// may be called (caller.h): it says "called" then, with the id of what it waits for.
//
// Members that are left out are as the structs have them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "wharf/base/status.h"

namespace wharf::cli {

// More than any path, list or token that makes sense; what a packet may have.
inline constexpr size_t kMaxRequestBytes = 64 << 10;

// How a server is reached.
struct ServerWish {
  std::string server;
  std::string token, token_file;
  bool tls = false;
  std::string tls_ca, tls_pin, tls_certificate, tls_key;
  friend bool operator==(const ServerWish&, const ServerWish&) = default;
};

// Makes an EdgeModel (split/runtime/edge_model.h, whose options these are). No server: this machine computes alone;
// "auto": one that announces itself (find_server.h).
struct OpenRequest : ServerWish {
  std::string model;  // the path of its file
  std::string name;   // what messages call it; "": as `model`
  std::string planner = "intra-dp", input_shape;
  bool pictures = false, allow_half = false;
  std::optional<int> jpeg_quality;     // 1 to 100
  std::vector<float> mean, deviation;  // of pictures; empty: graph::Normalization::Default
  std::optional<double> slack_ms;
  int threads = 0;
  std::optional<std::string> cache_directory;
  bool progress = false;  // answers say how far it is
  friend bool operator==(const OpenRequest&, const OpenRequest&) = default;
};

// A picture whose pixels lie where the input is: rows of pixels, the channels of one side by side.
struct PictureShape {
  int height = 0, width = 0, channels = 3;  // channels: 1 or 3
  friend bool operator==(const PictureShape&, const PictureShape&) = default;
};

// One inference on what lies in the shared memory.
struct RunRequest {
  int slot = 0;  // where its outputs go
  std::optional<PictureShape> picture;
  friend bool operator==(const RunRequest&, const RunRequest&) = default;
};

// An AR task of the program's own (own_task.h).
struct OwnTask {
  std::string name;         // under which the server has the model
  std::string calibration;  // the path of its file; "": nothing is known yet
  bool local = false;       // it has a local algorithm
  friend bool operator==(const OwnTask&, const OwnTask&) = default;
};

// Makes an AR client (ar/client/client.h) of a camera; with an agreed accuracy, a coordinated one.
struct OpenArRequest : ServerWish {
  int width = 1, height = 1;  // of its pictures
  double fx = 0, fy = 0, cx = 0, cy = 0;
  double frames_per_s = 30;
  bool depth = false, odometry = false, boxes = false;
  std::string networks;  // a folder; "": the one that Wharf brings
  int jpeg_quality = 90;
  std::optional<double> sla;
  std::vector<OwnTask> own_tasks;
  friend bool operator==(const OpenArRequest&, const OpenArRequest&) = default;
};

// A frame whose picture lies in the shared memory: rows of pixels, red first.
struct ArFrameRequest {
  double time_s = 0;
  // Seven numbers a sample, since the frame before: time, angular velocity, specific force.
  std::vector<double> imu;
  friend bool operator==(const ArFrameRequest&, const ArFrameRequest&) = default;
};

// Prepares what "calibrate" then does (ar/model_task/calibrate.h, whose options these are).
struct OpenCalibrationRequest : ServerWish {
  std::string task;
  bool local = false;               // the task has a local algorithm
  std::vector<std::string> videos;  // paths; "": one whose frames the program gives
  int width = 0, height = 0;        // of the pictures; 0: as files have them
  double frames_per_s = 30;         // of what the program gives
  std::string source;               // what the videos are, for people
  std::vector<int> strides;         // none: as the options have them
  int every = 16, latency_frames = 4, jpeg_quality = 90;
  friend bool operator==(const OpenCalibrationRequest&, const OpenCalibrationRequest&) = default;
};

struct CalibrateRequest {
  friend bool operator==(const CalibrateRequest&, const CalibrateRequest&) = default;
};

// What came of a function of the program's. With none of the three it gave nothing.
struct CalledRequest {
  std::optional<uint64_t> result;  // the number under which the program has it
  std::optional<double> loss;      // from 0 on
  std::string error;               // why it failed
  friend bool operator==(const CalledRequest&, const CalledRequest&) = default;
};

struct ReportRequest {  // of the last inference; of the agreed accuracy
  friend bool operator==(const ReportRequest&, const ReportRequest&) = default;
};

struct StateRequest {  // of the session
  friend bool operator==(const StateRequest&, const StateRequest&) = default;
};

struct Request {
  uint64_t id = 0;  // comes back with every answer
  std::variant<OpenRequest, RunRequest, ReportRequest, StateRequest, OpenArRequest, ArFrameRequest,
               OpenCalibrationRequest, CalibrateRequest, CalledRequest>
      what;
  friend bool operator==(const Request&, const Request&) = default;
};

// kInvalidArgument, in words: no JSON, other members than those above, or values that they cannot have.
absl::StatusOr<Request> ParseRequest(std::string_view text);

// What ParseRequest makes the same of, with every member.
std::string RequestAsJson(const Request& request);

}  // namespace wharf::cli
