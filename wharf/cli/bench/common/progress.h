// How far a benchmark is.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <string>

namespace wharf::cli {

// Says on standard error what runs: one line that is overwritten on a terminal, else a line each.
class Progress {
 public:
  explicit Progress(size_t steps) : steps_(steps), terminal_(isatty(STDERR_FILENO) != 0) {}
  ~Progress() {
    if (terminal_) std::fprintf(stderr, "\r\033[K");
  }
  void Step(const std::string& what) {
    ++step_;
    std::fprintf(stderr, terminal_ ? "\r\033[K[%zu/%zu] %s " : "[%zu/%zu] %s\n", step_, steps_, what.c_str());
    std::fflush(stderr);
  }

 private:
  const size_t steps_;
  const bool terminal_;
  size_t step_ = 0;
};

}  // namespace wharf::cli
