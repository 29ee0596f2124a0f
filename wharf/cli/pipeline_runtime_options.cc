#include "wharf/cli/pipeline_runtime_options.h"

#include <signal.h>

#include <thread>

#include "wharf/server/options.h"

namespace wharf::cli {
namespace {

sigset_t EndingSignals() {
  sigset_t ends;
  sigemptyset(&ends);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ends, signal);
  return ends;
}

}  // namespace

void AddEtcdOptions(CLI::App* command, pipeline::EtcdOptions& options) {
  command->add_option("--etcd", options.endpoint, "Where workers register")->type_name("URL")->capture_default_str();
  command->add_option("--cluster-name", options.cluster, "Workers of other clusters in the same etcd are not seen")
      ->type_name("NAME")
      ->capture_default_str();
}

absl::StatusOr<Admission> MakeAdmission(const std::string& listen, const std::string& token_file) {
  Admission admission;
  if (!token_file.empty()) {
    WHARF_ASSIGN_OR_RETURN(admission.token, server::LoadToken(token_file));
    admission.admit = [token = admission.token](const std::string& given) { return server::TokensEqual(given, token); };
  } else if (!server::IsLoopbackAddress(listen)) {
    return InvalidArgument("others can reach {}: give --token-file FILE", listen);
  }
  return admission;
}

void BlockEndingSignals() {
  const sigset_t ends = EndingSignals();
  sigprocmask(SIG_BLOCK, &ends, nullptr);
}

void AcceptUntilSignal(link::Listener& listener,
                       const std::function<void(std::unique_ptr<link::ByteStream>)>& on_connection) {
  std::thread accepting([&] {
    for (auto socket = listener.Accept(); socket.ok(); socket = listener.Accept()) {
      on_connection(link::FromSocket(*socket));
    }
  });
  const sigset_t ends = EndingSignals();
  int signal = 0;
  sigwait(&ends, &signal);
  listener.Shutdown();
  accepting.join();
}

}  // namespace wharf::cli
