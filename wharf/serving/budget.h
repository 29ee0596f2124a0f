// An SLA is of the mean over all frames in which a client is served, so what it has lost so far decides how much it may
// lose next. Without that, a client goes on losing what its SLA says after a scene that cost it more, and never gets it
// back; and what it did not lose is of no use to anybody.
#pragma once

#include "wharf/serving/types.h"

namespace wharf::serving {

struct BudgetOptions {
  // What a client may lose in so long is kept back: what was lost is known late, the next scene may be a hard one, and
  // a client may end at any time. One that comes is served better than agreed until it has saved that.
  double reserve_s = 3;
  double horizon_s = 8;           // in which the reserve is saved, or what is left beyond it is spent
  double repay_s = 1;             // in which what is owed is paid back
  double least = 0.25, most = 2;  // times the SLA, that an allowance is
};

// The mean drop that the client may have from now on.
double Allowance(const ClientModel& client, const BudgetOptions& options);
// Whether its mean so far is above its SLA.
inline bool Owes(const ClientModel& client) { return client.lost > client.sla * client.frames; }

}  // namespace wharf::serving
