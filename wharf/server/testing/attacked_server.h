// What tests share that attack a running server from within: a server whose workers can be taken over, and how one that
// was is told what to try (taken_over.cc).
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "wharf/base/sandbox/namespaces.h"
#include "wharf/base/sandbox/policies.h"
#include "wharf/server/testing/testing.h"

namespace wharf::server {

inline constexpr int kEnded = -1;  // the attack was the end of its worker

// A connection whose worker is the attacker's from now on.
class TakenOver {
 public:
  explicit TakenOver(std::unique_ptr<link::ByteStream> stream) : stream_(std::move(stream)) { Write("TAKEN OVER\n"); }
  // The errno of the attack, or kEnded.
  int Try(const std::string& attack) {
    Write(attack + "\n");
    std::string line;
    for (char byte = 0;; line += byte) {
      const auto got = stream_->Read(std::as_writable_bytes(std::span(&byte, 1)));
      if (!got.ok() || *got == 0) return kEnded;
      if (byte == '\n') return std::stoi(line);
    }
  }

 private:
  void Write(const std::string& text) {
    const std::span<const std::byte> piece = std::as_bytes(std::span(text));
    stream_->Write({&piece, 1}).IgnoreError();  // a worker that is gone is seen by reading
  }
  const std::unique_ptr<link::ByteStream> stream_;
};

// The parameter is the server's --sandbox. WHARF_TAKEN_OVER: the library.
class AttackedServerTest : public ::testing::TestWithParam<std::string> {
 protected:
  // Skips the test where there is nothing to attack: look at IsSkipped.
  void Serve(std::vector<std::string> options) {
    if (kSanitized) GTEST_SKIP() << "policies are weaker under a sanitizer";
    if (GetParam() == "strong" && !FindIsolation().ok()) GTEST_SKIP() << "no name spaces can be had here";
    for (const std::string& more : {std::string("--sandbox"), GetParam(), std::string("--cache-dir")}) {
      options.push_back(more);
    }
    options.push_back(directory_.File("cache"));
    setenv("LD_PRELOAD", WHARF_TAKEN_OVER, 1);
    setenv("USERS_SECRET", "4711", 1);
    server_ = std::make_unique<ServerProcess>(options);
    for (const char* variable : {"LD_PRELOAD", "USERS_SECRET"}) unsetenv(variable);
  }
  // The worker of the session that was opened first.
  pid_t FirstWorker() const { return server_->Status().at("sessions").at(0).at("pid"); }
  static bool Living(pid_t process) { return kill(process, 0) == 0; }

  TemporaryDirectory directory_;
  std::unique_ptr<ServerProcess> server_;
};

}  // namespace wharf::server
