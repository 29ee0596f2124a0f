// Finder: what an AR server does with pictures. The sessions know nothing of networks.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "wharf/ar/messages.h"
#include "wharf/scene/scene.h"

namespace wharf::ar {

// What was found in one picture, as it travels (result_coding.h).
using Finding = absl::StatusOr<std::vector<std::byte>>;

// One client's, which offloads by its own plan: may remember earlier pictures. Not thread-safe.
class SoloFinder {
 public:
  virtual ~SoloFinder() = default;
  virtual Finding Find(Task task, const std::shared_ptr<const scene::Frame>& frame) = 0;
};
// kFailedPrecondition: the server has no network for a task that the Hello asks for.
using MakeSoloFinder = std::function<absl::StatusOr<std::unique_ptr<SoloFinder>>(const Hello& hello)>;

// One task, for pictures of many clients at once. Called on one thread.
class BatchFinder {
 public:
  virtual ~BatchFinder() = default;
  // As clients call it: of kTaskNames, or a model's name.
  virtual std::string_view TaskName() const = 0;
  // Of the pictures that it takes; where it takes those of any size, of what it makes of them.
  virtual int Width() const = 0;
  virtual int Height() const = 0;
  virtual bool TakesAnySize() const { return false; }
  // As many findings as pictures; `codings`: how each is to travel. REQUIRES: pictures that it takes.
  virtual std::vector<Finding> Find(std::span<const scene::Image> pictures, std::span<const DepthCoding> codings) = 0;
};

}  // namespace wharf::ar
