// What keeps clients apart from each other and from the daemon, seen from outside of real servers, and servers on
// machines that lack it: none starts with less than it was asked for.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "wharf/base/sandbox/namespaces.h"
#include "wharf/base/sandbox/policies.h"
#include "wharf/base/sandbox/seccomp_filter.h"
#include "wharf/server/testing/testing.h"

namespace wharf::server {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// `body` on a thread that is, with all that it starts, under `policy`; this process's other threads are not.
void OnAMachineWith(const SandboxPolicy& policy, const std::function<void()>& body) {
  std::thread([&] {
    absl::StatusOr<std::vector<sock_filter>> filter = MakeFilter(policy);
    ASSERT_TRUE(filter.ok()) << filter.status();
    const sock_fprog program{static_cast<unsigned short>(filter->size()), filter->data()};
    ASSERT_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    ASSERT_EQ(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program), 0) << "a machine without seccomp";
    body();
  }).join();
}

SandboxPolicy NoNameSpaces() {
  SandboxPolicy policy;
  policy.rules = {{SYS_unshare, {}, wharf::Verdict::kRefuse}, {SYS_clone3, {}, wharf::Verdict::kAbsent}};
  for (const uint64_t kind : {CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWIPC, CLONE_NEWUTS, CLONE_NEWNET}) {
    policy.rules.push_back({SYS_clone, {{.argument = 0, .value = kind, .mask = kind}}, wharf::Verdict::kRefuse});
  }
  return policy;
}
SandboxPolicy NoFilters() { return {.rules = {{SYS_seccomp, {}, wharf::Verdict::kRefuse}}}; }

// Says why in one line, which is returned, and never listens.
std::string LineOfOneThatDoesNotStart(const std::string& sandbox) {
  const TemporaryDirectory directory;
  Child child({WHARF_BINARY, "serve", "--listen", "unix:" + directory.File("socket"), "--device", "soft", "--cache-dir",
               directory.File("cache"), "--sandbox", sandbox},
              directory.File("output"), directory.File("error"));
  EXPECT_EQ(child.AwaitExit(), 1);
  EXPECT_EQ(directory.Read("output"), "");
  const std::string said = directory.Read("error");
  EXPECT_EQ(std::ranges::count(said, '\n'), 1) << said;
  return said;
}

void ExpectServed(const std::string& sandbox) {
  const ServerProcess server({"--sandbox", sandbox});
  const auto client = server.Greet();
  ASSERT_NE(client, nullptr);
  EXPECT_TRUE(client->Next(offload::FrameKind::kWelcome).ok()) << server.Log();
}

TEST(IsolationTest, WithoutNameSpacesOnlyWeakServes) {
  OnAMachineWith(NoNameSpaces(), [] {
    const std::string why = LineOfOneThatDoesNotStart("strong");
    EXPECT_THAT(why, StartsWith("wharf: processes for clients cannot be isolated here: no name spaces can be had"));
    EXPECT_THAT(why, HasSubstr("--sandbox=weak"));
    ExpectServed("weak");
  });
}

TEST(IsolationTest, WithoutFiltersNothingServes) {
  OnAMachineWith(NoFilters(), [] {
    for (const char* const sandbox : {"strong", "weak"}) {
      EXPECT_THAT(
          LineOfOneThatDoesNotStart(sandbox),
          StartsWith("wharf: system calls cannot be filtered here, and no server runs without, --sandbox=weak or "
                     "not"));
    }
  });
}

// The process of the session that was opened last.
pid_t LastWorker(const ServerProcess& server) { return server.Status().at("sessions").back().at("pid"); }

