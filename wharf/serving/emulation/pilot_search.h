// What the baselines have chosen offline, by trying it on the very workload (thesis 3.6.3).
#pragma once

#include "wharf/serving/emulation/emulation.h"
#include "wharf/serving/settings.h"

namespace wharf::serving {

struct PilotOptions {
  double seconds = 60;                                // of each try
  int most_interval = SettingsLimits().max_interval;  // tried from 1 on: what ARISE may choose from
  double least_seconds = 5;                           // that a client must have been served to count
  // Not 0: the share of the clients that are to keep their SLAs; systems are then told a part of the SLAs
  // (SystemOptions::told), as large a one as does.
  double adherence = 0;
};

// The system of `workload`, its parameters tuned:
//   static: of all intervals and batch sizes, those with which the most clients can be served within their SLAs; no
//     client if not one can be
//   Clipper-like: its interval, and how many clients it removes or adds at once
//   the other reactive ones: the latter
// ARISE has nothing to tune. Of the reactive systems' choices, that with which the most clients are served within their
// SLAs (EmulationResult::MeanClientsWithin). With PilotOptions::adherence the most clients of whom so many keep theirs,
// and the part of the SLAs that is told is chosen, too, ARISE's as well.
SystemOptions Tuned(const std::vector<DropTable>& tables, const InferenceProfile& profile, EmulationOptions workload,
                    const PilotOptions& pilot);

}  // namespace wharf::serving
