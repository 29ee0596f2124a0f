// ProgramTracker: an AR task of the program's own (ar/model_task/tracker.h), whose functions are called through a
// Caller. What they are given, pictures, IMU samples and a model's outputs, lies in the shared memory.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "wharf/ar/model_task/tracker.h"
#include "wharf/base/status.h"
#include "wharf/cli/host/caller.h"
#include "wharf/cli/host/shared_tensors.h"
#include "wharf/graph/tensor.h"
#include "wharf/scene/scene.h"

namespace wharf::cli {

// Shows the program frames and outputs. A slot of the memory (shared_tensors.h) has room for the frame that is in it;
// that of outputs is the first's. A function is given two frames at most, most often one that it was given before: so a
// few slots, of which the one that was shown longest ago is taken, and no picture is copied twice in a row.
class SharedFrames {
 public:
  static constexpr int kSlots = 4;
  static constexpr int kMostSamples = 1000;  // of an IMU, with a frame; the newest are shown

  // The first two belong to whoever makes the memory; these follow.
  static std::vector<graph::TensorType> TypesOf(int width, int height);
  // Memory of kSlots slots that have `before` tensors and then those of TypesOf. It must outlive this.
  SharedFrames(const SharedTensors& memory, size_t before) : memory_(memory), before_(before), shown_(kSlots) {}

  // Where tensors are in a slot, for the program.
  nlohmann::json Layout() const;
  // In which slot this frame is now; a serial number that no other has had; index, time and how many IMU samples. The
  // frame shown before stays where it is. kInternal: its picture is of another size.
  absl::StatusOr<nlohmann::json> Show(const scene::Frame& frame);
  // Of what types they are, and where. kInvalidArgument: they are more than a server may send.
  absl::StatusOr<nlohmann::json> Show(const ar::Outputs& outputs) const;
  // Indices begin again: another video.
  void Forget();

 private:
  struct Shown {
    int64_t frame = -1;  // its index
    int64_t serial = 0;  // the larger the later
    int64_t used = 0;
  };
  void Fill(int slot, const scene::Frame& frame);

  const SharedTensors& memory_;
  const size_t before_;
  std::vector<Shown> shown_;
  int64_t serial_ = 0, uses_ = 0;
};

class ProgramTracker final : public ar::Tracker<Held> {
 public:
  // Caller and frames must outlive it. `local`: the program has such a function as well.
  ProgramTracker(std::string task, bool local, Caller& caller, SharedFrames& frames)
      : task_(std::move(task)), local_(local), caller_(caller), frames_(frames) {}

  // kNotFound: the program says that there is none. Else as Caller::Call.
  absl::StatusOr<Held> Read(const ar::Outputs& outputs, const scene::Frame& frame) override;
  absl::StatusOr<Held> Track(const Held& result, const scene::Frame& from, const scene::Frame& to) override;
  // Not a number where the program does not say.
  double Loss(const Held& tracked, const Held& fresh) const override;
  bool HasLocalAlgorithm() const override { return local_; }
  absl::StatusOr<Held> RunLocalAlgorithm(const scene::Frame& frame) override;

 private:
  absl::StatusOr<CalledRequest> Call(const char* function, nlohmann::json arguments) const;
  absl::StatusOr<Held> ResultOf(const char* function, nlohmann::json arguments) const;

  const std::string task_;
  const bool local_;
  Caller& caller_;
  SharedFrames& frames_;
};

}  // namespace wharf::cli