std::string TextOf(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string NameSpaceOf(const std::string& process, const std::string& kind) {
  return std::filesystem::read_symlink("/proc/" + process + "/ns/" + kind);
}

TEST(IsolationTest, ASessionsWorkerIsAlone) {
  if (geteuid() != 0) GTEST_SKIP() << "only root sees what another process sees";
  const auto isolation = FindIsolation();
  if (!isolation.ok()) GTEST_SKIP() << isolation.status();
  const ServerProcess server;
  const auto first = server.Greet(), second = server.Greet();
  for (const auto& client : {first.get(), second.get()}) {
    ASSERT_TRUE(client->Next(offload::FrameKind::kWelcome).ok()) << server.Log();
  }
  const nlohmann::json sessions = server.Status().at("sessions");
  ASSERT_EQ(sessions.size(), 2U);
  std::vector<std::string> kinds = {"mnt", "pid", "net", "ipc", "uts"};
  if (*isolation == Isolation::kByUser) kinds.push_back("user");
  for (const auto& session : sessions) {
    const std::string worker = session.at("pid").dump();
    const std::string other = sessions.at(session == sessions.at(0) ? 1 : 0).at("pid").dump();
    for (const std::string& kind : kinds) {
      EXPECT_NE(NameSpaceOf(worker, kind), NameSpaceOf("self", kind)) << kind;
      EXPECT_NE(NameSpaceOf(worker, kind), NameSpaceOf(other, kind)) << kind;
    }
    const std::string status = TextOf("/proc/" + worker + "/status");
    EXPECT_THAT(status, ContainsRegex("NSpid:\t" + worker + "\t1\n"));  // the first of its own
    for (const char* const set : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}) {
      EXPECT_THAT(status, HasSubstr(std::string(set) + ":\t0000000000000000\n"));
    }
    if (kSanitized) continue;  // it keeps its files
    EXPECT_TRUE(std::filesystem::is_empty("/proc/" + worker + "/root/."));
  }
}

// `body` on a thread of an ordinary user's, and so is what it starts.
void AsAnOrdinaryUser(const std::function<void()>& body) {
  std::thread([&] {
    constexpr uid_t kNobody = 65534;
    if (geteuid() == 0) {  // not by the C library's functions, which change the user of all threads
      ASSERT_EQ(syscall(SYS_setgroups, 0, nullptr), 0);
      ASSERT_EQ(syscall(SYS_setresgid, kNobody, kNobody, kNobody), 0);
      ASSERT_EQ(syscall(SYS_setresuid, kNobody, kNobody, kNobody), 0);
    }
    body();
  }).join();
}

// The errno of opening the memory of a process, or 0.
int OutcomeOfOpeningMemoryOf(pid_t process) {
  const int memory = open(("/proc/" + std::to_string(process) + "/mem").c_str(), O_RDONLY | O_CLOEXEC);
  if (memory < 0) return errno;
  close(memory);
  return 0;
}

TEST(IsolationTest, OthersOfItsUserDoNotReadADaemonsMemory) {
  AsAnOrdinaryUser([] {
    const std::string temporary = std::filesystem::temp_directory_path();
    if (access(WHARF_BINARY, X_OK) != 0 || access(temporary.c_str(), W_OK) != 0) {
      GTEST_SKIP() << "an ordinary user cannot execute " << WHARF_BINARY << ", or not write in " << temporary;
    }
    const TemporaryDirectory directory;
    const Child any({"/bin/sleep", "600"}, directory.File("output"), directory.File("error"));
    if (OutcomeOfOpeningMemoryOf(any.Pid()) != 0) GTEST_SKIP() << "here nobody reads any process's memory";
    ServerProcess server({"--sandbox", FindIsolation().ok() ? "strong" : "weak"});
    const auto client = server.Greet();
    ASSERT_TRUE(client->Next(offload::FrameKind::kWelcome).ok()) << server.Log();
    EXPECT_EQ(OutcomeOfOpeningMemoryOf(server.Process().Pid()), EACCES);
    EXPECT_EQ(OutcomeOfOpeningMemoryOf(LastWorker(server)), EACCES);
  });
}

// Tests of strong sandboxes skip where there are no name spaces: where a server would have them, none may.
TEST(IsolationTest, StrongSandboxesAreTestedWhereTheyCanBeHad) {
  const TemporaryDirectory directory;
  Child doctor({WHARF_BINARY, "doctor", "--sandbox"}, directory.File("output"), directory.File("error"));
  const bool can_be_had = doctor.AwaitExit() == 0;
  EXPECT_EQ(FindIsolation().ok(), can_be_had) << directory.Read("output");
}

}  // namespace
}  // namespace wharf::server
