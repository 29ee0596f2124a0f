// Workers that were taken over, inside a real `wharf serve`: they try what they can against the daemon and each other,
// while another client is served as if nothing were.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "wharf/base/subprocess/subprocess.h"
#include "wharf/link/prefixed_stream.h"
#include "wharf/link/resume/resume_opening.h"
#include "wharf/server/testing/attacked_server.h"

namespace wharf::server {
namespace {

using device::CudaError;
using offload::FrameKind;
using offload::RawClient;
using offload::Welcome;
using ::testing::AnyOf;
using ::testing::Eq;
using ::testing::HasSubstr;

// Its kernel writes what it is told where it is told.
constexpr const char* kKernel = R"(
.version 7.5
.target sm_75
.address_size 64
.visible .entry store(.param .u64 where, .param .u32 what)
{
  .reg .b64 %rd<2>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [where];
  ld.param.u32 %r1, [what];
  st.global.u32 [%rd1], %r1;
  ret;
}
)";

std::vector<std::byte> BytesOf(const void* data, size_t size) {
  const auto* begin = static_cast<const std::byte*>(data);
  return {begin, begin + size};
}

// A client that keeps to the rules, and wants right results.
class Honest {
 public:
  explicit Honest(const ServerProcess& server, bool runs_kernels = true)
      : client_(server.Greet()), runs_kernels_(runs_kernels) {
    const auto frame = client_->Next(FrameKind::kWelcome);
    EXPECT_TRUE(frame.ok()) << frame.status() << server.Log();
    if (!frame.ok()) return;
    const auto welcome = frame->As<Welcome>();
    base_ = welcome.arena.base;
    offload::MapMemory map;
    map.address = base_;
    map.size = welcome.arena.granularity;
    EXPECT_TRUE(client_->Post(map).ok());
    if (runs_kernels_) {
      offload::LoadModule load;
      load.module = 1;
      EXPECT_TRUE(client_->Post(load, BytesOf(kKernel, std::strlen(kKernel))).ok());
      offload::DefineFunction define;
      define.function = define.module = 1;
      define.name = "store";
      EXPECT_TRUE(client_->Post(define).ok());
    }
    IsServed();
  }
  void IsServed() {
    ++value_;
    const auto what = BytesOf(&value_, sizeof(value_));
    if (runs_kernels_) {
      offload::Launch launch;
      launch.function = 1;
      launch.parameters = BytesOf(&base_, sizeof(base_));
      launch.parameters.insert(launch.parameters.end(), what.begin(), what.end());
      launch.parameters.resize(16);
      EXPECT_TRUE(client_->Post(launch).ok());
    } else {
      offload::CopyToDevice copy;
      copy.to.address = base_;
      copy.extent.width = what.size();
      EXPECT_TRUE(client_->Post(copy, what).ok());
    }
    offload::CopyToHost read;
    read.from.address = base_;
    read.extent.width = sizeof(value_);
    const auto answered = client_->Ask(read);
    ASSERT_TRUE(answered.ok()) << answered.status();
    EXPECT_EQ(answered->header.posted_error, CudaError::kSuccess);
    EXPECT_EQ(answered->bulk, what);
  }

