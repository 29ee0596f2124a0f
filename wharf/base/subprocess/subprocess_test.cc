#include "wharf/base/subprocess/subprocess.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

namespace wharf {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

// What is written to one end until all who have it are gone.
class Pipe {
 public:
  Pipe() {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    reading_ = ends[0];
    writing_ = ends[1];
  }
  ~Pipe() {
    CloseWriting();
    close(reading_);
  }
  int Reading() const { return reading_; }
  int Writing() const { return writing_; }
  void CloseWriting() {
    if (writing_ >= 0) close(std::exchange(writing_, -1));
  }
  std::string ReadAll() {
    CloseWriting();
    std::string all;
    char piece[256];
    for (ssize_t got = 0; (got = read(reading_, piece, sizeof(piece))) > 0;) all.append(piece, got);
    return all;
  }

 private:
  int reading_ = -1, writing_ = -1;
};

Program Shell(const std::string& script) { return {.path = "/bin/sh", .arguments = {"sh", "-c", script}}; }

Subprocess Started(const Program& program) {
  auto process = Subprocess::Start(program);
  EXPECT_TRUE(process.ok()) << process.status();
  return *std::move(process);
}

std::string OutputOf(Program program) {
  Pipe output;
  program.descriptors[1] = output.Writing();
  Subprocess process = Started(program);
  std::string text = output.ReadAll();
  EXPECT_EQ(process.Wait(), ProcessEnd{});
  return text;
}

TEST(Subprocess, SaysHowItEnded) {
  EXPECT_EQ(Started(Shell("exit 7")).Wait(), (ProcessEnd{.code = 7}));
  const ProcessEnd killed = Started(Shell("kill -TERM $$")).Wait();
  EXPECT_EQ(killed, (ProcessEnd{.signal = SIGTERM}));
  EXPECT_EQ(killed.ShellCode(), 128 + SIGTERM);
}

TEST(Subprocess, SaysWhetherItHasEnded) {
  Pipe input;
  Program program = Shell("read line; exit 3");
  program.descriptors[0] = input.Reading();
  Subprocess process = Started(program);
  EXPECT_EQ(process.TryWait(), std::nullopt);
  input.CloseWriting();
  std::optional<ProcessEnd> end;
  while (!(end = process.TryWait())) std::this_thread::yield();
  EXPECT_EQ(end->code, 3);
  EXPECT_EQ(process.Pid(), -1);
}

TEST(Subprocess, SaysWhatCannotBeExecuted) {
  EXPECT_EQ(Subprocess::Start({.path = "/nowhere/at all", .arguments = {"x"}}).status().code(),
            absl::StatusCode::kNotFound);
  const auto status = Subprocess::Start({.path = "/", .arguments = {"x"}}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(Message(status), HasSubstr("cannot execute /: "));
  EXPECT_EQ(ReplaceProcess({.path = "/nowhere/at all", .arguments = {"x"}}).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "no process is left behind";
}

TEST(Subprocess, RunsAScriptWithoutAnInterpreterLine) {
  const auto path = std::filesystem::temp_directory_path() / ("wharf-script-" + std::to_string(getpid()));
  std::ofstream(path) << "echo \"$1 $2\"\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  EXPECT_EQ(OutputOf({.path = path, .arguments = {"script", "one", "two words"}}), "one two words\n");
  std::filesystem::remove(path);
}

TEST(Subprocess, GetsTheDescriptorsItIsGivenAndNoOther) {
  // One that is not close-on-exec, far up.
  const int stray = fcntl(STDIN_FILENO, F_DUPFD, 40);
  ASSERT_GE(stray, 40);
  Program program = Shell("n=0; while [ $n -lt 64 ]; do [ -e /proc/self/fd/$n ] && echo $n; n=$((n+1)); done; true");
  program.descriptors = {kDevNull, kDevNull, kDevNull, kDevNull};
  EXPECT_EQ(OutputOf(program), "0\n1\n2\n3\n");
  program.inherit_descriptors = true;
  EXPECT_THAT(OutputOf(program), HasSubstr("\n" + std::to_string(stray) + "\n"));
  close(stray);
}

TEST(Subprocess, PlacesDescriptorsThatAreInEachOthersPlace) {
  Pipe first, second;
  const int a = first.Writing(), b = second.Writing();
  Program program = Shell("echo one >&" + std::to_string(a) + "; echo two >&" + std::to_string(b));
  program.path = "/bin/bash";  // dash knows only descriptors of one digit
  program.descriptors.resize(std::max(a, b) + 1, kDevNull);
  program.descriptors[a] = b;
  program.descriptors[b] = a;
  Subprocess process = Started(program);
  EXPECT_EQ(first.ReadAll(), "two\n");
  EXPECT_EQ(second.ReadAll(), "one\n");
  EXPECT_EQ(process.Wait(), ProcessEnd{});
}

TEST(Subprocess, RefusesADescriptorThatIsNone) {
  Program program = Shell("true");
  program.descriptors[1] = 1 << 20;
  EXPECT_FALSE(Subprocess::Start(program).ok());
}

TEST(Subprocess, HasTheEnvironmentItIsGiven) {
  setenv("WHARF_SUBPROCESS_TEST", "ours", 1);
  Program program = Shell("echo $WHARF_SUBPROCESS_TEST,$OTHER");
  EXPECT_EQ(OutputOf(program), "ours,\n");
  program.environment = ChangedEnvironment({{"OTHER", "new"}});
  EXPECT_EQ(OutputOf(program), "ours,new\n");
  program.environment = ChangedEnvironment({{"WHARF_SUBPROCESS_TEST", ""}, {"OTHER", "a=b"}});
  EXPECT_EQ(OutputOf(program), ",a=b\n");
  EXPECT_THAT(*program.environment, Not(Contains(HasSubstr("WHARF_SUBPROCESS_TEST"))));
  program.environment = std::vector<std::string>();
  EXPECT_EQ(OutputOf(program), ",\n");
  unsetenv("WHARF_SUBPROCESS_TEST");
}

TEST(Subprocess, APlainEnvironmentHasNothingOfTheUsersOwn) {
  const std::map<std::string, bool> variables = {{"WHARF_SUBPROCESS_TEST", true},
                                                 {"OMP_SUBPROCESS_TEST", true},
                                                 {"CUDA_VISIBLE_DEVICES", true},
                                                 {"TZ", true},
                                                 {"WHARF_TOKEN", false},
                                                 {"WHARF_TOKEN_FILE", false},
                                                 {"AWS_SECRET_ACCESS_KEY", false},
                                                 {"PASSWORD", false},
                                                 {"TZX", false},
                                                 {"OMP", false}};
  for (const auto& [name, kept] : variables) setenv(name.c_str(), "4711", 1);
  const std::vector<std::string> plain = PlainEnvironment();
  for (const auto& [name, kept] : variables) {
    EXPECT_EQ(std::ranges::count(plain, name + "=4711"), kept ? 1 : 0) << name;
    unsetenv(name.c_str());
  }
}

TEST(Subprocess, HasAGroupOfItsOwnIfItShall) {
  Pipe input;
  Program program = Shell("read line");
  program.descriptors[0] = input.Reading();
  EXPECT_EQ(getpgid(Started(program).Pid()), getpgid(0));
  program.own_group = true;
  const Subprocess process = Started(program);
  EXPECT_EQ(getpgid(process.Pid()), process.Pid());
}

TEST(Subprocess, BlocksTheSignalsItIsTold) {
  sigset_t usr1, before;
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &usr1, &before);
  Program program = Shell("kill -USR1 $$; exit 5");
  EXPECT_EQ(Started(program).Wait().code, 5) << "blocked, as here";
  program.blocked = before;
  EXPECT_EQ(Started(program).Wait().signal, SIGUSR1);
  sigset_t now;
  pthread_sigmask(SIG_SETMASK, &before, &now);
  EXPECT_EQ(sigismember(&now, SIGUSR1), 1);
  EXPECT_EQ(sigismember(&now, SIGTERM), 0) << "ours are as they were";
}

TEST(Subprocess, IsPreparedAsTheCallerSays) {
  Program program = Shell("umask");
  program.prepare = [] { umask(0123); };
  EXPECT_EQ(OutputOf(program), "0123\n");
}

TEST(Subprocess, EndsWithItsObject) {
  Pipe alive;
  Program program = Shell("read line");
  Pipe input;
  program.descriptors = {input.Reading(), alive.Writing(), 2};
  pid_t pid = -1;
  { pid = Started(program).Pid(); }
  EXPECT_EQ(alive.ReadAll(), "");
  EXPECT_EQ(kill(pid, 0), -1) << "it is waited for";
}

TEST(Subprocess, IsTheCallersOnceReleased) {
  Pipe input;
  Program program = Shell("read line; exit 9");
  program.descriptors[0] = input.Reading();
  const pid_t pid = Started(program).Release();
  input.CloseWriting();
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_EQ(WEXITSTATUS(status), 9);
}

TEST(Subprocess, DiesWithItsParent) {
  Pipe alive, input;
  const pid_t parent = fork();
  ASSERT_GE(parent, 0);
  if (parent == 0) {
    Program program = Shell("read line");
    program.descriptors = {input.Reading(), alive.Writing(), 2};
    program.parent_death_signal = SIGKILL;
    auto process = Subprocess::Start(program);
    if (process.ok()) process->Release();
    _exit(process.ok() ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(parent, &status, 0), parent);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(alive.ReadAll(), "") << "its end closes the pipe, for it reads an input that we keep open";
}

// Other threads allocate, so that locks of the allocator are held whenever this one forks.
TEST(Subprocess, StartsWhileOtherThreadsAreBusy) {
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!stop) std::vector<std::string>(100, std::string(100, 'x')).clear();
    });
  }
  for (int i = 0; i < 50; ++i) EXPECT_EQ(Started(Shell("exit 4")).Wait().code, 4);
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

