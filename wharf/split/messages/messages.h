// What device and server of a split inference say to each other, frame by frame: docs/protocol.md, "Split sessions".
// Encoded by wire/codec.h.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "wharf/link/channel.h"
#include "wharf/split/plan.h"
#include "wharf/split/timeline.h"
#include "wharf/wire/codec.h"
#include "wharf/wire/digest.h"
#include "wharf/wire/goodbye.h"
#include "wharf/wire/handshake.h"
#include "wharf/wire/send.h"

namespace wharf::split {

inline constexpr uint32_t kSplitMagic = 0x53524857;  // "WHRS"
inline constexpr uint16_t kSplitMajor = 4;           // must match
inline constexpr uint16_t kSplitMinor = 0;           // the lower one is spoken

// Numbers of their own: by the first frame's a server tells both kinds of sessions apart.
enum class FrameKind : uint16_t {
  kHello = 128,       // client, first frame
  kWelcome = 129,     // server
  kGoodbye = 130,     // either, last frame: why
  kOpenModel = 131,   // client
  kModelState = 132,  // server: whether it has the model
  kModelPiece = 133,  // client: bulk = bytes of the model, in order
  kAskMachine = 134,  // client
  kMachine = 135,     // server: bulk = what is known of its speed, JSON
  kProbe = 136,       // client: bulk to be timed
  kProbed = 137,      // server: as much bulk back; no fields
  kPlan = 138,        // client
  kBegin = 139,       // client: tag = inference
  kRows = 140,        // either: tag = inference, bulk = tensor bytes
  kDone = 141,        // server: tag = inference
  kChallenge = 142,   // server: prove that you know the token
  kProof = 143,       // either: the proof
};

using wire::DecodeHead;
using wire::DecodeList;
using wire::EncodeList;
using wire::Goodbye;
using wire::SendMessage;
using wire::Sha256;

// Names a session and proves that it is ours. Session 0: none.
struct ResumeTicket {
  uint64_t session = 0;
  std::array<std::byte, 16> secret{};
  friend bool operator==(const ResumeTicket&, const ResumeTicket&) = default;
};
struct Hello {
  uint32_t magic = kSplitMagic;
  uint16_t major = kSplitMajor, minor = kSplitMinor;
  uint64_t features = 0;  // none yet
  wire::Nonce nonce{};
  ResumeTicket ticket;  // of the session to go on with; none: a new one
  auto Fields() { return std::tie(magic, major, minor, features, nonce, ticket.session, ticket.secret); }
};
struct Welcome {
  uint16_t major = kSplitMajor, minor = kSplitMinor;
  uint64_t features = 0;
  ResumeTicket ticket;  // by which the client finds its model loaded when it connects again; none: it does not
  auto Fields() { return std::tie(major, minor, features, ticket.session, ticket.secret); }
};
struct SplitProtocol {
  static constexpr wire::ProtocolVersion kVersion = {"split session", "split protocol", kSplitMagic, kSplitMajor,
                                                     kSplitMinor};
  using Hello = split::Hello;
  using Welcome = split::Welcome;
  using Goodbye = wire::Goodbye;
  static constexpr FrameKind kHello = FrameKind::kHello, kWelcome = FrameKind::kWelcome, kGoodbye = FrameKind::kGoodbye,
                             kChallenge = FrameKind::kChallenge, kProof = FrameKind::kProof;
};
struct OpenModel {
  Sha256 hash{};  // of the ONNX file's bytes
  uint64_t bytes = 0;
  auto Fields() { return std::tie(hash, bytes); }
};
struct ModelState {
  bool ready = false;  // else the client sends it
  auto Fields() { return std::tie(ready); }
};
struct PlanMessage {
  uint32_t id = 0;
  uint8_t input_coding = 0, jpeg_quality = 0, rows_coding = 0;  // of RowCoding; the quality is the input's
  bool gathered = false;                                        // of the Layout
  std::vector<std::byte> bands;                                 // EncodeList of PlanBand; none: every operator whole
  std::vector<std::byte> rows;                                  // EncodeList of PlanRows, one a band, or an operator
  auto Fields() { return std::tie(id, input_coding, jpeg_quality, rows_coding, gathered, bands, rows); }
};
struct PlanBand {
  int32_t op = 0, lo = 0, hi = 0;
  auto Fields() { return std::tie(op, lo, hi); }
};
struct PlanRows {
  int32_t device_lo = 0, device_hi = 0, server_lo = 0, server_hi = 0;
  auto Fields() { return std::tie(device_lo, device_hi, server_lo, server_hi); }
};
struct Begin {
  uint32_t plan = 0;
  auto Fields() { return std::tie(plan); }
};
struct RowsHead {
  int32_t value = 0, lo = 0, hi = 0;
  auto Fields() { return std::tie(value, lo, hi); }
};
struct Done {
  std::vector<std::byte> arrivals, computed;  // EncodeList of Arrival and of Computed
  auto Fields() { return std::tie(arrivals, computed); }
};
// A message that arrived; times since the inference's Begin did.
struct Arrival {
  uint64_t bytes = 0, start_nanoseconds = 0, end_nanoseconds = 0;  // its header, its last byte
  auto Fields() { return std::tie(bytes, start_nanoseconds, end_nanoseconds); }
};
// A step that the server computed; times since the inference's Begin arrived.
struct Computed {
  int32_t op = 0, lo = 0, hi = 0;
  uint64_t start_nanoseconds = 0, end_nanoseconds = 0;
  auto Fields() { return std::tie(op, lo, hi, start_nanoseconds, end_nanoseconds); }
};

// Tensors are refused by what the plan says, long before these.
inline link::FrameLimits SplitFrameLimits() { return {.max_head_bytes = 1 << 20, .max_bulk_bytes = 1u << 30}; }
inline constexpr uint32_t kModelPieceBytes = 1 << 20;
inline constexpr uint32_t kProbeBytes = 128 << 10;
inline constexpr uint32_t kMaxMachineBytes = 16 << 20;

PlanMessage EncodePlan(uint32_t id, const Plan& plan);
// Says nothing of whether it can be carried out. kDataLoss: not well-formed.
absl::StatusOr<Plan> DecodePlan(const PlanMessage& message);

}  // namespace wharf::split