 private:
  std::unique_ptr<RawClient> client_;
  const bool runs_kernels_;
  uint64_t base_ = 0;
  uint32_t value_ = 0;
};

// A connection that was let in, and what serves it.
std::unique_ptr<link::ByteStream> LetIn(const ServerProcess& server) {
  std::unique_ptr<link::ByteStream> stream = *server.Connect();
  const std::vector<std::byte> hello = wire::Encode(offload::Hello{});
  std::array<std::byte, link::kFrameHeaderBytes> header;
  link::EncodeFrameHeader(
      {.kind = static_cast<uint16_t>(FrameKind::kHello), .head_bytes = static_cast<uint32_t>(hello.size())}, header);
  const std::span<const std::byte> pieces[] = {header, hello};
  EXPECT_EQ(stream->Write(pieces), absl::OkStatus());
  EXPECT_EQ(link::ReadUpTo(*stream, header).value_or(0), header.size());
  const auto answer = link::DecodeFrameHeader(header, {.max_head_bytes = 1 << 16, .max_bulk_bytes = 0});
  EXPECT_TRUE(answer.ok() && answer->kind == static_cast<uint16_t>(FrameKind::kWelcome));
  std::vector<std::byte> welcome(answer.ok() ? answer->head_bytes : 0);
  EXPECT_EQ(link::ReadUpTo(*stream, welcome).value_or(0), welcome.size());
  return stream;
}

// Processes by the name that they have given themselves.
std::vector<pid_t> ProcessesNamed(const std::string& name) {
  std::vector<pid_t> found;
  for (const auto& process : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(process.path() / "comm");
    std::string comm;
    if (std::getline(file, comm) && comm == name) found.push_back(std::stoi(process.path().filename().string()));
  }
  return found;
}

// Until its end, or the first `last`.
std::string ReadAll(int from, char last = '\0') {
  std::string text;
  for (char byte = 0; read(from, &byte, 1) == 1;) {
    text += byte;
    if (byte == last) break;
  }
  return text;
}

class TakenOverTest : public AttackedServerTest {
 protected:
  void SetUp() override { ServeOn("soft"); }
  void ServeOn(const std::string& device) {
    Serve({"--device", device, "--memory", "64MiB", "--worker-memory", "64MiB"});
    if (IsSkipped()) return;
    honest_ = std::make_unique<Honest>(*server_, device == "soft");
    sibling_ = FirstWorker();
  }
  // By a worker of its own, while somebody else is served.
  int Try(const std::string& attack) {
    TakenOver attacker(*server_->Connect());
    const int outcome = attacker.Try(attack);
    honest_->IsServed();
    return outcome;
  }

  // By some, while a connection is passed on.
  void HoldDescriptors() {
    std::vector<std::unique_ptr<TakenOver>> attackers;
    for (int i = 0; i < 3; ++i) {
      attackers.push_back(std::make_unique<TakenOver>(LetIn(*server_)));
      EXPECT_EQ(attackers.back()->Try("hold-descriptors"), 0);
    }
    // One that names a session goes to this session's worker; the daemon answers that there is none.
    const link::Opening resume{link::OpeningKind::kResume, link::ResumeKey::Make(12345).value(), 0};
    const auto answer = link::ExchangeOpenings(**server_->Connect(), resume, std::chrono::seconds(60));
    EXPECT_EQ(answer.status().code(), absl::StatusCode::kNotFound) << answer.status();
    honest_->IsServed();
  }

