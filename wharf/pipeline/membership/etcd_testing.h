// A real etcd for tests, on loopback, its data in a directory of its own.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <random>
#include <string>
#include <thread>

#include "wharf/base/status.h"
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

class EtcdServer {
 public:
  EtcdServer() {
    std::string pattern = (std::filesystem::temp_directory_path() / "wharf-etcd-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
    client_port_ = FreePort();
    peer_port_ = FreePort();
  }
  ~EtcdServer() {
    Kill();
    std::filesystem::remove_all(directory_);
  }

  std::string Endpoint() const { return fmt::format("http://127.0.0.1:{}", client_port_); }

  // Returns when it answers.
  absl::Status Start() {
    const std::string data = directory_ + "/data", client = Endpoint(),
                      peer = fmt::format("http://127.0.0.1:{}", peer_port_);
    process_ = fork();
    if (process_ == 0) {
      const int log = open((directory_ + "/log").c_str(), O_CREAT | O_APPEND | O_WRONLY, 0600);
      dup2(log, 1);
      dup2(log, 2);
      execl(kEtcdProgram, "etcd", "--data-dir", data.c_str(), "--listen-client-urls", client.c_str(),
            "--advertise-client-urls", client.c_str(), "--listen-peer-urls", peer.c_str(),
            "--initial-advertise-peer-urls", peer.c_str(), "--initial-cluster", ("default=" + peer).c_str(), nullptr);
      _exit(127);
    }
    absl::Status answered = Unavailable("etcd was not tried");
    for (int attempt = 0; attempt < 3000 && !answered.ok(); ++attempt) {
      answered = EtcdClient(Endpoint()).GetPrefix("/up/").status();
      if (waitpid(process_, nullptr, WNOHANG) == process_) return Internal("etcd ended: {}/log", directory_);
      if (!answered.ok()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return answered;
  }
  void Kill() {
    if (process_ <= 0) return;
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
    process_ = -1;
  }
  void ForgetEverything() { std::filesystem::remove_all(directory_ + "/data"); }

 private:
  std::string directory_;
  int client_port_ = 0, peer_port_ = 0;
  pid_t process_ = -1;
};

}  // namespace wharf::pipeline::testing
