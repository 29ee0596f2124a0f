#include "wharf/cli/pipeline_runtime_options.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <list>
#include <thread>

#include "wharf/base/log.h"
#include "wharf/server/options.h"
#include "wharf/server/tls_files.h"

namespace wharf::cli {
namespace {

sigset_t EndingSignals() {
  sigset_t ends;
  sigemptyset(&ends);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ends, signal);
  return ends;
}

// Of TLS, each on a thread of its own: who is slow keeps nobody waiting.
class Handshakes {
 public:
  using OnConnection = std::function<void(std::unique_ptr<link::ByteStream>)>;
  Handshakes(const link::TlsServerOptions& tls, const OnConnection& on_connection)
      : tls_(tls), on_connection_(on_connection) {}
  ~Handshakes() {
    for (One& one : under_way_) one.thread.join();
  }
  // Owns the socket.
  void Begin(int socket) {
    under_way_.remove_if([](One& one) {
      if (!one.over) return false;
      one.thread.join();
      return true;
    });
    if (under_way_.size() >= kMost) {
      close(socket);
      return Log(LogLevel::kWarning, "too many handshakes at a time");
    }
    One& one = under_way_.emplace_back();
    one.thread = std::thread([this, socket, &one] {
      auto stream = link::AcceptTls(socket, tls_, kTimeout);
      if (stream.ok()) {
        on_connection_(*std::move(stream));
      } else {
        Log(LogLevel::kWarning, "a connection was refused", {{"why", Message(stream.status())}});
      }
      one.over = true;
    });
  }

 private:
  static constexpr size_t kMost = 64;
  static constexpr Nanoseconds kTimeout = std::chrono::seconds(10);
  struct One {
    std::atomic<bool> over = false;
    std::thread thread;
  };
  const link::TlsServerOptions& tls_;
  const OnConnection& on_connection_;
  std::list<One> under_way_;
};

}  // namespace

void AddEtcdOptions(CLI::App* command, pipeline::EtcdOptions& options) {
  command->add_option("--etcd", options.endpoint, "Where workers register")->type_name("URL")->capture_default_str();
  command->add_option("--cluster-name", options.cluster, "Workers of other clusters in the same etcd are not seen")
      ->type_name("NAME")
      ->capture_default_str();
}

void AddClientAdmissionOptions(CLI::App* command, AdmissionOptions& options) {
  command->add_option("--token-file", options.token_file, "Who connects must know the first line of FILE")
      ->type_name("FILE");
  command
      ->add_option("--tls-cert", options.tls_certificate,
                   "Encrypt all connections: our certificate chain, for those we accept and those we make (PEM)")
      ->type_name("FILE");
  command->add_option("--tls-key", options.tls_key, "Its private key (PEM)")->type_name("FILE");
  command->add_option("--tls-client-ca", options.tls_client_ca, "Who connects must show a certificate of this CA (PEM)")
      ->type_name("FILE");
}

void AddAdmissionOptions(CLI::App* command, AdmissionOptions& options) {
  AddClientAdmissionOptions(command, options);
  command->add_option("--tls-ca", options.tls_ca, "Trust this CA of workers instead of the system's (PEM)")
      ->type_name("FILE");
}

absl::StatusOr<Admission> MakeAdmission(const std::string& listen, const AdmissionOptions& options) {
  Admission admission;
  if (options.tls_certificate.empty() != options.tls_key.empty()) {
    return InvalidArgument("--tls-cert and --tls-key go together");
  }
  const bool tls = !options.tls_certificate.empty();
  if (!tls && !(options.tls_client_ca.empty() && options.tls_ca.empty())) {
    return InvalidArgument("--tls-client-ca and --tls-ca need --tls-cert and --tls-key");
  }
  if (tls) {
    WHARF_RETURN_IF_ERROR(server::CheckTlsFiles(options.tls_certificate, options.tls_key, options.tls_client_ca));
    admission.tls = {options.tls_certificate, options.tls_key, options.tls_client_ca};
    admission.access.tls = {options.tls_ca, options.tls_certificate, options.tls_key, ""};
  }
  if (!options.token_file.empty()) {
    WHARF_ASSIGN_OR_RETURN(admission.access.token, server::LoadToken(options.token_file));
    admission.admit = [token = admission.access.token](const std::string& given) {
      return server::TokensEqual(given, token);
    };
  } else if (!server::IsLoopbackAddress(listen) && options.tls_client_ca.empty()) {
    return InvalidArgument("others can reach {}: give --token-file FILE, or mutual TLS (--tls-client-ca)", listen);
  }
  return admission;
}

void BlockEndingSignals() {
  const sigset_t ends = EndingSignals();
  sigprocmask(SIG_BLOCK, &ends, nullptr);
}

void AcceptUntilSignal(link::Listener& listener, const std::optional<link::TlsServerOptions>& tls,
                       const std::function<void(std::unique_ptr<link::ByteStream>)>& on_connection) {
  std::thread accepting([&] {
    std::optional<Handshakes> handshakes;
    if (tls) handshakes.emplace(*tls, on_connection);
    for (auto socket = listener.Accept(); socket.ok(); socket = listener.Accept()) {
      if (handshakes) {
        handshakes->Begin(*socket);
      } else {
        on_connection(link::FromSocket(*socket));
      }
    }
  });
  const sigset_t ends = EndingSignals();
  int signal = 0;
  sigwait(&ends, &signal);
  listener.Shutdown();
  accepting.join();
}

}  // namespace wharf::cli
