// A server of one's own for `wharf run --local`: on a Unix socket in a private directory, gone with this object, or at
// the latest with this process.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/base/subprocess/subprocess.h"

namespace wharf::cli {

class LocalServer {
 public:
  // Reads what the server and its workers say on standard error, line by line, on a thread of its own.
  using Listener = std::function<void(std::string_view line)>;

  // Starts `wharf serve` with `arguments` and environment `variables` added and waits until it accepts. kUnavailable
  // with the server's own line if it does not start. What it says goes to our standard error, and to `listener`.
  static absl::StatusOr<std::unique_ptr<LocalServer>> Start(const std::vector<std::string>& arguments,
                                                            const std::map<std::string, std::string>& variables = {},
                                                            Listener listener = nullptr);
  ~LocalServer();
  LocalServer(const LocalServer&) = delete;
  LocalServer& operator=(const LocalServer&) = delete;

  std::string Address() const { return "unix:" + directory_ + "/socket"; }
  // Ends it, once. Afterwards `listener` is not called.
  void Stop();
  // Of its device: "soft", "cuda".
  const std::string& Driver() const { return driver_; }

 private:
  LocalServer(std::string directory, Listener listener)
      : directory_(std::move(directory)), listener_(std::move(listener)) {}
  absl::Status Launch(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& variables);
  // Passes on what comes from `from`, which it closes at its end.
  void Listen(int from) const;
  absl::Status AwaitReady(int output);
  const std::string directory_;
  const Listener listener_;  // may be null
  std::optional<Subprocess> process_;
  std::thread listening_;
  std::string driver_;
};

}  // namespace wharf::cli
