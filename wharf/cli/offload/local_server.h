// A server of one's own for `wharf run --local`: on a Unix socket in a private directory, gone with this object, or at
// the latest with this process.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/base/subprocess/subprocess.h"

namespace wharf::cli {

class LocalServer {
 public:
  // Starts `wharf serve` with `arguments` and environment `variables` added and waits until it accepts. kUnavailable
  // with the server's own line if it does not start.
  static absl::StatusOr<std::unique_ptr<LocalServer>> Start(const std::vector<std::string>& arguments,
                                                            const std::map<std::string, std::string>& variables = {});
  ~LocalServer();
  LocalServer(const LocalServer&) = delete;
  LocalServer& operator=(const LocalServer&) = delete;

  std::string Address() const { return "unix:" + directory_ + "/socket"; }
  // Of its device: "soft", "cuda".
  const std::string& Driver() const { return driver_; }

 private:
  explicit LocalServer(std::string directory) : directory_(std::move(directory)) {}
  absl::Status Launch(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& variables);
  absl::Status AwaitReady(int output);
  const std::string directory_;
  std::optional<Subprocess> process_;
  std::string driver_;
};

}  // namespace wharf::cli