  std::unique_ptr<Honest> honest_;
  pid_t sibling_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Modes, TakenOverTest, ::testing::Values("strong", "weak"),
                         [](const auto& info) { return info.param; });

TEST_P(TakenOverTest, DoesNothingToOtherProcesses) {
  for (const pid_t victim : {server_->Process().Pid(), sibling_}) {
    EXPECT_EQ(Try(fmt::format("kill {}", victim)), kEnded);
    EXPECT_EQ(Try(fmt::format("tgkill {}", victim)), kEnded);
    EXPECT_EQ(Try(fmt::format("ptrace {}", victim)), kEnded);
    EXPECT_EQ(Try(fmt::format("read-memory-of {}", victim)), kEnded);
    EXPECT_EQ(Try(fmt::format("pidfd {}", victim)), kEnded);
    EXPECT_EQ(Try(fmt::format("memory-of {}", victim)), EPERM);
    EXPECT_EQ(Try(fmt::format("slow {}", victim)), EPERM);
    EXPECT_TRUE(Living(victim));
  }
}

TEST_P(TakenOverTest, OpensConnectsAndStartsNothing) {
  EXPECT_EQ(Try("environment"), ENOENT);
  EXPECT_EQ(Try("open"), EPERM);
  EXPECT_EQ(Try("create"), EPERM);
  EXPECT_FALSE(std::filesystem::exists("/tmp/wharf-taken-over"));
  const std::string port = server_->Address().substr(server_->Address().rfind(':') + 1);
  EXPECT_EQ(Try("connect " + port), kEnded);
  EXPECT_EQ(Try("fork"), kEnded);
  EXPECT_EQ(Try("execute"), kEnded);
  EXPECT_EQ(Try("write-and-execute"), kEnded);
  EXPECT_EQ(Try("share-memory"), kEnded);
}

TEST_P(TakenOverTest, TakesNoMoreThanItsShare) {
  EXPECT_EQ(Try("fill-memory"), ENOMEM);
  EXPECT_EQ(Try("hide-memory"), kEnded);
  EXPECT_THAT(Try("make-threads 100000"), AnyOf(Eq(EAGAIN), Eq(kEnded)));  // root's are counted by the daemon only
  EXPECT_EQ(Try("make-descriptors"), EMFILE);
}

TEST_P(TakenOverTest, TellsTheDaemonNothingThatHarmsIt) {
  EXPECT_EQ(Try("say-nonsense 5003"), 0);  // 500 packets to the daemon
  EXPECT_EQ(Try("say-nonsense 300003"), kEnded);
  EXPECT_EQ(Try("flood-control 100000"), kEnded);
  EXPECT_EQ(Try("spoil-shares"), 0);
  EXPECT_TRUE(Living(server_->Process().Pid()));
  Honest(*server_).IsServed();  // as others are that come now
}

// It hears who was let in, and hangs up on who talks nonsense.
TEST_P(TakenOverTest, TellsTheKeeperNothingThatHarmsIt) {
  const std::set<pid_t> keepers = Children(server_->Process().Pid(), "wharf-keeper");
  ASSERT_EQ(keepers.size(), 1U);
  TakenOver attacker(LetIn(*server_));
  EXPECT_EQ(attacker.Try("say-nonsense 100004"), EPIPE);
  Honest(*server_).IsServed();
  EXPECT_EQ(Children(server_->Process().Pid(), "wharf-keeper"), keepers);
}

// The kernel counts those on their way of all processes of a user.
TEST_P(TakenOverTest, KeepsNobodyFromPassingConnectionsOn) { HoldDescriptors(); }

// Of a server whose standard error is a file.
TEST_P(TakenOverTest, WritesNothingOverInTheLog) {
  EXPECT_EQ(Try("end-log"), ENOTSOCK);
  EXPECT_EQ(Try("rewind-log"), EPERM);
}

// A service's is a socket.
TEST(TakenOverService, GoesOnToLog) {
  if (kSanitized) GTEST_SKIP() << "policies are weaker under a sanitizer";
  int log[2], output[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, log), 0);
  ASSERT_EQ(pipe2(output, O_CLOEXEC), 0);
  auto service = Subprocess::Start({.path = WHARF_BINARY,
                                    .arguments = {"wharf", "serve", "--listen", "127.0.0.1:0", "--device", "soft",
                                                  "--cache-dir", "", "--sandbox", "weak"},
                                    .environment = ChangedEnvironment({{"LD_PRELOAD", WHARF_TAKEN_OVER}}),
                                    .descriptors = {kDevNull, output[1], log[1]}});
  close(output[1]);
  close(log[1]);
  ASSERT_TRUE(service.ok()) << service.status();
  const std::string said = ReadAll(output[0], '\n');
  const size_t on = said.rfind(" on ");
  ASSERT_NE(on, std::string::npos) << said;
  {
    TakenOver attacker(*link::Connect(said.substr(on + 4, said.size() - on - 5)));
    EXPECT_EQ(attacker.Try("end-log"), ENOTSOCK);
  }
  service->Signal(SIGTERM);
  EXPECT_EQ(service->Wait().ShellCode(), 0);
  EXPECT_THAT(ReadAll(log[0]), HasSubstr("stopped"));
  close(output[0]);
  close(log[0]);
}

