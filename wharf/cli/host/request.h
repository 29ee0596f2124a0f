// What a program in another language asks of the process that holds its model (host.h): JSON, one request a packet.
//
//   {"id": 1, "ask": "open", "model": "/models/net.onnx", "server": "edge:7070", "token": "…"}
//   {"id": 2, "ask": "run", "slot": 0}
//
// or, of one that holds an AR client (ar_host.h), "open_ar" and "frame".
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

// Makes an AR client (ar/client/client.h) of a camera.
struct OpenArRequest : ServerWish {
  int width = 1, height = 1;  // of its pictures
  double fx = 0, fy = 0, cx = 0, cy = 0;
  double frames_per_s = 30;
  bool depth = false, odometry = false, boxes = false;
  std::string networks;  // a folder; "": the one that Wharf brings
  int jpeg_quality = 90;
  friend bool operator==(const OpenArRequest&, const OpenArRequest&) = default;
};

// A frame whose picture lies in the shared memory: rows of pixels, red first.
struct ArFrameRequest {
  double time_s = 0;
  // Seven numbers a sample, since the frame before: time, angular velocity, specific force.
  std::vector<double> imu;
  friend bool operator==(const ArFrameRequest&, const ArFrameRequest&) = default;
};

struct ReportRequest {  // of the last inference
  friend bool operator==(const ReportRequest&, const ReportRequest&) = default;
};

struct StateRequest {  // of the session
  friend bool operator==(const StateRequest&, const StateRequest&) = default;
};

struct Request {
  uint64_t id = 0;  // comes back with every answer
  std::variant<OpenRequest, RunRequest, ReportRequest, StateRequest, OpenArRequest, ArFrameRequest> what;
  friend bool operator==(const Request&, const Request&) = default;
};

// kInvalidArgument, in words: no JSON, other members than those above, or values that they cannot have.
absl::StatusOr<Request> ParseRequest(std::string_view text);

// What ParseRequest makes the same of, with every member.
std::string RequestAsJson(const Request& request);

}  // namespace wharf::cli
