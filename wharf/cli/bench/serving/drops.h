// What drop tables say by themselves, without a server: what schedules cost in a piece of video, and how that varies
// from frame to frame (thesis, Figures 2.2, 3.2, 3.7 and 3.8). For `wharf bench serving --figures 2.2,3.2,3.7,3.8`.
#pragma once

#include <string>
#include <vector>

#include "wharf/report/html_page.h"
#include "wharf/report/table.h"
#include "wharf/serving/drop_table.h"
#include "wharf/serving/emulation/emulated_client.h"
#include "wharf/serving/inference_profile.h"

namespace wharf::cli {

// What a frame loses from the network on that very frame, if every interval-th frame is offloaded, frame 0 the first,
// and results come `latency` frames later. Frames before the first result lose nothing.
double DropOfFrame(const serving::DropTable& table, serving::FrameId frame, const track::OffloadSchedule& schedule,
                   serving::Measure measure);
// Mean over frames [first, first + frames).
double MeanDropOf(const serving::DropTable& table, serving::FrameId first, int frames,
                  const track::OffloadSchedule& schedule, serving::Measure measure);

struct VideoPiece {
  size_t table = 0;  // index
  serving::FrameId first = 0;
  int frames = 0;
};
inline constexpr double kPieceSeconds = 2;
// Of all pieces of 2 s, from the third second of each video on, the one in which tracking over 8 frames costs least,
// and the one in which it costs most. REQUIRES: a table of 4 s or more.
struct EasiestAndHardest {
  VideoPiece easiest, hardest;
};
EasiestAndHardest FindPieces(const std::vector<serving::DropTable>& tables, serving::Measure measure);

// Figure 2.2, of depth: of each video, what tracking over 12 frames loses more than over 6, against the truth: mean and
// standard deviation over frames, the least and the most of its means over a second.
report::Table DropsByMoreStrideTable(const std::vector<serving::DropTable>& tables);
// Figure 3.2: rows of intervals, columns of latencies, both in frames; those of two pieces.
report::Table DropsByScheduleTable(const std::vector<serving::DropTable>& tables, serving::Measure measure);
// Figure 3.7: of each video, percentiles over frames of the drop from the reference setup, on a server of one's own at
// an interval of 8 frames over `link`; and the range of its means over a second.
report::Table DropsByFrameTable(const std::vector<serving::DropTable>& tables, const serving::InferenceProfile& profile,
                                const serving::LinkKind& link, serving::Measure measure);
// Figure 3.8: of each video, mean and standard deviation over frames of what tracking from them costs, by stride.
report::Table DropsByStrideTable(const std::vector<serving::DropTable>& tables, serving::Measure measure);
// All of them: by second, by interval, frame by frame, and lines of frames a second apart; of the hardest piece's
// video.
void AddDropCharts(const std::vector<serving::DropTable>& tables, const serving::InferenceProfile& profile,
                   const serving::LinkKind& link, serving::Measure measure, report::HtmlPage& page);

}  // namespace wharf::cli
