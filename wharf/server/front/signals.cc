#include "wharf/server/front/signals.h"

#include <initializer_list>

namespace wharf::server {

sigset_t EndingSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  return signals;
}

void BlockEndingSignals() {
  const sigset_t signals = EndingSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

int AwaitEndingSignal() {
  const sigset_t signals = EndingSignals();
  int signal = 0;
  sigwait(&signals, &signal);
  // Nobody handles them, so what the next one does is what the system does. Other threads still block them: it comes to
  // this one.
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  return signal;
}

}  // namespace wharf::server