// Of a device with a vendor's driver, a fake one.
class GpuTakenOverTest : public TakenOverTest {
 protected:
  void SetUp() override {
    setenv("LD_LIBRARY_PATH", WHARF_FAKE_DRIVER_FOLDER, 1);
    ServeOn("cuda");
    unsetenv("LD_LIBRARY_PATH");
  }
};
INSTANTIATE_TEST_SUITE_P(Modes, GpuTakenOverTest, ::testing::Values("strong", "weak"),
                         [](const auto& info) { return info.param; });

TEST_P(GpuTakenOverTest, HasWhatTheTableSays) {
  EXPECT_EQ(Try("environment"), ENOENT);
  EXPECT_EQ(Try("open"), 0);  // it keeps the file system
  EXPECT_EQ(Try("listen-unix"), 0);
  EXPECT_EQ(Try("connect-unix"), EPERM);
  EXPECT_EQ(Try("send-by-name"), EPERM);
  EXPECT_EQ(Try("connect 9"), EPERM);
  EXPECT_EQ(Try("execute"), EPERM);
  EXPECT_EQ(Try("new-names"), EPERM);
  EXPECT_EQ(Try("fork-with-new-names"), EPERM);
  EXPECT_EQ(Try("type"), EPERM);
  EXPECT_EQ(Try("write-and-execute"), 0);
}

// It may do all that the table says, and its session's end is that of what it holds: of its place, and of what it has
// started where name spaces say so.
TEST_P(GpuTakenOverTest, WhatItHasStartedKeepsNothingFromOthers) {
  const std::string kept = fmt::format("kept-{}", getpid());
  {
    TakenOver attacker(LetIn(*server_));
    ASSERT_TRUE(server_->AwaitStatus([](const auto& status) { return status.at("sessions").size() == 2; }));
    EXPECT_EQ(attacker.Try("open-device"), 0);
    EXPECT_EQ(attacker.Try("share-memory"), 0);
    EXPECT_EQ(attacker.Try(fmt::format("fork-and-keep {}", getpid())), 0);
    EXPECT_TRUE(Eventually([&] { return ProcessesNamed(kept).size() == 1; }));
    honest_->IsServed();
  }
  EXPECT_TRUE(server_->AwaitStatus([](const auto& status) { return status.at("sessions").size() == 1; }));
  honest_->IsServed();
  Honest(*server_, /*runs_kernels=*/false).IsServed();
  if (GetParam() == "strong") {
    EXPECT_TRUE(Eventually([&] { return ProcessesNamed(kept).empty(); }));
  } else {
    for (const pid_t process : ProcessesNamed(kept)) kill(process, SIGKILL);
  }
}

TEST_P(GpuTakenOverTest, KeepsNobodyFromPassingConnectionsOn) { HoldDescriptors(); }

TEST_P(GpuTakenOverTest, SignalsWhomTheTableSays) {
  const Child bystander({"/bin/sleep", "600"}, directory_.File("output"), directory_.File("error"));
  for (const char* const attack : {"slow", "kill"}) {
    EXPECT_EQ(Try(fmt::format("{} {}", attack, bystander.Pid())), GetParam() == "strong" ? ESRCH : 0) << attack;
  }
}

TEST_P(GpuTakenOverTest, ReadsAndTracesNobody) {
  for (const pid_t victim : {server_->Process().Pid(), sibling_}) {
    EXPECT_EQ(Try(fmt::format("ptrace {}", victim)), EPERM);
    EXPECT_EQ(Try(fmt::format("read-memory-of {}", victim)), EPERM);
    EXPECT_EQ(Try(fmt::format("pidfd {}", victim)), EPERM);
    if (GetParam() == "strong") {  // by its number it is nobody in a name space of processes
      EXPECT_EQ(Try(fmt::format("kill {}", victim)), ESRCH);
      // Nor is it in /proc, where a container permits one of the name space's own.
      EXPECT_THAT(Try(fmt::format("memory-of {}", victim)), AnyOf(Eq(ENOENT), Eq(EACCES), Eq(EPERM)));
    }
    EXPECT_TRUE(Living(victim));
  }
}

}  // namespace
}  // namespace wharf::server