// Shells that try what an isolated process cannot do.
class IsolatedSubprocess : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto isolation = FindIsolation();
    if (!isolation.ok()) GTEST_SKIP() << isolation.status();
    isolation_ = *isolation;
  }
  std::string OutputOfIsolated(const std::string& script) const {
    Program program = Shell(script);
    program.isolation = isolation_;
    return OutputOf(program);
  }
  Isolation isolation_ = Isolation::kNone;
};

TEST_F(IsolatedSubprocess, IsAloneAmongProcesses) {
  EXPECT_EQ(OutputOfIsolated("echo $$"), "1\n");
  EXPECT_EQ(OutputOfIsolated("kill -0 " + std::to_string(getpid()) + " 2>/dev/null || echo nobody"), "nobody\n");
}

TEST_F(IsolatedSubprocess, HasNoNetwork) {
  const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(server, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(server, 1), 0);
  ASSERT_EQ(getsockname(server, reinterpret_cast<sockaddr*>(&address), &size), 0);
  Program program = Shell("(exec 9<>/dev/tcp/127.0.0.1/" + std::to_string(ntohs(address.sin_port)) +
                          ") 2>/dev/null && echo connected || echo alone");
  program.path = "/bin/bash";
  EXPECT_EQ(OutputOf(program), "connected\n");
  program.isolation = isolation_;
  EXPECT_EQ(OutputOf(program), "alone\n");
  close(server);
}

