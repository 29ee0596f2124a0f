// Where the operators and times come from that plans are made with.
#pragma once

#include <string>

#include "wharf/base/status.h"
#include "wharf/split/profile.h"

namespace wharf::cli {

// Either a stored profile, or a model and what two machines measured of it.
struct ProfileSource {
  std::string csv;                                    // data/profiles/README.md
  std::string model, device_profile, server_profile;  // ONNX; what `wharf profile --json` wrote
  int split_attention = 0;                            // keys before which the model's attention is split; 0: it is not

  bool Given() const { return !csv.empty() || !model.empty() || !device_profile.empty() || !server_profile.empty(); }
  // kInvalidArgument: neither, both, or files that do not belong together; says what to do.
  absl::StatusOr<split::Profile> Load() const;
};

}  // namespace wharf::cli
