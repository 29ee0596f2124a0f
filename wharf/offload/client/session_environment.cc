#include "wharf/offload/client/session_environment.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

#include "wharf/base/split_text.h"
#include "wharf/link/byte_stream.h"
#include "wharf/link/connect_again.h"
#include "wharf/link/resume/resumable_stream.h"

namespace wharf::offload {
namespace {

// The variables of one prefix.
class Variables {
 public:
  explicit Variables(std::string_view prefix) : prefix_(prefix) {}

  std::string Get(std::string_view name) const { return EnvironmentVariable(prefix_, name); }

  // The token itself, or the first line of the file that holds it.
  absl::StatusOr<std::string> Token() const {
    if (std::string token = Get("TOKEN"); !token.empty()) return token;
    const std::string path = Get("TOKEN_FILE");
    if (path.empty()) return std::string();
    std::ifstream file(path);
    std::string token;
    if (!file || !std::getline(file, token)) {
      return NotFound("cannot read the token from {}: check {}TOKEN_FILE", path, prefix_);
    }
    while (!token.empty() && (token.back() == '\r' || token.back() == ' ')) token.pop_back();
    return token;
  }

  Nanoseconds Timeout() const {
    const std::string text = Get("TIMEOUT_MS");
    const long long value = text.empty() ? 0 : std::atoll(text.c_str());
    return std::chrono::milliseconds(value > 0 ? value : 10000);
  }

  // How long a dropped connection may be gone; 0: it ends the session.
  Nanoseconds ResumeTime() const {
    const std::string text = Get("RESUME_MS");
    return std::chrono::milliseconds(text.empty() ? 30'000 : std::max(0LL, std::atoll(text.c_str())));
  }

  absl::StatusOr<Mode> CallMode() const {
    const std::string text = Get("MODE");
    if (text.empty() || text == "replay") return Mode::kReplay;
    if (text == "posted") return Mode::kPosted;
    if (text == "percall") return Mode::kPerCall;
    if (text == "cached") return Mode::kCached;
    return InvalidArgument("{}MODE is '{}': it must be replay, posted, cached or percall", prefix_, text);
  }

  // What is on this machine is faster than any codec.
  absl::StatusOr<Compression> DataCompression(bool on_this_machine) const {
    const std::string text = Get("COMPRESSION");
    if (text.empty() || text == "auto") return on_this_machine ? Compression::kOff : Compression::kAuto;
    if (text == "off") return Compression::kOff;
    if (text == "always") return Compression::kAlways;
    return InvalidArgument("{}COMPRESSION is '{}': it must be auto, off or always", prefix_, text);
  }

  std::optional<link::TlsClientOptions> Tls() const {
    if (Get("TLS") != "1") return std::nullopt;
    return link::TlsClientOptions{.ca_file = Get("TLS_CA"),
                                  .certificate_file = Get("TLS_CERT"),
                                  .key_file = Get("TLS_KEY"),
                                  .server_name = "",
                                  .fingerprint = Get("TLS_PIN")};
  }

 private:
  const std::string prefix_;
};

absl::StatusOr<std::unique_ptr<link::ByteStream>> OpenStream(const std::string& server,
                                                             const link::ConnectOptions& options,
                                                             Nanoseconds resume_time, const Tell& tell) {
  // What is on this machine cannot drop: when it is gone, it is gone.
  if (resume_time.count() == 0 || server.starts_with("unix:")) return link::Connect(server, options);
  link::ResumeOptions resume;
  resume.limit = resume_time;
  resume.on_outage = [server, resume_time, tell] {
    tell(fmt::format("connection to {} lost; trying again for {:g} s", server, Seconds(resume_time)));
  };
  resume.on_declined = [server, tell] {
    tell(fmt::format("the server {} does not let sessions resume: if the connection drops, the session is lost",
                     server));
  };
  resume.opening = options.timeout;
  link::ConnectOptions first_one = options, again = options;
  first_one.timeout = options.timeout / 2;  // so that there is time for another one
  again.timeout = std::min<Nanoseconds>(options.timeout, std::chrono::seconds(2));  // what is lost is asked for anew
  return link::OpenResumable(
      [server, first_one, again, first = true]() mutable {
        return std::exchange(first, false) ? link::Connect(server, first_one) : link::ConnectAgain(server, again);
      },
      resume);
}

// Those to try, in their order.
std::vector<std::string> Servers(const Variables& variables) {
  std::vector<std::string> servers = {variables.Get("SERVER")};
  const std::string others = variables.Get("SERVER_NEXT");
  for (const std::string_view one : SplitText(others, ',')) servers.emplace_back(one);
  std::erase(servers, "");
  return servers;
}

// At one of them.
absl::StatusOr<std::unique_ptr<ClientSession>> OpenAt(const std::string& server, const Variables& variables,
                                                      ClientSessionOptions options, const Tell& tell) {
  WHARF_ASSIGN_OR_RETURN(options.compression, variables.DataCompression(server.starts_with("unix:")));
  options.on_lost = [server, tell](std::string_view reason) {
    tell(fmt::format("lost the server {} ({}); CUDA calls fail from now on", server, reason));
  };
  link::ConnectOptions connect;
  connect.timeout = options.timeout;
  connect.tls = variables.Tls();
  try {
    WHARF_ASSIGN_OR_RETURN(auto stream, OpenStream(server, connect, variables.ResumeTime(), tell));
    return ClientSession::Open(std::move(stream), std::move(options));
  } catch (const std::system_error& error) {
    return ResourceExhausted("cannot start the threads of a session: {}", error.what());
  }
}

}  // namespace

std::string EnvironmentVariable(std::string_view prefix, std::string_view name) {
  const char* value = std::getenv((std::string(prefix) + std::string(name)).c_str());
  return value == nullptr ? "" : value;
}

absl::StatusOr<std::unique_ptr<ClientSession>> OpenSession(std::string_view prefix, ClientSessionOptions options,
                                                           Tell tell) {
  const Variables variables(prefix);
  const std::vector<std::string> servers = Servers(variables);
  if (servers.empty()) {
    return NotFound("no server is set: start the program with `wharf run --server HOST:PORT -- PROGRAM`");
  }
  WHARF_ASSIGN_OR_RETURN(options.token, variables.Token());
  if (options.unsafe_replay) {
    options.mode = Mode::kReplay;
  } else {
    WHARF_ASSIGN_OR_RETURN(options.mode, variables.CallMode());
  }
  options.timeout = variables.Timeout();
  for (size_t i = 0;; ++i) {
    auto session = OpenAt(servers[i], variables, options, tell);
    if (session.ok() || i + 1 == servers.size()) return session;
    tell(fmt::format("{}: trying {}", Message(session.status()), servers[i + 1]));
  }
}

}  // namespace wharf::offload
