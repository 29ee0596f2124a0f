// What `wharf serve` was asked to do, and the rules it must keep to.
#pragma once

#include <cstdint>
#include <string>

#include "wharf/base/clock.h"
#include "wharf/base/status.h"

namespace wharf::server {

// A device that is made of this machine's and another server's: for `wharf run --partition`, whose variables say which
// (device_factory.h).
inline constexpr const char* kPartitionDriver = "partition";

struct ServerOptions {
  std::string listen = "127.0.0.1:7070";  // HOST:PORT, [V6]:PORT or unix:PATH
  std::string device = "auto";            // soft, cuda or auto (cuda if there is one)
  std::string model_device = "auto";      // of split sessions: cpu, cuda, cuda:N or auto (cuda if LibTorch can use one)
  uint64_t memory_quota = uint64_t{2} << 30;
  int max_sessions = 16;
  bool fair_share = true;  // soft: sessions that compete get equal shares of the device
  int threads = 0;         // soft: CPU threads of one session, 0 = all cores
  std::string token_file;
  std::string tls_certificate, tls_key, tls_client_ca;
  std::string cache_directory;
  uint64_t model_cache_bytes = uint64_t{10} << 30;
  std::string model_program;  // wharf-model, for split sessions; "" = not installed
  Nanoseconds idle_timeout = std::chrono::seconds(60);
  Nanoseconds drain_timeout = std::chrono::seconds(10);
  Nanoseconds hello_timeout = std::chrono::seconds(10);
  Nanoseconds resume_timeout = std::chrono::seconds(30);  // how long a session outlives its connection; 0: not at all
  std::string status_file;                                // "" = none
};

// True if only this machine can reach `address`: 127.0.0.0/8, ::1, localhost, unix:PATH.
bool IsLoopbackAddress(const std::string& address);

// One line that says what to do, kInvalidArgument, if options contradict each other or the rules: an address that
// others can reach needs a token or mutual TLS.
absl::Status Validate(const ServerOptions& options);

// The first line of `path`, without white space around it. kInvalidArgument if it is shorter than 16 characters or
// longer than 4096, kNotFound/kPermissionDenied if it cannot be read.
absl::StatusOr<std::string> LoadToken(const std::string& path);

// Takes as long whatever the contents.
bool TokensEqual(const std::string& given, const std::string& expected);

}  // namespace wharf::server
