// Makes drop tables (serving/drop_table.h): runs a network and a local tracker over a video of the synthetic world.
#pragma once

#include <functional>
#include <vector>

#include "wharf/perception/depth_network.h"
#include "wharf/perception/detector.h"
#include "wharf/scene/world/videos.h"
#include "wharf/serving/drop_table.h"

namespace wharf::cli {

struct DropTableOptions {
  int frames = 2400;                                 // of the video, from its beginning
  int step = 4;                                      // frames between those that are tracked from
  std::vector<int> strides = {2, 4, 8, 16, 32, 48};  // rising
  int jpeg_quality = 90;                             // of offloaded frames
};

// Depth: AbsRel; the tracker warps by the camera's true motion, which devices know well over so few frames.
// kInvalidArgument: options that do not fit the video; otherwise as the network fails. Renders and infers every frame
// that is a multiple of what divides step and strides: minutes.
absl::StatusOr<serving::DropTable> MakeDepthDropTable(const scene::World& world, std::string video,
                                                      const perception::DepthNetwork& network,
                                                      const DropTableOptions& options);
// Detection: mean IoU; the tracker is Lucas-Kanade's.
absl::StatusOr<serving::DropTable> MakeDetectionDropTable(const scene::World& world, std::string video,
                                                          const perception::Detector& network,
                                                          const DropTableOptions& options);

}  // namespace wharf::cli
