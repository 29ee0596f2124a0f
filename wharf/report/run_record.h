// RunRecord: how a figure came about, for the pages that show it.
#pragma once

#include <string>

namespace wharf::report {

struct RunRecord {
  std::string command;  // as it was given
  std::string date;     // UTC
  std::string machine;  // processor, its cores, memory, system
  std::string load;     // the load averages, which the processes that are measured are part of
  std::string sample;   // how many of what was measured

  // Of this process, now; what cannot be read is said to be unknown. Secrets never stand in a command line: tokens and
  // keys are given as files.
  static RunRecord OfThisProcess(std::string sample);
};

}  // namespace wharf::report
