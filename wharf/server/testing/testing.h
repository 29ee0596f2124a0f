// What tests of the server share: real server processes on loopback, and certificates.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/base/subprocess/subprocess.h"
#include "wharf/link/byte_stream.h"
#include "wharf/offload/testing/raw_client.h"

namespace wharf::server {

// A directory that is gone at the end.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  std::string File(const std::string& name) const { return path_ + "/" + name; }
  void Write(const std::string& name, const std::string& text) const;
  std::string Read(const std::string& name) const;

 private:
  std::string path_;
};

// A child process, killed at the latest with this object: its output goes to files.
class Child {
 public:
  Child(const std::vector<std::string>& arguments, const std::string& output_file, const std::string& error_file,
        const std::string& input_file = "/dev/null");
  pid_t Pid() const { return process_.Pid(); }
  void Signal(int number) const { process_.Signal(number); }
  // The exit code, or 128 + the signal's number.
  int AwaitExit();

 private:
  Subprocess process_;
};

// `wharf serve` with a status file, listening on a free port of loopback.
class ServerProcess {
 public:
  // Keeps nothing on disk unless `options` say where. `binary`: the built `wharf` if left out.
  explicit ServerProcess(const std::vector<std::string>& options = {}, const std::string& listen = "127.0.0.1:0",
                         const std::string& binary = "");

  const std::string& Address() const { return address_; }
  Child& Process() { return *child_; }
  std::string Log() const { return directory_.Read("log"); }
  // Polls the status file until `condition` holds; false after a minute.
  bool AwaitStatus(const std::function<bool(const nlohmann::json&)>& condition) const;
  nlohmann::json Status() const;

  absl::StatusOr<std::unique_ptr<link::ByteStream>> Connect(const link::ConnectOptions& options = {}) const;
  // Connects, says Hello, and proves the token if there is one.
  std::unique_ptr<offload::RawClient> Greet(const offload::Hello& hello = {}, const link::ConnectOptions& options = {},
                                            const std::string& token = "") const;

 private:
  TemporaryDirectory directory_;
  std::unique_ptr<Child> child_;
  std::string address_;
};

// The processes of this name whose parent is `parent`.
std::set<pid_t> Children(pid_t parent, const std::string& name);

// Polls; false after a minute.
bool Eventually(const std::function<bool()>& condition);

// Writes NAME.crt (self-signed, for 127.0.0.1, also usable as the CA of itself) and NAME.key.
void MakeIdentity(const TemporaryDirectory& directory, const std::string& name);

}  // namespace wharf::server