TEST_F(IsolatedSubprocess, HasNoCapability) {
  EXPECT_EQ(OutputOfIsolated("grep -E 'Cap(Prm|Eff|Bnd|Amb)' /proc/self/status | cut -f2 | sort -u"),
            "0000000000000000\n");
  EXPECT_EQ(OutputOfIsolated("mount -t tmpfs none /tmp 2>/dev/null || echo refused"), "refused\n");
}

TEST_F(IsolatedSubprocess, LosesTheFileSystemWhenItSaysSo) {
  EXPECT_EQ(
      OutputOfIsolated("cd /; exec 3>&-; while [ -e /proc ]; do :; done;"
                       "for place in / /etc ../.. /proc/1/root; do echo $place/*; done; echo > /new || echo full"),
      "//*\n/etc/*\n../../*\n/proc/1/root/*\nfull\n");
}

TEST_F(IsolatedSubprocess, TakesWithItWhatItHasStarted) {
  Pipe alive;  // whoever lives has its writing end
  Program program = Shell("sleep 1000 & sleep 1000 & exit 0");
  program.isolation = isolation_;
  program.descriptors[1] = alive.Writing();
  Subprocess process = Started(program);
  EXPECT_EQ(process.Wait(), ProcessEnd{});
  EXPECT_EQ(alive.ReadAll(), "");
}

TEST_F(IsolatedSubprocess, SaysWhatCannotBeExecuted) {
  EXPECT_EQ(Subprocess::Start({.path = "/nowhere", .arguments = {"x"}, .isolation = isolation_}).status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace wharf
