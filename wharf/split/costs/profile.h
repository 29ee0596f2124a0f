// Profile: a model as planning sees it: operators, who reads whom, how long each takes on the device and on the server.
//
//   WHARF_ASSIGN_OR_RETURN(const Profile profile, Profile::Load("data/profiles/vgg19_bn.csv"));
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/graph/operator.h"

namespace wharf::split {

// What is taken of a profile that somebody else wrote.
inline constexpr size_t kMaxOperators = 20'000;
inline constexpr int kMaxRows = 1 << 20;  // of an operator

enum Side { kDevice = 0, kServer = 1 };
inline constexpr std::array<Side, 2> kSides = {kDevice, kServer};
inline Side Other(Side side) { return side == kDevice ? kServer : kDevice; }

// What a slice of r rows takes, fewer than all: fixed_ms + r * row_ms.
struct SliceTime {
  double fixed_ms = 0, row_ms = 0;
  friend bool operator==(const SliceTime&, const SliceTime&) = default;
};

struct ProfiledOperator {
  graph::Operator op;
  std::array<double, 2> full_ms{};                  // all rows, by Side
  std::array<std::optional<SliceTime>, 2> slice{};  // measured, by Side; else SliceCost models it
  double coding_ms = 0;                             // encoding and decoding all rows, when they travel encoded
};

// Stored profiles have the time of all rows only. A slice of r of R rows is modelled to take
// inflation * (fixed + (full - fixed) * r / R), fixed = min(full, fixed_ms): launching and cutting do not shrink with
// the rows. No slice takes more than all rows, which take the measured time.
struct SliceCost {
  std::array<double, 2> fixed_ms = {0.05, 0.05};  // by Side; of a stored profile: SliceCostOf (slice_cost.h)
  double inflation = 1.05;
};

// Operator 0 is the model's input, which lies on the device; the last operator is the output, which must end there.
struct Profile {
  std::string model;
  std::vector<ProfiledOperator> operators;
  SliceCost slice_cost;
  std::string model_hash;  // SHA-256 of the model's file, 64 hexadecimal digits; "": not known

  int Size() const { return static_cast<int>(operators.size()); }
  double FullMs(Side side) const;
  // The model's input travels as bytes instead of float32 (what a camera delivers): a quarter of it, unless it is bytes
  // already.
  Profile WithByteInput() const;
  // With one side taking `slowness` times as long for everything. REQUIRES: slowness > 0.
  Profile WithSlower(Side side, double slowness) const;

  // Reads CSV text: columns op, name, inputs_from and output_shapes (several separated by |), output_bytes_f32,
  // device_ms, server_ms and row_dim, kind, kernel, stride, padding, dilation (data/profiles/README.md). Without the
  // latter six, global_op and sliceable_dim must be there, and windows are assumed wide enough for any usual kernel.
  // kInvalidArgument with the line number.
  static absl::StatusOr<Profile> Parse(std::string_view csv, std::string model);
  // The model's name is the file's. kNotFound and others by errno.
  static absl::StatusOr<Profile> Load(const std::string& path);
};

// kInvalidArgument unless inputs come before their users, operator 0 alone has none, the last is global and has one
// row, rows and bytes are positive and times are finite and not negative.
absl::Status Validate(const Profile& profile);

}  // namespace wharf::split
