// What `wharf serve` was asked to do, and the rules it must keep to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wharf/base/clock.h"
#include "wharf/base/status.h"
#include "wharf/server/front/access_control.h"

namespace wharf::server {

struct ServerOptions {
  std::string listen = "127.0.0.1:7070";  // HOST:PORT, [V6]:PORT or unix:PATH
  std::string device = "auto";            // soft, cuda or auto (cuda if there is one)
  std::string model_device = "auto";      // of split sessions: cpu, cuda, cuda:N or auto (cuda if LibTorch can use one)
  uint64_t memory_quota = uint64_t{2} << 30;
  uint64_t worker_memory = uint64_t{1} << 30;  // soft: that a worker may take beside the device's
  // soft: processor time that one operation of a client may take before it runs; 0: any.
  Nanoseconds compile_limit = std::chrono::seconds(120);
  Nanoseconds kernel_timeout{0};  // soft: how long a kernel may run; 0: any
  int max_sessions = 16;
  bool fair_share = true;      // soft: sessions that compete get equal shares of the device
  int compute_capability = 0;  // soft: what it says it has, major * 10 + minor; 0: 80, with packs 75
  int threads = 0;             // soft: CPU threads of one session, 0 = all cores
  // strong: workers get name spaces of their own, or the server does not start; weak: they do without.
  std::string sandbox = "strong";
  // Replay that runs ahead without a way back, for benchmarks: a program that deviates computes with wrong memory.
  bool unsafe_replay = false;
  std::vector<std::string> kernel_packs;  // soft: files, PTX for programs that carry none (device/pack)
  AccessOptions access;
  std::string announce_program;  // avahi-publish, for a server that is announced on the local network; "" = it is not
  std::string cache_directory;
  uint64_t model_cache_bytes = uint64_t{10} << 30;
  std::string worker_program;  // wharf-worker
  std::string model_program;   // wharf-model, for split sessions; "" = not installed
  Nanoseconds idle_timeout = std::chrono::seconds(60);
  Nanoseconds drain_timeout = std::chrono::seconds(10);
  Nanoseconds hello_timeout = std::chrono::seconds(10);
  Nanoseconds resume_timeout = std::chrono::seconds(30);  // how long a session outlives its connection; 0: not at all
  std::string status_file;                                // "" = none
};

// One line that says what to do, kInvalidArgument, if an option has no such value. Fails as the other Validate
// (access_control.h).
absl::Status Validate(const ServerOptions& options);

}  // namespace wharf::server
