// A real etcd for tests, on loopback, its data in a directory of its own.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/base/subprocess/subprocess.h"
#include "wharf/pipeline/membership/etcd_client.h"

namespace wharf::pipeline::testing {

inline constexpr const char* kEtcdProgram = "/usr/bin/etcd";
inline bool HaveEtcd() { return access(kEtcdProgram, X_OK) == 0; }

// A port nobody listens at now, nor is likely to soon: below those the kernel gives to whoever asks for any.
inline int FreePort() {
  std::random_device random;
  while (true) {
    const int port = 10'000 + static_cast<int>(random() % 20'000), fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<uint16_t>(port));
    const bool free = bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
    close(fd);
    if (free) return port;
  }
}

inline void Run(const std::string& program, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), program);
  auto process =
      Subprocess::Start({.path = program, .arguments = arguments, .descriptors = {kDevNull, kDevNull, kDevNull}});
  ASSERT_TRUE(process.ok()) << process.status();
  EXPECT_EQ(process->Wait().ShellCode(), 0) << program;
}

class EtcdServer {
 public:
  // Encrypted: it wants a certificate, and shows one; both are the same, and their own CA.
  explicit EtcdServer(bool encrypted = false) : encrypted_(encrypted) {
    std::string pattern = (std::filesystem::temp_directory_path() / "wharf-etcd-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
    client_port_ = FreePort();
    peer_port_ = FreePort();
    if (!encrypted_) return;
    Run("/usr/bin/openssl",
        {"req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
         "/O=wharf", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", File("key"), "-out", File("crt")});
  }
  ~EtcdServer() {
    Kill();
    std::filesystem::remove_all(directory_);
  }

  std::string Endpoint() const { return fmt::format("{}://127.0.0.1:{}", encrypted_ ? "https" : "http", client_port_); }
  std::string File(const std::string& name) const { return directory_ + "/" + name; }
  // As whoever has its certificate.
  EtcdAccess Access() const {
    EtcdAccess access;
    access.endpoint = Endpoint();
    if (encrypted_) access.ca_file = access.certificate_file = File("crt"), access.key_file = File("key");
    return access;
  }

  // Returns when it answers.
  absl::Status Start() {
    const std::string data = directory_ + "/data", client = Endpoint(),
                      peer = fmt::format("http://127.0.0.1:{}", peer_port_);
    const int log = open((directory_ + "/log").c_str(), O_CREAT | O_APPEND | O_WRONLY | O_CLOEXEC, 0600);
    std::vector<std::string> arguments = {"etcd",
                                          "--data-dir",
                                          data,
                                          "--listen-client-urls",
                                          client,
                                          "--advertise-client-urls",
                                          client,
                                          "--listen-peer-urls",
                                          peer,
                                          "--initial-advertise-peer-urls",
                                          peer,
                                          "--initial-cluster",
                                          "default=" + peer};
    if (encrypted_) {
      arguments.insert(arguments.end(), {"--cert-file", File("crt"), "--key-file", File("key"), "--trusted-ca-file",
                                         File("crt"), "--client-cert-auth"});
    }
    auto process =
        Subprocess::Start({.path = kEtcdProgram, .arguments = arguments, .descriptors = {kDevNull, log, log}});
    close(log);
    WHARF_RETURN_IF_ERROR(process.status());
    process_ = *std::move(process);
    absl::Status answered = Unavailable("etcd was not tried");
    for (int attempt = 0; attempt < 3000 && !answered.ok(); ++attempt) {
      answered = EtcdClient(Access()).GetPrefix("/up/").status();
      if (Message(answered).find("user name is empty") != std::string_view::npos) return absl::OkStatus();
      if (process_->TryWait()) return Internal("etcd ended: {}/log", directory_);
      if (!answered.ok()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return answered;
  }
  void Kill() { process_.reset(); }
  void ForgetEverything() { std::filesystem::remove_all(directory_ + "/data"); }

 private:
  const bool encrypted_;
  std::string directory_;
  int client_port_ = 0, peer_port_ = 0;
  std::optional<Subprocess> process_;
};

}  // namespace wharf::pipeline::testing
