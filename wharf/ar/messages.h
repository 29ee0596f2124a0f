// What an AR client and a server say to each other, frame by frame: docs/protocol.md, "AR sessions". Encoded by
// wire/codec.h.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "wharf/link/channel.h"
#include "wharf/scene/scene.h"
#include "wharf/wire/codec.h"
#include "wharf/wire/goodbye.h"
#include "wharf/wire/handshake.h"
#include "wharf/wire/send.h"

namespace wharf::ar {

inline constexpr uint32_t kArMagic = 0x41524857;  // "WHRA"
inline constexpr uint16_t kArMajor = 6;           // must match
inline constexpr uint16_t kArMinor = 0;           // the lower one is spoken

// Numbers of their own: by the first frame's a server tells kinds of sessions apart.
enum class FrameKind : uint16_t {
  kHello = 192,      // client, first frame
  kWelcome = 193,    // server
  kGoodbye = 194,    // either, last frame: why
  kPicture = 195,    // client: tag = frame, bulk = a JPEG
  kResult = 196,     // server: tag = frame, bulk = what was found (result_coding.h)
  kFailed = 197,     // server: tag = frame
  kReport = 198,     // client: what it measured
  kSchedule = 199,   // server: which frames to offload
  kRedirect = 200,   // server: which servers to go to
  kChallenge = 201,  // server: prove that you know the token
  kProof = 202,      // either: the proof
};

// Those behind kBoxes are models that the server was given under a name: in a session, the i-th that its Hello names.
enum class Task : uint8_t { kDepth = 0, kOdometry = 1, kBoxes = 2 };
inline constexpr int kTasks = 3, kMostModels = 5, kMostTasks = kTasks + kMostModels;
// The built-in tasks' names, by Task.
inline constexpr std::array<std::string_view, kTasks> kTaskNames = {"depth", "odometry", "boxes"};
constexpr Task ModelTaskAt(int place) { return static_cast<Task>(kTasks + place); }

// How depth maps travel.
enum class DepthCoding : uint8_t {
  kHalf = 0,  // metres as binary16, packed
  kJpeg = 1,  // logarithms of 8 bits as a JPEG
};

using wire::DecodeHead;
using wire::DecodeList;
using wire::EncodeList;
using wire::Goodbye;
using wire::SendMessage;

// The client asks whether it would be let in: it gets a Welcome, or a Goodbye, and the server closes.
inline constexpr uint64_t kFeatureCheckOnly = 1;

struct Hello {
  uint32_t magic = kArMagic;
  uint16_t major = kArMajor, minor = kArMinor;
  uint64_t features = 0;  // kFeatureCheckOnly; unknown bits are ignored
  wire::Nonce nonce{};
  uint8_t tasks = 0;  // bit i: Task i
  DepthCoding depth_coding = DepthCoding::kHalf;
  double frames_per_s = 60;
  // Of the pictures that will come.
  int32_t width = 0, height = 0;
  double fx = 0, fy = 0, cx = 0, cy = 0;
  // Not 0: the server says when to offload, so that the mean accuracy drop stays within it. Of one task only.
  double sla = 0;
  std::string models;  // names of model tasks, with a comma between two; the i-th is bit kTasks + i of `tasks`
  auto Fields() {
    return std::tie(magic, major, minor, features, nonce, tasks, depth_coding, frames_per_s, width, height, fx, fy, cx,
                    cy, sla, models);
  }
};
struct Welcome {
  uint16_t major = kArMajor, minor = kArMinor;
  uint64_t features = 0;
  // Of one picture alone: the reference that an agreed accuracy is relative to has it. 0 if none is agreed.
  uint64_t inference_nanoseconds = 0;
  uint64_t sessions = 0;  // that the server has, others' than this one
  auto Fields() { return std::tie(major, minor, features, inference_nanoseconds, sessions); }
};

struct ArProtocol {
  static constexpr wire::ProtocolVersion kVersion = {"AR session", "AR protocol", kArMagic, kArMajor, kArMinor};
  using Hello = ar::Hello;
  using Welcome = ar::Welcome;
  using Goodbye = wire::Goodbye;
  static constexpr FrameKind kHello = FrameKind::kHello, kWelcome = FrameKind::kWelcome, kGoodbye = FrameKind::kGoodbye,
                             kChallenge = FrameKind::kChallenge, kProof = FrameKind::kProof;
};

struct Picture {
  uint8_t tasks = 0;  // bit i: Task i; some of the Hello's
  auto Fields() { return std::tie(tasks); }
};
struct Result {
  Task task = Task::kDepth;
  uint64_t waited_nanoseconds = 0, computed_nanoseconds = 0;  // since the picture had come
  auto Fields() { return std::tie(task, waited_nanoseconds, computed_nanoseconds); }
};
struct Failed {
  Task task = Task::kDepth;
  uint16_t code = 0;  // of absl::StatusCode
  std::string message;
  auto Fields() { return std::tie(task, code, message); }
};
// Of the one task that the server schedules.
struct Report {
  double drop_rate = 0;  // accuracy lost per frame of tracking stride
  double network_s = 0;  // from a frame to the use of its result, all but the server's part
  // In how many frames it was served so far, and the sum of what they lost from a server of its own.
  double frames = 0, lost = 0;
  auto Fields() { return std::tie(drop_rate, network_s, frames, lost); }
};
// In place of the one before: `frames`, i64 each, ascending; after the last of them every interval-th, none if it is 0.
struct Schedule {
  std::vector<std::byte> frames;  // EncodeList
  int32_t interval = 0;
  bool served = false;  // false: the client waits for room
  std::string why;      // it does, for people; "": not for long yet
  auto Fields() { return std::tie(frames, interval, served, why); }
};
// The client does better elsewhere: this server cannot keep its accuracy, or ends.
struct Redirect {
  std::string servers;  // HOST:PORT, the best first, with a comma between two
  auto Fields() { return std::tie(servers); }
};
inline constexpr uint32_t kMaxPictureBytes = 4 << 20;
inline constexpr int kMaxSide = 4096;
inline constexpr size_t kMaxServers = 16;  // of a Redirect
inline constexpr link::FrameLimits kArFrameLimits = {.max_head_bytes = 64 << 10, .max_bulk_bytes = 16 << 20};

// What a model task can be called: 1 to 32 of a-z, 0-9, _ and -, beginning with a letter, and no task that is built in.
// It is a name in a table, never part of a path. kInvalidArgument, with the name.
absl::Status CheckModelName(std::string_view name);
// Of Hello::models, in order; none of "". Not checked.
std::vector<std::string> ModelNames(std::string_view models);

void SetCamera(const scene::Intrinsics& camera, Hello& hello);
// kInvalidArgument: the Hello asks for what nobody can give (no task, a model twice, no such picture, a camera that is
// none).
absl::Status CheckHello(const Hello& hello);
// kInvalidArgument: none or more than kMaxServers, or not HOST:PORT each. A Unix socket is nothing that a server can
// send a client to.
absl::StatusOr<std::vector<std::string>> ServersOf(const Redirect& redirect);

}  // namespace wharf::ar
