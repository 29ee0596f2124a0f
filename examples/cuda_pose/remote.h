// What pose_client and pose_server say to each other over TCP: pictures up, detections down, one after the other.
//
//   request   "POSE", then scale, pad x, pad y of the letterbox (floats), then the input's bytes: 245 776 bytes
//   reply     how many poses and how many keypoints (uint32), then for each pose its score, box and joints
//             (5 + 3 * kJoints floats), then for each keypoint its joint, x, y and mass (4 floats)
//
// Numbers are little-endian. These are the bytes that cuda_pose itself copies to the device as input and from it as
// results; its counts, suppression mask and kept rows stay with the server. Everything throws std::runtime_error.
#pragma once

#include <string>

#include "examples/cuda_pose/image.h"

namespace pose {

struct Request {
  Letterbox letterbox;
  Image input;  // kInputWidth x kInputHeight
};

// A TCP socket without Nagle's delay. Each message leaves in one write.
class Connection {
 public:
  static Connection To(const std::string& host_and_port);
  explicit Connection(int socket);
  ~Connection();
  Connection(Connection&& other) noexcept : socket_(other.socket_) { other.socket_ = -1; }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void Send(const Request& request);
  void Send(const Detections& detections);
  // False if the client hung up between two requests.
  bool Receive(Request* request);
  Detections ReceiveDetections();

 private:
  void Write(const std::string& bytes);
  size_t Read(void* bytes, size_t size);  // fewer only at the end
  int socket_;
};

class Listener {
 public:
  // Port 0: any that is free.
  explicit Listener(const std::string& host_and_port);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  std::string Address() const;
  Connection Accept();

 private:
  int socket_;
};

}  // namespace pose
