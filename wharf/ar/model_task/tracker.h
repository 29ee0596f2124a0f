// Tracker: what an application knows of an AR task of its own, and nobody else: how to read what its model says, how to
// carry that on from frame to frame, and how much is lost by doing so. docs/ar-tasks.md.
//
//   class FreeSpace final : public ar::Tracker<Profile> {
//     absl::StatusOr<Profile> Read(const ar::Outputs& outputs, const scene::Frame& frame) override { … }
//     absl::StatusOr<Profile> Track(const Profile& result, const scene::Frame& from, const scene::Frame& to) override {
//     … } double Loss(const Profile& tracked, const Profile& fresh) const override { … }
//   };
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/graph/tensor.h"
#include "wharf/scene/scene.h"

namespace wharf::ar {

// Of the model, in its order, as it makes them: outputs[0].type.shape, outputs[0].As<float>().
using Outputs = std::vector<graph::Constant>;

// The same for any kind of result, as those see it who carry results about and look at none.
using AnyResult = std::shared_ptr<const void>;
class AnyTracker {
 public:
  virtual ~AnyTracker() = default;
  virtual bool HasLocalAlgorithm() const { return false; }
  virtual absl::StatusOr<AnyResult> ReadAny(const Outputs& outputs, const scene::Frame& frame) = 0;
  virtual absl::StatusOr<AnyResult> TrackAny(const AnyResult& result, const scene::Frame& from,
                                             const scene::Frame& to) = 0;
  virtual double LossAny(const AnyResult& tracked, const AnyResult& fresh) const = 0;
  virtual absl::StatusOr<AnyResult> RunAnyLocally(const scene::Frame& frame) = 0;
};

// To be derived from. Called from one thread; what it keeps between calls is its own affair. A status that is not OK
// says that there is no result, and never ends anything: the result before stays.
template <typename Result>
class Tracker : public AnyTracker {
 public:
  // What the model says of `frame`.
  virtual absl::StatusOr<Result> Read(const Outputs& outputs, const scene::Frame& frame) = 0;

  // `result`, which is of the frame `from`, carried on to the frame `to`: mostly the next; where an answer of the
  // server has just come, some frames later. It must be done within a frame.
  virtual absl::StatusOr<Result> Track(const Result& result, const scene::Frame& from, const scene::Frame& to) = 0;

  // What is lost where `tracked` is shown instead of `fresh`, which is what the model says of the same frame: from 0,
  // nothing, on; 1 if all is lost. The client minimises the sum of all tasks', so let it mean what the others' mean.
  virtual double Loss(const Result& tracked, const Result& fresh) const = 0;

  // Where the device can find a worse result by itself, it is used when it is estimated to lose less than tracking.
  bool HasLocalAlgorithm() const override { return false; }
  virtual absl::StatusOr<Result> RunLocalAlgorithm(const scene::Frame& frame) {
    return Unimplemented("there is no local algorithm, for frame {}", frame.index);
  }

 private:
  static const Result& Of(const AnyResult& result) { return *static_cast<const Result*>(result.get()); }
  static absl::StatusOr<AnyResult> Any(absl::StatusOr<Result> result) {
    if (!result.ok()) return result.status();
    return std::make_shared<const Result>(*std::move(result));
  }

  absl::StatusOr<AnyResult> ReadAny(const Outputs& outputs, const scene::Frame& frame) final {
    return Any(Read(outputs, frame));
  }
  absl::StatusOr<AnyResult> TrackAny(const AnyResult& result, const scene::Frame& from, const scene::Frame& to) final {
    return Any(Track(Of(result), from, to));
  }
  double LossAny(const AnyResult& tracked, const AnyResult& fresh) const final { return Loss(Of(tracked), Of(fresh)); }
  absl::StatusOr<AnyResult> RunAnyLocally(const scene::Frame& frame) final { return Any(RunLocalAlgorithm(frame)); }
};

}  // namespace wharf::ar
