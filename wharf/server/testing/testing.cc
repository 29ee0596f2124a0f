#include "wharf/server/testing/testing.h"

#include <fcntl.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <thread>

#include "wharf/base/sandbox/namespaces.h"

namespace wharf::server {
namespace {

constexpr Nanoseconds kPatience = std::chrono::seconds(60);

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// A descriptor of a file until the end of its scope.
class File {
 public:
  File(const std::string& path, int flags) : descriptor_(open(path.c_str(), flags | O_CLOEXEC, 0600)) {}
  ~File() { close(descriptor_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int Descriptor() const { return descriptor_; }

 private:
  const int descriptor_;
};

Subprocess StartChild(const std::vector<std::string>& arguments, const std::string& output_file,
                      const std::string& error_file, const std::string& input_file) {
  const File input(input_file, O_RDONLY), output(output_file, O_WRONLY | O_CREAT | O_TRUNC),
      errors(error_file, O_WRONLY | O_CREAT | O_TRUNC);
  auto process = Subprocess::Start({.path = arguments.front(),
                                    .arguments = arguments,
                                    .descriptors = {input.Descriptor(), output.Descriptor(), errors.Descriptor()}});
  if (process.ok()) return *std::move(process);
  std::fprintf(stderr, "%s\n", ToString(process.status()).c_str());
  std::abort();
}

}  // namespace

std::set<pid_t> Children(pid_t parent, const std::string& name) {
  std::set<pid_t> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    std::ifstream file(entry.path() / "stat");
    std::string text;
    if (!std::getline(file, text)) continue;
    const size_t open = text.find('('), close = text.rfind(')');
    if (open == std::string::npos || text.substr(open + 1, close - open - 1) != name) continue;
    if (std::stoi(text.substr(close + 4)) == parent) found.insert(std::stoi(entry.path().filename()));
  }
  return found;
}

bool Eventually(const std::function<bool()>& condition) {
  const TimePoint deadline = Clock::Real().Now() + kPatience;
  while (!condition()) {
    if (Clock::Real().Now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

TemporaryDirectory::TemporaryDirectory() {
  path_ = std::filesystem::temp_directory_path().string() + "/wharf-test-XXXXXX";
  if (mkdtemp(path_.data()) == nullptr) std::abort();
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void TemporaryDirectory::Write(const std::string& name, const std::string& text) const {
  std::ofstream(File(name)) << text;
}

std::string TemporaryDirectory::Read(const std::string& name) const { return ReadFile(File(name)); }

Child::Child(const std::vector<std::string>& arguments, const std::string& output_file, const std::string& error_file,
             const std::string& input_file)
    : process_(StartChild(arguments, output_file, error_file, input_file)) {}

int Child::AwaitExit() {
  std::optional<ProcessEnd> end;
  return Eventually([&] { return (end = process_.TryWait()).has_value(); }) ? end->ShellCode() : -1;
}

ServerProcess::ServerProcess(const std::vector<std::string>& options, const std::string& listen,
                             const std::string& binary) {
  std::vector<std::string> arguments = {binary.empty() ? WHARF_BINARY : binary,
                                        "serve",
                                        "--listen",
                                        listen,
                                        "--threads",
                                        "2",
                                        "--status-file",
                                        directory_.File("status")};
  const auto add = [&](const std::string& option, const std::string& value) {
    if (std::find(options.begin(), options.end(), option) == options.end()) {
      arguments.insert(arguments.end(), {option, value});
    }
  };
  add("--device", "soft");
  add("--cache-dir", "");
  add("--hello-timeout", "60s");  // a busy machine takes its time
  arguments.insert(arguments.end(), options.begin(), options.end());
  child_ = std::make_unique<Child>(arguments, directory_.File("output"), directory_.File("log"));
  const bool listens = Eventually([&] {
    return directory_.Read("output").find('\n') != std::string::npos ||
           waitid(P_PID, static_cast<id_t>(child_->Pid()), nullptr, WEXITED | WNOHANG | WNOWAIT) != 0;
  });
  const std::string output = directory_.Read("output");
  const size_t on = output.rfind(" on ");
  if (!listens || on == std::string::npos) {
    std::fprintf(stderr, "the server did not start: %s\n", Log().c_str());
    std::abort();
  }
  address_ = output.substr(on + 4, output.size() - on - 5);
}

nlohmann::json ServerProcess::Status() const {
  return nlohmann::json::parse(directory_.Read("status"), nullptr, /*allow_exceptions=*/false);
}

bool ServerProcess::AwaitStatus(const std::function<bool(const nlohmann::json&)>& condition) const {
  return Eventually([&] {
    const nlohmann::json status = Status();
    return status.is_object() && condition(status);
  });
}

absl::StatusOr<std::unique_ptr<link::ByteStream>> ServerProcess::Connect(const link::ConnectOptions& options) const {
  link::ConnectOptions patient = options;
  patient.timeout = kPatience;
  return link::Connect(address_, patient);
}

std::unique_ptr<offload::RawClient> ServerProcess::Greet(const offload::Hello& hello,
                                                         const link::ConnectOptions& options,
                                                         const std::string& token) const {
  auto stream = Connect(options);
  if (!stream.ok()) return nullptr;
  auto client = std::make_unique<offload::RawClient>(*std::move(stream));
  client->SendControl(offload::FrameKind::kHello, hello).IgnoreError();
  if (!token.empty()) client->Prove(hello, token).IgnoreError();
  return client;
}

void MakeIdentity(const TemporaryDirectory& directory, const std::string& name) {
  const std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const std::unique_ptr<X509, void (*)(X509*)> certificate(X509_new(), X509_free);
  X509* const x = certificate.get();
  X509_set_version(x, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
  X509_gmtime_adj(X509_getm_notBefore(x), -3600);
  X509_gmtime_adj(X509_getm_notAfter(x), 3600);
  X509_set_pubkey(x, key.get());
  X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509_set_issuer_name(x, X509_get_subject_name(x));
  X509_EXTENSION* names = X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "IP:127.0.0.1");
  X509_add_ext(x, names, -1);
  X509_EXTENSION_free(names);
  X509_sign(x, key.get(), EVP_sha256());
  FILE* file = std::fopen(directory.File(name + ".crt").c_str(), "w");
  PEM_write_X509(file, x);
  std::fclose(file);
  file = std::fopen(directory.File(name + ".key").c_str(), "w");
  PEM_write_PrivateKey(file, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  std::fclose(file);
}

}  // namespace wharf::server
