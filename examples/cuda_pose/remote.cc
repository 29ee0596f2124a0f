#include "examples/cuda_pose/remote.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>

namespace pose {
namespace {

constexpr char kMagic[4] = {'P', 'O', 'S', 'E'};
constexpr size_t kPictureBytes = size_t(kInputWidth) * kInputHeight * 3;
constexpr size_t kPoseFloats = 5 + 3 * kJoints, kKeypointFloats = 4;

[[noreturn]] void Fail(const std::string& what) { throw std::runtime_error(what + ": " + std::strerror(errno)); }

// Calls `use` with each address of the name until one gives a socket.
template <class Use>
int FirstSocket(const std::string& host_and_port, int flags, const Use& use) {
  const size_t colon = host_and_port.rfind(':');
  if (colon == std::string::npos) throw std::runtime_error(host_and_port + ": HOST:PORT is wanted");
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM, hints.ai_flags = flags;
  const int error =
      getaddrinfo(host_and_port.substr(0, colon).c_str(), host_and_port.substr(colon + 1).c_str(), &hints, &found);
  if (error) throw std::runtime_error(host_and_port + ": " + gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, freeaddrinfo);
  for (const addrinfo* address = found; address; address = address->ai_next) {
    const int socket = ::socket(address->ai_family, address->ai_socktype | SOCK_CLOEXEC, address->ai_protocol);
    if (socket < 0) continue;
    if (use(socket, *address)) return socket;
    const int reason = errno;
    close(socket);
    errno = reason;
  }
  Fail(host_and_port);
}

template <class T>
void Append(std::string* bytes, const T& value) {
  bytes->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

}  // namespace

Connection Connection::To(const std::string& host_and_port) {
  return Connection(FirstSocket(host_and_port, 0, [](int socket, const addrinfo& address) {
    return connect(socket, address.ai_addr, address.ai_addrlen) == 0;
  }));
}

Connection::Connection(int socket) : socket_(socket) {
  const int on = 1;
  if (setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0) Fail("TCP_NODELAY");
}

Connection::~Connection() {
  if (socket_ >= 0) close(socket_);
}

void Connection::Write(const std::string& bytes) {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t n = send(socket_, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) Fail("send");
    done += size_t(n);
  }
}

size_t Connection::Read(void* bytes, size_t size) {
  size_t done = 0;
  while (done < size) {
    const ssize_t n = recv(socket_, static_cast<char*>(bytes) + done, size - done, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) Fail("receive");
    if (n == 0) break;
    done += size_t(n);
  }
  return done;
}

void Connection::Send(const Request& request) {
  std::string bytes(kMagic, sizeof(kMagic));
  Append(&bytes, request.letterbox.scale);
  Append(&bytes, request.letterbox.pad_x);
  Append(&bytes, request.letterbox.pad_y);
  bytes.append(reinterpret_cast<const char*>(request.input.rgb.data()), request.input.rgb.size());
  Write(bytes);
}

bool Connection::Receive(Request* request) {
  char magic[sizeof(kMagic)];
  float letterbox[3];
  const size_t first = Read(magic, sizeof(magic));
  if (first == 0) return false;
  if (first < sizeof(magic) || std::memcmp(magic, kMagic, sizeof(magic)) != 0)
    throw std::runtime_error("the client speaks another protocol");
  request->input.width = kInputWidth, request->input.height = kInputHeight;
  request->input.rgb.resize(kPictureBytes);
  if (Read(letterbox, sizeof(letterbox)) < sizeof(letterbox) ||
      Read(request->input.rgb.data(), kPictureBytes) < kPictureBytes)
    throw std::runtime_error("the client hung up within a request");
  request->letterbox = {letterbox[0], letterbox[1], letterbox[2]};
  return true;
}

void Connection::Send(const Detections& detections) {
  std::string bytes;
  Append(&bytes, uint32_t(detections.poses.size()));
  Append(&bytes, uint32_t(detections.keypoints.size()));
  for (const Pose& pose : detections.poses) {
    for (float value : {pose.score, pose.x0, pose.y0, pose.x1, pose.y1}) Append(&bytes, value);
    for (const Keypoint& joint : pose.joints)
      for (float value : {joint.x, joint.y, joint.mass}) Append(&bytes, value);
  }
  for (const KeypointObject& object : detections.keypoints)
    for (float value : {float(object.joint), object.x, object.y, object.mass}) Append(&bytes, value);
  Write(bytes);
}

Detections Connection::ReceiveDetections() {
  uint32_t counts[2];
  if (Read(counts, sizeof(counts)) < sizeof(counts)) throw std::runtime_error("the server hung up");
  if (counts[0] > uint32_t(kMaxPoses) || counts[1] > uint32_t(kMaxKeypointObjects))
    throw std::runtime_error("the server speaks another protocol");
  std::vector<float> values(counts[0] * kPoseFloats + counts[1] * kKeypointFloats);
  if (Read(values.data(), values.size() * sizeof(float)) < values.size() * sizeof(float))
    throw std::runtime_error("the server hung up within a reply");
  Detections detections;
  const float* v = values.data();
  for (uint32_t i = 0; i < counts[0]; ++i, v += kPoseFloats) {
    Pose pose{v[1], v[2], v[3], v[4], v[0], {}};
    for (size_t j = 0; j < size_t(kJoints); ++j) pose.joints[j] = {v[5 + 3 * j], v[6 + 3 * j], v[7 + 3 * j]};
    detections.poses.push_back(pose);
  }
  for (uint32_t i = 0; i < counts[1]; ++i, v += kKeypointFloats)
    detections.keypoints.push_back({int(v[0]), v[1], v[2], v[3]});
  return detections;
}

Listener::Listener(const std::string& host_and_port) {
  socket_ = FirstSocket(host_and_port, AI_PASSIVE, [](int socket, const addrinfo& address) {
    const int on = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    return bind(socket, address.ai_addr, address.ai_addrlen) == 0 && listen(socket, 8) == 0;
  });
}

Listener::~Listener() { close(socket_); }

std::string Listener::Address() const {
  sockaddr_storage bound{};
  socklen_t size = sizeof(bound);
  char host[NI_MAXHOST], port[NI_MAXSERV];
  if (getsockname(socket_, reinterpret_cast<sockaddr*>(&bound), &size) != 0 ||
      getnameinfo(reinterpret_cast<sockaddr*>(&bound), size, host, sizeof(host), port, sizeof(port),
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    Fail("the listening socket has no address");
  return std::string(host) + ":" + port;
}

Connection Listener::Accept() {
  int client = -1;
  do client = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
  while (client < 0 && (errno == EINTR || errno == ECONNABORTED));
  if (client < 0) Fail("accept");
  return Connection(client);
}

}  // namespace pose
